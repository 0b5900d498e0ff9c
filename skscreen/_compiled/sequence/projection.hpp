// Projection onto the marginals of a chain, by a semismooth Newton method.
//
// A chain of T cliques over pairs of neighbouring labels has marginals a_t(i, j) >= 0, i the label
// on the left and j that on the right, with sum_ij a_t(i, j) = 1 and, between neighbours, sum_i
// a_t(i, j) = sum_k a_{t+1}(j, k). With multipliers lambda_t and nu_t(j) the nearest point to m is
//
//     a_t = (m_t + s_t)_+,   s_t(i, j) = lambda_t + nu_t(j) - nu_{t-1}(i),   nu_{-1} = nu_{T-1} =
//     0,
//
// where they minimise the once differentiable, piecewise quadratic, convex
//
//     phi = 1/2 sum_t |(m_t + s_t)_+|^2 - sum_t lambda_t.
//
// Its generalised Hessian is block tridiagonal. It is singular (nu_t can be shifted against the
// lambdas), hence a small Levenberg term.
//
// A. Saha, X. Zhang, S.V.N. Vishwanathan (2010). arXiv:0909.1334. Appendix E, whose algorithm 3
// alternates between (lambda, nu) and the multipliers of a >= 0; eliminating the latter gives phi.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/arrays.hpp"
#include "core/checks.hpp"

namespace skscreen::sequence {

// Projects a chain of T cliques over pairs of m labels. Multipliers of clique t are lambda_t and
// nu_t(0), ..., nu_t(m - 1).
class ChainProjection {
 public:
  ChainProjection(int64_t T, int64_t m)
      : T(T), m(m), size(T * (m + 1)), bandwidth(2 * (m + 1)), target_(T * m * m), a_(T * m * m),
        multipliers_(size), trial_(size), gradient_(size), step_(size), band_(size * bandwidth) {}

  // Fill `out`, which may be `point`, with the feasible marginals nearest to `point`; nu (T, m).
  void run(Stack<const double> point, Matrix<double> nu, Stack<double> out) {
    const double largest = start(point, nu);
    if (!newton(1.0)) {
      // Far away nearly all pieces of phi are flat, so approach the point by its multiples.
      double share = 1.0 / (1.0 + largest);
      std::fill(multipliers_.begin(), multipliers_.end(), 0.0);
      while (share < 1.0) {
        newton(share);
        const double factor = std::min(FACTOR, 1.0 / share);
        share *= factor;
        for (double& value : multipliers_) value *= factor;
      }
      newton(1.0);
    }
    for (int64_t t = 0; t < T; ++t)
      for (int64_t i = 0; i < m; ++i) nu(t, i) = multipliers_[t * (m + 1) + 1 + i];
    make_consistent({a_.data(), T, m, m}, out);
  }

  // Fill `out` with exactly consistent marginals near those of `a`, from left to right.
  static void make_consistent(Stack<const double> a, Stack<double> out) {
    const int64_t m = a.rows;
    expects(a.size > 0 && m > 0, "a must not be empty");
    expects_shape(m, m, "a", a, "out", out);
    expects_sizes(a.size, "out", out);
    std::vector<double> p(m), following(m);
    double whole = 0.0;
    for (int64_t i = 0; i < m; ++i) whole += p[i] = sum(a[0].row(i));
    for (double& value : p) value /= whole;
    for (int64_t t = 0; t < a.size; ++t) {
      std::fill(following.begin(), following.end(), 0.0);
      for (int64_t i = 0; i < m; ++i) {
        const double total = sum(a[t].row(i));
        for (int64_t j = 0; j < m; ++j) {
          const double share = total > 0.0 ? a(t, i, j) / total : 1.0 / m;
          out(t, i, j) = p[i] * share;
          following[j] += out(t, i, j);
        }
      }
      std::swap(p, following);
    }
  }

 private:
  static constexpr double INFINITE = std::numeric_limits<double>::infinity();
  static constexpr int MAX_STEPS = 200, MAX_HALVINGS = 60;
  // Growth factor of multiples of the point.
  static constexpr double FACTOR = 4.0;
  // Tolerance of the residuals; feasibility is repaired afterwards: only rounding errors matter.
  static constexpr double TOLERANCE = 1e-13;
  static constexpr double ROUNDING = 64.0 * std::numeric_limits<double>::epsilon();
  // Levenberg term: a share of the residual over the possible distance, at least a small number.
  static constexpr double SHARE = 1.0, LEAST = 1e-14;

