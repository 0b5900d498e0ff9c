// Bindings of the loops of svm.
#include "bindings.hpp"

void bind_svm(nb::module_&) {}
