// Cholesky factors, a row at a time: their passes vectorise, and sums stay in few rows.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/sums.hpp"

namespace skscreen::svm {

// Subtract the sum of c_k x_k over n rows x, whose c stand in a column: four at a time.
inline void subtract_rows(int64_t width, double* to, int64_t n, const double* x, int64_t length,
                          const double* c, int64_t apart) {
  int64_t k = 0;
  for (; k + 4 <= n; k += 4) {
    const double a = c[k * apart], b = c[(k + 1) * apart], d = c[(k + 2) * apart],
                 e = c[(k + 3) * apart];
    const double *p = x + k * length, *q = p + length, *r = q + length, *s = r + length;
    for_all(width, [=](int64_t i) { to[i] -= a * p[i] + b * q[i] + d * r[i] + e * s[i]; });
  }
  for (; k < n; ++k) {
    const double a = c[k * apart], *p = x + k * length;
    for_all(width, [=](int64_t i) { to[i] -= a * p[i]; });
  }
}

// Write U, U'U = S plus a ridge, over the upper triangle of S (n, n); return whether there is one.
inline bool upper_factor(double* S, int64_t n, double ridge) {
  for (int64_t r = 0; r < n; ++r) {
    double* row = S + r * n + r;
    subtract_rows(n - r, row, r, S + r, n, S + r, n);
    if (!(row[0] + ridge > 0.0)) return false;
    const double inverse = 1.0 / std::sqrt(row[0] + ridge);
    row[0] = 1.0 / inverse;
    for_all(n - r - 1, [=](int64_t k) { row[k + 1] *= inverse; });
  }
  return true;
}

}  // namespace skscreen::svm
