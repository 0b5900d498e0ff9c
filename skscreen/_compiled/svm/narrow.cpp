// Bindings of linear models of few narrow rows.
#include "svm/narrow.hpp"

#include "core/bindings.hpp"
#include "svm/narrow_tubes.hpp"

using namespace skscreen;
using namespace skscreen::svm;

namespace skscreen::svm {

void bind_narrow(nb::module_& m) {
  m.def("solve_tube", &solve_tube, ReleaseGIL());
  m.def("solve_squared_hinges", &solve_squared_hinges, ReleaseGIL());
}

}  // namespace skscreen::svm
