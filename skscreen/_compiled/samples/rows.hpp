// Passes over the rows of a data matrix, dense or sparse, without copies of it.
//
// A matrix is known here by three flat arrays: those of CSR, or for a dense matrix its entries in C
// order with empty `columns` and `starts`. Which of the two it is costs one comparison a row, so
// that every algorithm is written once. Sums are in double precision, also of single-precision
// data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/arrays.hpp"
#include "core/checks.hpp"
#include "core/sums.hpp"

namespace skscreen::samples {

template <class T, class Column, class Start>
struct Rows {
  Array<const T> data;
  Array<const Column> columns;
  Array<const Start> starts;
  int64_t d;

  // Everything that the loops below rely on; what is known of rows from here on is their number.
  void check() const {
    expects(d >= 0, "d must not be negative");
    if (dense()) {
      expects(columns.size == 0, "columns must be empty where starts are");
      expects(d == 0 ? data.size == 0 : data.size % d == 0, "data must have d entries a row");
      return;
    }
    expects_sizes(data.size, "columns", columns);
    expects_starts("starts", starts, data.size);
    expects_places("columns", columns, d);
  }

  // Rows without columns are any number, as none of their entries is read.
  bool has(int64_t n) const { return n == count() || (dense() && d == 0); }

  SKSCREEN_INLINE bool dense() const { return starts.size == 0; }
  int64_t count() const { return dense() ? (d ? data.size / d : 0) : starts.size - 1; }
  // Entries of row i are first(i), ..., first(i + 1) - 1.
  SKSCREEN_INLINE int64_t first(int64_t i) const {
    return dense() ? i * d : static_cast<int64_t>(starts[i]);
  }

  // Inner product of row i with w.
  SKSCREEN_INLINE double dot(int64_t i, const double* w) const {
    if (dense()) {
      const T* row = data.data + i * d;
      return sum_of(d, [row, w](int64_t j) { return row[j] * w[j]; });
    }
    double total = 0.0, second = 0.0, third = 0.0, fourth = 0.0;
    const int64_t last = starts[i + 1];
    int64_t p = starts[i];
    const T* x = data.data;
    const Column* column = columns.data;
    for (; p + 4 <= last; p += 4) {
      total += x[p] * w[column[p]];
      second += x[p + 1] * w[column[p + 1]];
      third += x[p + 2] * w[column[p + 2]];
      fourth += x[p + 3] * w[column[p + 3]];
    }
    for (; p < last; ++p) total += x[p] * w[column[p]];
    return (total + second) + (third + fourth);
  }

