// All problems between classes of few samples in one call: svm/solvers/kernel/pairs_together.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <vector>

#include "core/arrays.hpp"
#include "core/checks.hpp"
#include "svm/newton.hpp"
#include "svm/pairs.hpp"
#include "svm/tiny_pair.hpp"
#include "svm/upper_factor.hpp"

namespace skscreen::svm {

// Kernel values (n, n) of samples class by class, which end before ends_c, as in
// `pair_scores_of_few`.
struct ClassValues {
  Matrix<const double> K;
  Array<const int64_t> ends;
  Array<const double> sizes;
  double relative, square_bias;

  void check() const {
    const int64_t n = sizes.size;
    expects_shape(n, n, "K", K);
    expects_starts("ends", ends, n);
    expects(ends.size > 1 && ends[0] > 0 && ends[ends.size - 1] == n, "ends must be those of all");
    for (int64_t c = 1; c < ends.size; ++c)
      expects(ends[c - 1] < ends[c], "classes must not be empty");
  }
  int64_t first(int64_t c) const { return c == 0 ? 0 : ends[c - 1]; }
  // Copy K between two classes.
  void copy(int64_t i, int64_t j, std::vector<double>& out) const {
    const int64_t width = ends[j] - first(j);
    out.resize((ends[i] - first(i)) * width);
    for (int64_t r = first(i); r < ends[i]; ++r)
      std::copy_n(K.row(r).data + first(j), width, out.data() + (r - first(i)) * width);
  }
};

// Whether kernel matrices (n, n) of the samples of each pair of classes, which end before ends_c,
// are positive semi-definite up to a ridge, for any dual variables or for those of sum 0.
//
// The Cholesky factor K_ii = U'U serves all pairs of class i: K_jj - X'X with U'X = K_ij has one.
// For sums of 0 values are those seen from the first sample r of class i, K_ab - K_ar - K_rb +
// K_rr.
class DefinitePairs {
 public:
  static bool are(Matrix<const double> K, Array<const int64_t> ends, double ridge, bool sums) {
    expects_shape(K.rows, K.rows, "K", K);
    expects_starts("ends", ends, K.rows);
    expects(ends.size > 0 && ends[ends.size - 1] == K.rows, "ends must be those of all");
    DefinitePairs found{K, ends, ridge, sums};
    for (int64_t i = 0; i < ends.size; ++i)
      if (!found.of_class(i)) return false;
    return true;
  }

 private:
  Matrix<const double> K;
  Array<const int64_t> ends;
  double ridge;
  bool sums;
  std::vector<double> U_, X_, S_;

  DefinitePairs(Matrix<const double> K, Array<const int64_t> ends, double ridge, bool sums)
      : K(K), ends(ends), ridge(ridge), sums(sums) {}

  // Write values of sample i and `count` others from `first`, seen from sample r for sums of 0.
  void copy(int64_t i, int64_t first, int64_t count, int64_t r, double* out) const {
    const double *row = K.row(i).data + first, *origin = K.row(r).data + first;
    if (!sums) {
      std::copy_n(row, count, out);
      return;
    }
    const double own = K(r, i) - K(r, r);
    for_all(count, [=](int64_t k) { out[k] = (row[k] - origin[k]) - own; });
  }

  int64_t first(int64_t c) const { return c == 0 ? 0 : ends[c - 1]; }

  // Whether the pairs of a class and those after it are.
  bool of_class(int64_t i) {
    const int64_t a = first(i), m = ends[i] - a;
    U_.resize(m * m);
    for (int64_t r = 0; r < m; ++r) copy(a + r, a, m, a, &U_[r * m]);
    if (!upper_factor(U_.data(), m, ridge)) return false;
    for (int64_t j = i + 1; j < ends.size; ++j)
      if (!of_pair(a, m, first(j), ends[j] - first(j))) return false;
    return true;
  }

