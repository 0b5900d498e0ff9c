// Powers of two of tiles of exponents, and weighted sums of them: samples/kernels/kernel_blocks.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>

#include "core/arrays.hpp"
#include "core/checks.hpp"

namespace skscreen::samples {

// What 2^t is made of in a precision: 2^k times a polynomial in t - k, where k is the integer
// nearest to t. Adding a large number rounds t to k, leaving k in the lowest bits of the sum;
// shifted, they are what the exponent of the polynomial's value has to grow by. No branch and no
// table: loops of it vectorise. Sums must not be reordered: t + large - large would be t.
template <class T>
struct Power;

template <>
struct Power<float> {
  using Bits = uint32_t;
  static constexpr int POINT = 23, DEGREE = 6;
  // 1.5 times 2 to the number of bits after the point: the sum has no other digits than integers.
  static constexpr float ROUND = 12582912.0f;
  // Smaller powers are no normal numbers; 2^-126 is nothing next to what is added up here.
  static constexpr float LEAST = -125.0f;
  // 2^f on [-1/2, 1/2] by its Chebyshev series, cut off: relative errors of 2e-9.
  static constexpr float SERIES[DEGREE + 1] = {
      1.0f, 0.6931472f, 0.2402265f, 0.05550327f, 0.009618025f, 0.0013400433f, 0.00015469732f};
};

template <>
struct Power<double> {
  using Bits = uint64_t;
  static constexpr int POINT = 52, DEGREE = 11;
  static constexpr double ROUND = 6755399441055744.0;
  static constexpr double LEAST = -1021.0;
  // Relative errors of 1e-17.
  static constexpr double SERIES[DEGREE + 1] = {
      0.9999999999999999,     0.6931471805599452,     0.24022650695910153,
      0.05550410866482168,    0.00961812910758725,    0.0013333558146390342,
      0.00015403530463727972, 1.5252733856295558e-05, 1.3215432534254116e-06,
      1.017805119211784e-07,  7.074194562613099e-09,  4.4566754636398577e-10};
};

// 2^t for t <= 1/2, in the precision of t.
template <class T>
SKSCREEN_INLINE T power_of_two(T t) {
  using P = Power<T>;
  t = std::max(std::min(t, T(1)), P::LEAST);
  const T rounded = t + P::ROUND;
  const T f = t - (rounded - P::ROUND);
  T value = P::SERIES[P::DEGREE];
  for (int k = P::DEGREE - 1; k >= 0; --k) value = P::SERIES[k] + f * value;
  typename P::Bits mantissa, power;
  std::memcpy(&mantissa, &value, sizeof value);
  std::memcpy(&power, &rounded, sizeof rounded);
  mantissa += power << P::POINT;
  std::memcpy(&value, &mantissa, sizeof value);
  return value;
}

// Write 2^t for `n` entries t.
template <class T>
SKSCREEN_INLINE void write_powers(const T* t, int64_t n, T* out) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) out[j] = power_of_two(t[j]);
}

// Write 2^t for the entries t of a tile to a part of `out`.
inline void powers(Matrix<const float> T, Matrix<float> out, int64_t first_row,
                   int64_t first_column) {
  expects(0 <= first_row && 0 <= first_column && T.rows <= out.rows &&
              first_row <= out.rows - T.rows && T.columns <= out.columns &&
              first_column <= out.columns - T.columns,
          "out must have room for the tile at first_row and first_column");
  for (int64_t i = 0; i < T.rows; ++i)
    write_powers(T.row(i).data, T.columns, out.row(first_row + i).data + first_column);
}

// Replace the entries t of a tile by 2^t.
inline void powers_double(Matrix<double> T) { write_powers(T.data, T.rows * T.columns, T.data); }

// sums_j += weighted powers of two of four rows of exponents.
template <class T>
SKSCREEN_INLINE void add_four_powers(const T* weights, const T* A, const T* B, const T* C,
                                     const T* D, int64_t n, T* sums) {
  const T a = weights[0], b = weights[1], c = weights[2], d = weights[3];
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) {
    const T one = a * power_of_two(A[j]) + b * power_of_two(B[j]);
    sums[j] += one + (c * power_of_two(C[j]) + d * power_of_two(D[j]));
  }
}

