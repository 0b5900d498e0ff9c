// What a ball cut by a half-space or a cone proves about one item: see
// metric_learning/screening/paper/rules.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>

#include "core/checks.hpp"
#include "core/core.hpp"

namespace skscreen::metric_learning {

// Steps of a search for a multiplier, and for an eigenvalue; ending early is safe.
constexpr int SEARCH_STEPS = 12, EIGENVALUE_STEPS = 30;

// Smallest margin over a ball cut by a half-space.
//
// Theorem J9, with its cases in order: minimise <A, X> over |X - Q| <= r and <P, X> >= 0 with
// |P| = 1. For any y >= 0 the sphere bound of A - y P is a lower bound, <A, Q> - y <P, Q> -
// r |A - y P|, and the best y, that of the theorem, makes it the minimum. Evaluated so, it is safe
// whatever the rounding errors of y. `margin_low` is <A, Q> or less, `norm` is |A| or more, `along`
// <P, A> or less, `depth` <P, Q> or more. From -radius down the half-space leaves nothing of the
// ball (rounding errors, or a wrong ball) and nothing may be concluded: the result is -inf.
inline double half_space_lower(double margin_low, double norm, double radius, double along,
                               double depth) {
  if (!(along > -norm))
    along = -norm;
  else if (along > norm)
    along = norm;
  if (!(depth > -radius)) return -INF;
  const double sphere = margin_low - radius * norm;
  if (!(depth * norm < radius * along)) return sphere;
  const double across = std::sqrt((norm - along) * (norm + along));
  const double step = -depth * across / (std::sqrt(radius - depth) * std::sqrt(radius + depth));
  const double multiplier = along + step;
  if (!(multiplier > 0.0)) return sphere;
  const double rest = std::sqrt(step * step + across * across);
  double size = std::abs(margin_low) + multiplier * std::abs(depth) + radius * rest;
  size += (std::abs(along) + std::abs(step)) * (std::abs(depth) + radius);
  const double lowest = margin_low - multiplier * depth - radius * rest - 64.0 * EPS * size;
  return lowest > sphere ? lowest : sphere;  // NaN proves nothing more
}

// What is returned of a unit vector x: <a, x>, <b, x> and x'Qx.
struct Direction {
  double a, b, depth;

  // Lower end of <aa' - bb', xx'>.
  double along_low(double noise) const {
    const double error =
        2.0 * noise * (std::abs(a) + std::abs(b) + noise) + 32.0 * EPS * (a * a + b * b);
    return a * a - b * b - error;
  }
};

// The search of the semidefinite rule in the eigenbasis of a centre Q in the cone.
//
// The minimiser is the projection of Q - t A on the cone, for the t at which it is r away from Q.
// As aa' - bb' has one positive eigenvalue, Q - t A has at most one negative, mu, and the best C is
// a multiple of w w' for its eigenvector w: the linear rule with the half-space of w.
struct ConeSearch {
  Array<const double> values;  // eigenvalues of Q, >= 0
  Array<const double> a, b;    // the two differences
  Array<double> x;             // scratch

  // The unit eigenvector of aa' - bb' with positive value.
  Direction positive() const {
    double aa = 0.0, bb = 0.0, ab = 0.0;
    for (int64_t k = 0; k < values.size; ++k) {
      aa += a[k] * a[k];
      bb += b[k] * b[k];
      ab += a[k] * b[k];
    }
    const double root = std::sqrt(std::max((aa + bb) * (aa + bb) - 4.0 * ab * ab, 0.0));
    const double ratio = 2.0 * ab / (aa + bb + root);
    double square = 0.0, a_x = 0.0, b_x = 0.0, depth = 0.0;
    for (int64_t k = 0; k < values.size; ++k) {
      const double y = a[k] - ratio * b[k];
      square += y * y;
      a_x += a[k] * y;
      b_x += b[k] * y;
      depth += values[k] * y * y;
    }
    const double length = std::sqrt(square);
    return {a_x / length, b_x / length, depth / square};
  }

