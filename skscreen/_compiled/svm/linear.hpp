// Dual coordinate descent over rows of a linear model, with shrinking, and conjugate gradients on
// the faces of the box: svm/solvers/linear/.
//
// C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan (2008), A dual coordinate
// descent method for large-scale linear SVM, ICML. Section 3.2: shrinking.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "core/arrays.hpp"
#include "core/checks.hpp"
#include "core/core.hpp"
#include "core/sums.hpp"
#include "samples/rows.hpp"

namespace skscreen::svm {

// Data of a sample are prefetched this many visits ahead,
constexpr int64_t AHEAD = 2;
// in rows of more entries than this, in the mean, and no more entries of a row than this: the
// processor prefetches the rest by itself.
constexpr int64_t LONG_ROW = 32, MOST_PREFETCHED = 512;

// The row of sample i, of n rows that may stand twice (see samples/rows.py).
SKSCREEN_INLINE int64_t row_of(int64_t i, int64_t n) { return i < n ? i : i - n; }

template <class Data>
void check_rows_twice(const Data& X, int64_t n) {
  expects(X.has(n) || n == 2 * X.count(), "y or alpha must have one or two entries for each row");
}

template <class Data>
SKSCREEN_INLINE void prefetch_row(const Data& X, int64_t i) {
  const int64_t first = X.first(i), last = std::min(X.first(i + 1), first + MOST_PREFETCHED);
  if (!X.dense()) prefetch(X.columns.data, first, last);
  prefetch(X.data.data, first, last);
}

// Gradients beyond which variables rest: above `high` at their lower bound, below `low` at the
// other.
struct Rest {
  double high, low;

  SKSCREEN_INLINE bool holds(double slope, double beta, double least, double most) const {
    return (beta <= least && slope > high) || (beta >= most && slope < low);
  }
};

// Write the undecided samples that shrinking would keep; return their number.
inline int64_t active_samples(Array<const double> slopes, Array<const double> low,
                              Array<const double> high, Array<const double> beta,
                              Array<const int8_t> codes, Array<const double> rest,
                              Array<int64_t> out) {
  expects_sizes(slopes.size, "low", low, "high", high, "beta", beta, "codes", codes, "out", out);
  expects_sizes(2, "rest", rest);
  const Rest known{rest[0], rest[1]};
  int64_t count = 0;
  for (int64_t i = 0; i < slopes.size; ++i)
    if (codes[i] == UNDECIDED && !known.holds(slopes[i], beta[i], low[i], high[i]))
      out[count++] = i;
  return count;
}

// Add `missing` to the sum of beta, shared by the active samples inside the box.
//
// The intercept is B^2 times this sum, so an error of the sum changes every score; it hardly
// changes the weights of features.
inline void spread(Array<double> beta, Steps<const double> low, Steps<const double> high,
                   Array<const int64_t> active, double missing) {
  expects_sizes(beta.size, "low", low, "high", high);
  expects_places("active", active, beta.size);
  const auto inside = [&](int64_t i) { return low[i] < beta[i] && beta[i] < high[i]; };
  int64_t count = 0;
  for (int64_t k = 0; k < active.size; ++k) count += inside(active[k]);
  for (int64_t k = 0; k < active.size; ++k)
    if (const int64_t i = active[k]; inside(i))
      beta[i] = clip(beta[i] + missing / count, low[i], high[i]);
}

// Permute at random (Fisher-Yates) with a 64-bit xorshift generator (Marsaglia 2003).
inline void shuffle(Array<int64_t> order, uint64_t& random) {
  for (int64_t k = order.size - 1; k > 0; --k) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    std::swap(order[k], order[((random >> 32) * (uint64_t)(k + 1)) >> 32]);
  }
}

// What a visit needs of a sample, 1 / (|x_i|^2 + shift) and its cost among it.
struct Visit {
  double low, target, high, shift, inverse, cost;

  // What a dual variable adds to the gap at a slope.
  SKSCREEN_INLINE double slackness(double slope, double beta) const {
    // Without two branches that are hard to predict.
    if (shift == 0.0) return slope * ((slope > 0.0 ? high : low) - beta);
    const double best = clip(slope / shift, low, high);
    return 0.5 * shift * (beta - best) * (beta - best) + (best - beta) * (slope - shift * best);
  }
};