// Units that bounds on sums are made of.
struct Bound {
  // Unit, times a factor for products of errors; relative errors in units without those of
  // exponents; unit of double precision.
  double unit, constant, unit_double;
};

// What sums of tiles are added to, for all columns.
struct Sums {
  Array<const double> other;  // |b|^2
  Bound bound;
  Array<double> values, errors;

  void check(int64_t n) const {
    expects_sizes(n, "other", other, "values", values, "errors", errors);
  }

  Sums slice(int64_t first, int64_t last) const {
    return {other.slice(first, last), bound, values.slice(first, last), errors.slice(first, last)};
  }

  // Add sums of |c_i| K_ij over a few rows with their sign to values, and bounds to errors.
  //
  // Of the rows `own` has |a|^2, and errors of exponents in units over |a|^2 + |b|^2, times ln 2.
  template <class T>
  void add(const T* sums, bool negative, const double* own, int64_t rows) const {
    double square = 0.0, exponents = 0.0;
    for (int64_t i = 0; i < rows; ++i) {
      square = std::max(square, own[2 * i]);
      exponents = std::max(exponents, own[2 * i + 1]);
    }
    const double sign = negative ? -1.0 : 1.0, unit = bound.unit, constant = bound.constant;
    const double unit_double = bound.unit_double, *squares = other.data;
    double *value = values.data, *error = errors.data;
#pragma omp simd
    for (int64_t j = 0; j < values.size; ++j) {
      const double total = sums[j];
      value[j] += sign * total;
      const double relative = unit * (constant + exponents * (square + squares[j]));
      error[j] += relative * total + unit_double * std::abs(value[j]);
    }
  }
};

// Rows whose weighted sum is in the precision of the tile.
constexpr int64_t SUMMED_ROWS = 32;

// Add sum_i c_i 2^T_ij, where all c_i have one sign, and bounds on the errors of that.
template <class T>
void add_powers(Matrix<const T> tile, Array<const T> weights, bool negative,
                Matrix<const double> own, const Sums& out) {
  out.check(tile.columns);
  expects_sizes(tile.rows, "weights", weights);
  expects_shape(tile.rows, 2, "own", own);
  const int64_t m = tile.rows, n = tile.columns;
  const std::unique_ptr<T[]> memory(new T[n]);
  T* sums = memory.get();
  for (int64_t first = 0; first < m; first += SUMMED_ROWS) {
    const int64_t last = std::min(first + SUMMED_ROWS, m);
    std::fill_n(sums, n, T(0));
    int64_t i = first;
    for (; i + 4 <= last; i += 4)  // to read and write sums less
      add_four_powers(&weights[i], tile.row(i).data, tile.row(i + 1).data, tile.row(i + 2).data,
                      tile.row(i + 3).data, n, sums);
    for (; i < last; ++i) {
      const T a = weights[i], *A = tile.row(i).data;
#pragma omp simd
      for (int64_t j = 0; j < n; ++j) sums[j] += a * power_of_two(A[j]);
    }
    out.add(sums, negative, own.row(first).data, last - first);
  }
}

// Write factor |a_i - b_j|^2, by differences.
inline void differences(Matrix<const double> A, Matrix<const double> B, double factor,
                        Matrix<double> out) {
  const int64_t d = A.columns;
  expects_shape(B.rows, d, "B", B);
  expects_shape(A.rows, B.rows, "out", out);
  for (int64_t i = 0; i < A.rows; ++i)
    for (int64_t j = 0; j < B.rows; ++j) {
      const double *a = A.row(i).data, *b = B.row(j).data;
      double total = 0.0;
      for (int64_t k = 0; k < d; ++k) total += (a[k] - b[k]) * (a[k] - b[k]);
      out(i, j) = factor * total;
    }
}

}  // namespace skscreen::samples
