// Bindings of the loops of pragam.
#include "pragam/steps.hpp"

#include "samples/row_bindings.hpp"

using namespace skscreen;
using namespace skscreen::samples;
using namespace skscreen::pragam;

namespace skscreen::pragam {

void bind(nb::module_& m) {
  m.def("mix", &mix, ReleaseGIL());
  m.def("squared_distance", &squared_distance, ReleaseGIL());
  m.def("hinge_sum", &hinge_sum, ReleaseGIL());
  m.def("shortfalls", &shortfalls, ReleaseGIL());
  m.def("move_along", &move_along, ReleaseGIL());
  m.def("quantile_between", &quantile_between, ReleaseGIL());
  for_all_rows([&m](auto rows, const char*) {
    m.def("pegasos_steps", &pegasos_steps<decltype(rows)>, ReleaseGIL());
  });
}

}  // namespace skscreen::pragam
