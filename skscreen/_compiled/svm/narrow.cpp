// Bindings of linear models of few narrow rows.
#include "svm/narrow.hpp"

#include "core/bindings.hpp"
#include "svm/narrow_hinges.hpp"

using namespace skscreen;
using namespace skscreen::svm;

namespace skscreen::svm {

void bind_narrow(nb::module_& m) {
  m.def("solve_hinges", &solve_narrow<NarrowHinges>, ReleaseGIL());
  m.def("solve_squared_hinges", &solve_narrow<SquaredHinges>, ReleaseGIL());
}

}  // namespace skscreen::svm
