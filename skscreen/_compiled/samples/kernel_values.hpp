// Kernel values between few samples and many, in double precision: what a prediction asks for.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/arrays.hpp"
#include "core/checks.hpp"
#include "core/sums.hpp"

namespace skscreen::samples {

// K(x, s) of a row of samples with all support vectors, from differences or inner products.
template <class Value>
void write_values(Matrix<const double> X, Matrix<const double> S, Matrix<double> out, Value value) {
  const int64_t d = X.columns;
  expects_shape(S.rows, d, "S", S);
  expects_shape(X.rows, S.rows, "out", out);
  for (int64_t r = 0; r < X.rows; ++r) {
    const double* x = X.row(r).data;
    double* row = out.row(r).data;
    for (int64_t j = 0; j < S.rows; ++j) row[j] = value(x, S.data + j * d, d);
  }
}

SKSCREEN_INLINE double inner_product(const double* x, const double* s, int64_t d) {
  return sum_of(d, [x, s](int64_t k) { return x[k] * s[k]; });
}

// exp(-gamma |x - s|^2).
inline void rbf_values(Matrix<const double> X, Matrix<const double> S, double gamma,
                       Matrix<double> out) {
  write_values(X, S, out, [gamma](const double* x, const double* s, int64_t d) {
    const double square = sum_of(d, [x, s](int64_t k) {
      const double difference = x[k] - s[k];
      return difference * difference;
    });
    return std::exp(-gamma * square);
  });
}

// (gamma <x, s> + coef0)^degree.
inline void poly_values(Matrix<const double> X, Matrix<const double> S, double gamma, double degree,
                        double coef0, Matrix<double> out) {
  write_values(X, S, out, [=](const double* x, const double* s, int64_t d) {
    const double base = gamma * inner_product(x, s, d) + coef0;
    return degree == 3.0   ? base * base * base
           : degree == 2.0 ? base * base
                           : std::pow(base, degree);
  });
}

// tanh(gamma <x, s> + coef0).
inline void sigmoid_values(Matrix<const double> X, Matrix<const double> S, double gamma,
                           double coef0, Matrix<double> out) {
  write_values(X, S, out, [=](const double* x, const double* s, int64_t d) {
    return std::tanh(gamma * inner_product(x, s, d) + coef0);
  });
}

}  // namespace skscreen::samples
