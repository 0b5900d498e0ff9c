// Passes over rows of a Gram matrix, whose columns are read as rows: contiguous in memory.
//
// Sums are in double precision whatever the matrix is stored in.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>

#include "core/arrays.hpp"
#include "core/checks.hpp"
#include "core/sums.hpp"

namespace skscreen::samples {

// Columns of a block of sums that stays in the first-level cache.
constexpr int64_t GRAM_COLUMNS = 2048;

// out_j += sum_k weights_k K(rows_k, place(j)); four rows a pass, to read and write out less.
template <class Place>
SKSCREEN_INLINE void add_gram_rows_by(Matrix<const double> K, Array<const int64_t> rows,
                                      Array<const double> weights, Array<double> out, Place place) {
  const int64_t m = rows.size;
  double* sums = out.data;
  for (int64_t first = 0; first < out.size; first += GRAM_COLUMNS) {
    const int64_t last = std::min(first + GRAM_COLUMNS, out.size);
    int64_t k = 0;
    for (; k + 4 <= m; k += 4) {
      const double a = weights[k], b = weights[k + 1], c = weights[k + 2], d = weights[k + 3];
      const double *A = K.row(rows[k]).data, *B = K.row(rows[k + 1]).data;
      const double *C = K.row(rows[k + 2]).data, *D = K.row(rows[k + 3]).data;
      for_all(last - first, [=](int64_t l) {
        const int64_t i = place(first + l);
        sums[first + l] += (a * A[i] + b * B[i]) + (c * C[i] + d * D[i]);
      });
    }
    for (; k < m; ++k) {
      const double a = weights[k];
      const double* A = K.row(rows[k]).data;
      for_all(last - first, [=](int64_t l) { sums[first + l] += a * A[place(first + l)]; });
    }
  }
}

inline void add_gram_rows(Matrix<const double> K, Array<const int64_t> rows,
                          Array<const double> weights, Array<double> out) {
  expects_places("rows", rows, K.rows);
  expects_sizes(rows.size, "weights", weights);
  expects_sizes(K.columns, "out", out);
  add_gram_rows_by(K, rows, weights, out, [](int64_t j) { return j; });
}

inline void add_gram_rows_at(Matrix<const double> K, Array<const int64_t> rows,
                             Array<const double> weights, Array<const int64_t> columns,
                             Array<double> out) {
  expects_places("rows", rows, K.rows);
  expects_places("columns", columns, K.columns);
  expects_sizes(rows.size, "weights", weights);
  expects_sizes(columns.size, "out", out);
  const int64_t* column = columns.data;
  add_gram_rows_by(K, rows, weights, out, [column](int64_t j) { return column[j]; });
}

// What a square matrix K with roots of its diagonal shows of itself: the largest |K_ij|, NaN if any
// is not finite, the largest |K_ij - K_ji|, and the largest |K_ij| - roots_i roots_j.
inline std::tuple<double, double, double> flaws(Matrix<const double> K, Array<const double> roots) {
  constexpr int64_t TILE = 64;
  const int64_t n = K.rows;
  expects_shape(n, n, "K", K);
  expects_sizes(n, "roots", roots);
  double largest = 0.0, apart = 0.0, excess = -std::numeric_limits<double>::infinity(), zero = 0.0;
  double across[TILE];
  for (int64_t top = 0; top < n; top += TILE)
    for (int64_t left = top; left < n; left += TILE)
      for (int64_t i = top; i < std::min(top + TILE, n); ++i) {
        const int64_t first = std::max(left, i), count = std::min(left + TILE, n) - first;
        for (int64_t k = 0; k < count; ++k) across[k] = K(first + k, i);
        const double *row = K.row(i).data + first, *others = roots.data + first, own = roots[i];
#pragma omp simd reduction(max : largest, apart, excess) reduction(+ : zero)
        for (int64_t k = 0; k < count; ++k) {
          const double a = std::abs(row[k]), b = std::abs(across[k]), most = std::max(a, b);
          largest = std::max(largest, most);
          apart = std::max(apart, std::abs(row[k] - across[k]));
          excess = std::max(excess, most - own * others[k]);
          zero += 0.0 * (row[k] + across[k]);
        }
      }
  return {largest + zero, apart, excess};
}

// Write factor (K(i, j) - own_i - own_j), i in rows and j in columns, to columns of out.
template <class Out>
void copy_block(Matrix<const double> K, Array<const int64_t> rows, Array<const int64_t> columns,
                Array<const double> own_rows, Array<const double> own_columns, double factor,
                Matrix<Out> out) {
  expects_places("rows", rows, K.rows);
  expects_places("columns", columns, K.columns);
  expects_sizes(rows.size, "own_rows", own_rows);
  expects_sizes(columns.size, "own_columns", own_columns);
  expects(out.rows >= rows.size && out.columns >= columns.size,
          "out must have room for rows and columns");
  const double* others = own_columns.data;
  for (int64_t k = 0; k < rows.size; ++k) {
    const double* A = K.row(rows[k]).data;
    const double mine = own_rows[k];
    Out* into = out.row(k).data;
    for (int64_t j = 0; j < columns.size; ++j)
      into[j] = static_cast<Out>(factor * (A[columns[j]] - mine - others[j]));
  }
}

}  // namespace skscreen::samples
