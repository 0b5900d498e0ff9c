// Linear models of few narrow rows, all problems in one call: svm/solvers/linear/narrow.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/arrays.hpp"
#include "core/checks.hpp"
#include "core/core.hpp"
#include "core/sums.hpp"

namespace skscreen::svm {

// What a problem min 1/2 |w|^2 + losses was solved to; |w - sum_i beta_i x_i|^2 / 2 and rounding
// errors are in the gap.
struct NarrowFound {
  double primal, gap;
  int64_t steps;
};

// A system of the size of the weights: I and sums of outer products, its factor.
class NarrowSystem {
 public:
  explicit NarrowSystem(int64_t d) : d(d), H_(d * d), L_(d * d) { clear(); }

  void clear() {
    std::fill(H_.begin(), H_.end(), 0.0);
    for (int64_t k = 0; k < d; ++k) H_[k * d + k] = 1.0;
  }

  // A row, of which what is up to the diagonal counts.
  double* row(int64_t k) { return &H_[k * d]; }

  // Write the Cholesky factor; return whether there is one.
  bool factor() {
    for (int64_t i = 0; i < d; ++i) {
      double* row = &L_[i * d];
      for (int64_t j = 0; j < i; ++j)
        row[j] = (H_[i * d + j] - inner(row, &L_[j * d], j)) / L_[j * d + j];
      const double square = H_[i * d + i] - inner(row, row, i);
      if (!(square > 0.0)) return false;
      row[i] = std::sqrt(square);
    }
    return true;
  }

  // Solve H x = x in place.
  void solve(double* x) const {
    for (int64_t i = 0; i < d; ++i) x[i] = (x[i] - inner(&L_[i * d], x, i)) / L_[i * d + i];
    for (int64_t i = d - 1; i >= 0; --i) {
      x[i] /= L_[i * d + i];
      const double* row = &L_[i * d];
      const double value = x[i];
      for_all(i, [=](int64_t j) { x[j] -= row[j] * value; });
    }
  }

  static double inner(const double* a, const double* b, int64_t n) {
    return sum_of(n, [=](int64_t k) { return a[k] * b[k]; });
  }

  const int64_t d;

 private:
  std::vector<double> H_, L_;
};

// Half the squared distance of w from u (d,), the sum_i beta_i x_i of n rows of lengths `norms`,
// with its rounding errors.
inline double apart(const double* u, const double* beta, const double* norms, const double* w,
                    int64_t n, int64_t d) {
  double square = 0.0;
  for (int64_t k = 0; k < d; ++k) square += (w[k] - u[k]) * (w[k] - u[k]);
  const double size = sum_of(n, [=](int64_t i) { return std::abs(beta[i]) * norms[i]; });
  const double total = std::sqrt(square) + EPS * (0.5 * static_cast<double>(n) + 4.0) * size;
  return 0.5 * total * total;
}

// Newton's method for losses C_k max(0, t_k - y_k <x_k, w>)^2, from w = 0 (Keerthi, DeCoste 2005);
// sample k stands for the row k mod n.
//
// Between the places where a sample begins or ends to have a loss the primal is quadratic; a step
// goes to its minimum along the line to that of the present piece. The last one is the solution.
class SquaredHinges {
 public:
  SquaredHinges(Matrix<const double> X, Array<const double> norms, Array<const double> thresholds,
                Array<const double> caps)
      : X(X), system(X.columns), norms(norms), t(thresholds), C(caps), n(X.rows),
        N(thresholds.size), d(X.columns), short_(N), moves_(N), in_(N), step_(d), sums_(n), u_(d) {}

  // `y` are signs (N,); w (d,) and beta (N,), signed dual variables, become those of the solution.
  NarrowFound solve(const double* y, double tol, double* w, double* beta) {
    std::fill_n(w, d, 0.0);
    std::copy_n(t.data, N, short_.begin());
    std::fill(in_.begin(), in_.end(), 0);
    system.clear();
    NarrowFound found{INF, INF, 0};
    for (int64_t turn = 0, more = 0; turn < MOST; ++turn) {
      // Sums that were taken off again leave rounding errors.
      if (turn >= FRESH) {
        system.clear();
        std::fill(in_.begin(), in_.end(), 0);
      }
      refresh();
      if (!system.factor()) {
        // Rounding errors of a system of huge weights; w = 0 has a certificate, too.
        if (turn == 0) measure(y, w, beta, found);
        break;
      }
      towards(y, w);
      const double length = line(y, w);
      for (int64_t k = 0; k < d; ++k) w[k] += length * step_[k];
      found.steps = turn + 1;
      const double before = found.gap;
      // Scores of a regression are told apart in digits beyond the tolerance.
      if (measure(y, w, beta, found) <= tol * found.primal && (N == n || ends() || ++more > MORE))
        break;
      // At the solution only rounding errors are left, also of fresh sums.
      if (turn > FRESH && ends() && !(found.gap < 0.5 * before)) break;
    }
    return found;
  }

 private:
  // Limits of steps, of those that change a system, of those along a line, and of those on other
  // pieces once the tolerance is met.
  static constexpr int64_t MOST = 50, FRESH = 12, ALONG = 60, MORE = 3;

  Matrix<const double> X;
  NarrowSystem system;
  Array<const double> norms, t, C;
  int64_t n, N, d;
  // What margins lack, how they change along a step, and which samples are in the system.
  std::vector<double> short_, moves_;
  std::vector<uint8_t> in_;
  std::vector<double> step_, sums_, u_;

  int64_t row(int64_t k) const { return k < n ? k : k - n; }

  double score_of(int64_t row, const double* w) const {
    return NarrowSystem::inner(X.row(row).data, w, d);
  }

