// Passes of the first-order methods for linear classifiers: see pragam/.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>

#include "core/arrays.hpp"
#include "core/checks.hpp"
#include "core/sums.hpp"
#include "samples/intercept.hpp"
#include "samples/rows.hpp"

namespace skscreen::pragam {

// out = (1 - share) x + share y.
inline void mix(Array<const double> x, Array<const double> y, double share, Array<double> out) {
  expects_sizes(out.size, "x", x, "y", y);
  const double *a = x.data, *b = y.data;
  double* into = out.data;
  for_all(out.size,
          [a, b, into, share](int64_t i) { into[i] = (1.0 - share) * a[i] + share * b[i]; });
}

inline double squared_distance(Array<const double> x, Array<const double> y) {
  expects_sizes(x.size, "y", y);
  const double *a = x.data, *b = y.data;
  return sum_of(x.size, [a, b](int64_t i) { return (a[i] - b[i]) * (a[i] - b[i]); });
}

// Sum of tops_i max(g_i - b normal_i, 0).
inline double hinge_sum(Array<const double> g, Array<const double> tops, Array<const double> normal,
                        double b) {
  expects_sizes(g.size, "tops", tops, "normal", normal);
  const double *value = g.data, *top = tops.data, *slope = normal.data;
  return sum_of(g.size, [value, top, slope, b](int64_t i) {
    return top[i] * std::max(value[i] - b * slope[i], 0.0);
  });
}

// Fill `out` (which may be `margins`) with roots_i (1 - margins_i).
inline void shortfalls(Array<const double> margins, Array<const double> roots, Array<double> out) {
  expects_sizes(out.size, "margins", margins, "roots", roots);
  const double *margin = margins.data, *root = roots.data;
  double* into = out.data;
  for_all(out.size, [margin, root, into](int64_t i) { into[i] = root[i] * (1.0 - margin[i]); });
}

// out = base + scale g.
inline void move_along(Array<const double> base, Array<const double> g, double scale,
                       Array<double> out) {
  expects_sizes(out.size, "base", base, "g", g);
  const double *from = base.data, *direction = g.data;
  double* into = out.data;
  for_all(out.size,
          [from, direction, into, scale](int64_t i) { into[i] = from[i] + scale * direction[i]; });
}

// `weighted_quantile`; in one pass where it is one of few values from low to high.
inline double quantile_between(Array<const double> values, Array<const double> weights,
                               double level, double low, double high) {
  const int64_t n = values.size;
  expects(n > 0, "values must not be empty");
  expects_sizes(n, "weights", weights);
  const std::unique_ptr<double[]> v(new double[n]), u(new double[n]);
  int64_t inside = 0;
  double below = 0.0, within = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    if (values[i] < low) {
      below += weights[i];
    } else if (values[i] <= high) {
      v[inside] = values[i];
      u[inside++] = weights[i];
      within += weights[i];
    }
  }
  if (below < level && level <= below + within)
    return samples::select_quantile({v.get(), inside}, {u.get(), inside}, level - below);
  std::copy_n(values.data, n, v.get());
  std::copy_n(weights.data, n, u.get());
  return samples::select_quantile({v.get(), n}, {u.get(), n}, level);
}

// One step of Pegasos for each row of `drawn`, from step t on; w and a change in place.
//
// w is held as `scale` times a vector v, whose square is kept: a step costs no more than its rows.
template <class Data>
void pegasos_steps(const Data& X, Array<const double> y, Matrix<const int64_t> drawn, double lam,
                   int64_t t, bool projection, Array<double> w, Array<double> a) {
  const int64_t size = drawn.columns;
  expects(X.has(y.size), "y must have an entry for each row");
  expects_sizes(y.size, "a", a);
  expects(w.size >= X.d, "w must have an entry for each column");
  expects_places("drawn", drawn, y.size);
  const std::unique_ptr<double[]> margins(new double[size]);
  const double share = 1.0 / size;
  double scale = 1.0, square = 0.0;
  for (int64_t j = 0; j < X.d; ++j) square += w[j] * w[j];
  const auto apply_scale = [&w, &a](double factor) {
    for (int64_t j = 0; j < w.size; ++j) w[j] *= factor;
    for (int64_t i = 0; i < a.size; ++i) a[i] *= factor;
  };
  for (int64_t step = 0; step < drawn.rows; ++step) {
    ++t;
    for (int64_t k = 0; k < size; ++k) {
      const int64_t i = drawn(step, k);
      margins[k] = y[i] * scale * X.dot(i, w.data);
    }
    if (t == 1) {
      std::fill_n(w.data, w.size, 0.0);
      std::fill_n(a.data, a.size, 0.0);
      scale = 1.0;
      square = 0.0;
    } else {
      scale *= 1.0 - 1.0 / t;
    }
    for (int64_t k = 0; k < size; ++k) {
      if (!(margins[k] < 1.0)) continue;
      // v += change x_i, and what that does to |v|^2.
      const int64_t i = drawn(step, k);
      const double change = y[i] * share / (lam * t * scale), before = X.dot(i, w.data);
      X.add(i, change, w.data);
      square += change * (before + X.dot(i, w.data));
      a[i] += share / (t * scale);
    }
    if (projection && scale * scale * square * lam > 1.0) scale = 1.0 / std::sqrt(lam * square);
    if (scale < 1e-9) {
      apply_scale(scale);
      square *= scale * scale;
      scale = 1.0;
    }
  }
  apply_scale(scale);
}

}  // namespace skscreen::pragam
