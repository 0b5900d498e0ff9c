// The objective of ordinal embedding and its gradient: see embedding/problem/objective.py.
#pragma once

#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "embedding/losses.hpp"

namespace skscreen::embedding {

// Answers about n objects: (i, j, k), or (i, j, k, l).
inline void expects_answers(Matrix<const int32_t> answers, int64_t n) {
  expects(answers.columns == 3 || answers.columns == 4, "answers must have 3 or 4 columns");
  expects_places("answers", answers, n);
}

// The named tuple of embedding/problem/objective.py.
struct Terms {
  Matrix<const int32_t> answers;
  Array<const double> weights;  // none where all are one
  Matrix<const int32_t> pairs;  // none where they are not listed
  Matrix<const int32_t> places;
  double total;
  int64_t loss;
  double shape, reg;

  // Of n objects; either pairs with their places are read, or answers.
  void check(int64_t n, bool by_answers) const {
    const int64_t sides = sides_of(loss), size = by_answers ? answers.rows : places.rows;
    if (weights.size) expects_sizes(size, "weights", weights);
    if (by_answers) return expects_answers(answers, n);
    expects(pairs.columns == 2, "pairs must have two columns");
    expects_places("pairs", pairs, n);
    expects_shape(size, sides, "places", places);
    expects_places("places", places, pairs.rows);
  }

  SKSCREEN_INLINE double weight(int64_t q) const { return weights.size ? weights[q] : 1.0; }
};

// A matrix of points whose number of columns is known when it is compiled.
template <class T, int dimensions>
struct Points {
  static constexpr int64_t columns = dimensions;
  T* data;
  int64_t rows;

