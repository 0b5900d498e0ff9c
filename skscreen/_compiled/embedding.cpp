// Bindings of the loops of embedding.
#include "bindings.hpp"

void bind_embedding(nb::module_&) {}
