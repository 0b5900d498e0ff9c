// Products of the rows of one chain, dense or sparse, with tables of weights.
//
// A table has a row for each feature and a column for each label, so that a sparse row touches
// whole lines of memory.
#pragma once

#include <algorithm>
#include <cstdint>

#include "arrays.hpp"

namespace skscreen {

// All observations: CSR, or for a dense matrix its entries in C order with empty columns, starts.
struct ChainRows {
  Array<const double> data;
  Array<const uint32_t> columns;
  Array<const int64_t> starts;
};

// A matrix as a product sees it: steps from row to row and from column to column.
struct Strided {
  const double* data;
  int64_t row, column;
};

// sums += the product of four entries of a row with four lines of B, or of one with one.
SKSCREEN_INLINE void add_four_lines(const double* row, int64_t step, double scale, const double* a,
                                    int64_t width, double* sums) {
  const double *b = a + width, *c = b + width, *d = c + width;
  const double p = scale * row[0], q = scale * row[step];
  const double r = scale * row[2 * step], s = scale * row[3 * step];
#pragma omp simd
  for (int64_t j = 0; j < width; ++j) sums[j] += (p * a[j] + q * b[j]) + (r * c[j] + s * d[j]);
}
SKSCREEN_INLINE void add_line(double entry, const double* a, int64_t width, double* sums) {
#pragma omp simd
  for (int64_t j = 0; j < width; ++j) sums[j] += entry * a[j];
}

// out += scale A B, A of shape (rows, inner), B and out in C order with `width` columns.
inline void add_product(Strided A, int64_t rows, int64_t inner, const double* B, int64_t width,
                        double scale, double* out) {
  for (int64_t i = 0; i < rows; ++i) {
    const double* row = A.data + i * A.row;
    double* sums = out + i * width;
    int64_t k = 0;
    for (; k + 4 <= inner; k += 4)
      add_four_lines(row + k * A.column, A.column, scale, B + k * width, width, sums);
    for (; k < inner; ++k) add_line(scale * row[k * A.column], B + k * width, width, sums);
  }
}

// Fill `out` with the products of the rows first, ..., last - 1 with W.
inline void row_scores(const ChainRows& rows, int64_t first, int64_t last, Matrix<const double> W,
                       Matrix<double> out) {
  const int64_t m = W.columns, d = W.rows;
  std::fill_n(out.data, (last - first) * m, 0.0);
  if (rows.starts.size == 0) {
    add_product({rows.data.data + first * d, d, 1}, last - first, d, W.data, m, 1.0, out.data);
    return;
  }
  for (int64_t t = first; t < last; ++t) {
    double* scores = out.row(t - first).data;
    for (int64_t p = rows.starts[t]; p < rows.starts[t + 1]; ++p) {
      const double value = rows.data[p], *line = W.row(rows.columns[p]).data;
#pragma omp simd
      for (int64_t j = 0; j < m; ++j) scores[j] += value * line[j];
    }
  }
}

// Add scale times the transposed rows first, ..., last - 1 times `weights` to W.
inline void add_rows(const ChainRows& rows, int64_t first, int64_t last,
                     Matrix<const double> weights, double scale, Matrix<double> W) {
  const int64_t m = W.columns, d = W.rows;
  if (rows.starts.size == 0) {
    add_product({rows.data.data + first * d, 1, d}, d, last - first, weights.data, m, scale,
                W.data);
    return;
  }
  for (int64_t t = first; t < last; ++t)
    for (int64_t j = 0; j < m; ++j) {
      const double value = scale * weights(t - first, j);
      if (value == 0.0) continue;
      for (int64_t p = rows.starts[t]; p < rows.starts[t + 1]; ++p)
        W(rows.columns[p], j) += value * rows.data[p];
    }
}

// Set what `add_rows` has changed in a table of zeros to zero again.
inline void clear_rows(const ChainRows& rows, int64_t first, int64_t last,
                       Matrix<const double> weights, Matrix<double> W) {
  if (rows.starts.size == 0) {
    std::fill_n(W.data, W.rows * W.columns, 0.0);
    return;
  }
  for (int64_t t = first; t < last; ++t)
    for (int64_t j = 0; j < W.columns; ++j)
      if (weights(t - first, j) != 0.0)
        for (int64_t p = rows.starts[t]; p < rows.starts[t + 1]; ++p) W(rows.columns[p], j) = 0.0;
}

}  // namespace skscreen
