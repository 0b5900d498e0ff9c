// Bindings of coordinate descent with an L1 penalty.
#include "svm/l1.hpp"

#include "core/bindings.hpp"

using namespace skscreen;
using namespace skscreen::svm;

namespace skscreen::svm {

void bind_l1(nb::module_& m) {
  m.def("quadratic_descent", &quadratic_descent, ReleaseGIL());
  m.def("column_sweeps", &column_sweeps<int32_t>, ReleaseGIL());
  m.def("column_sweeps", &column_sweeps<int64_t>, ReleaseGIL());
}

}  // namespace skscreen::svm
