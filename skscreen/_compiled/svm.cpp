// Bindings of the loops of svm.
#include "bindings.hpp"
#include "class_pairs.hpp"
#include "smo.hpp"

using namespace skscreen;

using Reals = Array<const double>;
using Values = Matrix<const float>;

static void bind_smo(nb::module_& m) {
  m.attr("SMO_LANES") = SMO_LANES;
  m.def("pair_optimum", &pair_optimum);
  m.def(
      "pairs_with_offset",
      [](Values K, Array<const float> diagonal, Reals low, Reals high, Array<double> beta,
         Array<double> g, double eps, int64_t steps) {
        return Smo(K, diagonal, low, high, beta, g).with_offset(eps, steps);
      },
      ReleaseGIL());
  m.def(
      "pairs_without_offset",
      [](Values K, Array<const float> diagonal, Reals low, Reals high, Array<double> beta,
         Array<double> g, double eps, int64_t steps) {
        return Smo(K, diagonal, low, high, beta, g).without_offset(eps, steps);
      },
      ReleaseGIL());
}

static void bind_class_pairs(nb::module_& m) {
  m.def(
      "improve_pair",
      [](Values A, Values B, Values AB, double square_bias, Reals target, Reals low, Reals high,
         Array<double> beta, Array<double> f, Array<double> errors, Array<double> parts,
         Reals relative, bool free, double tol, int64_t steps, Array<float> memory) {
        return improve_pair({A, B, AB, square_bias}, {target, low, high, free}, beta, f, errors,
                            parts, relative, tol, steps, memory);
      },
      ReleaseGIL());
  m.def(
      "pair_scores",
      [](Values A, Values B, Values AB, double square_bias, Reals beta, Reals relative,
         Array<double> f, Array<double> errors) {
        pair_scores({A, B, AB, square_bias}, beta, relative, f, errors);
      },
      ReleaseGIL());
  m.def("bounded_scores", &bounded_scores, ReleaseGIL());
  m.def(
      "pair_certificate",
      [](Reals target, Reals low, Reals high, Reals beta, Reals f, Reals errors, bool free,
         Array<double> parts) {
        const PairView found = pair_certificate({target, low, high, free}, beta, f, errors, parts);
        return std::make_tuple(found.b, found.gap, found.primal);
      },
      ReleaseGIL());
}

void bind_svm_l1(nb::module_&);

void bind_svm(nb::module_& m) {
  bind_svm_l1(m);
  bind_smo(m);
  bind_class_pairs(m);
}
