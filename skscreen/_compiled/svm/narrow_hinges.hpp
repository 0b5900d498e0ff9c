// Hinges and tubes of few narrow rows, by an interior point: svm/solvers/linear/narrow.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/arrays.hpp"
#include "core/checks.hpp"
#include "core/core.hpp"
#include "svm/narrow.hpp"

namespace skscreen::svm {

// The predictor-corrector method of Mehrotra (1992) for min 1/2 |w|^2 + sum_k c_k max(0, t_k - s_k
// <x_k, w>), the dual of which has a_k in [0, c_k]; sample k stands for the row k mod n.
//
// With multipliers u_k, l_k > 0 of the bounds, t_k - s_k <x_k, w> = u_k - l_k at the solution, w is
// sum_k a_k s_k x_k, and products (c_k - a_k) u_k and a_k l_k, all equal on the way, are zero. A
// step solves a system of the size of w.
class NarrowHinges {
 public:
  NarrowHinges(Matrix<const double> X, Array<const double> norms, Array<const double> thresholds,
               Array<const double> caps)
      : system(X), norms(norms), t(thresholds), c(caps), n(X.rows), N(thresholds.size),
        d(X.columns), short_(N), up_(N), down_(N), theta_(N), rest_(N), beta_(n), step_(d), u_(d) {
    for (auto* part : {&change_, &change_up_, &change_down_}) part->assign(N, 0.0);
  }

  // `s` are signs (N,); w (d,) and a (N,) become those of the solution.
  NarrowFound solve(const double* s, double tol, double* w, double* a) {
    begin(s, w, a);
    NarrowFound found{INF, INF, 0};
    double least = INF;
    for (int64_t turn = 0, slow = 0; turn < MOST && slow < SLOW; ++turn) {
      measure(s, w, a, found);
      if (found.gap <= tol * found.primal) break;
      slow = found.gap < 0.9 * least ? 0 : slow + 1;
      least = std::min(least, found.gap);
      if (!move(s, w, a)) break;
      found.steps = turn + 1;
    }
    return found;
  }

 private:
  // Limit of steps, and of those that gain nothing; share of the way to a bound that a step goes.
  static constexpr int64_t MOST = 80, SLOW = 6;
  static constexpr double SHARE = 0.995;

  NarrowSystem system;
  Array<const double> norms, t, c;
  int64_t n, N, d;
  // What margins lack; multipliers; terms of the system; sums of rows; steps.
  std::vector<double> short_, up_, down_, theta_, rest_, beta_, step_, u_;
  std::vector<double> change_, change_up_, change_down_;

  int64_t row(int64_t k) const { return k < n ? k : k - n; }

  void begin(const double* s, double* w, double* a) {
    double size = 0.0;
    for (int64_t k = 0; k < N; ++k) size += std::abs(t[k]) / static_cast<double>(N);
    size = std::max(size, 1e-300);
    for (int64_t k = 0; k < N; ++k) a[k] = 0.5 * c[k];
    std::fill_n(w, d, 0.0);
    lacks(s, w);
    for (int64_t k = 0; k < N; ++k) {
      up_[k] = std::max(short_[k], 0.0) + size;
      down_[k] = up_[k] - short_[k];
    }
  }

  void lacks(const double* s, const double* w) {
    for (int64_t i = 0; i < n; ++i) {
      const double score = system.score(i, w);
      for (int64_t k = i; k < N; k += n) short_[k] = t[k] - s[k] * score;
    }
  }

  // Write sum_k values_k s_k x_k.
  void combine(const double* s, const double* values, double* out) {
    std::fill(beta_.begin(), beta_.end(), 0.0);
    for (int64_t k = 0; k < N; ++k) beta_[row(k)] += s[k] * values[k];
    system.combine(beta_.data(), out);
  }

