// A problem of two classes of a few samples with a free intercept: svm/solvers/kernel/pairs.py.
//
// Hundreds of classes make ten thousands of these, which a step or two for each sample solves: what
// larger problems prepare, and lanes of `Smo`, would take longer than all steps.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/arrays.hpp"
#include "core/core.hpp"
#include "core/sums.hpp"
#include "svm/certificate.hpp"
#include "svm/pairs.hpp"

namespace skscreen::svm {

// The solver of problems of at most LARGEST samples, one after the other in the same memory.
class TinyPair {
 public:
  static constexpr int64_t LARGEST = 96;

  // What certifies the last solution, and the steps it took.
  View view{};
  int64_t steps = 0;

  TinyPair() : K_(LARGEST * LARGEST), space_(8 * LARGEST) {}

  // Move beta from zero to a relative gap; return whether its certificate shows it. The slopes of
  // steps end at a `share` of the gap.
  bool solve(const PairValues<double>& K, const Dual& dual, Array<const double> sizes,
             double relative, double tol, double share, int64_t limit, Array<double> beta) {
    n_ = beta.size;
    gather(K);
    std::copy_n(dual.target.data, n_, part(G));
    steps = 0;
    double eps = FIRST;
    for (int round = 0; round < ROUNDS; ++round) {
      const double b = descend(dual, beta, eps, limit);
      const auto [gap, primal] = seen(dual, beta, b);
      const double enough = share * tol * primal;
      if (gap <= enough) {
        balance(dual, beta);
        return certified(dual, beta, sizes, relative, b, tol);
      }
      if (!(gap < INF) || steps >= limit) return false;
      eps *= std::min(std::max(0.5 * enough / gap, LEAST), MOST);
    }
    return false;
  }

 private:
  // The first violation at which steps end, by how much it falls from round to round, and rounds.
  static constexpr double FIRST = 0.05, LEAST = 0.01, MOST = 0.5;
  static constexpr int ROUNDS = 12;
  // Least curvature of a pair, relative to its diagonal, because of rounding.
  static constexpr double FLAT = 1e-12;

  // Parts of the memory: slopes, samples that may rise and fall (0, else -inf), diagonal, and what
  // a certificate takes.
  enum Part { G, UP, DOWN, DIAGONAL, SCORES, ERRORS, GAPS, LOSSES };

  std::vector<double> K_, space_;
  int64_t n_ = 0;

  double* part(Part place) { return space_.data() + place * LARGEST; }
  Array<double> array(Part place) { return {part(place), n_}; }
  const double* row(int64_t k) const { return K_.data() + k * n_; }

  void gather(const PairValues<double>& K) {
    const int64_t m = K.m(), l = n_ - m;
    for (int64_t r = 0; r < m; ++r) {
      double* into = K_.data() + r * n_;
      std::copy_n(K.A.row(r).data, m, into);
      std::copy_n(K.AB.row(r).data, l, into + m);
    }
    for (int64_t r = 0; r < l; ++r) {
      double* into = K_.data() + (m + r) * n_;
      for (int64_t k = 0; k < m; ++k) into[k] = K_[k * n_ + m + r];
      std::copy_n(K.B.row(r).data, l, into + m);
    }
    for (int64_t k = 0; k < n_; ++k) part(DIAGONAL)[k] = row(k)[k];
  }

  // Move pairs until no two slopes differ by more than eps; return the intercept between them.
  double descend(const Dual& dual, Array<double> beta, double eps, int64_t limit) {
    double *g = part(G), *up = part(UP), *down = part(DOWN);
    const double* d = part(DIAGONAL);
    const auto mark = [&](int64_t k) {
      up[k] = beta[k] < dual.high[k] ? 0.0 : -INF;
      down[k] = beta[k] > dual.low[k] ? 0.0 : -INF;
    };
    for (int64_t k = 0; k < n_; ++k) mark(k);
    for (;;) {
      double top = -INF, bottom = -INF;
#pragma omp simd reduction(max : top, bottom)
      for (int64_t k = 0; k < n_; ++k) {
        top = std::max(top, g[k] + up[k]);
        bottom = std::max(bottom, down[k] - g[k]);
      }
      if (!(top + bottom > eps) || steps >= limit) return 0.5 * (top - bottom);
      const int64_t i = place_of(top, [=](int64_t k) { return g[k] + up[k]; });
      const double *own = row(i), d_i = d[i], least = FLAT * d[i];
      double* gains = part(SCORES);
      double best = 0.0;
#pragma omp simd reduction(max : best)
      for (int64_t k = 0; k < n_; ++k) {
        const double slope = std::max(top - g[k] + down[k], 0.0);
        gains[k] = slope * slope / std::max(d_i + d[k] - 2.0 * own[k], least);
        best = std::max(best, gains[k]);
      }
      if (!(best > 0.0)) return 0.5 * (top - bottom);
      const int64_t j = place_of(best, [=](int64_t k) { return gains[k]; });
      move(dual, beta, i, j);
      mark(i);
      mark(j);
      ++steps;
    }
  }

  template <class Value>
  int64_t place_of(double value, Value at) const {
    for (int64_t k = 0; k < n_ - 1; ++k)
      if (at(k) == value) return k;
    return n_ - 1;
  }

  // Move i up and j down, to the optimum of both or to a bound.
  void move(const Dual& dual, Array<double> beta, int64_t i, int64_t j) {
    double* g = part(G);
    const double *own = row(i), *other = row(j);
    const double curvature = std::max(own[i] + other[j] - 2.0 * own[j], FLAT * own[i]);
    const double room_i = dual.high[i] - beta[i], room_j = beta[j] - dual.low[j];
    const double move = std::min(std::min((g[i] - g[j]) / curvature, room_i), room_j);
    beta[i] = move == room_i ? dual.high[i] : beta[i] + move;
    beta[j] = move == room_j ? dual.low[j] : beta[j] - move;
    for_all(n_, [=](int64_t k) { g[k] -= move * (own[k] - other[k]); });
  }

  // Gap and primal value as the slopes show them.
  std::pair<double, double> seen(const Dual& dual, Array<const double> beta, double b) {
    double gap = 0.0, both = 0.0;
    for (int64_t k = 0; k < n_; ++k) {
      const double slope = part(G)[k] - b;
      gap += dual.slackness(k, beta[k], slope, 0.0);
      both += dual.gain(k, beta[k]) + dual.loss(k, slope, 0.0);
    }
    return {gap, 0.5 * (both + gap)};
  }

  // Certify the point by scores that are computed anew, as `pair_scores_of_few`.
  bool certified(const Dual& dual, Array<const double> beta, Array<const double> sizes,
                 double relative, double b, double tol) {
    const Array<double> f = array(SCORES), errors = array(ERRORS);
    std::fill_n(f.data, n_, 0.0);
    double total = 0.0, terms = 4.0;
    for (int64_t k = 0; k < n_; ++k) {
      if (beta[k] == 0.0) continue;
      const double c = beta[k], *own = row(k);
      for_all(n_, [=](int64_t j) { f.data[j] += c * own[j]; });
      total += std::abs(c) * sizes[k];
      terms += 1.0;
    }
    for (int64_t k = 0; k < n_; ++k)
      errors[k] =
          (relative + 0.5 * EPS * terms) * total * sizes[k] + 2.0 * EPS * (1.0 + std::abs(f[k]));
    view = certify_at(dual, beta, f, errors, {b}, array(GAPS), array(LOSSES));
    return view.gap <= tol * view.primal;
  }
};

}  // namespace skscreen::svm
