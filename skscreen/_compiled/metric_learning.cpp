// Bindings of the loops of metric_learning.
#include "bindings.hpp"

void bind_metric_learning(nb::module_&) {}