  // Margins and certificate of a and w, rounding errors included.
  void measure(const double* s, const double* w, const double* a, NarrowFound& found) {
    lacks(s, w);
    const double square = NarrowSystem::inner(w, w, d), size = std::sqrt(square);
    const double unit = EPS * (0.5 * static_cast<double>(d) + 4.0);
    double losses = 0.0, gap = 0.0;
    for (int64_t k = 0; k < N; ++k) {
      const double lack = short_[k], error = unit * (std::abs(t[k]) + norms[row(k)] * size);
      losses += c[k] * std::max(lack, 0.0);
      gap += std::max((c[k] - a[k]) * (lack + error), a[k] * (error - lack));
    }
    combine(s, a, u_.data());
    found.primal = 0.5 * square + losses;
    found.gap = gap + apart(system, beta_.data(), norms, w) + 4.0 * EPS * found.primal;
  }

  // Solve for the change at products that become `mean`, up to second-order terms of the last
  // change; short_ and u_ are those of the point.
  void direct(const double* s, const double* w, const double* a, double mean, double second) {
    for (int64_t k = 0; k < N; ++k) {
      const double left = c[k] - a[k];
      const double lower = (mean - second * change_[k] * change_down_[k]) / a[k];
      const double upper = (mean + second * change_[k] * change_up_[k]) / left;
      rest_[k] = short_[k] + lower - upper;
      change_down_[k] = lower;
      change_up_[k] = upper;
      change_[k] = theta_[k] * rest_[k];
    }
    combine(s, change_.data(), step_.data());
    for (int64_t k = 0; k < d; ++k) step_[k] += u_[k] - w[k];
    system.solve(step_.data());
    for (int64_t i = 0; i < n; ++i) {
      const double score = system.score(i, step_.data());
      for (int64_t k = i; k < N; k += n) {
        const double change = theta_[k] * (rest_[k] - s[k] * score);
        change_[k] = change;
        change_down_[k] += -down_[k] - down_[k] * change / a[k];
        change_up_[k] += -up_[k] + up_[k] * change / (c[k] - a[k]);
      }
    }
  }

  // The largest step that keeps all positive, at most 1.
  double length(const double* a) const {
    double most = 1.0;
    const auto ends = [&](double value, double change) {
      if (value + most * change < 0.0) most = -value / change;
    };
    for (int64_t k = 0; k < N; ++k) {
      ends(a[k], change_[k]);
      ends(c[k] - a[k], -change_[k]);
      ends(up_[k], change_up_[k]);
      ends(down_[k], change_down_[k]);
    }
    return most;
  }

  // The mean of all products after a part of the step.
  double mean(const double* a, double part) const {
    double sum = 0.0;
    for (int64_t k = 0; k < N; ++k) {
      const double now = a[k] + part * change_[k];
      sum += now * (down_[k] + part * change_down_[k]) +
             (c[k] - now) * (up_[k] + part * change_up_[k]);
    }
    return sum / static_cast<double>(2 * N);
  }

  // Take a step; return whether there is one.
  bool move(const double* s, double* w, double* a) {
    system.clear();
    for (int64_t k = 0; k < N; ++k) theta_[k] = 1.0 / (up_[k] / (c[k] - a[k]) + down_[k] / a[k]);
    // In the place of a sum that is not needed yet.
    std::copy_n(theta_.data(), n, beta_.data());
    for (int64_t k = n; k < N; ++k) beta_[k - n] += theta_[k];
    system.add_all(beta_.data());
    if (!system.factor()) return false;
    direct(s, w, a, 0.0, 0.0);
    const double before = mean(a, 0.0), ahead = mean(a, length(a));
    const double centred = before > 0.0 ? ahead / before : 0.0;
    direct(s, w, a, centred * centred * centred * before, 1.0);
    const double part = std::min(1.0, SHARE * length(a));
    if (!(part > 0.0)) return false;
    for (int64_t k = 0; k < N; ++k) {
      // Rounding must not reach the bounds.
      const double next = a[k] + part * change_[k];
      a[k] = std::min(std::max(next, 1e-300), c[k] * (1.0 - 0.5 * EPS));
      up_[k] = std::max(up_[k] + part * change_up_[k], 1e-300);
      down_[k] = std::max(down_[k] + part * change_down_[k], 1e-300);
    }
    for (int64_t k = 0; k < d; ++k) w[k] += part * step_[k];
    return true;
  }
};

}  // namespace skscreen::svm
