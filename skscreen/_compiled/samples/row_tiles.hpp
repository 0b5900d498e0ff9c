// Weighted sums of RBF kernel values from rows of few entries: see
// samples/kernels/kernel_blocks.py.
//
// Columns stand transposed in cache: each entry of a row adds a multiple of one of their rows to
// -|a - b|^2, a loop that vectorises. Products are added in the order of the columns, in groups of
// four, which the bounds on errors count on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "core/arrays.hpp"
#include "core/checks.hpp"
#include "samples/tiles.hpp"

namespace skscreen::samples {

// Rows, each filled up with zeros to a multiple of four entries: as in CSR, without columns where
// all rows have all features; and -|a|^2 in two parts.
template <class T>
struct TileRows {
  Array<const int64_t> indptr, columns;
  Array<const T> values, high, low;

  bool sparse() const { return columns.size > 0; }

  // Whether some rows can be read as rows of d columns.
  void check(const char* name, Array<const int64_t> index, int64_t d) const {
    expects_sizes(high.size, "low", low);
    expects_sizes(high.size + 1, "indptr", indptr);
    if (sparse()) expects_sizes(values.size, "columns", columns);
    expects_places(name, index, high.size);
    for (int64_t k = 0; k < index.size; ++k) {
      const int64_t first = indptr[index[k]], last = indptr[index[k] + 1];
      expects(0 <= first && first <= last && last <= values.size && (last - first) % 4 == 0,
              "indptr must ascend by fours, to the number of values at most");
      if (sparse())
        expects_places("columns", columns.slice(first, last), d);
      else
        expects(last - first == d, "rows without columns must have d values");
    }
  }
};

// A few of the right rows as columns, and space for four rows of exponents between them and others.
template <class T>
class Tile {
 public:
  Tile(int64_t width, int64_t d) : d(d), memory_(new T[(d + 7) * width]), R(memory_.get()) {}

  // Take the rows J of the right side as columns, arrays next to each other.
  void take(const TileRows<T>& right, Array<const int64_t> J) {
    n = J.size;
    S = R + d * n;
    high_ = S + 4 * n;
    low_ = high_ + n;
    sums = low_ + n;
    const bool sparse = right.columns.size > 0;
    if (sparse) std::fill_n(R, d * n, T(0));
    for (int64_t j = 0; j < n; ++j) {
      const int64_t row = J[j], first = right.indptr[row];
      high_[j] = right.high[row];
      low_[j] = right.low[row];
      for (int64_t k = first; k < right.indptr[row + 1]; ++k) {
        // Twice the rows, for 2 <a, b>.
        const T value = right.values[k] + right.values[k];
        if (!sparse)
          R[(k - first) * n + j] = value;
        else if (value != T(0))
          R[right.columns[k] * n + j] = value;
      }
    }
  }

  // Write -|a - b|^2 for the rows I[i], ... before `end`, the last one again where they end.
  void exponents(const TileRows<T>& left, Array<const int64_t> I, int64_t i, int64_t end) {
    const T* values[4];
    for (int64_t r = 0; r < 4; ++r) {
      const int64_t row = I[std::min(i + r, end - 1)];
      const T own_high = left.high[row], own_low = left.low[row];
      T* out = S + r * n;
      const T *high = high_, *low = low_;
#pragma omp simd
      for (int64_t j = 0; j < n; ++j) out[j] = (own_high + high[j]) + (own_low + low[j]);
      values[r] = left.values.data + left.indptr[row];
      if (left.columns.size > 0)
        add_sparse(left.columns.data + left.indptr[row], values[r],
                   left.indptr[row + 1] - left.indptr[row], out);
    }
    if (left.columns.size == 0)
      for (int64_t k = 0; k < d; k += 4) add_dense(values, k);
  }

  int64_t n = 0;
  // Exponents of four rows, and memory for sums.
  T *S = nullptr, *sums = nullptr;

 private:
  int64_t d;
  std::unique_ptr<T[]> memory_;
  T *R, *high_ = nullptr, *low_ = nullptr;

  // Add the product of a row with all columns: four entries a group, two groups a pass.
  SKSCREEN_INLINE void add_sparse(const int64_t* columns, const T* values, int64_t count, T* out) {
    int64_t k = 0;
    for (; k + 8 <= count; k += 8) {
      const T a = values[k], b = values[k + 1], c = values[k + 2], e = values[k + 3];
      const T f = values[k + 4], g = values[k + 5], h = values[k + 6], i = values[k + 7];
      const T *A = R + columns[k] * n, *B = R + columns[k + 1] * n;
      const T *C = R + columns[k + 2] * n, *E = R + columns[k + 3] * n;
      const T *F = R + columns[k + 4] * n, *G = R + columns[k + 5] * n;
      const T *H = R + columns[k + 6] * n, *I = R + columns[k + 7] * n;
#pragma omp simd
      for (int64_t j = 0; j < n; ++j) {
        const T sum = out[j] + ((a * A[j] + b * B[j]) + (c * C[j] + e * E[j]));
        out[j] = sum + ((f * F[j] + g * G[j]) + (h * H[j] + i * I[j]));
      }
    }
    for (; k < count; k += 4) {
      const T a = values[k], b = values[k + 1], c = values[k + 2], e = values[k + 3];
      const T *A = R + columns[k] * n, *B = R + columns[k + 1] * n;
      const T *C = R + columns[k + 2] * n, *E = R + columns[k + 3] * n;
#pragma omp simd
      for (int64_t j = 0; j < n; ++j) out[j] += (a * A[j] + b * B[j]) + (c * C[j] + e * E[j]);
    }
  }

