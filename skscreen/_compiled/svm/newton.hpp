// Newton's method on a working set: passes of svm/solvers/kernel/block_newton.py, and the method
// for few free samples, that is, those between their bounds, in double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/arrays.hpp"
#include "core/checks.hpp"
#include "core/core.hpp"
#include "core/sums.hpp"
#include "svm/upper_factor.hpp"

namespace skscreen::svm {

// Write the lower triangle of Q[index, index] + diag(delta[index]), row by row.
template <class T>
void newton_system(Matrix<const T> Q, Array<const int64_t> index, Array<const T> delta,
                   Matrix<T> out) {
  expects_places("index", index, std::min(Q.rows, Q.columns));
  expects_places("index", index, delta.size);
  expects(out.rows >= index.size && out.columns >= index.size, "out must have room for index");
  for (int64_t k = 0; k < index.size; ++k) {
    const T* row = Q.row(index[k]).data;
    T* into = out.row(k).data;
    for (int64_t j = 0; j < k; ++j) into[j] = row[index[j]];
    into[k] = row[index[k]] + delta[index[k]];
  }
}

// Q[index, : x.size] x, added up in double precision.
template <class T>
void products_of_rows(Matrix<const T> Q, Array<const int64_t> index, Array<const double> x,
                      Array<double> out) {
  expects_places("index", index, Q.rows);
  expects(x.size <= Q.columns, "x must not be longer than the rows of Q");
  expects_sizes(index.size, "out", out);
  const double* factors = x.data;
  for (int64_t k = 0; k < index.size; ++k) {
    const T* row = Q.row(index[k]).data;
    out[k] = sum_of(x.size, [=](int64_t j) { return row[j] * factors[j]; });
  }
}

// Systems of the free samples of a point, by Cholesky factors.
template <class Rows>
class FreeSystem {
 public:
  FreeSystem(Rows K, int64_t largest)
      : K(K), M(new double[largest * largest]), U(new double[largest * largest]) {}

  // Write the change of samples F that makes their slopes zero, or all equal within each of the
  // groups whose sums are kept: as seen from the first of a group, whose change keeps the sum.
  // Return whether there are unknowns.
  bool solve(Array<const double> g, const std::vector<int64_t>& F, bool keeps_sums,
             Array<const int8_t> group, std::vector<double>& x) {
    x.assign(F.size(), 0.0);
    find_unknowns(F, keeps_sums, group);
    n = (int64_t)unknown_.size();
    if (n == 0) return false;
    std::vector<double> rest(n), left(n), part(n, 0.0);
    fill(g, F, rest);
    double trace = 0.0;
    for (int64_t k = 0; k < n; ++k) trace += M[k * n + k];
    double ridge = std::max(RIDGE * trace / n, LEAST_RIDGE);
    for (;; ridge *= MORE) {
      if (!(ridge < INF)) return true;
      std::copy_n(M.get(), n * n, U.get());
      if (upper_factor(U.get(), n, ridge)) break;
    }
    left = rest;
    for (int turn = 0; turn < CORRECTIONS; ++turn) {
      substitute(left);
      for (int64_t k = 0; k < n; ++k) part[k] += left[k];
      for (int64_t k = 0; k < n; ++k) left[k] = rest[k] - inner(&M[k * n], part.data(), n);
    }
    for (int64_t k = 0; k < n; ++k) {
      x[unknown_[k]] = part[k];
      if (from_[k] >= 0) x[from_[k]] -= part[k];
    }
    return true;
  }

 private:
  // First ridge of a system, over its mean diagonal; the least one, as duplicates have no
  // curvature; and its growth until there is a Cholesky factor.
  static constexpr double RIDGE = 1e-15, LEAST_RIDGE = 1e-100, MORE = 100.0;
  // Steps of iterative refinement.
  static constexpr int CORRECTIONS = 3;

  Rows K;
  int64_t n = 0;
  std::unique_ptr<double[]> M, U;
  // Places in F of the samples that move freely, and of those that move against them, or -1.
  std::vector<int64_t> unknown_, from_;

