// Bindings of problems of few samples.
#include "svm/few.hpp"

#include "core/bindings.hpp"
#include "svm/dual_bindings.hpp"

using namespace skscreen;
using namespace skscreen::svm;

using Reals = Array<const double>;

namespace nanobind::detail {

template <>
struct type_caster<FewValues> : struct_caster<FewValues, Matrix<const double>, int64_t, int64_t,
                                              double, double, double, Reals, double, double> {};
template <>
struct type_caster<FewLimits> : struct_caster<FewLimits, double, double, int64_t> {};

}  // namespace nanobind::detail

namespace skscreen::svm {

void bind_few(nb::module_& m) {
  m.def(
      "solve_few",
      [](const FewValues& values, Array<const int64_t> samples, const Dual& dual, bool twice,
         const FewLimits& limits, Array<double> beta, Array<double> f, Array<double> errors) {
        const auto [found, steps] =
            solve_few(values, samples, dual, twice, limits, beta, f, errors);
        return std::make_tuple(found.b[0], found.b[1], found.gap, found.primal, steps);
      },
      ReleaseGIL());
  m.def("solve_pairs_of_few", &solve_pairs_of_few, ReleaseGIL());
  m.def("few_matrix", &few_matrix, ReleaseGIL());
  m.attr("FEW_KINDS") =
      std::make_tuple((int64_t)GIVEN, (int64_t)POWERS, (int64_t)RBF, (int64_t)NEAR_RBF);
}

}  // namespace skscreen::svm
