// Bindings of probabilities from scores.
#include "svm/probabilities.hpp"

#include "core/bindings.hpp"

using namespace skscreen;
using namespace skscreen::svm;

namespace skscreen::svm {

void bind_probabilities(nb::module_& m) {
  m.def("fit_sigmoid", &fit_sigmoid, ReleaseGIL());
  m.def("fit_pair_sigmoids", &fit_pair_sigmoids, ReleaseGIL());
  m.def("couple", &couple, ReleaseGIL());
}

}  // namespace skscreen::svm
