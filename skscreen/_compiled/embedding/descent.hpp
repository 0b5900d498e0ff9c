// Solvers of ordinal embedding: L-BFGS, stochastic passes, moves on a line, Gram matrices.
#pragma once

#include <limits>
#include <vector>

#include "embedding/objective.hpp"

namespace skscreen::embedding {

// --- L-BFGS: see embedding/solvers/lbfgs.py ---

// A step must reach this share of the decrease predicted by the slope.
constexpr double ARMIJO = 1e-4;
// Length of the first step, over the size of the embedding.
constexpr double FIRST_LENGTH = 0.3;
// Halvings of a step before the search ends.
constexpr int LINE_SEARCH_STEPS = 20;

SKSCREEN_INLINE double dot(Array<const double> x, Array<const double> y) {
  const double *a = x.data, *b = y.data;
  double total = 0.0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < x.size; ++i) total += a[i] * b[i];
  return total;
}

SKSCREEN_INLINE void add_scaled(double scale, Array<const double> x, Array<double> y) {
  const double* a = x.data;
  double* b = y.data;
#pragma omp simd
  for (int64_t i = 0; i < x.size; ++i) b[i] += scale * a[i];
}

// The steps and changes of the gradient that are remembered; pair r is in row r % memory.
struct Memory {
  Matrix<double> steps, changes;
  Array<double> curvatures;

  // Of gradients of some size; the number of pairs so far.
  void check(int64_t size, int64_t n_pairs) const {
    expects(curvatures.size > 0, "curvatures must not be empty");
    expects_shape(curvatures.size, size, "steps", steps, "changes", changes);
    expects(n_pairs >= 0, "n_pairs must not be negative");
  }

  // Two-loop recursion (Nocedal and Wright 2006, Algorithm 7.4).
  void direct(Array<const double> gradient, int64_t n_pairs, Array<double> direction) const {
    const int64_t memory = curvatures.size, first = std::max<int64_t>(0, n_pairs - memory);
    std::vector<double> coefficients(memory);
    for (int64_t i = 0; i < direction.size; ++i) direction[i] = -gradient[i];
    for (int64_t r = n_pairs - 1; r >= first; --r) {
      const int64_t row = r % memory;
      coefficients[row] = dot(steps.row(row), direction) / curvatures[row];
      add_scaled(-coefficients[row], changes.row(row), direction);
    }
    if (n_pairs) {
      const int64_t row = (n_pairs - 1) % memory;
      const double scale = curvatures[row] / dot(changes.row(row), changes.row(row));
      for (int64_t i = 0; i < direction.size; ++i) direction[i] *= scale;
    }
    for (int64_t r = first; r < n_pairs; ++r) {
      const int64_t row = r % memory;
      const double shift = coefficients[row] - dot(changes.row(row), direction) / curvatures[row];
      add_scaled(shift, steps.row(row), direction);
    }
  }
};

template <class T>
SKSCREEN_INLINE Array<T> flat(Matrix<T> X) {
  return {X.data, X.rows * X.columns};
}

