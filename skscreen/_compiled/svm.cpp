// Bindings of the loops of svm.
#include "bindings.hpp"
#include "certificate.hpp"
#include "class_pairs.hpp"
#include "newton.hpp"
#include "small_pairs.hpp"
#include "smo.hpp"

using namespace skscreen;

using Reals = Array<const double>;
// A `Box` and `PairValues`.
using Bounds = std::tuple<Reals, Reals, Reals, Reals, bool, double>;
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
      [](const Bounds& box, Reals beta, Reals g) {
        const View found = view(as<Box>(box), beta, g);
        return std::make_tuple(found.b, found.gap, found.primal);
      },
      ReleaseGIL());
  m.def(
      "certify",
      [](const Bounds& box, Reals beta, Reals f, Reals errors, Array<double> parts,
         Array<double> losses) {
        const View found = certify(as<Box>(box), beta, f, errors, parts, losses);
        return std::make_tuple(found.b, found.gap, found.primal);
      },
      ReleaseGIL());
  m.def(
      "stretch",
      [](const Bounds& box, Reals beta, Reals f, Reals errors) {
        const auto [factor, found] = stretch(as<Box>(box), beta, f, errors);
        return std::make_tuple(factor, found.b, found.gap, found.primal);
      },
      ReleaseGIL());
  m.def(
      "balance", [](const Bounds& box, Array<double> beta) { balance(as<Box>(box), beta); },
      ReleaseGIL());
}

static void bind_class_pairs(nb::module_& m) {
  m.def(
      "improve_pair",
      [](const Values<float>& K, const Bounds& box, Array<double> beta, Array<double> f,
         Array<double> errors, Reals relative, double tol, int64_t steps, Array<float> memory) {
        return improve_pair(as<PairValues<float>>(K), as<Box>(box), beta, f, errors, relative, tol,
                            steps, memory);
      },
      ReleaseGIL());
  m.def(
      "pair_scores",
      [](const Values<float>& K, Reals beta, Reals relative, Array<double> f,
         Array<double> errors) {
        pair_scores(as<PairValues<float>>(K), beta, relative, f, errors);
      },
      ReleaseGIL());
  m.def("bounded_scores", &bounded_scores, ReleaseGIL());
  m.def(
      "solve_small_pair",
      [](const Values<double>& K, const Bounds& box, Reals sizes, double relative, double tol,
         double enough, int64_t limit, Array<double> beta) {
        return SmallPair(as<PairValues<double>>(K), as<Box>(box), sizes, relative)
            .solve(beta, tol, enough, limit);
      },
      ReleaseGIL());
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
  bind_class_pairs(m);
}
