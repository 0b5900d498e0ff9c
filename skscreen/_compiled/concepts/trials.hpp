// Choices among pairs of objects by softmax of their similarities: see concepts/problem/trials.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/arrays.hpp"
#include "core/checks.hpp"

namespace skscreen::concepts {

// Trials ahead whose pairs are fetched: the tables do not fit into the cache of a core.
constexpr int64_t TRIALS_AHEAD = 16;

// Minus the weighted log-likelihood of trials, each of which kept the first of its three pairs; its
// slopes in the similarities are added. `powers` holds exp(similarity) of each pair, 0 for one that
// was no option.
template <bool weighted>
double choice_pass(Array<const double> powers, Array<double> slopes, Matrix<const int32_t> pairs,
                   Array<const double> weights) {
  const int64_t m = pairs.rows;
  double total = 0.0, product = 1.0;
  const auto fetch = [&](int64_t q) {
    const int32_t* next = pairs.data + 3 * q;
    // Here, where they are read anyway: a pass of its own over the pairs would take a tenth of the
    // time. Negative ones are large as unsigned.
    const uint32_t largest = std::max({(uint32_t)next[0], (uint32_t)next[1], (uint32_t)next[2]});
    expects(largest < powers.size, "pairs must hold places in powers");
    for (int s = 0; s < 3; ++s) {
      prefetch(powers.data + next[s]);
      prefetch(slopes.data + next[s]);
    }
  };
  for (int64_t q = 0; q < std::min(TRIALS_AHEAD, m); ++q) fetch(q);
  for (int64_t q = 0; q < m; ++q) {
    if (q + TRIALS_AHEAD < m) fetch(q + TRIALS_AHEAD);
    const int64_t kept = pairs(q, 0), second = pairs(q, 1), third = pairs(q, 2);
    const double e0 = powers[kept], e1 = powers[second], e2 = powers[third];
    const double r = 1.0 / (e0 + e1 + e2), share = e0 * r;
    double p1 = e1 * r, p2 = e2 * r;
    if (weighted) {
      const double w = weights[q];
      total -= w * std::log(share);
      p1 *= w;
      p2 *= w;
    } else {
      // One logarithm for many trials. Powers are limited, so that a factor does not underflow.
      product *= share;
      if (product < 1e-200) {
        total -= std::log(product);
        product = 1.0;
      }
    }
    slopes[kept] -= p1 + p2;
    slopes[second] += p1;
    slopes[third] += p2;
  }
  return total - std::log(product);
}

inline double dot(const double* a, const double* b, int64_t size) {
  double total = 0.0;
#pragma omp simd reduction(+ : total)
  for (int64_t d = 0; d < size; ++d) total += a[d] * b[d];
  return total;
}

// Similarities x_i . x_j of pairs (i, j).
inline void pair_similarities(Matrix<const double> X, Matrix<const int32_t> pairs,
                              Array<double> out) {
  for (int64_t q = 0; q < pairs.rows; ++q) {
    out[q] = dot(X.row(pairs(q, 0)).data, X.row(pairs(q, 1)).data, X.columns);
  }
}

// Gradient in X from slopes in the similarities of pairs, which is added.
inline void pair_gradient(Matrix<const double> X, Matrix<const int32_t> pairs,
                          Array<const double> slopes, Matrix<double> gradient) {
  for (int64_t q = 0; q < pairs.rows; ++q) {
    const int64_t i = pairs(q, 0), j = pairs(q, 1);
    const double slope = slopes[q];
    const double *xi = X.row(i).data, *xj = X.row(j).data;
    double *gi = gradient.row(i).data, *gj = gradient.row(j).data;
    if (i == j) continue;  // no pair of two objects
#pragma omp simd
    for (int64_t d = 0; d < X.columns; ++d) {
      gi[d] += slope * xj[d];
      gj[d] += slope * xi[d];
    }
  }
}

// Quasi-Newton direction within x >= 0: among entries that are positive or would grow, minus the
// inverse of the BFGS matrix, of the part of the pairs there, times the gradient. `ages` are the
// rows of the pairs in use, the newest last.
inline void bounded_direction(Array<const double> x, Array<const double> gradient,
                              Matrix<const double> steps, Matrix<const double> changes,
                              Array<const int64_t> ages, Array<double> direction) {
  const int64_t size = x.size, count = ages.size;
  std::vector<double> is_free(size), factor(count), curvature(count);
  double *f = is_free.data(), *q = direction.data;
  for (int64_t i = 0; i < size; ++i) {
    f[i] = x.data[i] > 0.0 || gradient.data[i] < 0.0 ? 1.0 : 0.0;
    q[i] = -f[i] * gradient.data[i];
  }
  double scale = 0.0;
  for (int64_t k = count - 1; k >= 0; --k) {
    const double *s = steps.row(ages[k]).data, *y = changes.row(ages[k]).data;
    double sy = 0.0, yy = 0.0, sq = 0.0;
#pragma omp simd reduction(+ : sy, yy, sq)
    for (int64_t i = 0; i < size; ++i) {
      const double part = f[i] * y[i];
      sy += s[i] * part;
      yy += y[i] * part;
      sq += s[i] * q[i];
    }
    curvature[k] = sy > 1e-12 * yy ? sy : 0.0;
    if (curvature[k] == 0.0) continue;
    if (scale == 0.0) scale = sy / yy;
    const double a = factor[k] = sq / sy;
#pragma omp simd
    for (int64_t i = 0; i < size; ++i) q[i] -= a * f[i] * y[i];
  }
  if (scale == 0.0) return;
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) q[i] *= scale;
  for (int64_t k = 0; k < count; ++k) {
    if (curvature[k] == 0.0) continue;
    const double *s = steps.row(ages[k]).data, *y = changes.row(ages[k]).data;
    const double b = factor[k] - dot(y, q, size) / curvature[k];
#pragma omp simd
    for (int64_t i = 0; i < size; ++i) q[i] += b * f[i] * s[i];
  }
}

}  // namespace skscreen::concepts