  int64_t T, m, size, bandwidth;
  std::vector<double> target_, a_, multipliers_, trial_, gradient_, step_, band_;

  static double sum(Array<const double> values) {
    double total = 0.0;
    for (int64_t k = 0; k < values.size; ++k) total += values[k];
    return total;
  }

  static double largest_of(const std::vector<double>& values) {
    double out = 0.0;
    for (const double value : values) out = std::max(out, std::abs(value));
    return out;
  }

  // Set target and multipliers; return the largest distance below the largest entry of a clique.
  double start(Stack<const double> point, Matrix<const double> nu) {
    double largest = 0.0;
    std::fill(multipliers_.begin(), multipliers_.end(), 0.0);
    for (int64_t t = 0; t < T; ++t) {
      // A constant for each clique has no effect, and large numbers would cost digits.
      const double *entries = point[t].data, *end = entries + m * m;
      const double top = *std::max_element(entries, end);
      double* target = target_.data() + t * m * m;
      for (int64_t k = 0; k < m * m; ++k) {
        target[k] = entries[k] - top;
        largest = std::max(largest, -target[k]);
      }
      if (t < T - 1)
        for (int64_t i = 0; i < m; ++i) multipliers_[t * (m + 1) + 1 + i] = nu(t, i);
    }
    return largest;
  }

  // Minimise phi for share * target from the given nu, fill `a`; return whether it converged.
  bool newton(double share) {
    start_lambdas(share);
    double value = phi(share, multipliers_);
    const double far = 1.0 + largest_of(multipliers_);
    for (int count = 0; count < MAX_STEPS; ++count) {
      fill_gradient();
      const double residual = largest_of(gradient_);
      if (residual <= TOLERANCE + ROUNDING * far) return true;
      fill_hessian(std::max(SHARE * residual / far, LEAST));
      step_ = gradient_;
      solve_band();
      double slope = 0.0;
      for (int64_t k = 0; k < size; ++k) slope -= gradient_[k] * step_[k];
      double length = 1.0, lower = INFINITE;
      for (int halving = 0; halving < MAX_HALVINGS; ++halving) {
        for (int64_t k = 0; k < size; ++k) trial_[k] = multipliers_[k] - length * step_[k];
        lower = phi(share, trial_);
        if (lower <= value + 1e-4 * length * slope + ROUNDING * std::abs(value)) break;
        length *= 0.5;
        lower = INFINITE;
      }
      if (lower == INFINITE) {
        phi(share, multipliers_);
        return false;
      }
      value = lower;
      std::swap(multipliers_, trial_);
    }
    return false;
  }

  // Set each lambda so that m + s sums to one, as if no entry were cut off.
  //
  // Newton's method needs more steps from the best lambdas for the other multipliers, which cut
  // off most entries.
  void start_lambdas(double share) {
    for (int64_t t = 0; t < T; ++t) {
      double total = 0.0, *own = multipliers_.data() + t * (m + 1);
      for (int64_t i = 0; i < m; ++i) {
        const double left = t > 0 ? own[i - m] : 0.0;
        for (int64_t j = 0; j < m; ++j)
          total += share * target_[(t * m + i) * m + j] + own[1 + j] - left;
      }
      own[0] = (1.0 - total) / (m * m);
    }
  }

  // Return phi and fill `a` with (m + s)_+.
  double phi(double share, const std::vector<double>& multipliers) {
    double total = 0.0;
    for (int64_t t = 0; t < T; ++t) {
      const double *own = multipliers.data() + t * (m + 1), lambda = own[0], *right = own + 1;
      total -= lambda;
      for (int64_t i = 0; i < m; ++i) {
        const double left = t > 0 ? own[i - m] : 0.0;
        const double* target = target_.data() + (t * m + i) * m;
        double* a = a_.data() + (t * m + i) * m;
        double squares = 0.0;
#pragma omp simd reduction(+ : squares)
        for (int64_t j = 0; j < m; ++j) {
          const double value = share * target[j] + lambda + right[j] - left;
          a[j] = std::max(value, 0.0);
          squares += a[j] * a[j];
        }
        total += 0.5 * squares;
      }
    }
    return total;
  }

