// Bindings of the loops of embedding.
#include "embedding/descent.hpp"
#include "embedding/places.hpp"
#include "embedding/stochastic.hpp"

#include "core/bindings.hpp"

using namespace skscreen;
using namespace skscreen::embedding;

using TermsTuple = std::tuple<Matrix<const int32_t>, Array<const double>, Matrix<const int32_t>,
                              Matrix<const int32_t>, double, int64_t, double, double>;

// Names of the losses in the order of their codes, numbers of distances, whether they are convex.
template <size_t... places>
static nb::list list_losses(std::index_sequence<places...>) {
  nb::list result;
  (result.append(nb::make_tuple(std::tuple_element_t<places, Losses>::NAME,
                                std::tuple_element_t<places, Losses>::SIDES,
                                std::tuple_element_t<places, Losses>::CONVEX)),
   ...);
  return result;
}

namespace skscreen::embedding {

void bind(nb::module_& m) {
  m.attr("LOSSES") = list_losses(std::make_index_sequence<std::tuple_size_v<Losses>>());
  m.def("answer_loss",
        [](int64_t code, double shape, Array<const double> distances, Array<double> slopes) {
          return with_loss(code, shape, [&](const auto& loss) {
            Distances<std::decay_t<decltype(loss)>::SIDES> d;
            for (size_t s = 0; s < d.size(); ++s) d[s] = distances[s];
            const auto found = loss(d);
            for (size_t s = 0; s < d.size(); ++s) slopes[s] = found.slopes[s];
            return found.u - std::log(found.v);
          });
        });
  m.def(
      "list_pairs",
      [](Matrix<const int32_t> answers, int64_t n_objects, Matrix<int32_t> pairs,
         Matrix<int32_t> places) {
        return places.columns == 3 ? list_pairs<3>(answers, n_objects, pairs, places)
                                   : list_pairs<2>(answers, n_objects, pairs, places);
      },
      ReleaseGIL());
  m.def("margins", &margins, ReleaseGIL());
  m.def(
      "evaluate",
      [](Matrix<const double> X, const TermsTuple& terms, Matrix<double> work,
         Matrix<double> gradient) { return evaluate(X, as<Terms>(terms), work, gradient); },
      ReleaseGIL());
  m.def(
      "lbfgs_iterate",
      [](Matrix<double> X, double value, Matrix<double> gradient, Matrix<double> steps,
         Matrix<double> changes, Array<double> curvatures, int64_t n_pairs, const TermsTuple& terms,
         Matrix<double> work, Stack<double> spare) {
        return lbfgs_iterate(X, value, gradient, {steps, changes, curvatures}, n_pairs,
                             as<Terms>(terms), work, spare);
      },
      ReleaseGIL());
  m.def(
      "sgd_pass",
      [](Matrix<double> X, Matrix<const int32_t> answers, int64_t start, int64_t n_steps,
         double first_step, double last_step, int64_t code, double shape, double reg) {
        return with_loss(code, shape, [&](const auto& loss) {
          return with_dimensions(X.columns, [&](const auto& view) {
            return sgd_pass(loss, view(X), answers, start, n_steps, first_step, last_step, reg);
          });
        });
      },
      ReleaseGIL());
  m.def(
      "svrg_epoch",
      [](Matrix<double> X, Matrix<const double> snapshot, Matrix<const double> gradient,
         Matrix<const int32_t> answers, int64_t start, int64_t n_steps, int64_t batch, double step,
         int64_t code, double shape, double reg) {
        with_loss(code, shape, [&](const auto& loss) {
          with_dimensions(X.columns, [&](const auto& view) {
            svrg_epoch(loss, view(X), view(snapshot), view(gradient), answers, start, n_steps,
                       batch, step, reg);
          });
        });
      },
      ReleaseGIL());
  m.def(
      "line_sweep",
      [](Array<double> x, const TermsTuple& terms, int64_t n_gaps) {
        return line_sweep(x, as<Terms>(terms), n_gaps);
      },
      ReleaseGIL());
  m.def(
      "place_sweep",
      [](Matrix<double> X, const TermsTuple& parts) {
        const auto terms = as<Terms>(parts);
        int64_t evaluated = 0;
        const int64_t taken = with_loss(terms.loss, terms.shape, [&](const auto& loss) {
          return place_sweep(loss, X, terms, evaluated);
        });
        return std::make_pair(taken, evaluated);
      },
      ReleaseGIL());
  m.def(
      "by_gram",
      [](Matrix<const double> G, const TermsTuple& parts, Matrix<double> gradient) {
        const auto terms = as<Terms>(parts);
        return with_loss(terms.loss, terms.shape,
                         [&](const auto& loss) { return by_gram(loss, G, terms, gradient); });
      },
      ReleaseGIL());
  m.def(
      "convex_slopes",
      [](Matrix<const double> z, const TermsTuple& parts, Matrix<double> t, Matrix<double> S) {
        const auto terms = as<Terms>(parts);
        with_loss(terms.loss, terms.shape,
                  [&](const auto& loss) { convex_slopes(loss, z, terms, t, S); });
      },
      ReleaseGIL());
  m.def(
      "conjugates",
      [](int64_t code, double shape, Matrix<const double> t, Array<double> out) {
        with_loss(code, shape, [&](const auto& loss) { conjugates(loss, t, out); });
      },
      ReleaseGIL());
}

}  // namespace skscreen::embedding
