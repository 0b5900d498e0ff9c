// Bindings of the loops of svm.
#include "bindings.hpp"
#include "certificate.hpp"
#include "newton.hpp"
#include "pairs.hpp"
#include "smo.hpp"

using namespace skscreen;

using Reals = Array<const double>;
// A `Box` and `PairValues`.
using Bounds = std::tuple<Reals, Reals, Reals, bool, Reals, double>;
template <class T>
using Values = std::tuple<Matrix<const T>, Matrix<const T>, Matrix<const T>, double>;

// Loops over the kernel matrix of a working set, in single or double precision.
template <class T>
static void bind_working_set(nb::module_& m) {
  m.def(
      "pairs_with_offset",
      [](Matrix<const T> K, Array<const T> diagonal, Reals low, Reals high, Array<double> beta,
         Array<double> g, double eps, int64_t steps) {
        return Smo<T>(K, diagonal, low, high, beta, g).with_offset(eps, steps);
      },
      ReleaseGIL());
  m.def(
      "pairs_without_offset",
      [](Matrix<const T> K, Array<const T> diagonal, Reals low, Reals high, Array<double> beta,
         Array<double> g, double eps, int64_t steps) {
        return Smo<T>(K, diagonal, low, high, beta, g).without_offset(eps, steps);
      },
      ReleaseGIL());
  m.def("newton_system", &newton_system<T>, ReleaseGIL());
  m.def("products_of_rows", &products_of_rows<T>, ReleaseGIL());
}

// The certificate of points.
static void bind_certificate(nb::module_& m) {
  m.def(
      "view",
      [](const Bounds& box, Reals beta, Reals f, Array<double> slopes) {
        const View found = view_of_scores(as<Box>(box), beta, f, slopes);
        return std::make_tuple(found.b, found.gap, found.primal, found.losses);
      },
      ReleaseGIL());
  m.def(
      "certify",
      [](const Bounds& box, Reals beta, Reals f, Reals errors, Array<double> slopes,
         Array<double> parts, Array<double> losses) {
        const View found = certify(as<Box>(box), beta, f, errors, slopes, parts, losses);
        return std::make_tuple(found.b, found.gap, found.primal, found.losses);
      },
      ReleaseGIL());
  m.def(
      "stretch",
      [](const Bounds& box, Reals beta, Reals f, Reals errors) {
        const auto [factor, found] = stretch(as<Box>(box), beta, f, errors);
        return std::make_tuple(factor, found.b, found.gap, found.primal, found.losses);
      },
      ReleaseGIL());
  m.def(
      "balance", [](const Bounds& box, Array<double> beta) { balance(as<Box>(box), beta); },
      ReleaseGIL());
}

// Problems of two classes with values in single or double precision.
template <class T>
static void bind_pairs(nb::module_& m) {
  m.def(
      "improve_pair",
      [](const Values<T>& K, const Bounds& box, Array<double> beta, Reals f, bool whole, double tol,
         int64_t steps, Array<T> memory) {
        return improve_pair(as<PairValues<T>>(K), as<Box>(box), beta, f, whole, tol, steps, memory);
      },
      ReleaseGIL());
}

static void bind_scores(nb::module_& m) {
  m.def(
      "pair_scores",
      [](const Values<float>& K, Reals relative, Reals beta, Array<double> f,
         Array<double> errors) {
        pair_scores(as<PairValues<float>>(K), beta, relative, f, errors);
      },
      ReleaseGIL());
  m.def(
      "pair_scores",
      [](const Values<double>& K, Reals sizes, double relative, Reals beta, Array<double> f,
         Array<double> errors) {
        pair_scores(as<PairValues<double>>(K), beta, sizes, relative, f, errors);
      },
      ReleaseGIL());
  m.def("bounded_scores", &bounded_scores, ReleaseGIL());
}

void bind_svm_crammer_singer(nb::module_&);
void bind_svm_l1(nb::module_&);
void bind_svm_linear(nb::module_&);
void bind_svm_screening(nb::module_&);

void bind_svm(nb::module_& m) {
  bind_svm_crammer_singer(m);
  bind_svm_l1(m);
  bind_svm_linear(m);
  bind_svm_screening(m);
  m.attr("SMO_LANES") = SMO_LANES;
  m.def("pair_optimum", &pair_optimum);
  bind_working_set<float>(m);
  bind_working_set<double>(m);
  bind_certificate(m);
  m.def(
      "newton_on_few",
      [](Reals K, Reals low, Reals high, Array<double> beta, Array<double> g, bool with_offset) {
        const int64_t n = beta.size;
        return FreeNewton({K.data, n, padded(n)}, low, high, beta, g).run(with_offset);
      },
      ReleaseGIL());
  bind_pairs<float>(m);
  bind_pairs<double>(m);
  bind_scores(m);
}