  // The gradient of phi; the last nu is no variable.
  void fill_gradient() {
    std::fill(gradient_.begin(), gradient_.end(), 0.0);
    for (int64_t t = 0; t < T; ++t) {
      double* own = gradient_.data() + t * (m + 1);
      own[0] = -1.0;
      for (int64_t i = 0; i < m; ++i) {
        const double* a = a_.data() + (t * m + i) * m;
        double total = 0.0;
#pragma omp simd reduction(+ : total)
        for (int64_t j = 0; j < m; ++j) total += a[j];
        own[0] += total;
        if (t > 0) own[i - m] -= total;
        if (t < T - 1)
#pragma omp simd
          for (int64_t j = 0; j < m; ++j) own[1 + j] += a[j];
      }
    }
  }

  // Row k of the band: entry (k, l) is at l, for k - bandwidth < l <= k.
  double* row(int64_t k) { return band_.data() + k * bandwidth + bandwidth - 1 - k; }

  // The generalised Hessian.
  void fill_hessian(double levenberg) {
    std::fill(band_.begin(), band_.end(), 0.0);
    for (int64_t k = 0; k < size; ++k) row(k)[k] = k <= (T - 1) * (m + 1) ? levenberg : 1.0;
    for (int64_t t = 0; t < T; ++t) {
      const int64_t lambda = t * (m + 1), nu = lambda + 1, before = nu - (m + 1);
      const double* a = a_.data() + t * m * m;
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < m; ++j) {
          if (a[i * m + j] <= 0.0) continue;
          row(lambda)[lambda] += 1.0;
          if (t < T - 1) {
            row(nu + j)[nu + j] += 1.0;
            row(nu + j)[lambda] += 1.0;
          }
          if (t > 0) {
            row(before + i)[before + i] += 1.0;
            row(lambda)[before + i] -= 1.0;
          }
          if (0 < t && t < T - 1) row(nu + j)[before + i] -= 1.0;
        }
    }
  }

  // Solve the banded positive definite system for `step` in place by Cholesky's method.
  void solve_band() {
    double* x = step_.data();
    for (int64_t k = 0; k < size; ++k) {
      const int64_t start = std::max<int64_t>(0, k - bandwidth + 1);
      double* mine = row(k);
      for (int64_t l = start; l <= k; ++l) {
        const double* other = row(l);
        double total = mine[l];
#pragma omp simd reduction(- : total)
        for (int64_t q = std::max(start, l - bandwidth + 1); q < l; ++q)
          total -= mine[q] * other[q];
        mine[l] = l == k ? std::sqrt(std::max(total, LEAST)) : total / other[l];
      }
    }
    for (int64_t k = 0; k < size; ++k) {
      const double* mine = row(k);
      for (int64_t l = std::max<int64_t>(0, k - bandwidth + 1); l < k; ++l) x[k] -= mine[l] * x[l];
      x[k] /= mine[k];
    }
    for (int64_t k = size - 1; k >= 0; --k) {
      const double* mine = row(k);
      x[k] /= mine[k];
      for (int64_t l = std::max<int64_t>(0, k - bandwidth + 1); l < k; ++l) x[l] -= mine[l] * x[k];
    }
  }
};

// Project each chain; chain c has the cliques first[c] to first[c + 1] - 1.
inline void project_chains(Stack<const double> points, Array<const int64_t> first,
                           Matrix<double> nu, Stack<double> out) {
  const int64_t m = points.rows;
  expects(m > 0, "points must have labels");
  expects_shape(m, m, "points", points, "out", out);
  expects_shape(points.size, m, "nu", nu);
  expects_sizes(points.size, "out", out);
  expects_starts("first", first, points.size);
  for (int64_t c = 0; c + 1 < first.size; ++c)
    expects(first[c] < first[c + 1], "first must leave a clique to each chain");
  for (int64_t c = 0; c + 1 < first.size; ++c) {
    const int64_t T = first[c + 1] - first[c], before = first[c] * m * m;
    ChainProjection(T, m).run({points.data + before, T, m, m}, {nu.data + first[c] * m, T, m},
                              {out.data + before, T, m, m});
  }
}

}  // namespace skscreen::sequence
