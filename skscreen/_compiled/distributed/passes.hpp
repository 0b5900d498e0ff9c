// Sums over labelled rows for Newton's method, by blocks: distributed/linear_passes.py, which has
// the symbols. Rows are read once, where they are; what is kept of a row is written in place.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/arrays.hpp"
#include "core/checks.hpp"
#include "core/core.hpp"
#include "samples/rows.hpp"

namespace skscreen::distributed {

// Lengths of a step at which its slope is found.
constexpr int64_t MOST_LENGTHS = 16;

// A class against the rest at the weights w (D,), with B = `scale`.
struct ClassAtWeights {
  Array<const double> w;
  double scale;
  int32_t positive;
  Array<const double> widths;  // of the smoothed hinge and of that of "next"; none: squared hinge
};

// What is known of each row.
struct KnownOfRows {
  Array<const int32_t> codes;
  Array<const double> weights, base;
  Array<const float> before;
};

// What is found of each row; `seconds` has a row for each variant, and begins at the first row.
struct FoundOfRows {
  Array<float> here;
  Array<double> factors;
  Matrix<double> seconds;
};

// Sums, a row for each variant: of loss, smooth and slack, and the gradient; slopes of the first.
struct RowSums {
  Matrix<double> values, gradients;
  Array<const double> lengths;
  Array<double> slopes;
};

// Dual factor and derivative of it at h, and the loss that has them, for a weight of 1.
struct Smooth {
  double factor, second, value;
};

SKSCREEN_INLINE Smooth squared_hinge(double h) {
  const double s = std::max(h, 0.0);
  return {2.0 * s, h > 0.0 ? 2.0 : 0.0, s * s};
}

SKSCREEN_INLINE Smooth smoothed_hinge(double h, double base, double width) {
  const double free = base + h / width, a = clip(free, 0.0, 1.0), off = a - base;
  return {a, a == free ? 1.0 / width : 0.0, a * h - 0.5 * width * off * off};
}

// Add the slopes of the weighted loss along a step that changes h from `start` by `change`.
SKSCREEN_INLINE void add_slopes(double start, double change, double weight, double base,
                                double width, const RowSums& sums) {
  double scaled[MOST_LENGTHS];
  const int64_t n = sums.lengths.size;
  const double *length = sums.lengths.data, by = weight * change;
  if (width > 0.0) {
    const double from = base + start / width, slope = change / width;
#pragma omp simd
    for (int64_t k = 0; k < n; ++k) scaled[k] = clip(from + length[k] * slope, 0.0, 1.0);
  } else {
#pragma omp simd
    for (int64_t k = 0; k < n; ++k) scaled[k] = 2.0 * std::max(start + length[k] * change, 0.0);
  }
  for (int64_t k = 0; k < n; ++k) sums.slopes[k] += by * scaled[k];
}

// Rows first, ..., last - 1: write what is found of each, add to the sums.
template <class Data>
void linear_losses(const Data& X, int64_t first, int64_t last, const ClassAtWeights& at,
                   const KnownOfRows& known, const FoundOfRows& found, const RowSums& sums) {
  const int64_t d = X.d, n = known.codes.size, n_variants = sums.values.rows;
  const bool hinge = at.widths.size > 0;
  expects(X.has(n) && 0 <= first && first <= last && last <= n, "first:last must be rows of X");
  expects(at.w.size >= d + (at.scale != 0.0), "w must have an entry for each column");
  expects_sizes(n, "weights", known.weights, "before", known.before, "here", found.here);
  if (hinge) expects_sizes(n, "base", known.base, "factors", found.factors);
  if (hinge) expects_sizes(n_variants, "widths", at.widths);
  expects_shape(n_variants, 3, "values", sums.values);
  expects(sums.gradients.rows == n_variants && sums.gradients.columns >= at.w.size,
          "gradients must have a row for each variant");
  expects(found.seconds.rows >= n_variants && found.seconds.columns >= last - first,
          "seconds must have a row for each variant");
  expects(sums.lengths.size <= MOST_LENGTHS, "lengths must be few");
  expects_sizes(sums.lengths.size, "slopes", sums.slopes);
  const double constant = at.scale != 0.0 ? at.scale * at.w[d] : 0.0;
  for (int64_t i = first; i < last; ++i) {
    const double sign = known.codes[i] == at.positive ? 1.0 : -1.0, weight = known.weights[i];
    const double h = 1.0 - sign * (X.dot(i, at.w.data) + constant), start = known.before[i];
    found.here[i] = static_cast<float>(h);
    double base = hinge ? known.base[i] : 0.0;
    add_slopes(start, h - start, weight, base, hinge ? at.widths[0] : 0.0, sums);
    for (int64_t k = 0; k < n_variants; ++k) {
      const Smooth at_h = hinge ? smoothed_hinge(h, base, at.widths[k]) : squared_hinge(h);
      const double loss = hinge ? std::max(h, 0.0) : at_h.value;
      sums.values(k, 0) += weight * loss;
      sums.values(k, 1) += weight * at_h.value;
      if (hinge) sums.values(k, 2) += weight * (loss - at_h.factor * h);
      found.seconds(k, i - first) = weight * at_h.second;
      const double by = sign * weight * at_h.factor;
      if (by != 0.0) {
        X.add(i, by, sums.gradients.row(k).data);
        if (at.scale != 0.0) sums.gradients(k, d) += at.scale * by;
      }
      base = at_h.factor;
      if (hinge && k == 0) found.factors[i] = base;
    }
  }
}

// Write sqrt(second_i) (x_i, B) for the rows first, ..., last - 1 where it is not 0, dense; return
// how many.
template <class T, class Data>
int64_t root_rows(const Data& X, int64_t first, int64_t last, double scale,
                  Array<const double> second, Matrix<T> out) {
  expects(X.dense() && 0 <= first && first <= last && (X.d == 0 || last <= X.count()),
          "first:last must be rows of a dense X");
  expects(second.size >= last - first, "second must have an entry for each row");
  expects(out.columns >= X.d + (scale != 0.0), "out must have an entry for each column");
  int64_t used = 0;
  for (int64_t i = 0; i < last - first; ++i) used += second[i] != 0.0;
  expects(out.rows >= used, "out must have a row for each second that is not 0");
  int64_t count = 0;
  for (int64_t i = first; i < last; ++i) {
    if (second[i - first] == 0.0) continue;
    const T root = static_cast<T>(std::sqrt(second[i - first]));
    const T* row = X.data.data + i * X.d;
    T* into = out.row(count++).data;
    for_all(X.d, [row, into, root](int64_t j) { into[j] = root * row[j]; });
    if (scale != 0.0) into[X.d] = static_cast<T>(scale) * root;
  }
  return count;
}

// Add the sum of second_i times the squares of (x_i, B).
template <class Data>
void add_squares(const Data& X, double scale, Array<const double> second, Array<double> out) {
  expects(X.has(second.size), "second must have an entry for each row");
  expects(out.size >= X.d + (scale != 0.0), "out must have an entry for each column");
  double total = 0.0;
  for (int64_t i = 0; i < second.size; ++i) {
    const double by = second[i];
    if (by == 0.0) continue;
    const int64_t first = X.first(i), last = X.first(i + 1);
    for (int64_t p = first; p < last; ++p) {
      const double value = X.data[p];
      out[X.dense() ? p - first : static_cast<int64_t>(X.columns[p])] += by * value * value;
    }
    total += by;
  }
  if (scale != 0.0) out[X.d] += scale * scale * total;
}

// Add the sum of second_i (x_i, B) <(x_i, B), v>.
template <class Data>
void add_curved(const Data& X, double scale, Array<const double> second, Array<const double> v,
                Array<double> out) {
  expects(X.has(second.size), "second must have an entry for each row");
  expects(v.size >= X.d + (scale != 0.0), "v must have an entry for each column");
  expects_sizes(v.size, "out", out);
  const double constant = scale != 0.0 ? scale * v[X.d] : 0.0;
  double total = 0.0;
  for (int64_t i = 0; i < second.size; ++i) {
    if (second[i] == 0.0) continue;
    const double by = second[i] * (X.dot(i, v.data) + constant);
    X.add(i, by, out.data);
    total += by;
  }
  if (scale != 0.0) out[X.d] += scale * total;
}

}  // namespace skscreen::distributed
