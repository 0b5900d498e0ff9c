// Sums and updates of many entries, arranged so that additions need not wait for each other.
#pragma once

#include <cstdint>

#include "core/arrays.hpp"

namespace skscreen {

// Entries from which on four sums are faster than one.
constexpr int64_t MANY_ENTRIES = 64;

// term(0) + ... + term(n - 1), reordered.
template <class Term>
SKSCREEN_INLINE double sum_of(int64_t n, Term term) {
  double total = 0.0;
  int64_t first = 0;
  if (n >= MANY_ENTRIES) {
    const int64_t quarter = n / 4;
    double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
#pragma omp simd reduction(+ : a, b, c, d)
    for (int64_t j = 0; j < quarter; ++j) {
      a += term(j);
      b += term(j + quarter);
      c += term(j + 2 * quarter);
      d += term(j + 3 * quarter);
    }
    total = (a + b) + (c + d);
    first = 4 * quarter;
  }
#pragma omp simd reduction(+ : total)
  for (int64_t j = first; j < n; ++j) total += term(j);
  return total;
}

// Call update(0), ..., update(n - 1), which do not depend on each other; sixteen a pass.
template <class Update>
SKSCREEN_INLINE void for_all(int64_t n, Update update) {
  int64_t j = 0;
  for (; j + 16 <= n; j += 16)
#pragma omp simd
    for (int64_t l = 0; l < 16; ++l) update(j + l);
#pragma omp simd
  for (int64_t l = j; l < n; ++l) update(l);
}

// A sum, and all that rounding has lost of it (Knuth's exact error of an addition). Both together
// are the sum of n numbers x_i up to EPS |sum| + (n EPS)^2 sum |x_i| (Ogita, Rump, Oishi 2005).
struct CompensatedSum {
  double total = 0.0, lost = 0.0;

  SKSCREEN_INLINE void add(double value) {
    const double sum = total + value, added = sum - total;
    lost += (total - (sum - added)) + (value - added);
    total = sum;
  }
};

}  // namespace skscreen
