// Bindings of the loops of svm.
#include "core/bindings.hpp"
#include "svm/certificate.hpp"
#include "svm/dual_bindings.hpp"
#include "svm/newton.hpp"
#include "svm/pairs.hpp"
#include "svm/smo.hpp"

using namespace skscreen;
using namespace skscreen::svm;

using Reals = Array<const double>;

namespace nanobind::detail {

template <class T>
struct type_caster<PairValues<T>>
    : struct_caster<PairValues<T>, Matrix<const T>, Matrix<const T>, Matrix<const T>, double> {};

}  // namespace nanobind::detail

// Loops over kernel values in single or double precision.
template <class T>
static void bind_values(nb::module_& m) {
  m.def(
      "pairs_with_offset",
      [](Matrix<const T> K, Array<const T> diagonal, Reals low, Reals high, Array<double> beta,
         Array<double> g, double eps, int64_t steps) {
        check_smo(K, diagonal, low, high, beta, g, eps);
        return Smo<T>(K, diagonal, low, high, beta, g).with_offset(eps, steps);
      },
      ReleaseGIL());
  m.def(
      "pairs_without_offset",
      [](Matrix<const T> K, Array<const T> diagonal, Reals low, Reals high, Array<double> beta,
         Array<double> g, double eps, int64_t steps) {
        check_smo(K, diagonal, low, high, beta, g, eps);
        return Smo<T>(K, diagonal, low, high, beta, g).without_offset(eps, steps);
      },
      ReleaseGIL());
  m.def(
      "pairs_in_groups",
      [](Matrix<const T> K, Array<const T> diagonal, Reals low, Reals high, Array<double> beta,
         Array<double> g, Array<const int8_t> group, double eps, int64_t steps) {
        check_smo(K, diagonal, low, high, beta, g, eps);
        expects(group.size <= beta.size, "group must not be longer than beta");
        return Smo<T>(K, diagonal, low, high, beta, g).in_groups(group, eps, steps);
      },
      ReleaseGIL());
  m.def("newton_system", &newton_system<T>, ReleaseGIL());
  m.def("products_of_rows", &products_of_rows<T>, ReleaseGIL());
  m.def(
      "improve_pair",
      [](const PairValues<T>& K, const Dual& dual, Array<double> beta, Reals f, double tol,
         int64_t steps,
         Array<T> memory) { return improve_pair<T>(K, dual, beta, f, false, tol, steps, memory); },
      ReleaseGIL());
}

static auto values_of(const View& found) {
  return std::make_tuple(found.b[0], found.b[1], found.gap, found.primal, found.losses);
}

// The certificate of points.
static void bind_certificate(nb::module_& m) {
  m.def(
      "view",
      [](const Dual& dual, Reals beta, Reals f, Array<double> slopes) {
        expects_sizes(dual.size(), "beta", beta, "f", f, "slopes", slopes);
        return values_of(view_of_scores(dual, beta, f, slopes));
      },
      ReleaseGIL());
  m.def(
      "gap_of_slopes",
      [](const Dual& dual, Reals beta, Reals slopes, Reals errors) {
        expects_sizes(dual.size(), "beta", beta, "slopes", slopes);
        if (errors.size) expects_sizes(dual.size(), "errors", errors);
        return gap_of_slopes(dual, beta, slopes, errors);
      },
      ReleaseGIL());
  m.def(
      "largest_gap",
      [](const Dual& dual, Reals beta, Reals f, Reals errors, Array<double> slopes,
         Array<double> parts, Array<double> losses) {
        expects_sizes(dual.size(), "beta", beta, "f", f, "errors", errors, "slopes", slopes,
                      "parts", parts, "losses", losses);
        return values_of(largest_gap(dual, beta, f, errors, slopes, parts, losses));
      },
      ReleaseGIL());
  m.def(
      "stretch",
      [](const Dual& dual, Reals beta, Reals f, Reals errors) {
        expects_sizes(dual.size(), "beta", beta, "f", f, "errors", errors);
        const auto [factor, found] = stretch(dual, beta, f, errors);
        return std::tuple_cat(std::make_tuple(factor), values_of(found));
      },
      ReleaseGIL());
  m.def(
      "best_intercept",
      [](const Dual& dual, Reals g) {
        expects_sizes(dual.size(), "g", g);
        return dual.free ? best_intercept(dual, g, 0) : 0.0;
      },
      ReleaseGIL());
  m.def(
      "balance",
      [](const Dual& dual, Array<double> beta) {
        expects_sizes(dual.size(), "beta", beta);
        balance(dual, beta);
      },
      ReleaseGIL());
}

namespace skscreen::svm {

void bind_crammer_singer(nb::module_&);
void bind_few(nb::module_&);
void bind_l1(nb::module_&);
void bind_linear(nb::module_&);
void bind_narrow(nb::module_&);
void bind_pairs_together(nb::module_&);
void bind_probabilities(nb::module_&);
void bind_scores(nb::module_&);
void bind_screening(nb::module_&);

void bind(nb::module_& m) {
  bind_crammer_singer(m);
  bind_few(m);
  bind_l1(m);
  bind_linear(m);
  bind_narrow(m);
  bind_pairs_together(m);
  bind_probabilities(m);
  bind_scores(m);
  bind_screening(m);
  m.attr("SMO_LANES") = SMO_LANES;
  m.attr("LARGEST_SET") = PairSolver<double>::LARGEST;
  bind_values<float>(m);
  bind_values<double>(m);
  bind_certificate(m);
  m.def("pair_scores", &pair_scores, ReleaseGIL());
  m.def("bounded_scores", &bounded_scores, ReleaseGIL());
}

}  // namespace skscreen::svm
