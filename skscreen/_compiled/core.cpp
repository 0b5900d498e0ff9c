// Bindings of the loops that several rooms share.
#include "core.hpp"

#include "bindings.hpp"

using namespace skscreen;

void bind_core(nb::module_& m) {
  m.def("gap_radius", &gap_radius);
  m.def("hinge_slackness", &hinge_slackness);
  m.def("total_range", &total_range, ReleaseGIL());
  m.def("project", &project, ReleaseGIL());
  m.def(
      "search_kinks",
      [](Array<const double> m, Array<const double> ratio, Array<const double> sigma,
         Array<const double> l, Array<const double> u, double z, double lo, double hi) {
        return search_kinks({m, ratio, sigma, l, u, z}, lo, hi);
      },
      ReleaseGIL());
}
