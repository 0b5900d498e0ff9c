// Bindings of coordinate descent with an L1 penalty.
#include "svm_l1.hpp"

#include "bindings.hpp"

using namespace skscreen;

void bind_svm_l1(nb::module_& m) {
  m.def("quadratic_descent", &quadratic_descent, ReleaseGIL());
  m.def("column_sweeps", &column_sweeps<int32_t>, ReleaseGIL());
  m.def("column_sweeps", &column_sweeps<int64_t>, ReleaseGIL());
}
