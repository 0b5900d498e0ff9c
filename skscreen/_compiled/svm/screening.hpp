// Bounds and rules for samples: svm/screening/, svm/certified/bounds.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/arrays.hpp"
#include "core/checks.hpp"
#include "core/core.hpp"
#include "core/sums.hpp"
#include "svm/certificate.hpp"

namespace skscreen::svm {

// Balls between two, of squared radius constant + linear t + quadratic t^2, and the rounding error
// `shift` of their centres: see Segment in svm/screening/bounds.py.
struct Pencil {
  double constant, linear, quadratic, shift;

  // Radius at t, with an allowance for cancellation between the terms of the square.
  SKSCREEN_INLINE double radius(double t) const {
    const double size = constant + t * (std::abs(linear) + t * quadratic);
    const double square = constant + t * (linear + t * quadratic) + 4.0 * EPS * size;
    return gap_radius(square, 0.0, 1.0, shift);
  }
};

// Maximise score + t slope - r(t) |x| over t in [0, 1] for each sample, and its mirror image.
//
// With r^2 = quadratic (t - middle)^2 + depth and depth >= 0 this is concave in t, and its maximum
// is at t = middle + slope / |x| sqrt(depth / (quadratic (quadratic - slope^2 / |x|^2))), clipped.
// For depth < 0 (one ball inside the other, or rounding errors) it is at an end. Both ends are
// looked at in any case, so the result is never below that of either ball.
inline void intersection_pass(Array<const double> scores, Array<const double> slope,
                              Array<const double> norms, const Pencil& balls, Array<double> lower,
                              Array<double> upper) {
  expects_sizes(scores.size, "slope", slope, "norms", norms, "lower", lower, "upper", upper);
  const double first = balls.radius(0.0), last = balls.radius(1.0);
  // The formula does not allow for subnormal numbers; the ends alone are also safe.
  const double quadratic = balls.quadratic;
  const bool flat = !(quadratic > 1e-280);
  const double middle = flat ? 0.0 : -0.5 * balls.linear / quadratic;
  const double depth = flat ? -1.0 : balls.constant - quadratic * middle * middle;
  for (int64_t i = 0; i < scores.size; ++i) {
    const double norm = norms[i], end = scores[i] + slope[i];
    double low = std::max(sphere_lower(scores[i], norm, first), sphere_lower(end, norm, last));
    double high = std::min(sphere_upper(scores[i], norm, first), sphere_upper(end, norm, last));
    if (depth > 0.0 && norm > 0.0) {
      const double ratio = slope[i] / norm, rest = quadratic - ratio * ratio;
      if (rest > 0.0) {
        const double reach = ratio * std::sqrt(depth / quadratic / rest);
        double t = clip(middle + reach, 0.0, 1.0);
        low = std::max(low, sphere_lower(scores[i] + t * slope[i], norm, balls.radius(t)));
        t = clip(middle - reach, 0.0, 1.0);
        high = std::min(high, sphere_upper(scores[i] + t * slope[i], norm, balls.radius(t)));
      }
    }
    lower[i] = low;
    upper[i] = high;
  }
}

// Rounding error of a score with an intercept, in EPS of the numbers it is a sum of.
constexpr double SCORE_ROUNDING = 8.0;
// No score closer to a target than this, relative to max(1, |target|), is decided.
constexpr double UNDECIDED_WITHIN = 1e-9;

// Bounds on all <x_i, w*> become bounds on the scores with every best intercept. NaN bounds
// nothing.
//
// A best intercept is a quantile of kinks, or a root, which rises in each kink. For a part of the
// samples: at one of these intercepts, which is as good.
inline void scores_between(const Dual& dual, Array<const double> lower, Array<const double> upper,
                           Array<double> least, Array<double> most) {
  const int64_t n = dual.size();
  expects_sizes(n, "lower", lower, "upper", upper, "least", least, "most", most);
  for (int64_t i = 0; i < n; ++i) {
    least[i] = std::isnan(lower[i]) ? -INF : lower[i];
    most[i] = std::isnan(upper[i]) ? INF : upper[i];
  }
  if (!dual.free) return;
  std::vector<double> slopes(n);
  for (int64_t i = 0; i < n; ++i) slopes[i] = dual.target[i] - most[i];
  Kinks kinks(dual, {slopes.data(), n}, 0);
  const double smallest = kinks.end(-1.0);
  for (int64_t i = 0; i < n; ++i) slopes[i] = dual.target[i] - least[i];
  kinks.move(dual, {slopes.data(), n}, 0);
  const double largest = kinks.end(1.0);
  const double size = std::max(std::abs(smallest), std::abs(largest));
  for (int64_t i = 0; i < n; ++i) {
    const double rounding = SCORE_ROUNDING * EPS * (std::abs(dual.target[i]) + size);
    least[i] += smallest - rounding;
    most[i] += largest + rounding;
  }
}

// Codes by bounds on scores; earlier decisions, if there are any, stay as they are.
inline void codes_between(const Dual& dual, Array<const double> lower, Array<const double> upper,
                          Array<const int8_t> earlier, Array<int8_t> out) {
  const int64_t n = dual.size();
  expects_sizes(n, "lower", lower, "upper", upper, "out", out);
  if (earlier.size) expects_sizes(n, "earlier", earlier);
  for (int64_t i = 0; i < n; ++i) {
    const double target = dual.target[i];
    const double slack = UNDECIDED_WITHIN * std::max(std::abs(target), 1.0);
    const bool beyond = lower[i] > target + slack, short_of = upper[i] < target - slack;
    const bool rises = dual.low[i] == 0.0;
    if (earlier.size && earlier[i] != UNDECIDED)
      out[i] = earlier[i];
    else if (rises ? beyond : short_of)
      out[i] = ZERO;
    else
      out[i] = !dual.smooth() && (rises ? short_of : beyond) ? LINEAR : UNDECIDED;
  }
}

// A dual point beta with the scores f of its w, and any intercept b. Beyond the rounding errors of
// their sums scores may be off by `error` times the length of the sample, and by errors of their
// own, if there are any.
struct PointAtC {
  Array<const double> norms, f, beta;
  double b, error;
  Array<const double> errors;
};

// Codes by the gap ball of a point at its own C: `gap_ball` of `reference`, and `ball_test`, of
// svm/screening/, in few passes. A path asks this after every C, where solves take milliseconds.
inline void decided_by_gap(const Dual& dual, const PointAtC& p, Array<const int8_t> earlier,
                           Array<int8_t> out) {
  constexpr double SLACK = 8.0;
  const int64_t n = dual.size();
  expects_sizes(n, "norms", p.norms, "f", p.f, "beta", p.beta);
  if (p.errors.size) expects_sizes(n, "errors", p.errors);
  const auto own = [&](int64_t i) { return p.errors.size ? p.errors[i] : 0.0; };
  const auto least = [&](int64_t i) {
    return dual.smooth() ? std::min(2.0 * p.beta[i], 0.0) : dual.low[i];
  };
  const auto most = [&](int64_t i) {
    return dual.smooth() ? std::max(2.0 * p.beta[i], 0.0) : dual.high[i];
  };
  double length = 0.0, size = 0.0, falls = 0.0, rises = 0.0, reach = 0.0;
  CompensatedSum total;
  for (int64_t i = 0; i < n; ++i) {
    const double beta = p.beta[i], low = least(i), high = most(i);
    length += p.norms[i] * std::abs(beta);
    total.add(beta);
    size += std::abs(beta);
    falls += beta - low;
    rises += high - beta;
    reach += p.norms[i] * (high - low);
  }
  // How far dual variables have to go towards their bounds for their sum to be zero. All errors of
  // scores grow with it, so that it must not be taken for what a plain sum may be off by.
  const double sum = std::abs(total.total + total.lost), terms = static_cast<double>(n) * EPS;
  const double missing = dual.free ? sum + 2.0 * EPS * sum + 4.0 * terms * terms * size : 0.0;
  const double room = std::min(falls, rises);
  const double share = missing == 0.0 ? 0.0 : missing < room ? missing / room : INF;
  const double shift = p.error + SLACK * EPS * length + share * reach;
  double gap = 0.0, moved = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    const double score = p.f[i] + p.b, slope = dual.target[i] - score, wide = most(i) - least(i);
    const double rounding = dual.free ? SLACK * EPS * std::abs(score) : 0.0;
    const double width = shift * p.norms[i] + own(i) + rounding;
    gap += dual.slackness(i, p.beta[i], slope, width);
    const double curved = dual.smooth() ? dual.shifts[i] * wide : 0.0;
    moved += wide * (std::abs(slope) + width + curved);
  }
  if (share > 0.0) gap += share * moved;
  const double radius = gap_radius(gap, 0.0, 1.0, shift);
  std::vector<double> bounds(4 * n);
  const Array<double> all{bounds.data(), 4 * n};
  const Array<double> lower = all.slice(0, n), upper = all.slice(n, 2 * n);
  const Array<double> low = all.slice(2 * n, 3 * n), high = all.slice(3 * n, 4 * n);
  for (int64_t i = 0; i < n; ++i) {
    lower[i] = sphere_lower(p.f[i] - own(i), p.norms[i], radius);
    upper[i] = sphere_upper(p.f[i] + own(i), p.norms[i], radius);
  }
  scores_between(dual, lower, upper, low, high);
  codes_between(dual, low, high, earlier, out);
}

