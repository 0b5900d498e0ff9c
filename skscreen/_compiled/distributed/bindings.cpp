// Bindings of the passes over rows on workers.
#include "distributed/passes.hpp"

#include "samples/row_bindings.hpp"

using namespace skscreen;
using namespace skscreen::samples;
using namespace skscreen::distributed;

using Doubles = Array<const double>;

namespace nanobind::detail {

template <>
struct type_caster<ClassAtWeights>
    : struct_caster<ClassAtWeights, Doubles, double, int32_t, Doubles> {};
template <>
struct type_caster<KnownOfRows>
    : struct_caster<KnownOfRows, Array<const int32_t>, Doubles, Doubles, Array<const float>> {};
template <>
struct type_caster<FoundOfRows>
    : struct_caster<FoundOfRows, Array<float>, Array<double>, Matrix<double>> {};
template <>
struct type_caster<RowSums>
    : struct_caster<RowSums, Matrix<double>, Matrix<double>, Doubles, Array<double>> {};

}  // namespace nanobind::detail

namespace skscreen::distributed {

void bind(nb::module_& m) {
  for_all_rows([&m](auto rows, const char*) {
    using Data = decltype(rows);
    m.def("linear_losses", &linear_losses<Data>, ReleaseGIL());
    m.def("add_squares", &add_squares<Data>, ReleaseGIL());
    m.def("add_curved", &add_curved<Data>, ReleaseGIL());
  });
  m.def("root_rows", &root_rows<double, Rows<double, uint32_t, int32_t>>, ReleaseGIL());
  m.def("root_rows", &root_rows<float, Rows<float, uint32_t, int32_t>>, ReleaseGIL());
}

}  // namespace skscreen::distributed