  SKSCREEN_INLINE T& operator()(int64_t i, int64_t d) const {
    check_bounds(i, rows);
    return data[i * dimensions + d];
  }
};

// act(view) with a view that turns matrices of so many columns into points: short loops over few
// dimensions are unrolled.
template <class Act>
SKSCREEN_INLINE auto with_dimensions(int64_t columns, const Act& act) {
  const auto fixed = [&](auto dimensions) {
    return act([](auto X) {
      using T = std::remove_pointer_t<decltype(X.data)>;
      return Points<T, decltype(dimensions)::value>{X.data, X.rows};
    });
  };
  switch (columns) {
    case 1:
      return fixed(std::integral_constant<int, 1>());
    case 2:
      return fixed(std::integral_constant<int, 2>());
    case 3:
      return fixed(std::integral_constant<int, 3>());
    case 4:
      return fixed(std::integral_constant<int, 4>());
    default:
      return act([](auto X) { return X; });
  }
}

using Pair = std::pair<int64_t, int64_t>;

// The pairs of objects of an answer: near (i, j), far (i, k) or (l, k), third (j, k).
template <int sides>
SKSCREEN_INLINE std::array<Pair, sides> pairs_of(Matrix<const int32_t> answers, int64_t q) {
  const int64_t width = answers.columns, l = answers(q, width == 3 ? 0 : 2);
  const int64_t i = answers(q, 0), j = answers(q, 1), k = answers(q, width - 1);
  if constexpr (sides == 3)
    return {{{i, j}, {l, k}, {j, k}}};
  else
    return {{{i, j}, {l, k}}};
}

template <class X>
SKSCREEN_INLINE double squared_distance(const X& x, Pair pair) {
  double total = 0.0;
  for (int64_t d = 0; d < x.columns; ++d) {
    const double difference = x(pair.first, d) - x(pair.second, d);
    total += difference * difference;
  }
  return total;
}

template <class X, size_t sides>
SKSCREEN_INLINE Distances<sides> distances_of(const X& x, const std::array<Pair, sides>& pairs) {
  Distances<sides> result;
  for (size_t s = 0; s < sides; ++s) result[s] = squared_distance(x, pairs[s]);
  return result;
}

template <int sides>
SKSCREEN_INLINE bool is_flat(const AnswerLoss<sides>& found) {
  for (const double slope : found.slopes)
    if (slope != 0.0) return false;
  return true;
}

// Add a gradient along the difference of two objects.
template <class X, class Gradient>
SKSCREEN_INLINE void add_along(const X& x, Pair pair, double factor, const Gradient& gradient) {
  for (int64_t d = 0; d < x.columns; ++d) {
    const double step = factor * (x(pair.first, d) - x(pair.second, d));
    gradient(pair.first, d) += step;
    gradient(pair.second, d) -= step;
  }
}

// Write the distinct pairs, and the rows of them that each answer has; how many there are.
template <int sides>
int64_t list_pairs(Matrix<const int32_t> answers, int64_t n_objects, Matrix<int32_t> pairs,
                   Matrix<int32_t> places) {
  expects_answers(answers, n_objects);
  expects(n_objects < (int64_t(1) << 23), "n_objects must be fewer: their pairs are listed");
  expects_shape(answers.rows, sides, "places", places);
  expects(pairs.columns == 2, "pairs must have two columns");
  std::vector<int32_t> table(n_objects * n_objects, -1);
  int32_t count = 0;
  for (int64_t q = 0; q < answers.rows; ++q) {
    const auto sought = pairs_of<sides>(answers, q);
    for (int s = 0; s < sides; ++s) {
      const int64_t u = std::min(sought[s].first, sought[s].second);
      const int64_t v = std::max(sought[s].first, sought[s].second);
      int32_t& place = table[u * n_objects + v];
      if (place < 0) {
        expects(count < pairs.rows, "pairs must have a row for each pair");
        place = count++;
        pairs(place, 0) = (int32_t)u;
        pairs(place, 1) = (int32_t)v;
      }
      places(q, s) = place;
    }
  }
  return count;
}

// Sum of the losses, one answer after the other.
template <class Loss, class X, class Gradient>
double by_answers(const Loss& loss, const X& x, const Terms& terms, const Gradient& gradient) {
  LossSum sum;
  for (int64_t q = 0; q < terms.answers.rows; ++q) {
    const auto pairs = pairs_of<Loss::SIDES>(terms.answers, q);
    const auto found = loss(distances_of(x, pairs));
    double weight = 1.0;
    if (terms.weights.size)
      sum.add(found, weight = terms.weights[q]);
    else
      sum.add(found);
    if (is_flat(found)) continue;
    for (int s = 0; s < Loss::SIDES; ++s)
      add_along(x, pairs[s], 2.0 * weight * found.slopes[s], gradient);
  }
  return sum.value();
}

// Sum of the losses of answers whose distances, and what the loss needs of them, are listed.
template <class Loss>
double sum_by_pairs(const Loss& loss, const Terms& terms, const double* distances,
                    const double* links, double* pulls) {
  LossSum sum;
  const int32_t* place = terms.places.data;
  for (int64_t q = 0; q < terms.places.rows; ++q, place += Loss::SIDES) {
    Distances<Loss::SIDES> d, l;
    for (int s = 0; s < Loss::SIDES; ++s) d[s] = distances[place[s]];
    AnswerLoss<Loss::SIDES> found;
    if constexpr (Loss::LINKED) {
      for (int s = 0; s < Loss::SIDES; ++s) l[s] = links[place[s]];
      found = loss.of_links(d, l);
    } else {
      found = loss(d);
    }
    double weight = 1.0;
    if (terms.weights.size)
      sum.add(found, weight = terms.weights[q]);
    else
      sum.add(found);
    for (int s = 0; s < Loss::SIDES; ++s) pulls[place[s]] += weight * found.slopes[s];
  }
  return sum.value();
}

// Sum of the losses from the distances of the distinct pairs; `work` has a column for each.
//
// A slope is a number of the answer times one of the pair: the answers' numbers are summed up by
// pairs first.
template <class Loss>
double by_pairs(const Loss& loss, Matrix<const double> X, const Terms& terms, Matrix<double> work,
                Matrix<double> gradient) {
  double *distances = work.row(0).data, *links = work.row(1).data, *pulls = work.row(2).data;
  const int64_t n_pairs = terms.pairs.rows;
  double largest = 0.0;
  for (int64_t r = 0; r < n_pairs; ++r) {
    distances[r] = squared_distance(X, {terms.pairs(r, 0), terms.pairs(r, 1)});
    largest = std::max(largest, distances[r]);
    pulls[r] = 0.0;
  }
  if constexpr (Loss::LINKED)
    for (int64_t r = 0; r < n_pairs; ++r) links[r] = loss.link(distances[r], largest);
  const double total = sum_by_pairs(loss, terms, distances, links, pulls);
  for (int64_t r = 0; r < n_pairs; ++r) {
    double pull = pulls[r];
    if constexpr (Loss::LINKED) pull = loss.slope(pull, distances[r], links[r]);
    if (pull != 0.0) add_along(X, {terms.pairs(r, 0), terms.pairs(r, 1)}, 2.0 * pull, gradient);
  }
  return total;
}

// F at X; its gradient is written. Infinity where F overflows.
inline double evaluate(Matrix<const double> X, const Terms& terms, Matrix<double> work,
                       Matrix<double> gradient) {
  const int64_t size = X.rows * X.columns;
  const double *x = X.data, total = terms.total, ridge = terms.reg / (double)X.rows;
  double *g = gradient.data, squares = 0.0;
  std::fill_n(g, size, 0.0);
  double value = with_loss(terms.loss, terms.shape, [&](const auto& loss) {
    if (terms.pairs.rows) return by_pairs(loss, X, terms, work, gradient);
    return with_dimensions(X.columns, [&](const auto& view) {
      return by_answers(loss, view(X), terms, view(gradient));
    });
  });
#pragma omp simd reduction(+ : squares)
  for (int64_t i = 0; i < size; ++i) {
    squares += x[i] * x[i];
    g[i] = g[i] / total + 2.0 * ridge * x[i];
  }
  value = value / total + ridge * squares;
  return value < std::numeric_limits<double>::infinity() ? value
                                                         : std::numeric_limits<double>::infinity();
}

// Fill `out` with c - a of each answer: positive where it is right.
inline void margins(Matrix<const double> X, Matrix<const int32_t> answers, Array<double> out) {
  expects_answers(answers, X.rows);
  expects_sizes(answers.rows, "out", out);
  with_dimensions(X.columns, [&](const auto& view) {
    const auto x = view(X);
    for (int64_t q = 0; q < answers.rows; ++q) {
      const auto [a, c] = distances_of(x, pairs_of<2>(answers, q));
      out[q] = c - a;
    }
  });
}

}  // namespace skscreen::embedding
