// Sequential minimal optimisation on a known kernel matrix: svm/solvers/kernel/engine.py.
//
// A step is a few passes over one or two rows of K, written so that they vectorise: no branches,
// and choices as places of the largest entries of arrays, whose length is a multiple of SMO_LANES.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/arrays.hpp"
#include "core/checks.hpp"
#include "core/sums.hpp"

namespace skscreen::svm {

// Number of lanes in which maxima are taken; arrays are padded with samples that cannot move.
constexpr int64_t SMO_LANES = 128;

inline int64_t padded(int64_t n) { return (n + SMO_LANES - 1) / SMO_LANES * SMO_LANES; }

// Moves of two samples that gain most, within bounds of the moves.
//
// j moves as if i could follow freely, then i within its bounds. Where i stops at a bound it does
// so at the optimum, as the objective is concave, and j moves as is best next to that.
inline std::pair<double, double> pair_optimum(double q, double d_i, double g_i, double low_i,
                                              double high_i, double d_j, double g_j, double low_j,
                                              double high_j, double least) {
  const auto clipped = [](double value, double low, double high) {
    return std::min(std::max(value, low), high);
  };
  const double q_i = q / d_i, schur = std::max(d_j - q_i * q, least);
  double other = clipped((g_j - q_i * g_i) / schur, low_j, high_j);
  const double change = clipped((g_i - q * other) / d_i, low_i, high_i);
  other = clipped((g_j - q * change) / d_j, low_j, high_j);
  return {change, other};
}

// What passes over whole lanes rely on: padding that cannot move, and is not taken for what can.
template <class T>
void check_smo(Matrix<const T> K, Array<const T> diagonal, Array<const double> low,
               Array<const double> high, Array<double> beta, Array<double> g, double eps) {
  const int64_t n = beta.size;
  expects(n > 0 && n % SMO_LANES == 0, "beta must be padded to whole lanes");
  expects_sizes(n, "diagonal", diagonal, "low", low, "high", high, "g", g);
  expects(K.columns == n && K.rows <= n, "K must have the samples as rows, and padded columns");
  expects(eps >= 0.0, "eps must not be negative");
  for (int64_t k = K.rows; k < n; ++k)
    expects(low[k] == beta[k] && high[k] == beta[k] && g[k] == g[k],
            "low, high and beta of the padding must be the same");
}

// K in single or double precision, a matrix or what else has rows; ranks of samples are in single
// precision.
template <class T, class Rows = Matrix<const T>>
class Smo {
 public:
  // K (m, n) with n >= m padded, diagonal K_ii + s_i, bounds, the point beta and its gradient g.
  Smo(Rows K, Array<const T> diagonal, Array<const double> low, Array<const double> high,
      Array<double> beta, Array<double> g)
      : K(K), n(beta.size), d(diagonal.data), low(low.data), high(high.data), beta(beta.data),
        g(g.data), memory_(3 * n), up(memory_.data()), down(up + n), values(down + n) {}

  // Move pairs that keep the sum of beta until no two slopes differ by more than eps; return steps.
  int64_t with_offset(double eps, int64_t steps) {
    for (int64_t k = 0; k < n; ++k) mark(k);
    rising();
    for (int64_t step = 0; step < steps; ++step) {
      const int64_t i = largest();
      if (up[i] < 0.0f) return step;
      if (step % LOOK == 0) {
        falling();
        if (g[i] - g[largest()] <= eps) return step;
      }
      const int64_t j = partner(i);
      if (j < 0) return step;
      move_pair(i, j);
      mark(i);
      mark(j);
      rising();
    }
    return steps;
  }