  // phi of the eigenvalue's equation, its slope, and the share of b in the vector.
  std::tuple<double, double, double> secular(double t, double mu) const {
    double p = 0.0, s = 0.0, w = 0.0, dp = 0.0, ds = 0.0, dw = 0.0;
    for (int64_t k = 0; k < values.size; ++k) {
      const double inverse = 1.0 / (values[k] - mu), u = a[k] * inverse, v = b[k] * inverse;
      p += a[k] * u;
      s += b[k] * v;
      w += a[k] * v;
      dp += u * u;
      ds += v * v;
      dw += u * v;
    }
    const double ratio = t * w / (1.0 + t * s);
    return {t * (p - ratio * w), t * (dp - 2.0 * ratio * dw + ratio * ratio * ds), ratio};
  }

  // Negative eigenvalue of diag(q) + t (bb' - aa'), q >= 0: it has at most one.
  //
  // By Sherman and Morrison mu is the root of phi(mu) = t a'(diag(q) + t bb' - mu)^-1 a = 1, for
  // which 1 / phi is concave and decreasing: Newton's method from the left makes one step across
  // the root and then comes back monotonically. What is returned of x holds for it whether or not
  // it is an eigenvector.
  std::pair<double, Direction> negative(double t) const {
    double aa = 0.0;
    for (int64_t k = 0; k < values.size; ++k) aa += a[k] * a[k];
    double left = -t * aa * (1.0 + 1e-12), right = -1e-10 * t * aa;
    if (!(std::get<0>(secular(t, right)) > 1.0)) return {0.0, {0.0, 0.0, 0.0}};
    double mu = left, ratio = 0.0;
    for (int step = 0; step < EIGENVALUE_STEPS; ++step) {
      const auto [phi, slope, share] = secular(t, mu);
      ratio = share;
      (phi > 1.0 ? right : left) = mu;
      const double before = mu;
      mu += phi * (1.0 - phi) / slope;
      if (!(left < mu && mu < right)) mu = 0.5 * (left + right);
      if (std::abs(mu - before) <= 1e-7 * std::abs(mu)) break;
    }
    double square = 0.0, a_x = 0.0, b_x = 0.0, depth = 0.0;
    for (int64_t k = 0; k < values.size; ++k) {
      x[k] = (a[k] - ratio * b[k]) / (values[k] - mu);
      square += x[k] * x[k];
      a_x += a[k] * x[k];
      b_x += b[k] * x[k];
      depth += values[k] * x[k] * x[k];
    }
    const double length = std::sqrt(square);
    const Direction found = {a_x / length, b_x / length, depth / square};
    return {std::min(found.depth + t * (found.b * found.b - found.a * found.a), 0.0), found};
  }