// One iteration; new value, number of pairs, evaluations, and the length of the step (or 0).
// `spare` holds trial point and gradient, direction.
inline std::tuple<double, int64_t, int64_t, double> lbfgs_iterate(
    Matrix<double> X, double value, Matrix<double> gradient, const Memory& memory, int64_t n_pairs,
    const Terms& terms, Matrix<double> work, Stack<double> spare) {
  const Array<double> x = flat(X), g = flat(gradient), t = flat(spare[0]), h = flat(spare[1]),
                      s = flat(spare[2]);
  int64_t evaluations = 0;
  double new_value = 0.0;
  while (true) {
    memory.direct(g, n_pairs, s);
    const double slope = dot(g, s), size = std::sqrt(dot(g, g));
    if (size == 0.0 || !(size < std::numeric_limits<double>::infinity()))
      return {value, n_pairs, evaluations, 0.0};
    double step = 1.0;
    if (n_pairs == 0) step = std::max(FIRST_LENGTH * std::sqrt(dot(x, x)), 1e-8) / size;
    for (int k = 0; k < LINE_SEARCH_STEPS; ++k) {
      for (int64_t i = 0; i < x.size; ++i) t[i] = x[i] + step * s[i];
      new_value = evaluate(spare[0], terms, work, spare[1]);
      ++evaluations;
      if (new_value <= value + ARMIJO * step * slope) break;
      // Minimum of the parabola through both values and the slope.
      const double excess = new_value - value - step * slope;
      const double share =
          excess < std::numeric_limits<double>::infinity() ? -0.5 * step * slope / excess : 0.1;
      step *= std::min(std::max(share, 0.1), 0.5);
    }
    if (new_value <= value + ARMIJO * step * slope) break;
    if (n_pairs == 0) return {value, n_pairs, evaluations, 0.0};
    n_pairs = 0;
  }
  const int64_t row = n_pairs % memory.curvatures.size;
  const Array<double> moved = memory.steps.row(row), turned = memory.changes.row(row);
  for (int64_t i = 0; i < x.size; ++i) {
    moved[i] = t[i] - x[i];
    turned[i] = h[i] - g[i];
  }
  const double curvature = dot(moved, turned), length = std::sqrt(dot(moved, moved));
  if (curvature > 1e-10 * length * std::sqrt(dot(turned, turned))) {
    memory.curvatures[row] = curvature;
    ++n_pairs;
  }
  std::copy_n(t.data, x.size, x.data);
  std::copy_n(h.data, x.size, g.data);
  return {new_value, n_pairs, evaluations, length};
}

// --- Points on a line: see embedding/solvers/lbfgs.py ---

// A move has to reduce an object's part of the objective by this share.
constexpr double LEAST_DECREASE = 1e-4;
// Places that are compared by all answers of an object, after all of them were by so many answers.
constexpr int64_t BEST_PLACES = 4, FIRST_ANSWERS = 32;

// The answers of object v are which[first[v]:first[v + 1]], twice where they name it twice.
struct AnswersByObject {
  std::vector<int64_t> which, first;

  AnswersByObject(Matrix<const int32_t> answers, int64_t n) : first(n + 2, 0) {
    const int64_t m = answers.rows, width = answers.columns;
    which.resize(m * width);
    for (int64_t q = 0; q < m; ++q)
      for (int64_t c = 0; c < width; ++c) ++first[answers(q, c) + 2];
    for (int64_t v = 0; v < n; ++v) first[v + 2] += first[v + 1];
    for (int64_t q = 0; q < m; ++q)
      for (int64_t c = 0; c < width; ++c) which[first[answers(q, c) + 1]++] = q;
  }
  Array<const int64_t> of(int64_t v, int64_t most = INT64_MAX) const {
    return {which.data() + first[v], std::min(most, first[v + 1] - first[v])};
  }
};

// x[i] - x[j] = at + by x[v].
struct LinearDifference {
  double at, by;

  LinearDifference(Array<const double> x, Pair pair, int64_t v) {
    const auto [i, j] = pair;
    by = (double)(i == v) - (double)(j == v);
    at = (i == v ? 0.0 : x[i]) - (j == v ? 0.0 : x[j]);
  }
};

