// Bindings of all problems between classes in one call.
#include "svm/pairs_together.hpp"

#include "core/bindings.hpp"

using namespace skscreen;
using namespace skscreen::svm;

namespace nanobind::detail {

template <>
struct type_caster<ClassValues>
    : struct_caster<ClassValues, Matrix<const double>, Array<const int64_t>, Array<const double>,
                    double, double> {};
template <>
struct type_caster<PairLimits>
    : struct_caster<PairLimits, double, double, double, double, int64_t, int64_t> {};

}  // namespace nanobind::detail

namespace skscreen::svm {

void bind_pairs_together(nb::module_& m) {
  m.def("solve_pairs_together", &solve_pairs_together, ReleaseGIL());
  m.def("definite_pairs", &DefinitePairs::are, ReleaseGIL());
}

}  // namespace skscreen::svm
