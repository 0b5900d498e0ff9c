// Bindings of bounds and rules for samples.
#include "svm_screening.hpp"

#include "bindings.hpp"

using namespace skscreen;

using Reals = Array<const double>;

template <double (*function)(const PointsBetween&)>
static double between(Reals norms, Reals sizes, Reals thresholds, Reals alpha0, Reals alpha1,
                      Reals margins0, Reals margins1, double C0, double C1, double shift,
                      double ta, double tb) {
  return function({norms, sizes, thresholds, alpha0, alpha1, margins0, margins1, C0, C1, shift,
                   ta, tb});
}

void bind_svm_screening(nb::module_& m) {
  m.def("pencil_radius", [](double constant, double linear, double quadratic, double t,
                            double shift) {
    return Pencil{constant, linear, quadratic, shift}.radius(t);
  });
  m.def("intersection_pass", &intersection_pass, ReleaseGIL());
  m.def("compare_margins", &compare_margins, ReleaseGIL());
  m.def("largest_slackness_between", &between<largest_slackness_between>, ReleaseGIL());
  m.def("largest_squared_slackness_between", &between<largest_squared_slackness_between>,
        ReleaseGIL());
}