  bool of_pair(int64_t a, int64_t m, int64_t c, int64_t l) {
    X_.resize(l * m);
    S_.resize(l * l);
    for (int64_t k = 0; k < m; ++k) {
      double* row = &X_[k * l];
      copy(a + k, c, l, a, row);
      subtract_rows(l, row, k, X_.data(), l, &U_[k], m);
      const double inverse = 1.0 / U_[k * m + k];
      for_all(l, [=](int64_t j) { row[j] *= inverse; });
    }
    for (int64_t r = 0; r < l; ++r) {
      double* row = &S_[r * l + r];
      copy(c + r, c + r, l - r, a, row);
      subtract_rows(l - r, row, m, &X_[r], l, &X_[r], l);
    }
    return upper_factor(S_.data(), l, ridge);
  }
};

// How a problem is solved: to a relative gap, of which the first turns reach a part, in steps.
struct PairLimits {
  double tol, part, share, digits;
  int64_t steps, turns;  // steps for each sample
};

// Improve beta of one problem; return its view and steps.
inline std::pair<View, int64_t> improve_few(const PairValues<double>& K, const Dual& dual,
                                            Array<const double> sizes, double relative,
                                            const PairLimits& limits, Array<double> beta,
                                            std::vector<double>& memory) {
  const int64_t n = beta.size, limit = steps_of(limits.steps, n);
  std::vector<double> space(5 * n, 0.0);
  double* at = space.data();
  const Array<double> f{at, n}, errors{at + n, n}, slopes{at + 2 * n, n}, parts{at + 3 * n, n},
      losses{at + 4 * n, n};
  memory.resize(std::max<int64_t>(memory.size(), n * padded(n)));
  const Array<double> matrix{memory.data(), n * padded(n)};
  View view{};
  int64_t steps = 0;
  for (int64_t turn = 0;; ++turn) {
    const double enough = limits.tol * (turn < 2 ? limits.part : 1.0);
    if (turn) {
      pair_scores_of_few(K, sizes, relative, beta, f, errors);
      view = largest_gap(dual, beta, f, errors, slopes, parts, losses);
      if (view.gap <= enough * view.primal || steps >= limit || turn == limits.turns) break;
      FreeNewton<Matrix<const double>> newton({matrix.data, n, padded(n)}, dual.low, dual.high,
                                              beta, slopes);
      steps += newton.run(dual.free);
      for (int64_t k = 0; k < n; ++k) f[k] = dual.target[k] - dual.intercept(view.b, k) - slopes[k];
    }
    const double to = std::max(limits.share * enough, turn ? 0.0 : limits.digits);
    steps +=
        improve_pair(K, dual, beta, f, true, to, std::min(limit - steps, 1000 + 4 * n), matrix);
  }
  return {view, steps};
}

// Solve the problems of all pairs of classes. `dual` (n_classes - 1, n) becomes sign times dual
// variable, a row for each other class, and rows of `found` intercept, gap, primal value and steps.
inline void solve_pairs_together(const ClassValues& values, Array<const double> caps, bool free,
                                 const PairLimits& limits, Matrix<double> dual,
                                 Matrix<double> found) {
  const int64_t k = values.ends.size, n = values.sizes.size;
  expects_sizes(n, "caps", caps);
  expects_shape(k - 1, n, "dual", dual);
  expects_shape(k * (k - 1) / 2, 4, "found", found);
  std::vector<std::vector<double>> own(k);
  for (int64_t c = 0; c < k; ++c) values.copy(c, c, own[c]);
  std::vector<double> between, low, high, target, beta, sizes, memory;
  TinyPair few;
  int64_t p = 0;
  for (int64_t i = 0; i < k; ++i)
    for (int64_t j = i + 1; j < k; ++j, ++p) {
      const int64_t a = values.first(i), c = values.first(j);
      const int64_t m = values.ends[i] - a, l = values.ends[j] - c, size = m + l;
      for (auto* part : {&low, &high, &target, &beta}) part->assign(size, 0.0);
      sizes.resize(size);
      for (int64_t r = 0; r < size; ++r) {
        const int64_t row = r < m ? a + r : c + r - m;
        target[r] = r < m ? 1.0 : -1.0;
        (r < m ? high : low)[r] = r < m ? caps[row] : -caps[row];
        sizes[r] = values.sizes[row];
      }
      values.copy(i, j, between);
      const PairValues<double> K{
          {own[i].data(), m, m}, {own[j].data(), l, l}, {between.data(), m, l}, values.square_bias};
      const Dual problem{{target.data(), size}, {low.data(), size}, {high.data(), size}, free, {}};
      const Array<double> point{beta.data(), size};
      const bool tiny = free && limits.part == 1.0 && size <= TinyPair::LARGEST;
      View view;
      int64_t steps;
      if (tiny && few.solve(K, problem, {sizes.data(), size}, values.relative, limits.tol,
                            limits.share, steps_of(limits.steps, size), point)) {
        view = few.view;
        steps = few.steps;
      } else {
        std::fill(beta.begin(), beta.end(), 0.0);
        std::tie(view, steps) =
            improve_few(K, problem, {sizes.data(), size}, values.relative, limits, point, memory);
      }
      for (int64_t r = 0; r < m; ++r) dual(j - 1, a + r) = std::min(beta[r], caps[a + r]);
      for (int64_t r = 0; r < l; ++r) dual(i, c + r) = std::max(beta[m + r], -caps[c + r]);
      found(p, 0) = free ? problem.intercept(view.b, 0) : 0.0;
      found(p, 1) = view.gap;
      found(p, 2) = view.primal;
      found(p, 3) = static_cast<double>(steps);
    }
}

}  // namespace skscreen::svm