// Error of |x_i - x_j|^2 relative to |x_i|^2 + |x_j|^2, because kernel values may be float32.
constexpr double UNSURE_DISTANCE = 1e-6;
// Allowance for rounding errors of sums of limits, in EPS.
constexpr double LIMIT_ROUNDING = 8.0;

// Tighten bounds on all scores by samples `index` inside their box, whose scores are from `least`
// to `most`: see `compare` in svm/screening/inside_box.py.
inline void compare_scores(Array<const int64_t> index, Array<const double> least,
                           Array<const double> most, Matrix<const double> products,
                           Array<const double> scores, double radius, double shift,
                           Array<const double> norms, Array<double> lower, Array<double> upper) {
  const int64_t n = norms.size;
  expects_sizes(n, "scores", scores, "lower", lower, "upper", upper);
  expects_sizes(index.size, "least", least, "most", most);
  expects_shape(index.size, n, "products", products);
  expects_places("index", index, n);
  const double *norm = norms.data, *score = scores.data;
  double* SKSCREEN_RESTRICT low = lower.data;
  double* SKSCREEN_RESTRICT high = upper.data;
  for (int64_t k = 0; k < index.size; ++k) {
    const int64_t j = index[k];
    const double own = norms[j], centre = scores[j];
    const double rounding =
        LIMIT_ROUNDING * EPS * (std::abs(least[k]) + std::abs(most[k])) + shift * own;
    const double from = least[k], to = most[k];
    const double* product = products.row(k).data;
#pragma omp simd
    for (int64_t i = 0; i < norms.size; ++i) {
      const double both = norm[i] * norm[i] + own * own, square = both - 2.0 * product[i];
      const double apart = (square > 0.0 ? square : 0.0) + UNSURE_DISTANCE * both;
      const double reach = radius * std::sqrt(apart) + shift * norm[i] + rounding;
      const double middle = score[i] - centre;
      const double least_here = middle - reach + from, most_here = middle + reach + to;
      // NaN means no bound.
      low[i] = least_here > low[i] ? least_here : low[i];
      high[i] = most_here < high[i] ? most_here : high[i];
    }
  }
}