// Sweeps over the active samples of a problem.
template <class Data>
struct Sweeps {
  Data X;
  double value;  // of the feature that carries the intercept
  Matrix<const double> terms;
  Array<double> beta, u;
  Array<double> rest;
  double factor;

  struct Outcome {
    int64_t kept, inside;
    bool moved;
    double gap, read;
  };

  Visit visit(int64_t i) const {
    const double* t = terms.data + 6 * i;
    return {t[0], t[1], t[2], t[3], t[4], t[5]};
  }

  // Move each active variable to its best value in turn; those that rest are left out.
  Outcome sweep(Array<int64_t> active) const {
    const Rest before{rest[0], rest[1]};
    const int64_t n_rows = X.count(), d = X.d;
    const int64_t ahead = X.data.size > LONG_ROW * n_rows ? AHEAD : active.size;
    double highest = -INF, lowest = INF;
    Outcome out{0, 0, false, 0.0, 0.0};
    for (int64_t k = 0; k < active.size; ++k) {
      ask_for(active, k, ahead, n_rows);
      const int64_t i = active[k], row = row_of(i, n_rows);
      const Visit at = visit(i);
      double score = X.dot(row, u.data);
      if (value != 0.0) score += value * u[d];
      const double old = beta[i], lacks = at.target - score;
      double slope = at.shift * old - lacks;
      out.read += at.cost;
      if (before.holds(slope, old, at.low, at.high)) continue;
      active[out.kept++] = i;
      out.gap += at.slackness(lacks, old);
      // Gradient of the objective, without the part that points out of the box.
      if (old <= at.low)
        slope = std::min(slope, 0.0);
      else if (old >= at.high)
        slope = std::max(slope, 0.0);
      highest = std::max(highest, slope);
      lowest = std::min(lowest, slope);
      const double wanted = clip(old - slope * at.inverse, at.low, at.high);
      out.inside += at.low < wanted && wanted < at.high;
      if (wanted == old) continue;
      beta[i] = wanted;
      out.moved = true;
      const double step = wanted - old;
      X.add(row, step, u.data);
      if (value != 0.0) u[d] += step * value;
      out.read += at.cost;
    }
    rest[0] = highest > 0.0 ? factor * highest : INF;
    rest[1] = lowest < 0.0 ? factor * lowest : -INF;
    return out;
  }

  // The primal value less the gap, at weights u and an intercept b of penalty b^2 / (2 bias^2).
  double held(double b, double bias) const {
    double total = b != 0.0 ? 0.5 * b * b / (bias * bias) : 0.0;
    for (int64_t i = 0; i < beta.size; ++i) {
      const Visit at = visit(i);
      total += beta[i] * (at.target - b - 0.5 * at.shift * beta[i]);
    }
    const double* w = u.data;
    return total - 0.5 * sum_of(X.d, [w](int64_t j) { return w[j] * w[j]; });
  }

 private:
  SKSCREEN_INLINE void ask_for(Array<int64_t> active, int64_t k, int64_t ahead,
                               int64_t n_rows) const {
    if (!X.dense() && k + 2 * ahead < active.size)
      prefetch(X.starts.data + row_of(active[k + 2 * ahead], n_rows));
    if (k + ahead < active.size) {
      const int64_t coming = active[k + ahead];
      prefetch_row(X, row_of(coming, n_rows));
      prefetch(terms.data + 6 * coming);
      prefetch(beta.data + coming);
    }
  }
};

