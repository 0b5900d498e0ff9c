// Bindings of the loops of embedding.
#include "embedding/descent.hpp"
#include "embedding/places.hpp"
#include "embedding/reversal.hpp"
#include "embedding/stochastic.hpp"

#include "core/bindings.hpp"

using namespace skscreen;
using namespace skscreen::embedding;

using TermsTuple = std::tuple<Matrix<const int32_t>, Array<const double>, Matrix<const int32_t>,
                              Matrix<const int32_t>, double, int64_t, double, double>;

// Terms of n objects, whose pairs are read where they are listed, or else, or always, answers.
static Terms terms_of(const TermsTuple& parts, int64_t n, bool by_answers) {
  const auto terms = as<Terms>(parts);
  terms.check(n, by_answers || terms.pairs.rows == 0);
  return terms;
}

// Work space and gradient of an evaluation.
static void expects_room(Matrix<const double> X, const Terms& terms, Matrix<double> work,
                         Matrix<double> gradient) {
  if (terms.pairs.rows)
    expects(work.rows >= 3 && work.columns >= terms.pairs.rows, "work must have a column a pair");
  expects_shape(X.rows, X.columns, "gradient", gradient);
}

// A pass over answers from row `start` on.
static void expects_pass(Matrix<const double> X, Matrix<const int32_t> answers, int64_t start,
                         int64_t code) {
  sides_of(code);
  expects_answers(answers, X.rows);
  expects(0 <= start && start < answers.rows, "start must be a row of answers");
}

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
          sides_of(code);
          return with_loss(code, shape, [&](const auto& loss) {
            Distances<std::decay_t<decltype(loss)>::SIDES> d;
            expects_sizes(d.size(), "distances", distances, "slopes", slopes);
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
      "rough_agreement",
      [](Matrix<const int32_t> answers, Array<const double> weights, bool trials, int64_t n_objects,
         int64_t n_components, int64_t n_steps) {
        return rough_agreement(answers, weights, trials, n_objects, n_components, n_steps);
      },
      ReleaseGIL());
  m.def(
      "evaluate",
      [](Matrix<const double> X, const TermsTuple& parts, Matrix<double> work,
         Matrix<double> gradient) {
        const auto terms = terms_of(parts, X.rows, false);
        expects_room(X, terms, work, gradient);
        return evaluate(X, terms, work, gradient);
      },
      ReleaseGIL());
  m.def(
      "lbfgs_iterate",
      [](Matrix<double> X, double value, Matrix<double> gradient, Matrix<double> steps,
         Matrix<double> changes, Array<double> curvatures, int64_t n_pairs, const TermsTuple& parts,
         Matrix<double> work, Stack<double> spare) {
        const auto terms = terms_of(parts, X.rows, false);
        const Memory memory{steps, changes, curvatures};
        memory.check(X.rows * X.columns, n_pairs);
        expects_room(X, terms, work, gradient);
        expects_sizes(3, "spare", spare);
        expects_shape(X.rows, X.columns, "spare", spare);
        return lbfgs_iterate(X, value, gradient, memory, n_pairs, terms, work, spare);
      },
      ReleaseGIL());
  m.def(
      "sgd_pass",
      [](Matrix<double> X, Matrix<const int32_t> answers, int64_t start, int64_t n_steps,
         double first_step, double last_step, int64_t code, double shape, double reg) {
        expects_pass(X, answers, start, code);
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
        expects_pass(X, answers, start, code);
        expects_shape(X.rows, X.columns, "snapshot", snapshot, "gradient", gradient);
        expects(0 < batch && batch < MOST_ENTRIES / (3 * (X.columns + 1)),
                "batch must be a number of answers");
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
        return line_sweep(x, terms_of(terms, x.size, true), n_gaps);
      },
      ReleaseGIL());
  m.def(
      "place_sweep",
      [](Matrix<double> X, const TermsTuple& parts) {
        expects(X.rows > 0, "X must have rows");
        const auto terms = terms_of(parts, X.rows, true);
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
        const auto terms = terms_of(parts, G.rows, true);
        expects_shape(G.rows, G.rows, "G", G, "gradient", gradient);
        return with_loss(terms.loss, terms.shape,
                         [&](const auto& loss) { return by_gram(loss, G, terms, gradient); });
      },
      ReleaseGIL());
  m.def(
      "convex_slopes",
      [](Matrix<const double> z, const TermsTuple& parts, Matrix<double> t, Matrix<double> S) {
        const auto terms = terms_of(parts, S.rows, true);
        expects_shape(S.rows, S.rows, "S", S);
        expects_shape(terms.answers.rows, sides_of(terms.loss) - 1, "z", z, "t", t);
        with_loss(terms.loss, terms.shape,
                  [&](const auto& loss) { convex_slopes(loss, z, terms, t, S); });
      },
      ReleaseGIL());
  m.def(
      "conjugates",
      [](int64_t code, double shape, Matrix<const double> t, Array<double> out) {
        expects_shape(out.size, sides_of(code) - 1, "t", t);
        with_loss(code, shape, [&](const auto& loss) { conjugates(loss, t, out); });
      },
      ReleaseGIL());
}

}  // namespace skscreen::embedding
