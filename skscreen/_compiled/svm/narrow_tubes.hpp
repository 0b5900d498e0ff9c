// Tubes of few narrow rows, by an interior point: svm/solvers/linear/narrow.py.
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

// Rows of which each column lies together, (d, n): few columns then make long loops.
class NarrowColumns {
 public:
  explicit NarrowColumns(Matrix<const double> X)
      : n(X.columns), d(X.rows), X(X), weighted_(BLOCK) {}

  // Write <x_i, w> of all rows.
  void scores(const double* w, double* out) const {
    std::fill_n(out, n, 0.0);
    for (int64_t first = 0; first < n; first += BLOCK) {
      double* into = out + first;
      for (int64_t k = 0; k < d; ++k) {
        const double *x = column(k) + first, c = w[k];
        for_all(std::min(BLOCK, n - first), [=](int64_t i) { into[i] += c * x[i]; });
      }
    }
  }

  // Write sum_i beta_i x_i.
  void combine(const double* beta, double* out) const {
    std::fill_n(out, d, 0.0);
    add_products(beta, 0, n, d, out);
  }

  // Write the squares of lengths of rows.
  void squares(double* out) const {
    std::fill_n(out, n, 0.0);
    for (int64_t k = 0; k < d; ++k) {
      const double* x = column(k);
      for_all(n, [=](int64_t i) { out[i] += x[i] * x[i]; });
    }
  }

  // Add sum_i weights_i x_i x_i' to the lower triangle of a system.
  void add_to(NarrowSystem& system, const double* weights) {
    double* own = weighted_.data();
    for (int64_t first = 0; first < n; first += BLOCK) {
      const int64_t size = std::min(BLOCK, n - first);
      const double* of = weights + first;
      for (int64_t k = 0; k < d; ++k) {
        const double* x = column(k) + first;
        for_all(size, [=](int64_t i) { own[i] = of[i] * x[i]; });
        add_products(own, first, size, k + 1, system.row(k));
      }
    }
  }

  const int64_t n, d;

 private:
  // Rows whose weighted column stays near.
  static constexpr int64_t BLOCK = 512;

  Matrix<const double> X;
  std::vector<double> weighted_;

  const double* column(int64_t k) const { return X.row(k).data; }

  // Add the inner products of a part with those of `most` columns, or of a few more.
  void add_products(const double* own, int64_t first, int64_t size, int64_t most,
                    double* into) const {
    for (int64_t k = 0; k < most;) {
      const double* x = column(k) + first;
      if (k + 4 <= d) {
        add_four(own, x, size, into + k);
        k += 4;
      } else {
        into[k++] += product(own, x, size);
      }
    }
  }

  // Loops of their own, as compilers do not reorder sums within large functions.
  SKSCREEN_NOINLINE static double product(const double* a, const double* b, int64_t size) {
    return NarrowSystem::inner(a, b, size);
  }

  SKSCREEN_NOINLINE void add_four(const double* own, const double* x, int64_t size,
                                  double* into) const {
    const double *p = x + n, *q = p + n, *r = q + n;
    double a = 0.0, b = 0.0, c = 0.0, e = 0.0;
#pragma omp simd reduction(+ : a, b, c, e)
    for (int64_t i = 0; i < size; ++i) {
      a += own[i] * x[i];
      b += own[i] * p[i];
      c += own[i] * q[i];
      e += own[i] * r[i];
    }
    into[0] += a;
    into[1] += b;
    into[2] += c;
    into[3] += e;
  }
};

// The predictor-corrector method of Mehrotra (1992) for
//
//   min 1/2 |w|^2 + sum_i c_i (max(0, t_i - <x_i, w>) + max(0, t_{n+i} + <x_i, w>)),
//
// the dual of which has a_k in [0, c_k] for both sides k of each row.
//
// With signs s_k and multipliers u_k, l_k > 0 of the bounds, t_k - s_k <x_k, w> = u_k - l_k at the
// solution, w is sum_k a_k s_k x_k, and products (c_k - a_k) u_k and a_k l_k, all equal on the way,
// are zero. A step solves a system of the size of w.
class NarrowTube {
 public:
  NarrowTube(Matrix<const double> X, Array<const double> thresholds, Array<const double> caps)
      : rows(X), system(rows.d), t(thresholds), c(caps), n(rows.n), d(rows.d), norms_(n), f_(n),
        beta_(n), step_(d), u_(d) {
    for (auto* part : {&short_, &up_, &down_, &theta_, &rest_, &above_, &below_, &change_,
                       &change_up_, &change_down_})
      part->assign(2 * n, 0.0);
    rows.squares(norms_.data());
    for (double& norm : norms_) norm = std::sqrt(norm);
  }