// Sweep over active samples until the budget is spent, or earlier.
//
// The sweeps end earlier if nothing moves, if the gap, estimated by the margins met on the way, is
// at most the share `enough` of the primal value, which was `primal` before, or if at most
// `settled` times the samples inside the box are active. A sample rests if its gradient points out
// by more than `factor` times the largest of the epoch before: it is above rest[0] at its lower
// bound, or below rest[1] at the other.
//
// Updates `beta`, `rest` and `active`; returns epochs, entries read, and whether one of the first
// two reasons ended it. The intercept is b = bias u_d. During the sweeps, and in `terms`, it is
// carried by a feature of another `value`, no larger than `bias`: both penalties of b together (see
// `coordinate_descent`).
template <class Data>
std::tuple<int64_t, double, bool> epochs(const Data& X, double bias, double value,
                                         Matrix<const double> terms, Array<double> beta,
                                         Array<double> u, Array<int64_t> active, Array<double> rest,
                                         double factor, Array<uint64_t> random, double budget,
                                         int64_t most, double enough, double primal,
                                         double settled) {
  check_rows_twice(X, beta.size);
  expects_shape(beta.size, 6, "terms", terms);
  expects(u.size >= X.d + (value != 0.0), "u must have an entry for each feature");
  expects_places("active", active, beta.size);
  expects_sizes(2, "rest", rest);
  expects_sizes(1, "random", random);
  const Sweeps<Data> sweeps{X, value, terms, beta, u, rest, factor};
  const int64_t d = X.d;
  int64_t size = active.size, n_epochs = 0;
  double work = 0.0, b = 0.0, pull = 0.0;
  bool ended = false;
  if (value != 0.0) {
    b = bias * u[d];
    // Squares of the smallest numbers are zero.
    pull = value != bias ? 1.0 / (value * value) - 1.0 / (bias * bias) : 0.0;
    u[d] = value * (u[d] / bias + b * pull);
  }
  while (work < budget && n_epochs < most) {
    shuffle(active.slice(0, size), random[0]);
    const auto found = sweeps.sweep(active.slice(0, size));
    size = found.kept;
    ++n_epochs;
    work += found.read;
    if (value != 0.0) {
      const double total = u[d] / value - b * pull;
      b = value * u[d];
      u[d] = value * (total + b * pull);
    }
    // The value before may be that of no weights, many times as large.
    ended = !found.moved || (found.gap <= enough * primal &&
                             found.gap <= enough * (sweeps.held(b, bias) + found.gap));
    if (ended || (size <= settled * found.inside && found.inside <= u.size)) break;
  }
  if (value != 0.0) {
    const double total = u[d] / value - b * pull, missing = b / bias / bias - total;
    const int64_t n = beta.size;
    spread(beta, {terms.data, n, 6}, {terms.data + 2, n, 6}, active.slice(0, size), missing);
  }
  return {n_epochs, work, ended};
}

// Samples E inside the box, whose dual variables move with all others held.
template <class Data>
struct Face {
  Data X;
  double bias;
  Array<const double> shifts;
  Array<const int64_t> E;

  void check() const {
    check_rows_twice(X, shifts.size);
    expects_places("E", E, shifts.size);
  }

  // out = (K_EE + S) x, S the shifts.
  void multiply(Array<const double> x, Array<double> out) const {
    expects_sizes(E.size, "x", x, "out", out);
    const int64_t n_rows = X.count();
    std::vector<double> u(X.d);
    double b = 0.0;
    for (int64_t k = 0; k < E.size; ++k) {
      X.add(row_of(E[k], n_rows), x[k], u.data());
      b += x[k] * bias;
    }
    for (int64_t k = 0; k < E.size; ++k) {
      const double score = X.dot(row_of(E[k], n_rows), u.data()) + bias * b;
      out[k] = score + shifts[E[k]] * x[k];
    }
  }

  // Maximise slope'x - 1/2 x'(K_EE + S) x by conjugate gradients from x = 0 until a step gains at
  // most the share `least`; `slope` becomes the residual. Returns the number of steps, each of
  // which reads the rows of E twice.
  int64_t conjugate_gradients(Array<const double> diagonal, Array<double> slope, double least,
                              int64_t most, Array<double> x) const {
    const int64_t e = E.size;
    expects_sizes(e, "diagonal", diagonal, "slope", slope, "x", x);
    std::vector<double> step(e), product(e);
    double size = 0.0, gained = 0.0;
    for (int64_t k = 0; k < e; ++k) {
      x[k] = 0.0;
      step[k] = slope[k] / diagonal[k];
      size += slope[k] * step[k];
    }
    most = std::min(most, e);
    for (int64_t n_steps = 1; n_steps <= most; ++n_steps) {
      multiply({step.data(), e}, {product.data(), e});
      double curvature = 0.0, largest = 0.0;
      for (int64_t k = 0; k < e; ++k) {
        curvature += step[k] * product[k];
        largest += step[k] * step[k] * diagonal[k];
      }
      // Rounding errors of the products are all that is left along directions without curvature.
      if (!(curvature > EPS * largest)) return n_steps;
      const double length = size / curvature, gain = 0.5 * length * size, before = size;
      gained += gain;
      size = 0.0;
      for (int64_t k = 0; k < e; ++k) {
        x[k] += length * step[k];
        slope[k] -= length * product[k];
        size += slope[k] * slope[k] / diagonal[k];
      }
      if (gain <= least * gained) return n_steps;
      for (int64_t k = 0; k < e; ++k) step[k] = slope[k] / diagonal[k] + size / before * step[k];
    }
    return most;
  }
};

