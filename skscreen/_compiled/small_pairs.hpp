// A problem of few samples with known kernel values, in double precision: svm/solvers/kernel/pairs.py.
//
// SMO runs on all samples. If it does not finish soon, as for large C, Newton's method solves for
// the free samples, that is, those between their bounds; SMO then changes which samples are free.
// The scores that the solver uses also certify the result.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "class_pairs.hpp"
#include "core.hpp"
#include "smo.hpp"
#include "sums.hpp"

namespace skscreen {

// Systems of the free samples of a point, by Cholesky factors.
class FreeSystem {
 public:
  FreeSystem(Matrix<const double> K, int64_t largest)
      : K(K), M(new double[largest * largest]), L(new double[largest * largest]) {}

  // Write the change of samples F that makes their slopes zero, or all equal: as seen from the
  // first of them, whose change keeps the sum.
  void solve(const std::vector<double>& g, const std::vector<int64_t>& F, bool free,
             std::vector<double>& x) {
    n = (int64_t)F.size() - free;
    x.assign(F.size(), 0.0);
    std::vector<double> rest(n), left(n);
    fill(g, F, free, rest);
    double trace = 0.0;
    for (int64_t k = 0; k < n; ++k) trace += M[k * n + k];
    double ridge = std::max(RIDGE * trace / n, LEAST_RIDGE);
    while (!factor(ridge)) {
      ridge *= MORE;
      if (!(ridge < INF)) return;
    }
    double* part = x.data() + free;
    left = rest;
    for (int turn = 0; turn < CORRECTIONS; ++turn) {
      substitute(left);
      for (int64_t k = 0; k < n; ++k) part[k] += left[k];
      for (int64_t k = 0; k < n; ++k) left[k] = rest[k] - inner(&M[k * n], part, n);
    }
    if (!free) return;
    for (int64_t k = 0; k < n; ++k) x[0] -= part[k];
  }

 private:
  // First ridge of a system, over its mean diagonal; the least one, as duplicates have no
  // curvature; and its growth until there is a Cholesky factor.
  static constexpr double RIDGE = 1e-15, LEAST_RIDGE = 1e-100, MORE = 100.0;
  // Steps of iterative refinement.
  static constexpr int CORRECTIONS = 3;

  Matrix<const double> K;
  int64_t n = 0;
  std::unique_ptr<double[]> M, L;

  static double inner(const double* a, const double* b, int64_t n) {
    return sum_of(n, [=](int64_t k) { return a[k] * b[k]; });
  }

  void fill(const std::vector<double>& g, const std::vector<int64_t>& F, bool free,
            std::vector<double>& rest) {
    const int64_t r = F[0];
    for (int64_t k = 0; k < n; ++k) {
      const int64_t i = F[k + free];
      const double* row = K.row(i).data;
      for (int64_t j = 0; j <= k; ++j) {
        const int64_t o = F[j + free];
        M[k * n + j] = free ? (row[o] - row[r]) - (K(r, o) - K(r, r)) : row[o];
      }
      rest[k] = free ? g[i] - g[r] : g[i];
    }
    for (int64_t k = 0; k < n; ++k)
      for (int64_t j = 0; j < k; ++j) M[j * n + k] = M[k * n + j];
  }

  // Write the Cholesky factor of M plus a ridge; return whether there is one.
  bool factor(double ridge) {
    for (int64_t i = 0; i < n; ++i) {
      double* row = &L[i * n];
      for (int64_t j = 0; j < i; ++j)
        row[j] = (M[i * n + j] - inner(row, &L[j * n], j)) / L[j * n + j];
      const double square = M[i * n + i] + ridge - inner(row, row, i);
      if (!(square > 0.0)) return false;
      row[i] = std::sqrt(square);
    }
    return true;
  }

