// Bindings of the loops that several rooms share.
#include "core/core.hpp"

#include "core/bindings.hpp"

using namespace skscreen;

namespace skscreen::core {

void bind(nb::module_& m) {
  m.def("gap_radius", &gap_radius);
  m.def("hinge_slackness", &hinge_slackness);
  m.def("total_range", &total_range, ReleaseGIL());
  m.def("project", &project, ReleaseGIL());
  m.def(
      "search_kinks",
      [](Array<const double> m, Array<const double> ratio, Array<const double> sigma,
         Array<const double> l, Array<const double> u, double z, double lo, double hi) {
        expects_sizes(m.size, "ratio", ratio, "sigma", sigma, "l", l, "u", u);
        return search_kinks({m, ratio, sigma, l, u, z}, lo, hi);
      },
      ReleaseGIL());
}

}  // namespace skscreen::core