  static double inner(const double* a, const double* b, int64_t n) {
    return sum_of(n, [=](int64_t k) { return a[k] * b[k]; });
  }

  void find_unknowns(const std::vector<int64_t>& F, bool keeps_sums, Array<const int8_t> group) {
    unknown_.clear();
    from_.clear();
    int64_t first[2] = {-1, -1};
    for (int64_t k = 0; k < (int64_t)F.size(); ++k) {
      int64_t& own = first[group.size ? group[F[k]] : 0];
      if (keeps_sums && own < 0) {
        own = k;
      } else {
        unknown_.push_back(k);
        from_.push_back(keeps_sums ? own : -1);
      }
    }
  }

  void fill(Array<const double> g, const std::vector<int64_t>& F, std::vector<double>& rest) {
    for (int64_t k = 0; k < n; ++k) {
      const int64_t i = F[unknown_[k]], r = from_[k] < 0 ? -1 : F[from_[k]];
      const double* row = K.row(i).data;
      const double* across = r < 0 ? nullptr : K.row(r).data;
      for (int64_t j = 0; j <= k; ++j) {
        const int64_t o = F[unknown_[j]];
        if (r < 0) {
          M[k * n + j] = row[o];
        } else {
          const int64_t s = F[from_[j]];
          M[k * n + j] = (row[o] - row[s]) - (across[o] - across[s]);
        }
      }
      rest[k] = r < 0 ? g[i] : g[i] - g[r];
    }
    for (int64_t k = 0; k < n; ++k)
      for (int64_t j = 0; j < k; ++j) M[j * n + k] = M[k * n + j];
  }

  // Solve U'U x = x in place.
  void substitute(std::vector<double>& x) const {
    for (int64_t i = 0; i < n; ++i) {
      const double* row = &U[i * n + i];
      double* to = &x[i];
      const double value = to[0] /= row[0];
      for_all(n - i - 1, [=](int64_t j) { to[j + 1] -= row[j + 1] * value; });
    }
    for (int64_t i = n - 1; i >= 0; --i) {
      const double* row = &U[i * n + i];
      x[i] = (x[i] - inner(row + 1, &x[i] + 1, n - i - 1)) / row[0];
    }
  }
};

template <class Rows>
class FreeNewton {
 public:
  // K (n, m) with m >= n padded, bounds, the point beta and its gradient g, as of `Smo`; groups of
  // samples, none where all are one.
  FreeNewton(Rows K, Array<const double> low, Array<const double> high, Array<double> beta,
             Array<double> g, Array<const int8_t> group = {})
      : K(K), low(low), high(high), beta(beta), g(g), group(group) {}

  // Move the free samples to the solution of their system, as far as the box allows; return the
  // number of systems, 0 where there are too many samples or too few.
  //
  // The first to meet its bound ends a move, so that the dual value never falls; the next system is
  // of the others, without those that would leave the box next if there are many.
  int64_t run(bool keeps_sums) {
    std::vector<int64_t> F;
    std::vector<double> x;
    for (int64_t k = 0; k < K.rows; ++k)
      if (low[k] < beta[k] && beta[k] < high[k]) F.push_back(k);
    if ((int64_t)F.size() > LARGEST) return 0;
    FreeSystem<Rows> system(K, (int64_t)F.size());
    for (int64_t turn = 0; turn < SYSTEMS; ++turn) {
      if (!system.solve(g, F, keeps_sums, group, x)) return turn;
      if (!move(F, x)) return turn + 1;
    }
    return SYSTEMS;
  }

 private:
  // Limits of systems, and of their size; free samples up to which one at a time is removed from
  // its system.
  static constexpr int64_t SYSTEMS = 50, LARGEST = 500, ONE_BY_ONE = 64;

  Rows K;
  Array<const double> low, high;
  Array<double> beta, g;
  Array<const int8_t> group;

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
      double* slopes = g.data;
      for_all(K.rows, [=](int64_t j) { slopes[j] -= change * row[j]; });
      if (stays[k] && low[i] < beta[i] && beta[i] < high[i]) F[kept++] = i;
    }
    F.resize(kept);
    return stop >= 0;
  }
};

}  // namespace skscreen::svm
