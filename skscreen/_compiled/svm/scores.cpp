// Bindings of the scores of classifiers at prediction.
#include "svm/scores.hpp"

#include "core/bindings.hpp"

using namespace skscreen;
using namespace skscreen::svm;

using Reals = Array<const double>;

namespace nanobind::detail {

template <>
struct type_caster<Noise> : struct_caster<Noise, Reals, double, Reals, Reals> {};

}  // namespace nanobind::detail

// Loops over scores of pairs from sums by class, or as they are.
template <class Scores, class... Parts>
static void bind_pairs(nb::module_& m) {
  m.def(
      "pair_values",
      [](Parts... parts, const Noise& noise, int64_t n, Matrix<double> out) {
        pair_values(Scores{parts...}, noise, n, out);
      },
      ReleaseGIL());
  m.def(
      "pair_winners",
      [](Parts... parts, const Noise& noise, int64_t n, Array<int64_t> out) {
        pair_winners(Scores{parts...}, noise, n, out);
      },
      ReleaseGIL());
  m.def(
      "pair_votes",
      [](Parts... parts, const Noise& noise, int64_t n, Matrix<double> out) {
        pair_votes(Scores{parts...}, noise, n, out);
      },
      ReleaseGIL());
}

namespace skscreen::svm {

void bind_scores(nb::module_& m) {
  m.def("sum_by_class", &sum_by_class, ReleaseGIL());
  m.def("add_primals", &add_primals, ReleaseGIL());
  bind_pairs<SumsOfPairs, Stack<const double>, Reals>(m);
  bind_pairs<GivenPairs, Matrix<const double>>(m);
  m.def("near_ties", &near_ties, ReleaseGIL());
  m.def("settle", &settle, ReleaseGIL());
}

}  // namespace skscreen::svm