// --- Newton's method on smooth losses: svm/solvers/linear/newton.py ---

// Slopes of losses: dual variables clip(base_i + inverse_i lacks_i, low_i, high_i).
struct SmoothSlopes {
  Array<const double> base, inverses, low, high;

  void check() const { expects_sizes(base.size, "inverses", inverses, "low", low, "high", high); }
};

// Those of what scores lack; returns the sum of the losses, up to a constant.
inline double smooth_duals(const SmoothSlopes& slopes, Array<const double> lacks,
                           Array<double> out) {
  expects_sizes(slopes.base.size, "lacks", lacks, "out", out);
  const double *base = slopes.base.data, *inverse = slopes.inverses.data;
  const double *low = slopes.low.data, *high = slopes.high.data, *lack = lacks.data;
  double* SKSCREEN_RESTRICT beta = out.data;
  double total = 0.0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < lacks.size; ++i) {
    const double free = base[i] + inverse[i] * lack[i], above = free > low[i] ? free : low[i];
    const double a = above < high[i] ? above : high[i], moved = a - base[i];
    total += a * lack[i] - (moved != 0.0 ? 0.5 * moved * moved / inverse[i] : 0.0);
    beta[i] = a;
  }
  return total;
}

// A line on which the objective has the derivative linear + length square - the sum of
// beta_i change_i, where scores lack lacks_i - length change_i.
struct NewtonLine {
  SmoothSlopes slopes;
  Array<const double> lacks, change;
  double linear, square;

  // First and second derivative.
  std::pair<double, double> at(double length) const {
    const double *base = slopes.base.data, *inverse = slopes.inverses.data;
    const double *low = slopes.low.data, *high = slopes.high.data;
    const double *lack = lacks.data, *moved = change.data;
    double first = 0.0, second = 0.0;
#pragma omp simd reduction(+ : first, second)
    for (int64_t i = 0; i < lacks.size; ++i) {
      const double free = base[i] + inverse[i] * (lack[i] - length * moved[i]);
      const double above = free > low[i] ? free : low[i], beta = above < high[i] ? above : high[i];
      first += beta * moved[i];
      second += beta == free ? inverse[i] * moved[i] * moved[i] : 0.0;
    }
    return {linear + length * square - first, square + second};
  }

  // A length at which the derivative is nearly zero; 0 if there is none. The derivative is
  // piecewise linear and ascending: Newton's method, kept inside a bracket.
  double length() const {
    // It ends at a share of the first slope, or at a whole step that leaves a larger one.
    expects_sizes(slopes.base.size, "lacks", lacks, "change", change);
    constexpr double SHARE = 0.01, WHOLE = 0.1;
    constexpr int MOST_TRIALS = 40;
    constexpr double FAR = 64.0;
    const double start = at(0.0).first;
    if (!(start < 0.0)) return 0.0;
    double low = 0.0, high = INF, length = 1.0, left = WHOLE;
    for (int trial = 0; trial < MOST_TRIALS; ++trial) {
      const auto [here, curvature] = at(length);
      if (std::abs(here) <= -left * start) break;
      (here < 0.0 ? low : high) = length;
      length -= here / curvature;
      // Nearly no curvature: as far as is known to lead downhill.
      if (!(std::abs(length) < INF)) return low;
      // By orders of magnitude first: a step along columns of huge entries passes every kink.
      if (!(low < length && length < high))
        length = high > FAR * low ? high / FAR : 0.5 * (low + high);
      left = SHARE;
    }
    return length;
  }
};

}  // namespace skscreen::svm
