// Bindings of the loops of sequence.
#include "bindings.hpp"

void bind_sequence(nb::module_&) {}