  // Solve L L' x = x in place.
  void substitute(std::vector<double>& x) const {
    for (int64_t i = 0; i < n; ++i)
      x[i] = (x[i] - inner(&L[i * n], x.data(), i)) / L[i * n + i];
    for (int64_t i = n - 1; i >= 0; --i) {
      x[i] /= L[i * n + i];
      const double* row = &L[i * n];
      double* to = x.data();
      const double value = x[i];
      for_all(i, [=](int64_t j) { to[j] -= row[j] * value; });
    }
  }
};

class SmallPair {
 public:
  // No entry K_ij is larger than sizes_i sizes_j; its error is `relative` times that at most.
  SmallPair(const PairValues<double>& values, const Box& box, Array<const double> sizes,
            double relative)
      : n(box.target.size), m(padded(n)), free(box.free), box(box), sizes(sizes),
        relative(relative), memory(new double[n * m]), K{memory.get(), n, m}, diagonal(m, 1.0),
        low(m), high(m), beta(m), g(m), f(n), errors(n), parts(n),
        losses(n) {
    for (int64_t k = 0; k < n; ++k) {
      double* row = K.row(k).data;
      for (int64_t j = 0; j < n; ++j) row[j] = values(k, j) + values.square_bias;
      std::fill(row + n, row + m, 0.0);
      diagonal[k] = std::max(row[k], TINY);
      low[k] = box.low[k];
      high[k] = box.high[k];
    }
  }

  // Improve a point to a relative gap, and to a smaller one if some more steps of SMO do; return
  // the steps, and the certificate of the point.
  std::tuple<int64_t, double, double, double> solve(Array<double> point, double tol, double enough,
                                                    int64_t limit) {
    std::copy_n(point.data, n, beta.data());
    int64_t steps = 0;
    int patience = PATIENCE;
    double dual = -INF;
    View best{0.0, INF, 0.0};
    for (int turn = 0; turn < ROUNDS; ++turn) {
      const View now = improve(tol, std::min(STEPS * n, limit - steps), steps);
      if (now.gap < best.gap || turn == 0) take(now, best, point);
      const bool risen = now.primal - now.gap - dual > RISEN * now.gap || now.gap >= now.primal;
      patience = risen ? PATIENCE : patience - 1;
      dual = std::max(dual, now.primal - now.gap);
      if (now.gap <= tol * now.primal || steps >= limit || patience == 0) break;
      steps += newton(limit - steps);
    }
    if (enough * best.primal < best.gap && best.gap <= tol * best.primal && steps < limit) {
      const int64_t most = std::min(STEPS_FOR_DIGITS * n, limit - steps);
      const View now = improve(enough, most, steps);
      if (now.gap < best.gap) take(now, best, point);
    }
    return {steps, best.b, best.gap, best.primal};
  }

 private:
  // Limits of SMO steps for each sample before Newton's method takes its turn, and for more digits.
  static constexpr int64_t STEPS = 2, STEPS_FOR_DIGITS = 5;
  // Limit of rounds of Newton's method, and of those in a row that raise the dual value by less
  // than this share of the gap.
  static constexpr int ROUNDS = 100, PATIENCE = 6;
  static constexpr double RISEN = 0.01;
  // Limit of rounds of SMO, and the share of the allowed gap that a round may leave.
  static constexpr int SMO_ROUNDS = 20;
  static constexpr double SHARE = 0.5;
  // Limits of systems in a Newton step, and of their size; free samples up to which it removes one
  // sample at a time from its system.
  static constexpr int64_t SYSTEMS = 50, LARGEST = 500, ONE_BY_ONE = 64;
  // Replaces zero curvature and zero weights in denominators.
  static constexpr double TINY = 1e-300;

  int64_t n, m;
  bool free;
  Box box;
  Array<const double> sizes;
  double relative;
  std::unique_ptr<double[]> memory;
  Matrix<double> K;
  // Padded as SMO wants them; the point beta and its slopes g.
  std::vector<double> diagonal, low, high, beta, g;
  // Scores of the point, bounds on their errors, and what each sample adds to the gap.
  std::vector<double> f, errors, parts, losses;

  Array<double> part(std::vector<double>& values) const { return {values.data(), n}; }

  void take(const View& now, View& best, Array<double> point) const {
    best = now;
    std::copy_n(beta.data(), n, point.data);
  }

  // Improve the point by SMO, or by its length if it is nearly that of a hard margin.
  View improve(double enough, int64_t most, int64_t& steps) {
    const View now = sweep(enough, most, steps);
    if (now.gap <= enough * now.primal) return now;
    const auto [factor, longer] = stretch(box, part(beta), part(f), part(errors));
    if (!(longer.gap <= enough * longer.primal)) return now;
    for (int64_t k = 0; k < n; ++k) beta[k] *= factor;
    return longer;
  }