  // w (d,) and a (2 n,) become those of the solution, or of the least gap seen.
  NarrowFound solve(double tol, double* w, double* a) {
    begin(w, a);
    NarrowFound best{INF, INF, 0};
    std::vector<double> best_w(d), best_a(2 * n);
    for (int64_t turn = 0, slow = 0; turn < MOST && slow < SLOW; ++turn) {
      NarrowFound found{INF, INF, turn};
      measure(w, a, found);
      slow = found.gap < 0.9 * best.gap ? 0 : slow + 1;
      if (turn == 0 || found.gap < best.gap) {
        best = found;
        std::copy_n(w, d, best_w.begin());
        std::copy_n(a, 2 * n, best_a.begin());
      }
      if (found.gap <= tol * found.primal || !move(w, a)) break;
    }
    std::copy_n(best_w.begin(), d, w);
    std::copy_n(best_a.begin(), 2 * n, a);
    return best;
  }

 private:
  // Limit of steps, and of those that gain nothing; share of the way to a bound that a step goes.
  static constexpr int64_t MOST = 80, SLOW = 6;
  static constexpr double SHARE = 0.995;

  NarrowColumns rows;
  NarrowSystem system;
  Array<const double> t, c;
  int64_t n, d;
  // Lengths and scores; sums of both sides; steps and sums of rows.
  std::vector<double> norms_, f_, beta_, step_, u_;
  // Of both sides: what margins lack; multipliers; terms of the system; inverses of the distances
  // to the bounds; changes.
  std::vector<double> short_, up_, down_, theta_, rest_, above_, below_;
  std::vector<double> change_, change_up_, change_down_;

  void begin(double* w, double* a) {
    double size = 0.0;
    for (int64_t k = 0; k < 2 * n; ++k) size += std::abs(t[k]) / static_cast<double>(2 * n);
    size = std::max(size, 1e-300);
    std::fill_n(w, d, 0.0);
    lacks(w);
    for (int64_t k = 0; k < 2 * n; ++k) {
      a[k] = 0.5 * c[k < n ? k : k - n];
      up_[k] = std::max(short_[k], 0.0) + size;
      down_[k] = up_[k] - short_[k];
    }
  }

  // Call with a place on one side, its row and its sign, for all.
  template <class Update>
  SKSCREEN_INLINE void both(Update update) const {
    const int64_t n = this->n;
    for_all(n, [=](int64_t i) { update(i, i, 1.0); });
    for_all(n, [=](int64_t i) { update(n + i, i, -1.0); });
  }

  void lacks(const double* w) {
    rows.scores(w, f_.data());
    const double *f = f_.data(), *of = t.data;
    double* lack = short_.data();
    both([=](int64_t k, int64_t i, double sign) { lack[k] = of[k] - sign * f[i]; });
  }

  // Write sum_k values_k s_k x_k.
  void combine(const double* values, double* out) {
    double* sums = beta_.data();
    const double* other = values + n;
    for_all(n, [=](int64_t i) { sums[i] = values[i] - other[i]; });
    rows.combine(sums, out);
  }

  // Margins and certificate of a and w, rounding errors included.
  void measure(const double* w, const double* a, NarrowFound& found) {
    lacks(w);
    const double square = NarrowSystem::inner(w, w, d), size = std::sqrt(square);
    const double unit = EPS * (0.5 * static_cast<double>(d) + 4.0);
    double losses = 0.0, gap = 0.0;
    for (int64_t side = 0; side < 2; ++side) {
      const int64_t first = side * n;
      const double *lack = &short_[first], *of = t.data + first, *own = a + first;
      const double *cap = c.data, *norms = norms_.data();
#pragma omp simd reduction(+ : losses, gap)
      for (int64_t i = 0; i < n; ++i) {
        const double error = unit * (std::abs(of[i]) + norms[i] * size);
        const double above = (cap[i] - own[i]) * (lack[i] + error);
        const double below = own[i] * (error - lack[i]);
        losses += lack[i] > 0.0 ? cap[i] * lack[i] : 0.0;
        gap += above > below ? above : below;
      }
    }
    combine(a, u_.data());
    found.primal = 0.5 * square + losses;
    gap += apart(u_.data(), beta_.data(), norms_.data(), w, n, d);
    found.gap = gap + 4.0 * EPS * found.primal;
  }

  // Solve for the change at products that become `mean`, up to second-order terms of the last
  // change; short_ and u_ are those of the point.
  void direct(const double* w, double mean, double second) {
    const double *lack = short_.data(), *theta = theta_.data(), *f = f_.data();
    const double *above = above_.data(), *below = below_.data(), *up = up_.data(),
                 *down = down_.data();
    double *rest = rest_.data(), *change = change_.data(), *change_up = change_up_.data(),
           *change_down = change_down_.data();
    for_all(2 * n, [=](int64_t k) {
      const double lower = (mean - second * change[k] * change_down[k]) * below[k];
      const double upper = (mean + second * change[k] * change_up[k]) * above[k];
      rest[k] = lack[k] + lower - upper;
      change_down[k] = lower;
      change_up[k] = upper;
      change[k] = theta[k] * rest[k];
    });
    combine(change, step_.data());
    for (int64_t k = 0; k < d; ++k) step_[k] += u_[k] - w[k];
    system.solve(step_.data());
    rows.scores(step_.data(), f_.data());
    both([=](int64_t k, int64_t i, double sign) {
      const double moved = theta[k] * (rest[k] - sign * f[i]);
      change[k] = moved;
      change_down[k] -= down[k] * (1.0 + moved * below[k]);
      change_up[k] -= up[k] * (1.0 - moved * above[k]);
    });
  }