  // The same where the sum of beta is kept in each of two groups: pairs are of one group, and the
  // groups take turns until neither has slopes that differ by more than eps.
  int64_t in_groups(Array<const int8_t> group, double eps, int64_t steps) {
    std::vector<float> masks(4 * n);
    float* const masks_of[2] = {masks.data(), masks.data() + 2 * n};
    const auto select = [&](int64_t place) {
      up = masks_of[place];
      down = up + n;
    };
    const auto mark_both = [&](int64_t k) {
      for (int64_t place = 0; place < 2; ++place) {
        select(place);
        if (k < group.size && group[k] == place)
          mark(k);
        else
          up[k] = down[k] = NONE;
      }
    };
    for (int64_t k = 0; k < n; ++k) mark_both(k);
    bool done[2] = {false, false};
    int64_t place = 1, looked = 0;
    for (int64_t step = 0; step < steps; ++step) {
      int64_t i = -1, j = -1;
      while (j < 0 && !(done[0] && done[1])) {
        place = done[1 - place] ? place : 1 - place;
        select(place);
        rising();
        i = largest();
        bool ends = up[i] < 0.0f;
        if (!ends && (step - looked >= LOOK || done[1 - place] || step == 0)) {
          looked = step;
          falling();
          ends = g[i] - g[largest()] <= eps;
        }
        if (!ends) j = partner(i);
        done[place] = j < 0;
      }
      if (j < 0) return step;
      move_pair(i, j);
      mark_both(i);
      mark_both(j);
      // How far the other group is now is not known.
      done[1 - place] = false;
    }
    return steps;
  }

  // Move pairs, free of an equality, until no sample can move along a slope above eps.
  //
  // The first of a pair has the largest slope, the second one the largest gain together with it.
  int64_t without_offset(double eps, int64_t steps) {
    for (int64_t k = 0; k < n; ++k) measure(k);
    for (int64_t step = 0; step < steps; ++step) {
      slopes();
      const int64_t i = largest();
      if (!(values[i] > eps)) return step;  // NaN too
      const T* row = K.row(i).data;
      joint_gains(row, i);
      values[i] = NONE;
      const int64_t j = largest();
      const auto [change, other] =
          pair_optimum(row[j], d[i], g[i], low[i] - beta[i], high[i] - beta[i], d[j], g[j],
                       low[j] - beta[j], high[j] - beta[j], LEAST * d[j]);
      move_by(i, change);
      move_by(j, other);
      shift(row, K.row(std::min(j, K.rows - 1)).data, change, other);
    }
    return steps;
  }

 private:
  // Number of steps between two checks of the largest violation.
  static constexpr int64_t LOOK = 16;
  // Least curvature of a pair, relative to the diagonal, because of rounding.
  static constexpr float LEAST = 1e-7f, TINIEST = std::numeric_limits<float>::min();
  static constexpr float NONE = -std::numeric_limits<float>::infinity();

  Rows K;
  int64_t n;
  const T* d;
  const double *low, *high;
  double *beta, *g;
  std::vector<float> memory_;
  float *up, *down, *values;

  // By value: references of std::min and std::max would keep long loops from being vectorised.
  static SKSCREEN_INLINE float smaller(float a, float b) { return b < a ? b : a; }
  static SKSCREEN_INLINE float larger(float a, float b) { return a < b ? b : a; }

  // Mark whether beta_k can rise and fall: 0 if it can, -inf if not.
  void mark(int64_t k) {
    up[k] = beta[k] < high[k] ? 0.0f : NONE;
    down[k] = beta[k] > low[k] ? 0.0f : NONE;
  }

  // The sample that gains most together with i, or -1.
  int64_t partner(int64_t i) {
    pair_gains(K.row(i).data, (float)g[i], d[i]);
    const int64_t j = largest();
    return down[j] < 0.0f || g[i] <= g[j] ? -1 : j;
  }

  // Move i up and j down, to the optimum of both or to a bound.
  void move_pair(int64_t i, int64_t j) {
    const T* row = K.row(i).data;
    const double curvature = std::max<double>(d[i] + d[j] - 2.0 * row[j], LEAST * d[i]);
    const double room_i = high[i] - beta[i], room_j = beta[j] - low[j];
    const double move = std::min(std::min((g[i] - g[j]) / curvature, room_i), room_j);
    beta[i] = move == room_i ? high[i] : beta[i] + move;
    beta[j] = move == room_j ? low[j] : beta[j] - move;
    // The part of the diagonal that is not from the kernel.
    const T* other = K.row(j).data;
    g[i] -= move * (d[i] - row[i]);
    g[j] += move * (d[j] - other[j]);
    shift(row, other, move, -move);
  }