  // Whether <aa' - bb', X> > level on all of the ball cut with the cone; `margin` is <A, Q> or
  // less, `size` |A| or more.
  bool decides(double radius, double level, double margin, double size, double noise,
               double slack) const {
    expects_sizes(values.size, "a", a, "b", b, "scratch", x);
    // The limit of w for large t, which is attained for parallel a and b, is the cheapest to try.
    Direction w = positive();
    double along = w.along_low(noise);
    if (half_space_lower(margin, size, radius, along, w.depth + slack) > level) return true;
    // Projections are nearer to Q than Q - t A, so this t is not above the required one.
    double t = radius / size, low = 0.0, high = INF, t_before = 0.0, f_before = 0.0;
    for (int k = 0; k < SEARCH_STEPS; ++k) {
      const auto [mu, found] = negative(t);
      // Otherwise the point of the ball that is least for the sphere rule is in the cone.
      if (!(mu < 0.0)) return false;
      w = found;
      along = w.along_low(noise);
      if (half_space_lower(margin, size, radius, along, w.depth + slack) > level) return true;
      const double reach =
          std::sqrt(std::max(t * size * (t * size) + mu * (2.0 * t * along + mu), 0.0));
      if (reach <= radius) {
        // The projection is in both, and shows how small the margin may be.
        if (!(margin - t * size * size - mu * along > level)) return false;
        low = t;
      } else {
        high = t;
      }
      if (std::abs(reach - radius) <= 1e-9 * radius) return false;
      // The ball cut by the half-space of w alone has its minimiser at this t. We look for the
      // fixed point, by a secant step in logarithms.
      const double across = std::sqrt(std::max((size - along) * (size + along), 0.0));
      const double inside = std::max(radius - w.depth, 0.0) * std::max(radius + w.depth, 0.0);
      const double f = std::log(std::sqrt(inside) / across / t);
      const double step = t_before > 0.0 ? -f * std::log(t / t_before) / (f - f_before) : f;
      t_before = t;
      f_before = f;
      t *= std::exp(std::min(step, 5.0));
      if (!(low < t && t < high)) t = high < INF ? std::sqrt(low * high) : 16.0 * low;
    }
    return false;
  }
};

// Whether <a*a - b*b, x> > level on all of a ball cut with the orthant.
//
// Theorems J11 and J12: x = max(q - h / beta, 0) for the beta with |x - q| = r, so that h - C is
// min(h, beta q). For a set K of entries with x > 0 the equation is linear in 1 / beta^2, and the
// iteration of K is Newton's method, monotone for q >= 0, where no sorting is needed.
inline bool orthant_decides(Array<const double> centre, double radius, double level,
                            Array<const double> a, Array<const double> b) {
  expects_sizes(centre.size, "a", a, "b", b);
  double square = 0.0, error = 0.0;
  bool descends = false;
  for (int64_t k = 0; k < centre.size; ++k) {
    const double h = (a[k] - b[k]) * (a[k] + b[k]);
    square += h * h;
    descends |= h < 0.0;
    error += (std::abs(centre[k]) + radius) * (a[k] * a[k] + b[k] * b[k]);
  }
  error *= 32.0 * EPS;
  // In terms of 1 / beta^2; at the start every entry is in K.
  double inverse = radius * radius / square, low = 0.0, high = INF;
  for (int64_t step = 0; step < 2 * centre.size + SEARCH_STEPS; ++step) {
    const double beta = 1.0 / std::sqrt(inverse);
    double value = 0.0, length = 0.0, kept = 0.0, rest = 0.0, attained = 0.0;
    for (int64_t k = 0; k < centre.size; ++k) {
      const double q = centre[k], h = (a[k] - b[k]) * (a[k] + b[k]);
      const double least = std::min(h, beta * q);
      value += q * least;
      length += least * least;
      if (h < beta * q) {
        kept += h * h;
        attained += h * (q - h / beta);
      } else {
        rest += q * q;
      }
    }
    if (value - radius * std::sqrt(length) * (1.0 + 1e-12) - error > level) return true;
    if (length <= (beta * radius) * (beta * radius)) {
      if (!(attained > level)) return false;
      low = inverse;
    } else {
      high = inverse;
    }
    const double before = inverse;
    inverse = INF;
    if (kept > 0.0)
      inverse = (radius * radius - rest) / kept;
    else if (rest <= radius * radius && !descends)  // all relevant entries can be zero
      return -error > level;
    if (!(low < inverse && inverse < high)) inverse = high < INF ? 0.5 * (low + high) : 4.0 * low;
    if (std::abs(inverse - before) <= 1e-13 * inverse) return false;
  }
  return false;
}

// Open interval of lambda for which RRPB proves a margin above a level; (1, 0) if empty.
//
// `margin` is that at the reference (or less), `norm_bound` the norm of the item (or more); then
// lambda and norm of the reference, and its distance from the optimum there (or more).
inline std::pair<double, double> zero_range(double margin, double norm_bound, double level,
                                            double reference_lam, double size, double epsilon) {
  const double reach = size * norm_bound, slack = epsilon * norm_bound;
  if (!(margin - slack > level + 4.0 * EPS * std::abs(level))) return {1.0, 0.0};
  const double rounding =
      8.0 * EPS * (reach + std::abs(margin) + 2.0 * slack + 2.0 * std::abs(level));
  // Below the reference: (1 + x) margin - (x - 1) reach - 2 x slack > 2 level, x = l0 / lam.
  const double low =
      (reach - margin + 2.0 * slack + rounding) / (reach + margin - 2.0 * level - rounding);
  // Above it: (1 + x) margin - (1 - x) reach - 2 slack > 2 level.
  const double bottom = reach - margin + 2.0 * level + 2.0 * slack + rounding;
  const double high = bottom > 0.0 ? (reach + margin - rounding) / bottom : INF;
  if (!(low < 1.0 && 1.0 < high)) return {1.0, 0.0};
  return {reference_lam * std::max(low, 0.0), reference_lam * high};
}

}  // namespace skscreen::metric_learning