// --- Between the dual variables of two values of C: svm/certified/bounds.py ---

// Dual variables and scores at C0 and C1, linear in t in between, and a part [ta, tb] of [0, 1].
struct PointsBetween {
  Array<const double> norms, target, low, high, sizes, beta0, beta1, f0, f1;
  double C0, C1, shift, ta, tb;

  void check() const {
    expects_sizes(norms.size, "target", target, "low", low, "high", high, "sizes", sizes, "beta0",
                  beta0, "beta1", beta1, "f0", f0, "f1", f1);
  }
};

// A function of t, value + t slope.
struct LineOf {
  double value, slope;

  SKSCREEN_INLINE double operator()(double t) const { return value + t * slope; }
};

// Where the product of two is largest, if inside [ta, tb]; else an end.
SKSCREEN_INLINE double middle_of(LineOf p, LineOf q, double ta, double tb) {
  if (!(p.slope * q.slope < 0.0)) return ta;
  return clip(-0.5 * (p.value / p.slope + q.value / q.slope), ta, tb);
}

// Sum of max over [ta, tb] of kappa_i, for all scores within their rounding errors.
//
// kappa_i is the larger of two products of functions linear in t: its maximum is at an end, or
// where one of the products has its own.
inline double largest_slackness_between(const PointsBetween& p) {
  double total = 0.0;
  for (int64_t i = 0; i < p.norms.size; ++i) {
    const LineOf beta{p.beta0[i], p.beta1[i] - p.beta0[i]};
    const LineOf low{p.C0 * p.low[i], (p.C1 - p.C0) * p.low[i]};
    const LineOf high{p.C0 * p.high[i], (p.C1 - p.C0) * p.high[i]};
    const LineOf slope{p.target[i] - p.f0[i], p.f0[i] - p.f1[i]};
    const double width = p.shift * p.norms[i];
    const double places[] = {p.ta, p.tb,
                             middle_of({high.value - beta.value, high.slope - beta.slope},
                                       {slope.value + width, slope.slope}, p.ta, p.tb),
                             middle_of({beta.value - low.value, beta.slope - low.slope},
                                       {width - slope.value, -slope.slope}, p.ta, p.tb)};
    double best = 0.0;
    for (const double t : places) {
      const double least = low(t), most = high(t), b = clip(beta(t), least, most), g = slope(t);
      best = std::max(best, (most - b) * (g + width));
      best = std::max(best, (b - least) * (width - g));
    }
    total += best;
  }
  return total;
}

