// Bindings of the loops of linear machines.
#include "svm/linear.hpp"

#include "samples/row_bindings.hpp"
#include "svm/class_sweeps.hpp"

using namespace skscreen;
using namespace skscreen::samples;
using namespace skscreen::svm;

using Reals = Array<const double>;
using Singles = Array<const float>;

namespace nanobind::detail {

template <class Data>
struct type_caster<Face<Data>>
    : struct_caster<Face<Data>, Data, double, Reals, Array<const int64_t>> {};
template <>
struct type_caster<SmoothSlopes> : struct_caster<SmoothSlopes, Reals, Reals, Reals, Reals> {};
template <class Column, class Start>
struct type_caster<SingleRows<Column, Start>>
    : struct_caster<SingleRows<Column, Start>, Singles, Array<const Column>, Array<const Start>,
                    float> {};
template <>
struct type_caster<ClassLosses>
    : struct_caster<ClassLosses, Array<const int64_t>, int64_t, Singles, Singles> {};
template <>
struct type_caster<ClassPoint>
    : struct_caster<ClassPoint, Matrix<float>, Array<float>, Array<double>, Array<double>> {};

}  // namespace nanobind::detail

template <class Data>
static void bind_rows(nb::module_& m) {
  m.def("epochs", &epochs<Data>, ReleaseGIL());
  m.def(
      "multiply_face",
      [](const Face<Data>& face, Reals x, Array<double> out) { face.multiply(x, out); },
      ReleaseGIL());
  m.def(
      "conjugate_gradients",
      [](const Face<Data>& face, Reals diagonal, Array<double> slope, double least, int64_t most,
         Array<double> x) { return face.conjugate_gradients(diagonal, slope, least, most, x); },
      ReleaseGIL());
}

namespace skscreen::svm {

void bind_linear(nb::module_& m) {
  m.def("active_samples", &active_samples, ReleaseGIL());
  m.def("spread", &spread, ReleaseGIL());
  for_all_rows([&m](auto rows, const char*) { bind_rows<decltype(rows)>(m); });
  m.def("smooth_duals", &smooth_duals, ReleaseGIL());
  m.def(
      "line_length",
      [](const SmoothSlopes& slopes, Reals lacks, Reals change, double linear, double square) {
        return NewtonLine{slopes, lacks, change, linear, square}.length();
      },
      ReleaseGIL());
  m.attr("CLASS_LANES") = CLASS_LANES;
  m.def("class_sweep", &class_sweep<uint32_t, int32_t>, ReleaseGIL());
  m.def("class_sweep", &class_sweep<uint64_t, int64_t>, ReleaseGIL());
}

}  // namespace skscreen::svm
