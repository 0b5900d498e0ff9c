// Loops that several rooms share: the radius of a ball, decisions, selection, projection.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>

#include "core/arrays.hpp"
#include "core/checks.hpp"

namespace skscreen {

constexpr double EPS = std::numeric_limits<double>::epsilon();
constexpr double INF = std::numeric_limits<double>::infinity();

// Factor that covers the last few roundings of a radius (as core/floats.py).
constexpr double WIDER = 1.0 + 1e-9;

// Codes of decisions (as core/decisions.py).
constexpr int8_t UNDECIDED = 0, ZERO = 1, LINEAR = 2;

// Radius of the ball round (x + u)/2: see core/ball.py. NaN stays NaN and decides nothing.
SKSCREEN_INLINE double gap_radius(double slackness, double distance, double lam = 1.0,
                                  double shift = 0.0) {
  const double square = slackness / lam + 0.25 * distance * distance;
  const double root = square <= 0.0 ? 0.0 : std::sqrt(square);
  return (root + shift) * WIDER;
}

// Smallest and largest margin over a ball: <A, X> within <A, Q> -+ r |A| for |X - Q| <= r.
SKSCREEN_INLINE double sphere_lower(double margin_low, double norm, double radius) {
  return margin_low - radius * norm;
}
SKSCREEN_INLINE double sphere_upper(double margin_high, double norm, double radius) {
  return margin_high + radius * norm;
}

// Slackness of an item, loss + conjugate - alpha * short >= 0, 0 where they belong together.
//
// The loss is the largest alpha * short - shift/2 alpha^2 over 0 <= alpha <= cap: the hinge for a
// shift of 0, smoothed over a width of shift * cap or, if cap is infinite, squared. `shortage` is
// threshold minus margin; only one of cap and 1 / shift may be infinite. Written without the
// cancellation of the definition.
SKSCREEN_INLINE double hinge_slackness(double shortage, double alpha, double cap,
                                       double shift = 0.0) {
  double value = 0.0;
  if (shift > 0.0) {
    const double off = alpha - std::min(std::max(shortage / shift, 0.0), cap);
    value = 0.5 * shift * (off * off);
  }
  if (shortage > shift * cap)
    value += (cap - alpha) * (shortage - shift * cap);
  else if (!(shortage >= 0.0))
    value -= alpha * shortage;  // NaN stays NaN
  return value;
}

// The value of rank k, from 0; changes the order of the values (Hoare's selection).
template <class T>
T select(Array<T> values, int64_t k) {
  int64_t first = 0, last = values.size - 1;
  while (first < last) {
    const T a = values[first], b = values[(first + last) / 2], c = values[last];
    const T pivot = std::max(std::min(a, b), std::min(std::max(a, b), c));
    int64_t i = first, j = last;
    while (i <= j) {
      while (values[i] < pivot) ++i;
      while (values[j] > pivot) --j;
      if (i <= j) {
        std::swap(values[i], values[j]);
        ++i;
        --j;
      }
    }
    // Now values up to j are <= pivot, from i on >= pivot, and what is between equals it.
    if (k <= j)
      last = j;
    else if (k >= i)
      first = i;
    else
      return pivot;
  }
  return values[k];
}

// --- Projection onto a box cut by one equality: see core/projection.py ---

// Newton steps on the multiplier before a search over the kinks, which always ends.
constexpr int PROJECTION_NEWTON_STEPS = 12;
// Residual of the equality, relative to the sum of its terms, that counts as rounding error.
constexpr double PROJECTION_SLACK = 4.0 * EPS;
// Number of corrections of the multiplier for the residual that its rounding leaves.
constexpr int PROJECTION_CORRECTIONS = 3;

// The problem: find t with sum_i sigma_i clip(m_i + t ratio_i, l_i, u_i) = z.
struct BoxEquality {
  Array<const double> m, ratio, sigma, l, u;
  double z;
};

SKSCREEN_INLINE double clip(double value, double low, double high) {
  return std::min(std::max(value, low), high);
}

// The smallest and the largest sum of sigma_i a_i in the box, and its finite size.
inline std::tuple<double, double, double> total_range(Array<const double> sigma,
                                                      Array<const double> l,
                                                      Array<const double> u) {
  expects_sizes(sigma.size, "l", l, "u", u);
  double smallest = 0.0, largest = 0.0, size = 0.0;
  for (int64_t i = 0; i < sigma.size; ++i) {
    if (sigma[i] == 0.0) continue;
    const double first = sigma[i] * l[i], second = sigma[i] * u[i];
    smallest += std::min(first, second);
    largest += std::max(first, second);
    for (const double value : {first, second})
      if (std::isfinite(value)) size += std::abs(value);
  }
  return {smallest, largest, size};
}

struct Residual {
  double value, slope, size;
};

// f(t) = sum_i sigma_i clip(m_i + t ratio_i, l_i, u_i) - z, its slope, the sum of absolute terms.
inline Residual residual_at(const BoxEquality& p, double t) {
  double total = 0.0, slope = 0.0, size = std::abs(p.z);
  const int64_t n = p.m.size;
  const double *m = p.m.data, *ratio = p.ratio.data, *sigma = p.sigma.data;
  const double *l = p.l.data, *u = p.u.data;
#pragma omp simd reduction(+ : total, slope, size)
  for (int64_t i = 0; i < n; ++i) {
    const double free = m[i] + t * ratio[i];
    const double value = clip(free, l[i], u[i]);
    const double term = sigma[i] != 0.0 ? sigma[i] * value : 0.0;
    total += term;
    size += std::abs(term);
    slope += value == free ? sigma[i] * ratio[i] : 0.0;
  }
  return {total - p.z, slope, size};
}

// The root between lo and hi by bisection at medians of the kinks.
//
// Each round halves the kinks in the open interval, equal ones together, so that it always ends.
// On (lo, hi) the settled items add offset + slope t to the sum.
inline double search_kinks(const BoxEquality& p, double lo, double hi) {
  const int64_t size = p.m.size;
  const std::unique_ptr<double[]> first(new double[size]), second(new double[size]);
  const std::unique_ptr<double[]> kinks(new double[2 * size]);
  const std::unique_ptr<int64_t[]> items(new int64_t[size]);
  int64_t n = 0;
  double offset = -p.z, slope = 0.0;
  for (int64_t i = 0; i < size; ++i) {
    if (p.sigma[i] == 0.0) continue;
    const double at_l = (p.l[i] - p.m[i]) / p.ratio[i], at_u = (p.u[i] - p.m[i]) / p.ratio[i];
    first[n] = std::min(at_l, at_u);
    second[n] = std::max(at_l, at_u);
    items[n++] = i;
  }
  while (true) {
    int64_t kept = 0, n_kinks = 0;
    for (int64_t k = 0; k < n; ++k) {
      const int64_t i = items[k];
      const double low = first[k], high = second[k];
      if (low >= hi || high <= lo) {
        // Before its first kink an item is at the bound on the side of -sigma.
        const bool at_upper = (low >= hi) == (p.sigma[i] < 0.0);
        offset += p.sigma[i] * (at_upper ? p.u[i] : p.l[i]);
      } else if (low <= lo && high >= hi) {
        offset += p.sigma[i] * p.m[i];
        slope += p.sigma[i] * p.ratio[i];
      } else {
        first[kept] = low;
        second[kept] = high;
        items[kept++] = i;
        for (const double kink : {low, high})
          if (lo < kink && kink < hi) kinks[n_kinks++] = kink;
      }
    }
    n = kept;
    if (n_kinks == 0) break;
    const double t = select(Array<double>{kinks.get(), n_kinks}, (n_kinks - 1) / 2);
    double total = offset + slope * t;
    for (int64_t k = 0; k < n; ++k) {
      const int64_t i = items[k];
      total += p.sigma[i] * clip(p.m[i] + t * p.ratio[i], p.l[i], p.u[i]);
    }
    (total >= 0.0 ? hi : lo) = t;
  }
  if (slope > 0.0) return clip(-offset / slope, lo, hi);
  // A flat piece: f vanishes on all of it (or the total is out of range, at an infinite end).
  return offset <= 0.0 ? hi : lo;
}

// A root of f, and whether f is 0 there but for rounding errors of the sum.
inline std::pair<double, bool> multiplier(const BoxEquality& p, double start) {
  double lo = -INF, hi = INF, t = start;
  for (int step = 0; step < PROJECTION_NEWTON_STEPS; ++step) {
    const Residual r = residual_at(p, t);
    if (std::abs(r.value) <= PROJECTION_SLACK * r.size) return {t, true};
    (r.value > 0.0 ? hi : lo) = t;
    if (!(r.slope > 0.0)) break;
    t -= r.value / r.slope;
    if (!(lo < t && t < hi)) break;
  }
  t = search_kinks(p, lo, hi);
  if (std::isfinite(t)) {
    // The sums of the search have been updated many times: correct their rounding errors.
    const Residual r = residual_at(p, t);
    if (std::abs(r.value) > PROJECTION_SLACK * r.size && r.slope > 0.0) t -= r.value / r.slope;
  }
  return {t, false};
}

// Fill `out` (which may be `m`) with the projection and return the multiplier t.
inline double project(Array<const double> m, Array<const double> ratio, Array<const double> sigma,
                      Array<const double> l, Array<const double> u, double z, double start,
                      Array<double> out) {
  expects_sizes(m.size, "ratio", ratio, "sigma", sigma, "l", l, "u", u, "out", out);
  auto [t, done] = multiplier({m, ratio, sigma, l, u, z}, start);
  for (int64_t i = 0; i < m.size; ++i)  // an infinite t times 0 would be NaN
    out[i] = ratio[i] != 0.0 ? m[i] + t * ratio[i] : m[i];
  for (int k = 0; k < PROJECTION_CORRECTIONS && !done && std::isfinite(t); ++k) {
    // If m and t are much larger than the box, t alone does not have enough digits.
    const auto [change, settled] = multiplier({out, ratio, sigma, l, u, z}, 0.0);
    done = settled;
    if (!std::isfinite(change)) break;
    t += change;
    for (int64_t i = 0; i < m.size; ++i) out[i] += change * ratio[i];
  }
  for (int64_t i = 0; i < m.size; ++i) out[i] = clip(out[i], l[i], u[i]);
  return t;
}

}  // namespace skscreen
