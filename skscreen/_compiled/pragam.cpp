// Bindings of the loops of pragam.
#include "bindings.hpp"

void bind_pragam(nb::module_&) {}
