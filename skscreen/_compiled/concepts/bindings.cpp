// Bindings of the loops of concepts.
#include "concepts/tools.hpp"
#include "concepts/trials.hpp"

#include "core/bindings.hpp"
#include "core/checks.hpp"

using namespace skscreen;
using namespace skscreen::concepts;

// Weights are one for each row, or none at all.
static void expects_weights(Array<const double> weights, int64_t rows) {
  if (weights.size) expects_sizes(rows, "weights", weights);
}

// Where the positive entries of rows begin, their columns, where matrices begin, and these.
using PartsOfRows =
    std::tuple<Array<const int64_t>, Array<const int32_t>, Array<const int64_t>, Array<double>>;

static RowInformation information_of(Matrix<const double> X, const PartsOfRows& parts) {
  const auto [first, columns, at, values] = parts;
  expects_sizes(X.rows + 1, "first", first, "at", at);
  expects_starts("first", first, columns.size);
  expects_starts("at", at, values.size);
  expects_places("columns", columns, X.columns);
  for (int64_t i = 0; i < X.rows; ++i) {
    const int64_t size = first[i + 1] - first[i];
    expects(size <= X.columns, "first must leave a row no more entries than X has columns");
    expects(at[i + 1] - at[i] == size * size, "at must leave a square of entries for each row");
  }
  return {X, first, columns, at, values};
}

namespace skscreen::concepts {

void bind(nb::module_& m) {
  m.def(
      "choice_pass",
      [](Array<const double> powers, Array<double> slopes, Matrix<const int32_t> pairs,
         Array<const double> weights) {
        expects_sizes(powers.size, "slopes", slopes);
        expects_shape(pairs.rows, 3, "pairs", pairs);
        expects_weights(weights, pairs.rows);
        return weights.size ? choice_pass<true>(powers, slopes, pairs, weights)
                            : choice_pass<false>(powers, slopes, pairs, weights);
      },
      ReleaseGIL());
  m.def(
      "pair_similarities",
      [](Matrix<const double> X, Matrix<const int32_t> pairs, Array<double> out) {
        expects_shape(pairs.rows, 2, "pairs", pairs);
        expects_places("pairs", pairs, X.rows);
        expects_sizes(pairs.rows, "out", out);
        pair_similarities(X, pairs, out);
      },
      ReleaseGIL());
  m.def(
      "pair_gradient",
      [](Matrix<const double> X, Matrix<const int32_t> pairs, Array<const double> slopes,
         Matrix<double> gradient) {
        expects_shape(pairs.rows, 2, "pairs", pairs);
        expects_places("pairs", pairs, X.rows);
        expects_sizes(pairs.rows, "slopes", slopes);
        expects_shape(X.rows, X.columns, "gradient", gradient);
        pair_gradient(X, pairs, slopes, gradient);
      },
      ReleaseGIL());
  m.def(
      "bounded_direction",
      [](Array<const double> x, Array<const double> gradient, Matrix<const double> steps,
         Matrix<const double> changes, Array<const int64_t> ages, Array<double> direction) {
        expects_sizes(x.size, "gradient", gradient, "direction", direction);
        expects_shape(steps.rows, x.size, "steps", steps, "changes", changes);
        expects_places("ages", ages, steps.rows);
        bounded_direction(x, gradient, steps, changes, ages, direction);
      },
      ReleaseGIL());
  m.def(
      "add_row_information",
      [](Matrix<const double> X, const PartsOfRows& parts, Matrix<const int32_t> rows,
         Array<const double> weights, bool is_odd) {
        expects(rows.columns == 3 || (rows.columns == 4 && !is_odd),
                "rows must have three columns, or four of two pairs");
        expects_places("rows", rows, X.rows);
        expects_weights(weights, rows.rows);
        add_row_information(information_of(X, parts), rows, weights, is_odd);
      },
      ReleaseGIL());
  m.def(
      "row_errors",
      [](Matrix<const double> X, const PartsOfRows& parts, double ridge, Matrix<double> errors) {
        expects_shape(X.rows, X.columns, "errors", errors);
        row_errors(information_of(X, parts), ridge, errors);
      },
      ReleaseGIL());
  m.def(
      "sum_over_thirds",
      [](Matrix<const double> powers, int64_t first, Matrix<double> sums) {
        expects_shape(powers.rows, powers.rows, "powers", powers, "sums", sums);
        expects(first >= 0 && first < powers.rows, "first must be a row of powers");
        sum_over_thirds(powers, first, sums);
      },
      ReleaseGIL());
}

}  // namespace skscreen::concepts
