// Loops over pairs of points and over far places (metric_learning/problem/items.py has a picture).
// Pairs are rows of two indices of data; loops fill or add to their last arrays.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/checks.hpp"
#include "core/core.hpp"

namespace skscreen::metric_learning {

using Pairs = Matrix<const int32_t>;

// Pairs of n rows of data.
inline void expects_pairs(const char* name, Matrix<const int32_t> pairs, int64_t n) {
  expects(pairs.columns == 2, "pairs must have two columns");
  expects_places(name, pairs, n);
}

// Largest number of places for which blocks, which are nearly in order, are sorted by insertion.
constexpr int64_t INSERTION = 64;

// Add an interval for a multiple of squared distances, given the noise of differences.
inline void add_interval(double coefficient, Array<const double> distances, double noise,
                         Array<double> low, Array<double> high) {
  expects_sizes(distances.size, "low", low, "high", high);
  const double* distance = distances.data;
  double *l = low.data, *h = high.data;
#pragma omp simd
  for (int64_t p = 0; p < distances.size; ++p) {
    const double D = distance[p];
    const double error =
        std::abs(coefficient) * (noise * (2.0 * std::sqrt(D) + noise) + 16.0 * EPS * D);
    l[p] += coefficient * D - error;
    h[p] += coefficient * D + error;
  }
}

// Fill `out` with the given columns of X times their factors; columns beyond are zero.
inline void scale_columns(Matrix<const double> X, Array<const int64_t> columns,
                          Array<const double> factors, Matrix<double> out) {
  expects_places("columns", columns, X.columns);
  expects_sizes(columns.size, "factors", factors);
  expects(out.rows == X.rows && out.columns >= columns.size, "out must have a row for each of X");
  for (int64_t i = 0; i < X.rows; ++i) {
    for (int64_t c = 0; c < columns.size; ++c) out(i, c) = factors[c] * X(i, columns[c]);
    for (int64_t c = columns.size; c < out.columns; ++c) out(i, c) = 0.0;
  }
}

// Whether the four pairs from p on have one first point: its row is then read once for all.
SKSCREEN_INLINE bool four_alike(Pairs pairs, int64_t p) {
  if (p + 4 > pairs.rows) return false;
  const int32_t a = pairs(p, 0);
  return pairs(p + 1, 0) == a && pairs(p + 2, 0) == a && pairs(p + 3, 0) == a;
}

// Squared Euclidean distances of pairs of rows of Z.
inline void squared_distances(Matrix<const double> Z, Pairs pairs, Array<double> out) {
  expects_pairs("pairs", pairs, Z.rows);
  expects_sizes(pairs.rows, "out", out);
  const int64_t width = Z.columns;
  for (int64_t p = 0; p < pairs.rows;) {
    const double *a = Z.row(pairs(p, 0)).data, *b0 = Z.row(pairs(p, 1)).data;
    if (four_alike(pairs, p)) {
      const double *b1 = Z.row(pairs(p + 1, 1)).data, *b2 = Z.row(pairs(p + 2, 1)).data,
                   *b3 = Z.row(pairs(p + 3, 1)).data;
      double D0 = 0.0, D1 = 0.0, D2 = 0.0, D3 = 0.0;
#pragma omp simd reduction(+ : D0, D1, D2, D3)
      for (int64_t k = 0; k < width; ++k) {
        const double d0 = a[k] - b0[k], d1 = a[k] - b1[k], d2 = a[k] - b2[k], d3 = a[k] - b3[k];
        D0 += d0 * d0;
        D1 += d1 * d1;
        D2 += d2 * d2;
        D3 += d3 * d3;
      }
      out[p] = D0;
      out[p + 1] = D1;
      out[p + 2] = D2;
      out[p + 3] = D3;
      p += 4;
    } else {
      double total = 0.0;
#pragma omp simd reduction(+ : total)
      for (int64_t k = 0; k < width; ++k) total += (a[k] - b0[k]) * (a[k] - b0[k]);
      out[p++] = total;
    }
  }
}

// Add sign * L_w X, with L_w the Laplacian of the weighted pairs.
inline void add_laplacian(Matrix<const double> X, Pairs pairs, Array<const double> weights,
                          double sign, Matrix<double> out) {
  expects_pairs("pairs", pairs, X.rows);
  expects_sizes(pairs.rows, "weights", weights);
  expects_shape(X.rows, X.columns, "out", out);
  for (int64_t p = 0; p < pairs.rows; ++p) {
    if (weights[p] == 0.0) continue;
    const double weight = sign * weights[p];
    const double *a = X.row(pairs(p, 0)).data, *b = X.row(pairs(p, 1)).data;
    double *at_a = out.row(pairs(p, 0)).data, *at_b = out.row(pairs(p, 1)).data;
    if (at_a == at_b) continue;
#pragma omp simd
    for (int64_t k = 0; k < X.columns; ++k) {
      const double step = weight * (a[k] - b[k]);
      at_a[k] += step;
      at_b[k] -= step;
    }
  }
}

// Add -2 sign * w x_b to the rows of out at the pairs' first points, and sign * w to degrees.
//
// Half the memory traffic of `add_laplacian`, for the same sum X' L_w X = X'(D - 2 W) X made
// symmetric; but it cancels where points are much nearer to each other than to the origin.
inline void add_edges(Matrix<const double> X, Pairs pairs, Array<const double> weights, double sign,
                      Array<double> degrees, Matrix<double> out) {
  expects_pairs("pairs", pairs, X.rows);
  expects_sizes(pairs.rows, "weights", weights);
  expects_sizes(X.rows, "degrees", degrees);
  expects_shape(X.rows, X.columns, "out", out);
  const int64_t width = X.columns;
  for (int64_t p = 0; p < pairs.rows;) {
    const int64_t a = pairs(p, 0);
    double* at = out.row(a).data;
    const double* b0 = X.row(pairs(p, 1)).data;
    const double w0 = sign * weights[p];
    if (four_alike(pairs, p)) {
      const double w1 = sign * weights[p + 1], w2 = sign * weights[p + 2],
                   w3 = sign * weights[p + 3];
      if (w0 != 0.0 || w1 != 0.0 || w2 != 0.0 || w3 != 0.0) {
        const double *b1 = X.row(pairs(p + 1, 1)).data, *b2 = X.row(pairs(p + 2, 1)).data,
                     *b3 = X.row(pairs(p + 3, 1)).data;
        degrees[a] += (w0 + w1) + (w2 + w3);
        degrees[pairs(p, 1)] += w0;
        degrees[pairs(p + 1, 1)] += w1;
        degrees[pairs(p + 2, 1)] += w2;
        degrees[pairs(p + 3, 1)] += w3;
#pragma omp simd
        for (int64_t k = 0; k < width; ++k)
          at[k] -= 2.0 * ((w0 * b0[k] + w1 * b1[k]) + (w2 * b2[k] + w3 * b3[k]));
      }
      p += 4;
    } else {
      if (w0 != 0.0) {
        degrees[a] += w0;
        degrees[pairs(p, 1)] += w0;
#pragma omp simd
        for (int64_t k = 0; k < width; ++k) at[k] -= 2.0 * (w0 * b0[k]);
      }
      ++p;
    }
  }
}

// Add a multiple of each row of X.
inline void add_scaled_rows(Matrix<const double> X, Array<const double> scales,
                            Matrix<double> out) {
  expects_sizes(X.rows, "scales", scales);
  expects_shape(X.rows, X.columns, "out", out);
  for (int64_t i = 0; i < X.rows; ++i) {
    const double *x = X.row(i).data, scale = scales[i];
    double* o = out.row(i).data;
#pragma omp simd
    for (int64_t k = 0; k < X.columns; ++k) o[k] += scale * x[k];
  }
}

// Add the weighted sum of squared differences, feature by feature.
inline void add_weighted_squares(Matrix<const double> X, Pairs pairs, Array<const double> weights,
                                 Array<double> out) {
  expects_pairs("pairs", pairs, X.rows);
  expects_sizes(pairs.rows, "weights", weights);
  expects_sizes(X.columns, "out", out);
  double* o = out.data;
  for (int64_t p = 0; p < pairs.rows; ++p) {
    const double weight = weights[p];
    if (weight == 0.0) continue;
    const double *a = X.row(pairs(p, 0)).data, *b = X.row(pairs(p, 1)).data;
#pragma omp simd
    for (int64_t k = 0; k < X.columns; ++k) o[k] += weight * ((a[k] - b[k]) * (a[k] - b[k]));
  }
}

// |u u'| = |u|^2 for every pair difference u, or |u * u| for a diagonal metric; rounded up.
inline void pair_sizes(Matrix<const double> X, Pairs pairs, bool diagonal, Array<double> out) {
  expects_pairs("pairs", pairs, X.rows);
  expects_sizes(pairs.rows, "out", out);
  for (int64_t p = 0; p < pairs.rows; ++p) {
    const double *a = X.row(pairs(p, 0)).data, *b = X.row(pairs(p, 1)).data;
    double square = 0.0, fourth = 0.0;
#pragma omp simd reduction(+ : square, fourth)
    for (int64_t k = 0; k < X.columns; ++k) {
      const double u = (a[k] - b[k]) * (a[k] - b[k]);
      square += u;
      fourth += u * u;
    }
    out[p] = (diagonal ? std::sqrt(fourth) : square) * (1.0 + 1e-12);
  }
}

// Largest row norm and Frobenius norm.
inline std::pair<double, double> row_and_frobenius_norms(Matrix<const double> X) {
  double largest = 0.0, total = 0.0;
  for (int64_t i = 0; i < X.rows; ++i) {
    const double* x = X.row(i).data;
    double square = 0.0;
#pragma omp simd reduction(+ : square)
    for (int64_t k = 0; k < X.columns; ++k) square += x[k] * x[k];
    largest = std::max(largest, square);
    total += square;
  }
  return {std::sqrt(largest), std::sqrt(total)};
}

// Add to `cover` the number of rows that are compared with each place.
inline void cover_places(Array<const int64_t> start, Array<const int64_t> stop,
                         Array<double> cover) {
  expects_ranges("start and stop", start, stop, cover.size);
  for (int64_t p = 0; p < start.size; ++p) {
    if (start[p] < cover.size) cover[start[p]] += 1.0;
    if (stop[p] < cover.size) cover[stop[p]] -= 1.0;
  }
  for (int64_t s = 1; s < cover.size; ++s) cover[s] += cover[s - 1];
}

// Rewrite ranges in terms of the covered places, and blocks; how many of their ends are left.
inline int64_t renumber_places(Array<const double> cover, Array<int64_t> blocks,
                               Array<int64_t> start, Array<int64_t> stop) {
  expects(blocks.size > 0, "blocks must not be empty");
  expects_starts("blocks", blocks, cover.size);
  expects_ranges("start and stop", start, stop, cover.size);
  std::vector<int64_t> position(cover.size + 1);
  for (int64_t s = 0; s < cover.size; ++s) position[s + 1] = position[s] + (cover[s] > 0.0);
  for (int64_t p = 0; p < start.size; ++p) {
    start[p] = position[start[p]];
    stop[p] = position[stop[p]];
  }
  blocks[0] = 0;
  int64_t count = 1;
  for (int64_t b = 1; b < blocks.size; ++b) {
    const int64_t end = position[blocks[b]];
    if (end > blocks[count - 1]) blocks[count++] = end;
  }
  return count;
}

// Mark the rows of data that pairs use.
inline void mark_points(Pairs pairs, Array<bool> used) {
  expects_pairs("pairs", pairs, used.size);
  for (int64_t p = 0; p < pairs.rows; ++p) used[pairs(p, 0)] = used[pairs(p, 1)] = true;
}

// Rewrite pairs of n rows of data in terms of the given ones.
inline void renumber_points(Array<const int64_t> points, int64_t n, Matrix<int32_t> near,
                            Matrix<int32_t> far) {
  expects(0 <= n && n < MOST_ENTRIES, "n must be a number of rows");
  expects_places("points", points, n);
  expects_pairs("near", near, n);
  expects_pairs("far", far, n);
  std::vector<int32_t> position(n);
  for (int64_t i = 0; i < points.size; ++i) position[points[i]] = (int32_t)i;
  for (const auto& pairs : {near, far})
    for (int64_t p = 0; p < pairs.rows; ++p)
      for (int64_t end = 0; end < 2; ++end) pairs(p, end) = position[pairs(p, end)];
}

// Fill in the order of distances within blocks, unless nearly nothing is out of order.
inline bool sort_blocks(Array<const int64_t> blocks, Array<const double> distances,
                        Array<int64_t> order) {
  expects_starts("blocks", blocks, distances.size);
  expects_sizes(distances.size, "order", order);
  int64_t descents = 0;
  for (int64_t b = 0; b + 1 < blocks.size; ++b)
    for (int64_t s = blocks[b] + 1; s < blocks[b + 1]; ++s)
      descents += distances[s - 1] > distances[s];
  if ((double)descents <= 0.02 * (double)distances.size) return false;
  for (int64_t b = 0; b + 1 < blocks.size; ++b) {
    const int64_t first = blocks[b], last = blocks[b + 1];
    for (int64_t s = first; s < last; ++s) {
      if (last - first > INSERTION) {
        order[s] = s;
        continue;
      }
      int64_t at = s;
      for (; at > first && distances[order[at - 1]] > distances[s]; --at) order[at] = order[at - 1];
      order[at] = s;
    }
    if (last - first > INSERTION)  // NaN is behind all numbers: the order must be one
      std::stable_sort(order.data + first, order.data + last, [&](int64_t i, int64_t j) {
        const double a = distances[i], c = distances[j];
        return a < c || (c != c && a == a);
      });
  }
  return true;
}

}  // namespace skscreen::metric_learning