  // Add scale times row i to w.
  SKSCREEN_INLINE void add(int64_t i, double scale, double* w) const {
    if (dense()) {
      const T* row = data.data + i * d;
      for_all(d, [row, w, scale](int64_t j) { w[j] += scale * row[j]; });
      return;
    }
    const T* x = data.data;
    const Column* column = columns.data;
    const int64_t last = starts[i + 1];
    for (int64_t p = starts[i]; p < last; ++p) w[column[p]] += scale * x[p];
  }
};

// Squared Euclidean norm of every row.
template <class Data>
void squared_norms(const Data& X, Array<double> out) {
  expects(X.has(out.size), "out must have an entry for each row");
  for (int64_t i = 0; i < out.size; ++i) {
    const int64_t first = X.first(i), last = X.first(i + 1);
    const auto* x = X.data.data + first;
    out[i] = sum_of(last - first, [x](int64_t p) {
      return static_cast<double>(x[p]) * static_cast<double>(x[p]);
    });
  }
}

// Inner products of all rows with w.
template <class Data>
void multiply(const Data& X, Array<const double> w, Array<double> out) {
  expects(X.has(out.size), "out must have an entry for each row");
  expects(w.size >= X.d, "w must have an entry for each column");
  for (int64_t i = 0; i < out.size; ++i) out[i] = X.dot(i, w.data);
}

// Inner products of some rows with w.
template <class Data>
void multiply_some(const Data& X, Array<const int64_t> index, Array<const double> w,
                   Array<double> out) {
  expects_sizes(index.size, "out", out);
  expects_places("index", index, X.count());
  expects(w.size >= X.d, "w must have an entry for each column");
  for (int64_t k = 0; k < index.size; ++k) out[k] = X.dot(index[k], w.data);
}

// Inner products of all rows with a vector of few entries, by a hash table of its columns: a vector
// of all columns, most of them zero, takes longer to make than to read.
template <class Data>
void multiply_sparse(const Data& X, Array<const int64_t> columns, Array<const double> values,
                     Array<double> out) {
  expects(!X.dense(), "X must be rows of CSR");
  expects(X.has(out.size), "out must have an entry for each row");
  expects_sizes(columns.size, "values", values);
  expects_places("columns", columns, X.d);
  uint64_t size = 1;
  // So large that nearly all places are empty: which branch is taken is foreseen then.
  while (size < 16 * static_cast<uint64_t>(columns.size)) size *= 2;
  std::vector<int64_t> keys(size, -1);
  std::vector<double> held(size, 0.0);
  const auto place = [&](int64_t column) {
    // Multiplied by 2^64 over the golden ratio neighbours are far apart.
    uint64_t at = (static_cast<uint64_t>(column) * 0x9E3779B97F4A7C15ull >> 32) & (size - 1);
    while (keys[at] >= 0 && keys[at] != column) at = (at + 1) & (size - 1);
    return at;
  };
  for (int64_t k = 0; k < columns.size; ++k) {
    const uint64_t at = place(columns[k]);
    keys[at] = columns[k];
    held[at] += values[k];
  }
  for (int64_t i = 0; i < out.size; ++i) {
    double total = 0.0;
    for (int64_t p = X.first(i); p < X.first(i + 1); ++p) {
      const uint64_t at = place(static_cast<int64_t>(X.columns[p]));
      if (keys[at] >= 0) total += X.data[p] * held[at];
    }
    out[i] = total;
  }
}

// Add the sum of scales_i times row i to `out`; rows with scale 0 are not read.
template <class Data>
void multiply_transposed(const Data& X, Array<const double> scales, Array<double> out) {
  expects(X.has(scales.size), "scales must have an entry for each row");
  expects(out.size >= X.d, "out must have an entry for each column");
  for (int64_t i = 0; i < scales.size; ++i)
    if (scales[i] != 0.0) X.add(i, scales[i], out.data);
}

// Add scales_k times outer products of (x_i, B), x_i rows of CSR, to `out`: lower triangle.
//
// i is index_k, or index_k - n: samples may stand twice. Entries of a row are not repeated; their
// order is free.
template <class Data>
void add_products(const Data& X, double bias, Array<const int64_t> index,
                  Array<const double> scales, Matrix<double> out) {
  const int64_t n = X.count(), d = X.d, size = d + (bias != 0.0);
  expects(!X.dense(), "X must be rows of CSR");
  expects_sizes(index.size, "scales", scales);
  expects_places("index", index, 2 * n);
  expects(out.rows >= size && out.columns >= size,
          "out must have a row and a column for each of X");
  for (int64_t k = 0; k < index.size; ++k) {
    const int64_t i = index[k] < n ? index[k] : index[k] - n;
    const int64_t first = X.first(i), last = X.first(i + 1);
    for (int64_t p = first; p < last; ++p) {
      const double value = scales[k] * X.data[p];
      const int64_t row = X.columns[p];
      for (int64_t q = first; q <= p; ++q) {
        const int64_t column = X.columns[q];
        out(std::max(row, column), std::min(row, column)) += value * X.data[q];
      }
      if (bias != 0.0) out(d, row) += value * bias;
    }
    if (bias != 0.0) out(d, d) += scales[k] * bias * bias;
  }
}

// Number of entries of each row that are not zero.
template <class T>
void count_entries(Matrix<const T> X, Array<int64_t> counts) {
  expects_sizes(X.rows, "counts", counts);
  for (int64_t i = 0; i < X.rows; ++i) {
    const T* row = X.row(i).data;
    int64_t count = 0;
#pragma omp simd reduction(+ : count)
    for (int64_t j = 0; j < X.columns; ++j) count += row[j] != T(0);
    counts[i] = count;
  }
}

// Write the entries that are not zero, and their columns, row by row.
template <class T, class Index>
void take_entries(Matrix<const T> X, Array<const Index> starts, Array<Index> columns,
                  Array<T> data) {
  expects_sizes(X.rows + 1, "starts", starts);
  expects_sizes(data.size, "columns", columns);
  expects_starts("starts", starts, data.size);
  for (int64_t i = 0; i < X.rows; ++i) {
    const T* row = X.row(i).data;
    int64_t place = starts[i];
    for (int64_t j = 0; j < X.columns; ++j)
      if (row[j] != T(0)) {
        expects(place < starts[i + 1], "starts must leave room for the entries of each row");
        columns[place] = static_cast<Index>(j);
        data[place++] = row[j];
      }
  }
}

// Squared distances of the rows of a dense matrix from a point.
template <class T>
void squared_distances_from(Matrix<const T> X, Array<const double> origin, Array<double> out) {
  expects_sizes(X.columns, "origin", origin);
  expects_sizes(X.rows, "out", out);
  for (int64_t i = 0; i < X.rows; ++i) {
    const T* row = X.row(i).data;
    const double* from = origin.data;
    out[i] = sum_of(X.columns, [row, from](int64_t j) {
      const double difference = static_cast<double>(row[j]) - from[j];
      return difference * difference;
    });
  }
}

}  // namespace skscreen::samples
