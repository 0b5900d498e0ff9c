// Bindings of the sequential dual method for the multi-class hinge.
#include "svm_crammer_singer.hpp"

#include "bindings.hpp"

using namespace skscreen;

template <class T, class Column, class Start>
static void bind_rows(nb::module_& m) {
  using Data = Rows<T, Column, Start>;
  using Reals = Array<const double>;
  using Classes = Array<const int64_t>;
  m.def(
      "certify_classes",
      [](Array<const T> data, Array<const Column> columns, Array<const Start> starts, int64_t d,
         double bias, int64_t n_classes, Classes own, Reals caps, Reals squares,
         Matrix<double> alpha, Array<double> weights, Array<int64_t> order) {
        const Data X{data, columns, starts, d};
        return ClassHinge<Data>{X, bias, n_classes, own, caps, squares, alpha, weights}
            .certify(order);
      },
      ReleaseGIL());
  m.def(
      "sweep_classes",
      [](Array<const T> data, Array<const Column> columns, Array<const Start> starts, int64_t d,
         double bias, int64_t n_classes, Classes own, Reals caps, Reals squares,
         Matrix<double> alpha, Array<double> weights, Array<int64_t> order,
         Array<uint64_t> random, double enough, int64_t visits, int64_t most) {
        const Data X{data, columns, starts, d};
        return ClassHinge<Data>{X, bias, n_classes, own, caps, squares, alpha, weights}
            .sweeps(order, random, enough, visits, most);
      },
      ReleaseGIL());
}

void bind_svm_crammer_singer(nb::module_& m) {
  m.attr("SCORE_LANES") = SCORE_LANES;
  bind_rows<float, uint32_t, int32_t>(m);
  bind_rows<float, uint64_t, int64_t>(m);
  bind_rows<double, uint32_t, int32_t>(m);
  bind_rows<double, uint64_t, int64_t>(m);
}