  // The largest step that keeps all positive, at most 1.
  double length() const {
    const double *above = above_.data(), *below = below_.data(), *up = up_.data(),
                 *down = down_.data();
    const double *change = change_.data(), *change_up = change_up_.data(),
                 *change_down = change_down_.data();
    double most = 1.0;
#pragma omp simd reduction(max : most)
    for (int64_t k = 0; k < 2 * n; ++k) {
      const double of_duals = std::max(-change[k] * below[k], change[k] * above[k]);
      const double of_others = std::max(-change_up[k] / up[k], -change_down[k] / down[k]);
      most = std::max(most, std::max(of_duals, of_others));
    }
    return 1.0 / most;
  }

  // The mean of all products after a part of the step.
  double mean(const double* a, double part) const {
    double sum = 0.0;
    for (int64_t side = 0; side < 2; ++side) {
      const int64_t first = side * n;
      const double *own = a + first, *change = &change_[first], *cap = c.data;
      const double *up = &up_[first], *down = &down_[first], *change_up = &change_up_[first],
                   *change_down = &change_down_[first];
      sum += sum_of(n, [=](int64_t i) {
        const double now = own[i] + part * change[i];
        return now * (down[i] + part * change_down[i]) +
               (cap[i] - now) * (up[i] + part * change_up[i]);
      });
    }
    return sum / static_cast<double>(4 * n);
  }

  // Take a step; return whether there is one.
  bool move(double* w, double* a) {
    prepare(a);
    system.clear();
    rows.add_to(system, beta_.data());
    if (!system.factor()) return false;
    direct(w, 0.0, 0.0);
    const double before = mean(a, 0.0), ahead = mean(a, length());
    const double centred = before > 0.0 ? ahead / before : 0.0;
    direct(w, centred * centred * centred * before, 1.0);
    const double part = std::min(1.0, SHARE * length());
    if (!(part > 0.0)) return false;
    const double *cap = c.data, *change = change_.data(), *change_up = change_up_.data(),
                 *change_down = change_down_.data();
    double *up = up_.data(), *down = down_.data();
    both([=](int64_t k, int64_t i, double) {
      // Rounding must not reach the bounds.
      const double next = a[k] + part * change[k];
      a[k] = std::min(std::max(next, 1e-300), cap[i] * (1.0 - 0.5 * EPS));
      up[k] = std::max(up[k] + part * change_up[k], 1e-300);
      down[k] = std::max(down[k] + part * change_down[k], 1e-300);
    });
    for (int64_t k = 0; k < d; ++k) w[k] += part * step_[k];
    return true;
  }

  // Write the inverses, and the weights of both sides, those of rows in the place of sums that are
  // not needed yet.
  void prepare(const double* a) {
    const double *cap = c.data, *up = up_.data(), *down = down_.data();
    double *above = above_.data(), *below = below_.data(), *theta = theta_.data();
    both([=](int64_t k, int64_t i, double) {
      above[k] = 1.0 / (cap[i] - a[k]);
      below[k] = 1.0 / a[k];
      theta[k] = 1.0 / (up[k] * above[k] + down[k] * below[k]);
    });
    double* sums = beta_.data();
    const double* other = theta + n;
    for_all(n, [=](int64_t i) { sums[i] = theta[i] + other[i]; });
  }
};

// Solve the problem of columns (d, n), thresholds (2 n,) and caps (n,) of a tube: `w` (d,) and
// `beta` (2 n,) become weights and signed dual variables, `found` (3,) primal value, gap and steps.
inline void solve_tube(Matrix<const double> X, Array<const double> thresholds,
                       Array<const double> caps, double tol, Array<double> w, Array<double> beta,
                       Array<double> found) {
  const int64_t n = X.columns;
  expects(n > 0, "X must have rows");
  expects_sizes(n, "caps", caps);
  expects_sizes(2 * n, "thresholds", thresholds, "beta", beta);
  expects_sizes(X.rows, "w", w);
  expects_sizes(3, "found", found);
  const auto [primal, gap, steps] = NarrowTube(X, thresholds, caps).solve(tol, w.data, beta.data);
  for (int64_t i = n; i < 2 * n; ++i) beta[i] = -beta[i];
  found[0] = primal;
  found[1] = gap;
  found[2] = static_cast<double>(steps);
}

}  // namespace skscreen::svm
