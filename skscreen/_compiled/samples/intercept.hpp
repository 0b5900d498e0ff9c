// The unpenalised intercept of hinge-loss problems: samples/intercept.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/arrays.hpp"
#include "core/checks.hpp"
#include "core/core.hpp"
#include "core/sums.hpp"

namespace skscreen::samples {

// Largest number of steps to a root, and rounding error of a sum, in EPS for each term.
constexpr int MOST_ROOT_STEPS = 100;
constexpr double SUMMED = 4.0;

// Samples within this distance of the kink are taken first to balance dual variables.
constexpr double TIE = 1e-12;

// The smallest value at which the cumulative weight reaches a level, by selection; reorders both.
inline double select_quantile(Array<double> v, Array<double> u, double level) {
  int64_t first = 0, last = v.size;
  double below = 0.0;
  while (last - first > 1) {
    const double a = v[first], b = v[(first + last) / 2], c = v[last - 1];
    const double pivot = std::max(std::min(a, b), std::min(std::max(a, b), c));
    // Three parts: smaller [first, left), equal [left, right), larger [right, last).
    int64_t left = first, k = first, right = last;
    double smaller = 0.0, equal = 0.0;
    while (k < right) {
      if (v[k] < pivot) {
        smaller += u[k];
        std::swap(v[k], v[left]);
        std::swap(u[k++], u[left++]);
      } else if (v[k] > pivot) {
        --right;
        std::swap(v[k], v[right]);
        std::swap(u[k], u[right]);
      } else {
        equal += u[k++];
      }
    }
    if (left > first && below + smaller >= level) {
      last = left;
    } else if (right == last || below + smaller + equal >= level) {
      return pivot;
    } else {
      below += smaller + equal;
      first = right;
    }
  }
  return v[first];
}

inline double weighted_quantile(Array<const double> values, Array<const double> weights,
                                double level) {
  const int64_t n = values.size;
  expects(n > 0, "values must not be empty");
  expects_sizes(n, "weights", weights);
  const std::unique_ptr<double[]> v(new double[n]), u(new double[n]);
  std::copy_n(values.data, n, v.get());
  std::copy_n(weights.data, n, u.get());
  return select_quantile({v.get(), n}, {u.get(), n}, level);
}

// The levels at which the cumulative weight of kinks is surely below, and above, one level.
inline std::pair<double, double> levels_around(Array<const double> caps, double level) {
  const double* weights = caps.data;
  const double size = std::abs(level) + sum_of(caps.size, [=](int64_t k) { return weights[k]; });
  const double slack = SUMMED * EPS * caps.size * size;
  return {level - slack, std::nextafter(level + slack, INF)};
}

// An end, the lower (side -1) or the upper one (side 1), of the interval of best intercepts for
// kinks y_i (t_i - m_i) with caps C_i; 0 without any.
//
// The level is the sum of C_i where y_i = +1; for a part of the samples, plus that of beta over
// those left out. The interval is wider where rounding errors leave the place of the quantile open.
inline double best_intercept_end(Array<const double> kinks, Array<const double> caps, double level,
                                 double side) {
  expects_sizes(kinks.size, "caps", caps);
  if (kinks.size == 0) return 0.0;
  const auto [below, above] = levels_around(caps, level);
  return weighted_quantile(kinks, caps, side < 0.0 ? below : above);
}

// Both ends. The upper one is nearly always the lower one, or the kink next to it: passes that
// vectorise find that out.
inline std::pair<double, double> best_intercepts(Array<const double> kinks,
                                                 Array<const double> caps, double level) {
  const double lower = best_intercept_end(kinks, caps, level, -1.0);
  const double above = levels_around(caps, level).second;
  const double *at = kinks.data, *weights = caps.data;
  double upper = lower;
  for (int turn = 0; turn < 2; ++turn) {
    const double here = upper;
    const auto weight = [=](int64_t k) { return at[k] <= here ? weights[k] : 0.0; };
    if (sum_of(kinks.size, weight) >= above) return {lower, upper};
    upper = INF;
#pragma omp simd reduction(min : upper)
    for (int64_t k = 0; k < kinks.size; ++k) {
      const double next = at[k] > here ? at[k] : INF;
      upper = next < upper ? next : upper;
    }
  }
  return {lower, best_intercept_end(kinks, caps, level, 1.0)};
}

// The end of the interval round b where all dual variables are 0; b without an end.
inline double end_of_gap(Array<const double> kinks, Array<const double> y, double b, double side) {
  double end = -INF;
  for (int64_t k = 0; k < kinks.size; ++k)
    if (y[k] == side) end = std::max(end, side * kinks[k]);
  return end > -INF ? side * end : b;
}

// Where the sum of y_i alpha_i, alpha_i = sizes_i (y_i (kink_i - b))_+, is zero or, by rounding
// errors, just above (side 1) or below (side -1).
//
// Newton's method, which is finite, inside a bracket.
inline double balancing_intercept(Array<const double> kinks, Array<const double> sizes,
                                  Array<const double> y, double side) {
  const int64_t n = kinks.size;
  expects_sizes(n, "sizes", sizes, "y", y);
  double low = INF, high = -INF;
  bool known = true;
  for (int64_t k = 0; k < n; ++k) {
    low = std::min(low, kinks[k]);
    high = std::max(high, kinks[k]);
    known &= std::isfinite(kinks[k]);
  }
  if (!known) return -side * INF;  // nothing is known about infinite kinks
  double b = 0.5 * (low + high);
  const double least = EPS * (std::abs(low) + std::abs(high));
  const double *at = kinks.data, *factor = sizes.data, *sign = y.data;
  for (int step = 0; step < MOST_ROOT_STEPS; ++step) {
    double total = 0.0, slope = 0.0, size = 0.0;
    const double distance = std::abs(b);
#pragma omp simd reduction(+ : total, slope, size)
    for (int64_t k = 0; k < n; ++k) {
      const double lacks = at[k] - b;
      const double used = sign[k] * lacks > 0.0 ? factor[k] : 0.0;
      total += used * lacks;
      slope += used;
      size += used * (std::abs(at[k]) + distance);
    }
    if (slope == 0.0) return end_of_gap(kinks, y, b, side);
    const double aim = side * SUMMED * EPS * n * size;
    if (total > aim)
      low = b;
    else if (total < aim)
      high = b;
    const double move = (total - aim) / slope;
    if (std::abs(move) <= least) break;
    b += move;
    if (!(low <= b && b <= high)) b = 0.5 * (low + high);
  }
  return b;
}

// Move a dual variable as far as its bounds and `missing` allow; return what that adds to the sum.
SKSCREEN_INLINE double move_to_balance(double missing, double low, double high, double& beta) {
  const double old = beta, wanted = old + missing;
  beta = std::min(std::max(wanted, low), high);
  return beta == wanted ? missing : beta - old;
}

// Make the sum of beta vanish by the samples on the kink; return what is missing then.
inline double balance_at_kink(Array<const double> slopes, Array<const double> low,
                              Array<const double> high, Array<double> beta) {
  expects_sizes(beta.size, "slopes", slopes, "low", low, "high", high);
  double missing = 0.0;
  for (int64_t i = 0; i < beta.size; ++i) missing -= beta[i];
  for (int64_t i = 0; i < beta.size && missing != 0.0; ++i)
    if (std::abs(slopes[i]) <= TIE) missing -= move_to_balance(missing, low[i], high[i], beta[i]);
  return missing;
}

// The same by samples in an order.
inline void balance_in(Array<const int64_t> order, double missing, Array<const double> low,
                       Array<const double> high, Array<double> beta) {
  expects_sizes(beta.size, "low", low, "high", high);
  expects_places("order", order, beta.size);
  for (int64_t k = 0; k < order.size && missing != 0.0; ++k) {
    const int64_t i = order[k];
    missing -= move_to_balance(missing, low[i], high[i], beta[i]);
  }
}

}  // namespace skscreen::samples
