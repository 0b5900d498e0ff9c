// Bindings of bounds and rules for samples.
#include "svm/screening.hpp"

#include "core/bindings.hpp"
#include "svm/dual_bindings.hpp"

using namespace skscreen;
using namespace skscreen::svm;

using Reals = Array<const double>;

namespace nanobind::detail {

template <>
struct type_caster<Pencil> : struct_caster<Pencil, double, double, double, double> {};
template <>
struct type_caster<PointAtC> : struct_caster<PointAtC, Reals, Reals, Reals, double, double, Reals> {
};
template <>
struct type_caster<PointsBetween>
    : struct_caster<PointsBetween, Reals, Reals, Reals, Reals, Reals, Reals, Reals, Reals, Reals,
                    double, double, double, double, double> {};

}  // namespace nanobind::detail

namespace skscreen::svm {

void bind_screening(nb::module_& m) {
  m.def("pencil_radius", [](const Pencil& balls, double t) { return balls.radius(t); });
  m.def("intersection_pass", &intersection_pass, ReleaseGIL());
  m.def("scores_between", &scores_between, ReleaseGIL());
  m.def("codes_between", &codes_between, ReleaseGIL());
  m.def("decided_by_gap", &decided_by_gap, ReleaseGIL());
  m.def("compare_scores", &compare_scores, ReleaseGIL());
  m.def("largest_slackness_between", &largest_slackness_between, ReleaseGIL());
  m.def("largest_squared_slackness_between", &largest_squared_slackness_between, ReleaseGIL());
}

}  // namespace skscreen::svm