  // Write sum_k beta_k x_k.
  void combine(const double* beta, double* out) {
    const double* sums = folded(beta);
    std::fill_n(out, d, 0.0);
    for (int64_t i = 0; i < n; ++i) {
      const double c = sums[i];
      const double* x = X.row(i).data;
      if (c != 0.0) for_all(d, [=](int64_t j) { out[j] += c * x[j]; });
    }
  }

  // Add weight x x' to the system.
  void add(int64_t row, double weight) {
    const double* x = X.row(row).data;
    for (int64_t k = 0; k < d; ++k) {
      const double c = weight * x[k];
      double* into = system.row(k);
      for_all(k + 1, [=](int64_t j) { into[j] += c * x[j]; });
    }
  }

  // The sums of dual variables of a row.
  const double* folded(const double* beta) {
    if (N == n) return beta;
    for (int64_t i = 0; i < n; ++i) sums_[i] = beta[i] + beta[n + i];
    return sums_.data();
  }

  // Have those samples in the system that have a loss.
  void refresh() {
    for (int64_t k = 0; k < N; ++k) {
      const bool has_loss = short_[k] > 0.0;
      if (has_loss == (bool)in_[k]) continue;
      add(row(k), has_loss ? 2.0 * C[k] : -2.0 * C[k]);
      in_[k] = has_loss;
    }
  }

  // Whether the system is that of the samples that have a loss: then the last step was to the
  // solution.
  bool ends() const {
    for (int64_t k = 0; k < N; ++k)
      if ((short_[k] > 0.0) != (bool)in_[k]) return false;
    return true;
  }

  // The step to the minimum of the present piece.
  void towards(const double* y, const double* w) {
    std::vector<double> beta(N);
    for (int64_t k = 0; k < N; ++k) beta[k] = 2.0 * C[k] * y[k] * std::max(short_[k], 0.0);
    combine(beta.data(), step_.data());
    for (int64_t k = 0; k < d; ++k) step_[k] -= w[k];
    system.solve(step_.data());
  }

  // The length of the step at which the slope along it is zero.
  double line(const double* y, const double* w) {
    const double linear = NarrowSystem::inner(w, step_.data(), d);
    const double square = NarrowSystem::inner(step_.data(), step_.data(), d);
    for (int64_t i = 0; i < n; ++i) {
      const double score = score_of(i, step_.data());
      for (int64_t k = i; k < N; k += n) moves_[k] = y[k] * score;
    }
    double low = 0.0, high = INF, length = 1.0;
    for (int64_t turn = 0; turn < ALONG; ++turn) {
      double slope = linear + length * square, curvature = square;
      for (int64_t k = 0; k < N; ++k) {
        const double left = short_[k] - length * moves_[k], c = 2.0 * C[k] * moves_[k];
        slope -= left > 0.0 ? c * left : 0.0;
        curvature += left > 0.0 ? c * moves_[k] : 0.0;
      }
      (slope < 0.0 ? low : high) = length;
      const double next = length - slope / curvature;
      if (!(std::abs(next - length) > 1e-12 * length)) break;
      length = low < next && next < high ? next : 0.5 * (low + std::min(high, 4.0 * low + 1.0));
    }
    return length;
  }

  // Margins and certificate at w: dual variables are those that belong to the margins, so that
  // only rounding errors, and what w is from their sum of rows, are in the gap.
  double measure(const double* y, const double* w, double* beta, NarrowFound& found) {
    const double square = NarrowSystem::inner(w, w, d), size = std::sqrt(square);
    const double unit = EPS * (0.5 * static_cast<double>(d) + 4.0);
    double losses = 0.0, errors = 0.0;
    for (int64_t i = 0; i < n; ++i) {
      const double score = score_of(i, w), known = norms[i] * size;
      for (int64_t k = i; k < N; k += n) {
        short_[k] = t[k] - y[k] * score;
        const double lack = std::max(short_[k], 0.0), error = unit * (std::abs(t[k]) + known);
        beta[k] = 2.0 * C[k] * y[k] * lack;
        losses += C[k] * lack * lack;
        // Without a loss whatever the error there is none.
        if (short_[k] > -error) errors += C[k] * error * (error + 2.0 * EPS * lack);
      }
    }
    found.primal = 0.5 * square + losses;
    combine(beta, u_.data());
    found.gap = apart(u_.data(), folded(beta), norms.data, w, n, d) + errors +
                4.0 * EPS * EPS * found.primal;
    return found.gap;
  }
};

// Solve the problems of several rows of signs (k, N), N = n or 2 n of samples that stand twice, one
// after the other: rows of `w` (k, d) and `duals` (k, N) become weights and signed dual variables,
// those of `found` primal value, gap and steps.
inline void solve_squared_hinges(Matrix<const double> X, Array<const double> norms,
                                 Array<const double> thresholds, Array<const double> caps,
                                 Matrix<const double> signs, double tol, Matrix<double> w,
                                 Matrix<double> duals, Matrix<double> found) {
  const int64_t N = thresholds.size;
  expects(X.rows > 0 && (N == X.rows || N == 2 * X.rows), "thresholds must have n or 2 n entries");
  expects_sizes(X.rows, "norms", norms);
  expects_sizes(N, "caps", caps);
  expects_shape(signs.rows, N, "signs", signs, "duals", duals);
  expects_shape(signs.rows, X.columns, "w", w);
  expects_shape(signs.rows, 3, "found", found);
  SquaredHinges solver(X, norms, thresholds, caps);
  for (int64_t k = 0; k < signs.rows; ++k) {
    const auto [primal, gap, steps] =
        solver.solve(signs.row(k).data, tol, w.row(k).data, duals.row(k).data);
    found(k, 0) = primal;
    found(k, 1) = gap;
    found(k, 2) = static_cast<double>(steps);
  }
}

}  // namespace skscreen::svm