// Write the part of the objective that depends on object v at each of its places, times the total
// weight. `which` lists its answers.
template <class Loss>
void place_costs(const Loss& loss, Array<const double> x, int64_t v, Array<const double> places,
                 Array<double> costs, Array<double> products, const Terms& terms,
                 Array<const int64_t> which) {
  const double ridge = terms.total * terms.reg / (double)x.size;
  const int64_t n = places.size;
  const double* place = places.data;
  double *cost = costs.data, *product = products.data;
  for (int64_t g = 0; g < n; ++g) {
    cost[g] = ridge * place[g] * place[g];
    product[g] = 1.0;
  }
  int64_t before = -1;
  for (int64_t r = 0; r < which.size; ++r) {
    const int64_t q = which[r];
    if (q == before) continue;  // an answer that names v twice
    before = q;
    const auto pairs = pairs_of<Loss::SIDES>(terms.answers, q);
    double at[Loss::SIDES], by[Loss::SIDES];
    for (int s = 0; s < Loss::SIDES; ++s) {
      const LinearDifference difference(x, pairs[s], v);
      at[s] = difference.at;
      by[s] = difference.by;
    }
    const auto loss_at = [&](double place) {
      Distances<Loss::SIDES> d;
      for (int s = 0; s < Loss::SIDES; ++s) {
        const double difference = at[s] + by[s] * place;
        d[s] = difference * difference;
      }
      return loss(d);
    };
    if (terms.weights.size) {
      for (int64_t g = 0; g < n; ++g) {
        const auto found = loss_at(place[g]);
        cost[g] += terms.weights[q] * (found.u - std::log(found.v));
      }
      continue;
    }
    double small = 0.0;  // how many, as a number of the width of the others
#pragma omp simd reduction(+ : small)
    for (int64_t g = 0; g < n; ++g) {
      const auto found = loss_at(place[g]);
      cost[g] += found.u;
      product[g] *= found.v;
      small += product[g] < TINY_FACTOR ? 1.0 : 0.0;
    }
    if (small == 0.0) continue;
    for (int64_t g = 0; g < n; ++g) {
      cost[g] -= std::log(product[g]);
      product[g] = 1.0;
    }
  }
  for (int64_t g = 0; g < n; ++g) cost[g] -= std::log(product[g]);
}

// An order of all floats: NaN comes last.
inline bool before(double a, double b) { return a < b || (b != b && a == a); }

// Costs of the places of an object, of which the first is the present one, in memory of their own.
struct PlacesOnLine {
  std::vector<double> places, costs, products;
  std::vector<int64_t> order;

  explicit PlacesOnLine(int64_t most) : places(most), costs(most), products(most), order(most) {}

  void compute(Array<const double> x, int64_t v, int64_t count, const Terms& terms,
               Array<const int64_t> which) {
    with_loss(terms.loss, terms.shape, [&](const auto& loss) {
      place_costs(loss, x, v, {places.data(), count}, {costs.data(), count},
                  {products.data(), count}, terms, which);
    });
  }

  // The best of the first `count` places.
  double best(Array<const double> x, int64_t v, int64_t count, const Terms& terms,
              const AnswersByObject& answers) {
    const auto all = answers.of(v), some = answers.of(v, FIRST_ANSWERS);
    if (count > 1 + BEST_PLACES && all.size > 2 * some.size) {
      compute(x, v, count, terms, some);
      for (int64_t g = 0; g < count; ++g) order[g] = g;
      std::partial_sort(order.begin() + 1, order.begin() + 1 + BEST_PLACES, order.begin() + count,
                        [&](int64_t a, int64_t b) { return before(costs[a], costs[b]); });
      // In their old order, so that none is overwritten before it is copied.
      std::sort(order.begin() + 1, order.begin() + 1 + BEST_PLACES);
      count = 1 + BEST_PLACES;
      for (int64_t g = 1; g < count; ++g) places[g] = places[order[g]];
    }
    compute(x, v, count, terms, all);
    const int64_t lowest = std::min_element(costs.begin(), costs.begin() + count) - costs.begin();
    return places[costs[lowest] < costs[0] * (1.0 - LEAST_DECREASE) ? lowest : 0];
  }
};

