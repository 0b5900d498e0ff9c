// Bindings of the loops of samples.
#include "bindings.hpp"

void bind_samples(nb::module_&) {}
