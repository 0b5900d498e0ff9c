// Bindings of the loops of linear machines.
#include "bindings.hpp"
#include "class_sweeps.hpp"
#include "svm_linear.hpp"

using namespace skscreen;

using Reals = Array<const double>;

template <class T, class Column, class Start>
static void bind_rows(nb::module_& m) {
  using Data = Rows<T, Column, Start>;
  using Entries = Array<const T>;
  using Columns = Array<const Column>;
  using Starts = Array<const Start>;
  m.def(
      "epochs",
      [](Entries data, Columns columns, Starts starts, int64_t d, double bias, double value,
         Matrix<const double> terms, Array<double> alpha, Array<double> u, Array<int64_t> active,
         Array<double> rest, double factor, Array<uint64_t> random, double budget, int64_t most,
         double enough, double settled) {
        return epochs(Data{data, columns, starts, d}, bias, value, terms, alpha, u, active, rest,
                      factor, random, budget, most, enough, settled);
      },
      ReleaseGIL());
  m.def(
      "multiply_face",
      [](Entries data, Columns columns, Starts starts, int64_t d, Reals y, double bias,
         Reals shifts, Array<const int64_t> E, Reals x, Array<double> out) {
        Face<Data>{{data, columns, starts, d}, y, bias, shifts, E}.multiply(x, out);
      },
      ReleaseGIL());
  m.def(
      "conjugate_gradients",
      [](Entries data, Columns columns, Starts starts, int64_t d, Reals y, double bias,
         Reals shifts, Array<const int64_t> E, Reals diagonal, Array<double> slope, double least,
         int64_t most, Array<double> x) {
        const Face<Data> face{{data, columns, starts, d}, y, bias, shifts, E};
        return face.conjugate_gradients(diagonal, slope, least, most, x);
      },
      ReleaseGIL());
}

template <class Column, class Start>
static void bind_class_sweeps(nb::module_& m) {
  m.def(
      "class_sweep",
      [](Array<const float> data, Array<const Column> columns, Array<const Start> starts,
         float bias, Array<const int64_t> own, int64_t size, Array<const float> shifts,
         Array<const float> steps, Matrix<float> alpha, Array<float> weights,
         Array<int64_t> order, float rest, Array<double> gaps, Array<double> sums) {
        return class_sweep<Column, Start>({data, columns, starts, bias},
                                          {own, size, shifts, steps},
                                          {alpha, weights, gaps, sums}, order, rest);
      },
      ReleaseGIL());
}

void bind_svm_linear(nb::module_& m) {
  m.def("active_samples", &active_samples, ReleaseGIL());
  m.def("spread", &spread, ReleaseGIL());
  bind_rows<float, uint32_t, int32_t>(m);
  bind_rows<float, uint64_t, int64_t>(m);
  bind_rows<double, uint32_t, int32_t>(m);
  bind_rows<double, uint64_t, int64_t>(m);
  m.def(
      "smooth_duals",
      [](Reals base, Reals inverses, Reals caps, Reals lacks, Array<double> out) {
        return smooth_duals({base, inverses, caps}, lacks, out);
      },
      ReleaseGIL());
  m.def(
      "line_length",
      [](Reals base, Reals inverses, Reals caps, Reals lacks, Reals change, double linear,
         double square) {
        return NewtonLine{{base, inverses, caps}, lacks, change, linear, square}.length();
      },
      ReleaseGIL());
  m.attr("CLASS_LANES") = CLASS_LANES;
  bind_class_sweeps<uint32_t, int32_t>(m);
  bind_class_sweeps<uint64_t, int64_t>(m);
}