// Offer every object the gaps once; how many took one.
inline int64_t line_sweep(Array<double> x, const Terms& terms, int64_t n_gaps) {
  const int64_t n = x.size;
  expects(n > 1 && n_gaps > 1 && n_gaps < MOST_ENTRIES,
          "n_gaps and the objects must be two or more");
  const AnswersByObject answers(terms.answers, n);
  PlacesOnLine tried(n_gaps + 1);
  auto& places = tried.places;
  std::vector<double> others(x.data, x.data + n);
  std::sort(others.begin(), others.end(), before);
  int64_t taken = 0;
  for (int64_t v = 0; v < n; ++v) {
    if (!answers.of(v).size) continue;
    others.erase(std::lower_bound(others.begin(), others.end(), x[v], before));
    // Candidates are the present place and the gaps between others; gaps at the ends have average
    // width.
    const int64_t size = n - 1, count = std::min(n, n_gaps);
    const double margin = (others.back() - others.front()) / (double)n;
    places[0] = x[v];
    for (int64_t g = 0; g < count; ++g) {
      const int64_t r = g * size / (count - 1);
      places[1 + g] = r == 0      ? others.front() - margin
                      : r == size ? others.back() + margin
                                  : 0.5 * (others[r - 1] + others[r]);
    }
    const double place = tried.best(x, v, count + 1, terms, answers);
    if (place != x[v]) {
      x[v] = place;
      ++taken;
    }
    others.insert(std::lower_bound(others.begin(), others.end(), x[v], before), x[v]);
  }
  return taken;
}

// --- Gram matrices: see embedding/solvers/convex.py and descent.py ---

// Add the gradient of g_ii - 2 g_ij + g_jj in G times a factor.
SKSCREEN_INLINE void add_pair(Matrix<double> S, Pair pair, double factor) {
  const auto [i, j] = pair;
  S(i, i) += factor;
  S(j, j) += factor;
  S(i, j) -= factor;
  S(j, i) -= factor;
}

// Sum of the losses at a Gram matrix; adds its gradient.
template <class Loss>
double by_gram(const Loss& loss, Matrix<const double> G, const Terms& terms,
               Matrix<double> gradient) {
  LossSum sum;
  for (int64_t q = 0; q < terms.answers.rows; ++q) {
    const auto pairs = pairs_of<Loss::SIDES>(terms.answers, q);
    Distances<Loss::SIDES> d;
    for (int s = 0; s < Loss::SIDES; ++s) {
      const auto [i, j] = pairs[s];
      // Rounding can make the distance of equal points negative.
      d[s] = std::max(G(i, i) - 2.0 * G(i, j) + G(j, j), 0.0);
    }
    const auto found = loss(d);
    const double weight = terms.weight(q);
    sum.add(found, weight);
    for (int s = 0; s < Loss::SIDES; ++s) add_pair(gradient, pairs[s], weight * found.slopes[s]);
  }
  return sum.value();
}

// Slopes t of the losses at differences z, and S, the weighted mean of their sums with H_q.
template <class Loss>
void convex_slopes(const Loss& loss, Matrix<const double> z, const Terms& terms, Matrix<double> t,
                   Matrix<double> S) {
  for (int64_t q = 0; q < z.rows; ++q) {
    const auto pairs = pairs_of<Loss::SIDES>(terms.answers, q);
    Distances<Loss::SIDES> d = {};  // only differences count
    for (int s = 1; s < Loss::SIDES; ++s) d[s] = -z(q, s - 1);
    const auto found = loss(d);
    const double share = terms.weight(q) / terms.total;
    for (int s = 1; s < Loss::SIDES; ++s) {
      t(q, s - 1) = -found.slopes[s];
      add_pair(S, pairs[0], share * t(q, s - 1));
      add_pair(S, pairs[s], -share * t(q, s - 1));
    }
  }
}

// Fill `out` with -f*(t) for rows of slopes.
template <class Loss>
void conjugates(const Loss& loss, Matrix<const double> t, Array<double> out) {
  if constexpr (Loss::CONVEX)
    for (int64_t q = 0; q < t.rows; ++q) {
      std::array<double, Loss::SIDES - 1> row;
      for (int s = 0; s + 1 < Loss::SIDES; ++s) row[s] = t(q, s);
      out[q] = loss.conjugate(row);
    }
}

}  // namespace skscreen::embedding