  // Add the products of four features of four rows with all columns.
  SKSCREEN_INLINE void add_dense(const T* const* values, int64_t k) {
    const T *a = values[0] + k, *b = values[1] + k, *c = values[2] + k, *e = values[3] + k;
    const T *X = R + k * n, *Y = X + n, *Z = Y + n, *U = Z + n;
    T *A = S, *B = A + n, *C = B + n, *E = C + n;
    const T a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3], b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3];
    const T c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3], e0 = e[0], e1 = e[1], e2 = e[2], e3 = e[3];
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
      const T x = X[j], y = Y[j], z = Z[j], u = U[j];
      A[j] += (a0 * x + a1 * y) + (a2 * z + a3 * u);
      B[j] += (b0 * x + b1 * y) + (b2 * z + b3 * u);
      C[j] += (c0 * x + c1 * y) + (c2 * z + c3 * u);
      E[j] += (e0 * x + e1 * y) + (e2 * z + e3 * u);
    }
  }
};

template <class T>
void check_tiles(const TileRows<T>& left, const TileRows<T>& right, int64_t width, int64_t d,
                 Array<const int64_t> I, Array<const int64_t> J) {
  expects(width > 0, "width must be positive");
  expects(d >= 0 && d % 4 == 0 && d < MOST_ENTRIES / width, "d must be a multiple of four");
  left.check("I", I, d);
  right.check("J", J, d);
}

// Add sum_{i in I} c_i 2^-|a_i - b_j|^2 to the values of j in J, and bounds to their errors.
//
// Weights are |c_i|, those of negative c_i first.
template <class T>
void add_tiles(const TileRows<T>& left, const TileRows<T>& right, int64_t width, int64_t d,
               Array<const int64_t> I, Array<const int64_t> J, Array<const T> weights,
               int64_t n_negative, Matrix<const double> own, const Sums& out) {
  check_tiles(left, right, width, d, I, J);
  out.check(J.size);
  expects_sizes(I.size, "weights", weights);
  expects_shape(I.size, 2, "own", own);
  expects(0 <= n_negative && n_negative <= I.size, "n_negative must be from 0 to the size of I");
  Tile<T> tile(width, d);
  for (int64_t start = 0; start < J.size; start += width) {
    const int64_t stop = std::min(start + width, J.size);
    tile.take(right, J.slice(start, stop));
    const Sums part = out.slice(start, stop);
    const int64_t n = tile.n;
    for (const bool negative : {true, false}) {
      const int64_t last = negative ? n_negative : I.size;
      for (int64_t row = negative ? 0 : n_negative; row < last; row += SUMMED_ROWS) {
        const int64_t end = std::min(row + SUMMED_ROWS, last);
        std::fill_n(tile.sums, n, T(0));
        for (int64_t i = row; i < end; i += 4) {
          tile.exponents(left, I, i, end);
          T four[4];  // rows that are not there have no weight
          for (int64_t r = 0; r < 4; ++r) four[r] = i + r < end ? weights[i + r] : T(0);
          add_four_powers(four, tile.S, tile.S + n, tile.S + 2 * n, tile.S + 3 * n, n, tile.sums);
        }
        part.add(tile.sums, negative, own.row(row).data, end - row);
      }
    }
  }
}

// Write 2^-|a_i - b_j|^2 for i in I and j in J to the first columns of `out`.
template <class T>
void write_tiles(const TileRows<T>& left, const TileRows<T>& right, int64_t width, int64_t d,
                 Array<const int64_t> I, Array<const int64_t> J, Matrix<T> out) {
  check_tiles(left, right, width, d, I, J);
  expects(out.rows >= I.size && out.columns >= J.size, "out must have room for I and J");
  Tile<T> tile(width, d);
  for (int64_t start = 0; start < J.size; start += width) {
    const int64_t stop = std::min(start + width, J.size);
    tile.take(right, J.slice(start, stop));
    for (int64_t i = 0; i < I.size; i += 4) {
      tile.exponents(left, I, i, I.size);
      for (int64_t r = 0; r < std::min<int64_t>(4, I.size - i); ++r)
        write_powers(tile.S + r * tile.n, tile.n, out.row(i + r).data + start);
    }
  }
}

}  // namespace skscreen::samples