// Bound on kappa of a squared hinge below the threshold, for t in [start, stop]: the largest
// square, over the smallest C.
inline double squared_below(LineOf alpha, LineOf lacks, LineOf C, double size, double start,
                            double stop) {
  const double bend = 2.0 * lacks.slope * C.slope * size;
  double middle = start;
  if (bend != 0.0) {
    const double slope = alpha.slope - (lacks.slope * C.value + lacks.value * C.slope) * size;
    middle = clip(slope / bend, start, stop);
  }
  double largest = 0.0;
  for (const double t : {start, middle, stop}) {
    const double a = alpha(t), best = lacks(t) * C(t) * size;
    largest = std::max(largest, std::abs(a - best) + 4.0 * EPS * (std::abs(a) + std::abs(best)));
  }
  return 0.5 * largest * largest / (C(start) * size);
}

// The same above it: a convex function of t and a product of linear ones.
inline double squared_above(LineOf alpha, LineOf lacks, LineOf C, double size, double start,
                            double stop) {
  double square = 0.0, product = 0.0;
  const double middle = middle_of(alpha, {-lacks.value, -lacks.slope}, start, stop);
  for (const double t : {start, stop, middle}) {
    const double a = std::max(alpha(t), 0.0);
    square = std::max(square, a * a / C(t));
    product = std::max(product, -a * lacks(t));
  }
  return 0.5 * square / size + product;
}

// Sum of bounds on kappa_i of squared hinges over [ta, tb]; sizes are 1 / shift_i at C = 1.
//
// There is one formula for scores short of the target, and one for those beyond it.
inline double largest_squared_slackness_between(const PointsBetween& p) {
  const LineOf C{p.C0, p.C1 - p.C0};
  double total = 0.0;
  for (int64_t i = 0; i < p.norms.size; ++i) {
    // Both signs are the same but for the direction.
    const double sign = p.low[i] < 0.0 ? -1.0 : 1.0;
    const LineOf alpha{sign * p.beta0[i], sign * (p.beta1[i] - p.beta0[i])};
    const double middle = sign * (p.target[i] - p.f0[i]), slope = sign * (p.f0[i] - p.f1[i]);
    const double width = p.shift * p.norms[i] + 2.0 * EPS * std::abs(p.target[i]);
    double best = 0.0;
    for (const LineOf lacks : {LineOf{middle - width, slope}, LineOf{middle + width, slope}}) {
      const double crossing = slope != 0.0 ? clip(-lacks.value / slope, p.ta, p.tb) : p.ta;
      const double ends[] = {p.ta, crossing, p.tb};
      for (int part = 0; part < 2; ++part) {
        const double start = ends[part], stop = ends[part + 1];
        const auto bound = lacks(0.5 * (start + stop)) > 0.0 ? squared_below : squared_above;
        best = std::max(best, bound(alpha, lacks, C, p.sizes[i], start, stop));
      }
    }
    total += best;
  }
  return total;
}

}  // namespace skscreen::svm