  // Improve the point by SMO; return its certificate, with the largest gap that errors allow.
  View sweep(double enough, int64_t most, int64_t& steps) {
    Smo<double> smo(K, {diagonal.data(), m}, {low.data(), m}, {high.data(), m}, {beta.data(), m},
                    {g.data(), m});
    int64_t taken = 0, done = -1;
    View now{};
    for (int turn = 0;; ++turn) {
      if (free) balance(box, part(beta));
      score();
      now = certify(box, part(beta), part(f), part(errors), part(parts), part(losses));
      if (now.gap <= enough * now.primal || taken >= most || done == 0 || turn == SMO_ROUNDS) break;
      double weight = TINY, worst = 0.0;
      for (int64_t k = 0; k < n; ++k) {
        g[k] = box.target[k] - f[k] - now.b;
        if (beta[k] < high[k]) worst = std::max(worst, g[k]);
        if (beta[k] > low[k]) worst = std::max(worst, -g[k]);
        if (low[k] < beta[k] && beta[k] < high[k]) weight += high[k] - low[k];
      }
      const double eps = std::min(SHARE * enough * now.primal / weight, 0.5 * worst);
      std::fill(g.begin() + n, g.end(), 0.0);
      done = free ? smo.with_offset(eps, most - taken) : smo.without_offset(eps, most - taken);
      taken += done;
    }
    steps += taken;
    return now;
  }

  // Write the scores of the point and bounds on their errors.
  void score() {
    std::fill(f.begin(), f.end(), 0.0);
    double total = 0.0, terms = 2.0;
    double* scores = f.data();
    for (int64_t i = 0; i < n; ++i) {
      if (beta[i] == 0.0) continue;
      const double c = beta[i], *row = K.row(i).data;
      total += std::abs(c) * sizes[i];
      terms += 1.0;
      for_all(n, [=](int64_t j) { scores[j] += c * row[j]; });
    }
    for (int64_t j = 0; j < n; ++j)
      errors[j] = (relative + 0.5 * EPS * terms) * total * sizes[j] +
                  2.0 * EPS * (1.0 + std::abs(f[j]));
  }

  // Move the free samples to the solution of their system, as far as the box allows; return the
  // number of systems.
  //
  // The first to meet its bound ends a move, so that the dual value never falls; the next system is
  // of the others, without those that would leave the box next if there are many.
  int64_t newton(int64_t most) {
    std::vector<int64_t> F;
    std::vector<double> x;
    for (int64_t k = 0; k < n; ++k)
      if (low[k] < beta[k] && beta[k] < high[k]) F.push_back(k);
    if ((int64_t)F.size() > LARGEST || (int64_t)F.size() < 1 + free) return 0;
    for (int64_t k = 0; k < n; ++k) {
      const double *row = K.row(k).data, *point = beta.data();
      g[k] = box.target[k] - sum_of(n, [=](int64_t j) { return row[j] * point[j]; });
    }
    FreeSystem system(K, (int64_t)F.size());
    for (int64_t turn = 0; turn < std::min(most, SYSTEMS); ++turn) {
      if ((int64_t)F.size() < 1 + free) return turn;
      system.solve(g, F, free, x);
      if (!move(F, x)) return turn + 1;
    }
    return std::min(most, SYSTEMS);
  }

  // Move samples F by x as far as the box allows, and keep those for the next system; return
  // whether there is to be one.
  bool move(std::vector<int64_t>& F, const std::vector<double>& x) {
    const int64_t count = (int64_t)F.size();
    double step = 1.0;
    int64_t stop = -1, kept = 0;
    std::vector<uint8_t> stays(count);
    for (int64_t k = 0; k < count; ++k) {
      const int64_t i = F[k];
      const double room = (x[k] > 0.0 ? high[i] : low[i]) - beta[i];
      stays[k] = std::abs(room) > std::abs(x[k]) || count <= ONE_BY_ONE;
      if (std::abs(room) < step * std::abs(x[k])) {
        step = room / x[k];
        stop = k;
      }
    }
    for (int64_t k = 0; k < count; ++k) {
      const int64_t i = F[k];
      const double change = step * x[k];
      beta[i] = std::min(std::max(beta[i] + change, low[i]), high[i]);
      if (k == stop) beta[i] = x[k] > 0.0 ? high[i] : low[i];
      const double* row = K.row(i).data;
      double* slopes = g.data();
      for_all(n, [=](int64_t j) { slopes[j] -= change * row[j]; });
      if (stays[k] && low[i] < beta[i] && beta[i] < high[i]) F[kept++] = i;
    }
    F.resize(kept);
    return stop >= 0;
  }
};

}  // namespace skscreen