  // Measure how far beta_k can rise and fall: not 0 if it can.
  void measure(int64_t k) {
    up[k] = beta[k] < high[k] ? std::max((float)(high[k] - beta[k]), TINIEST) : 0.0f;
    down[k] = beta[k] > low[k] ? std::min((float)(low[k] - beta[k]), -TINIEST) : 0.0f;
  }

  void move_by(int64_t k, double move) {
    // Padding, the second of a pair where no other gains, never moves and has no row.
    if (move == 0.0 || k >= K.rows) return;
    beta[k] = std::min(std::max(beta[k] + move, low[k]), high[k]);
    measure(k);
    g[k] -= move * (d[k] - K(k, k));
  }

  // The slopes along which beta may rise; may fall.
  void rising() {
    for_all(n, [=](int64_t k) { values[k] = (float)g[k] + up[k]; });
  }
  void falling() {
    for_all(n, [=](int64_t k) { values[k] = down[k] - (float)g[k]; });
  }

  // Twice the gain of each sample together with i, if its beta falls.
  void pair_gains(const T* row, float top, T own) {
    const T least = LEAST * own;
    for_all(n, [=](int64_t k) {
      const float slope = std::max(top - (float)g[k] + down[k], 0.0f);
      values[k] = slope * slope / (float)std::max(own + d[k] - (row[k] + row[k]), least);
    });
  }

  // The gain of each sample together with i, see `pair_optimum`.
  void joint_gains(const T* row, int64_t i) {
    const float g_i = (float)g[i], d_i = (float)d[i], low_i = down[i], high_i = up[i];
    const float inverse = 1.0f / d_i;
    const float *lowest = down, *highest = up;
    const T* diagonal = d;
    const double* gradient = g;
    float* gains = values;
#pragma omp simd
    for (int64_t k = 0; k < n; ++k) {
      const float q = (float)row[k], d_k = (float)diagonal[k], g_k = (float)gradient[k];
      const float q_i = q * inverse;
      const float low_k = lowest[k], high_k = highest[k];
      const float schur = larger(d_k - q_i * q, LEAST * d_k);
      float other = smaller(larger((g_k - q_i * g_i) / schur, low_k), high_k);
      const float change = smaller(larger((g_i - q * other) * inverse, low_i), high_i);
      const float slope = g_k - q * change;
      other = smaller(larger(slope / d_k, low_k), high_k);
      gains[k] = change * (g_i - 0.5f * d_i * change) + other * (slope - 0.5f * d_k * other);
    }
  }

  // The slopes along which each sample may move.
  void slopes() {
    const float *lowest = down, *highest = up;
    const double* gradient = g;
    float* found = values;
#pragma omp simd
    for (int64_t k = 0; k < n; ++k) {
      const float slope = (float)gradient[k], low_k = lowest[k], high_k = highest[k];
      const float rise = high_k > 0.0f ? slope : 0.0f, fall = low_k < 0.0f ? -slope : 0.0f;
      found[k] = larger(rise, fall);
    }
  }

  // Subtract u A + v B from the gradient.
  void shift(const T* A, const T* B, double u, double v) {
    for_all(n, [=](int64_t k) { g[k] -= u * A[k] + v * B[k]; });
  }

  // Index of the largest value: maxima over parallel lanes vectorise.
  int64_t largest() const {
    float lanes[SMO_LANES];
    const float* last = values + n - SMO_LANES;
#pragma omp simd
    for (int64_t k = 0; k < SMO_LANES; ++k) lanes[k] = std::max(values[k], last[k]);
    for (const float* part = values + SMO_LANES; part < last; part += SMO_LANES)
#pragma omp simd
      for (int64_t k = 0; k < SMO_LANES; ++k) lanes[k] = std::max(lanes[k], part[k]);
    float top = lanes[0];
#pragma omp simd reduction(max : top)
    for (int64_t k = 0; k < SMO_LANES; ++k) top = std::max(top, lanes[k]);
    int lane = SMO_LANES - 1;
#pragma omp simd reduction(min : lane)
    for (int k = 0; k < SMO_LANES; ++k) lane = std::min<int>(lane, lanes[k] == top ? k : lane);
    for (int64_t k = lane; k < n; k += SMO_LANES)
      if (values[k] == top) return k;
    return lane;
  }
};

}  // namespace skscreen::svm
