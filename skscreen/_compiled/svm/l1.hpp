// Coordinate descent for linear models with an L1 penalty and the squared hinge.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/arrays.hpp"
#include "core/checks.hpp"
#include "core/core.hpp"

namespace skscreen::svm {

// The minimiser of h/2 (x - x0)^2 + g (x - x0) + |x|, for h > 0.
SKSCREEN_INLINE double shrunk(double x0, double g, double h) {
  const double free = x0 - g / h, threshold = 1.0 / h;
  return free > threshold ? free - threshold : free < -threshold ? free + threshold : 0.0;
}

// Distance of -g from the subdifferential of |x|.
SKSCREEN_INLINE double violation(double x, double g) {
  return x > 0.0   ? std::abs(g + 1.0)
         : x < 0.0 ? std::abs(g - 1.0)
                   : std::max(std::abs(g) - 1.0, 0.0);
}

// Minimise g'd + d'Hd/2 + |w + d|_1 by coordinate descent, until the largest violation is at most
// `tol`: sweeps over all coordinates, and between them over those that are not 0. `gradient` (k,)
// is g, on return g + Hd; x (k,) is w, on return w + d. Returns the number of sweeps.
inline int64_t quadratic_descent(Matrix<const double> H, Array<double> gradient, Array<double> x,
                                 double tol, int64_t most) {
  const int64_t k = x.size;
  expects_shape(k, k, "H", H);
  expects_sizes(k, "gradient", gradient);
  int64_t sweeps = 0;
  bool all = true;
  while (sweeps < most) {
    ++sweeps;
    double worst = 0.0;
    for (int64_t j = 0; j < k; ++j) {
      if (!all && x[j] == 0.0) continue;
      worst = std::max(worst, violation(x[j], gradient[j]));
      const double h = H(j, j);
      // Without curvature the model is linear in d: only the penalty counts, or nothing moves.
      const double target = h > 0.0                       ? shrunk(x[j], gradient[j], h)
                            : std::abs(gradient[j]) < 1.0 ? 0.0
                                                          : x[j];
      const double change = target - x[j];
      if (change == 0.0) continue;
      x[j] = target;
      const double* row = H.data + j * k;
      double* g = gradient.data;
#pragma omp simd
      for (int64_t l = 0; l < k; ++l) g[l] += change * row[l];
    }
    if (worst <= tol) {
      if (all) break;
      all = true;
    } else {
      all = false;
    }
  }
  return sweeps;
}

// Sweeps of coordinate descent on the problem itself, over some columns of a sparse Z (CSC) whose
// rows are multiplied by their labels: each weight takes a Newton step on the samples with a loss,
// shortened until the objective falls. `steepest` (d,) are the sums of c_i z_ij^2, which bound the
// curvature; margins (n,) and x (d,) are updated. After a sweep weights of 0 rest if their
// violation is below 0 by more than the largest one was, over n. Returns the sum of the violations
// before the last sweep.
template <class I>
double column_sweeps(Array<const double> data, Array<const I> rows, Array<const I> starts,
                     Array<const double> c, Array<const double> steepest,
                     Array<const int64_t> index, Array<double> margins, Array<double> x,
                     int64_t n_sweeps) {
  expects_sizes(data.size, "rows", rows);
  expects_starts("starts", starts, data.size);
  expects_sizes(starts.size - 1, "x", x, "steepest", steepest);
  expects_sizes(margins.size, "c", c);
  expects_places("index", index, x.size);
  for (int64_t k = 0; k < index.size; ++k)
    expects_places("rows", rows.slice(starts[index[k]], starts[index[k] + 1]), margins.size);
  constexpr int MOST_TRIALS = 25;
  constexpr double ENOUGH = 0.01;
  std::vector<int64_t> active(index.data, index.data + index.size);
  double total = 0.0, rest = INF;
  for (int64_t sweep = 0; sweep < n_sweeps; ++sweep) {
    double worst = 0.0;
    size_t kept = 0;
    total = 0.0;
    for (const int64_t j : active) {
      double g = 0.0, h = 0.0;
      for (I p = starts[j]; p < starts[j + 1]; ++p) {
        const I i = rows[p];
        const double z = data[p], lack = 1.0 - margins[i];
        if (lack > 0.0) {
          const double scaled = c[i] * z;
          g -= lack * scaled;
          h += z * scaled;
        }
      }
      g *= 2.0;
      h *= 2.0;
      if (x[j] == 0.0 && std::abs(g) - 1.0 < -rest) continue;
      active[kept++] = j;
      const double off = violation(x[j], g);
      total += off;
      worst = std::max(worst, off);
      if (!(h > 0.0)) {
        if (x[j] == 0.0 || std::abs(g) >= 1.0) continue;
        h = 1e-12;
      }
      const double whole = shrunk(x[j], g, h) - x[j];
      if (whole == 0.0) continue;
      const double slope = g * whole + std::abs(x[j] + whole) - std::abs(x[j]);
      double change = whole;
      for (int trial = 0; trial < MOST_TRIALS; ++trial, change *= 0.5) {
        const double least =
            std::abs(x[j] + change) - std::abs(x[j]) - ENOUGH * change / whole * slope;
        if (g * change + steepest[j] * change * change + least <= 0.0) break;
        // The change of the losses along the column.
        double loss = 0.0;
        for (I p = starts[j]; p < starts[j + 1]; ++p) {
          const I i = rows[p];
          const double before = std::max(1.0 - margins[i], 0.0);
          const double after = std::max(1.0 - margins[i] - change * data[p], 0.0);
          loss += c[i] * (after - before) * (after + before);
        }
        if (loss + least <= 0.0) break;
        if (trial == MOST_TRIALS - 1) change = 0.0;
      }
      for (I p = starts[j]; p < starts[j + 1]; ++p) margins[rows[p]] += change * data[p];
      x[j] += change;
    }
    active.resize(kept);
    rest = worst / (double)margins.size;
  }
  return total;
}

}  // namespace skscreen::svm
