// Problems of few samples, whose kernel values are computed a row at a time, when a solver first
// asks for the row: those of support vectors, by and large. svm/solvers/kernel/few.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "core/arrays.hpp"
#include "core/checks.hpp"
#include "core/core.hpp"
#include "core/sums.hpp"
#include "samples/tiles.hpp"
#include "svm/certificate.hpp"
#include "svm/newton.hpp"
#include "svm/smo.hpp"

namespace skscreen::svm {

// How kernel values come from samples: given as a matrix; powers (gamma <a, b> + coef0)^degree;
// exp(-gamma |a - b|^2), or what that is above the constant 1 - `largest`, with more digits where
// all values are next to 1.
enum Kind : int64_t { GIVEN, POWERS, RBF, NEAR_RBF };

// Samples, or their kernel matrix, and the kernel. |K_ij| <= sizes_i sizes_j, and errors of values
// are `relative` to that; `square_bias` B^2 is added to all values.
struct FewValues {
  Matrix<const double> X;
  int64_t kind, degree;
  double gamma, coef0, largest;
  Array<const double> sizes;
  double relative, square_bias;

  void check() const {
    expects_sizes(X.rows, "sizes", sizes);
    expects(GIVEN <= kind && kind <= NEAR_RBF, "kind must be a kernel");
    expects(kind != GIVEN || X.rows == X.columns, "X must be square");
    expects(degree >= 0, "degree must not be negative");
  }
};

// Rows of kernel values of some samples, all of which stand twice if so; padded for `Smo`.
class FewRows {
 public:
  FewRows(const FewValues& values, std::vector<int64_t> samples, bool twice)
      : values(values), samples_(std::move(samples)), n((int64_t)samples_.size()),
        size(twice ? 2 * n : n), width(padded(size)), memory_(new double[n * width]), known_(n),
        diagonal_(n) {
    for (int64_t k = 0; k < n; ++k) diagonal_[k] = own(samples_[k]);
    if (values.kind == GIVEN) {
      for (int64_t k = 0; k < n; ++k)
        if (k == 0 || samples_[k] != samples_[k - 1] + 1) runs_.push_back(k);
      runs_.push_back(n);
      return;
    }
    const int64_t d = values.X.columns;
    blocks_.assign((n + LANES - 1) / LANES * LANES * d, 0.0);
    for (int64_t k = 0; k < n; ++k) {
      const double* x = values.X.row(samples_[k]).data;
      double* into = &blocks_[k / LANES * LANES * d + k % LANES];
      for (int64_t f = 0; f < d; ++f) into[f * LANES] = x[f];
    }
  }

  const double* row(int64_t k) {
    const int64_t place = k < n ? k : k - n;
    if (!known_[place]) compute(place);
    return memory_.get() + place * width;
  }
  double diagonal(int64_t k) const { return diagonal_[k < n ? k : k - n]; }
  bool twice() const { return size > n; }
  double length(int64_t k) const { return values.sizes[samples_[k < n ? k : k - n]]; }

  const FewValues& values;

 private:
  // Samples whose values are computed together: sums of as many stay in registers.
  static constexpr int64_t LANES = 32;

  std::vector<int64_t> samples_;
  int64_t n;

 public:
  int64_t size, width;

 private:
  std::unique_ptr<double[]> memory_;
  std::vector<uint8_t> known_;
  std::vector<double> diagonal_;
  // Features of LANES samples side by side.
  std::vector<double> blocks_;
  // Where samples begin that follow each other in a given matrix, and the end.
  std::vector<int64_t> runs_;

  double power(double base) const {
    double out = 1.0;
    for (int64_t rest = values.degree; rest > 0; rest /= 2) {
      if (rest % 2) out *= base;
      base *= base;
    }
    return out;
  }

  double own(int64_t sample) const {
    if (values.kind == RBF) return 1.0 + values.square_bias;
    if (values.kind == NEAR_RBF) return values.largest + values.square_bias;
    const double* x = values.X.row(sample).data;
    if (values.kind == GIVEN) return x[sample] + values.square_bias;
    const double square = sum_of(values.X.columns, [=](int64_t f) { return x[f] * x[f]; });
    return power(values.gamma * square + values.coef0) + values.square_bias;
  }

  void compute(int64_t place) {
    double* out = memory_.get() + place * width;
    if (values.kind == GIVEN) {
      const double *row = values.X.row(samples_[place]).data, shift = values.square_bias;
      for (size_t r = 0; r + 1 < runs_.size(); ++r) {
        const int64_t start = runs_[r];
        const double* from = row + samples_[start];
        double* to = out + start;
        for_all(runs_[r + 1] - start, [=](int64_t k) { to[k] = from[k] + shift; });
      }
    } else {
      const double* x = values.X.row(samples_[place]).data;
      for (int64_t first = 0; first < n; first += LANES) {
        double part[LANES];
        if (values.kind == POWERS)
          products(x, &blocks_[first * values.X.columns], part);
        else
          distances(x, &blocks_[first * values.X.columns], part);
        transform(part);
        std::copy_n(part, std::min(LANES, n - first), out + first);
      }
    }
    out[place] = diagonal_[place];
    if (size > n) std::copy_n(out, n, out + n);
    std::fill(out + size, out + width, 0.0);
    known_[place] = 1;
  }

  void products(const double* x, const double* block, double* out) const {
    double sums[LANES] = {};
    for (int64_t f = 0; f < values.X.columns; ++f, block += LANES) {
      const double own = x[f];
#pragma omp simd
      for (int64_t l = 0; l < LANES; ++l) sums[l] += own * block[l];
    }
    std::copy_n(sums, LANES, out);
  }

  void distances(const double* x, const double* block, double* out) const {
    double sums[LANES] = {};
    for (int64_t f = 0; f < values.X.columns; ++f, block += LANES) {
      const double own = x[f];
#pragma omp simd
      for (int64_t l = 0; l < LANES; ++l) {
        const double apart = own - block[l];
        sums[l] += apart * apart;
      }
    }
    std::copy_n(sums, LANES, out);
  }

  void transform(double* part) const {
    const double shift = values.square_bias, gamma = values.gamma;
    if (values.kind == POWERS) {
      const double coef0 = values.coef0;
      if (values.degree == 1)
        for (int64_t l = 0; l < LANES; ++l) part[l] = gamma * part[l] + coef0 + shift;
      else
        for (int64_t l = 0; l < LANES; ++l) part[l] = power(gamma * part[l] + coef0) + shift;
    } else if (values.kind == RBF) {
      const double scale = -1.4426950408889634 * gamma;
#pragma omp simd
      for (int64_t l = 0; l < LANES; ++l) part[l] = samples::power_of_two(scale * part[l]) + shift;
    } else {
      for (int64_t l = 0; l < LANES; ++l)
        part[l] = std::expm1(-gamma * part[l]) + values.largest + shift;
    }
  }
};

// The rows as a matrix, for `Smo` and `FreeNewton`.
struct FewView {
  FewRows* source;
  int64_t rows;

  explicit FewView(FewRows& of) : source(&of), rows(of.size) {}
  Array<const double> row(int64_t k) const { return {source->row(k), source->width}; }
  double operator()(int64_t i, int64_t j) const { return source->row(i)[j]; }
};

// How a problem is solved: to a relative gap, of which the first turns reach a part, in so many
// steps.
struct FewLimits {
  double tol, part;
  int64_t steps;
};

// Improves a point of a box until its certified gap is small enough.
class FewSolver {
 public:
  FewSolver(FewRows& K, const Dual& dual, Array<double> beta)
      : K(K), dual(dual), beta(beta), n(beta.size), space_(8 * K.width, 0.0) {
    expects_sizes(K.size, "target", dual.target, "beta", beta);
    double* at = space_.data();
    const auto next = [&](int64_t size) {
      const Array<double> part{at, size};
      at += K.width;
      return part;
    };
    low_ = next(K.width);
    high_ = next(K.width);
    point_ = next(K.width);
    slopes_ = next(K.width);
    diagonal_ = next(K.width);
    f = next(n);
    errors = next(n);
    parts_ = next(n);
    std::copy_n(dual.low.data, n, low_.data);
    std::copy_n(dual.high.data, n, high_.data);
    double largest = 0.0;
    for (int64_t k = 0; k < n; ++k) largest = std::max(largest, K.diagonal(k));
    for (int64_t k = 0; k < K.width; ++k)
      diagonal_[k] = k < n ? std::max(K.diagonal(k), EPS * largest) : 1.0;
  }

  // Scores of the last certificate, and bounds on their errors.
  Array<double> f, errors;

  // Improve the point; return its certificate and the steps taken.
  std::pair<View, int64_t> run(const FewLimits& limits) {
    View found{};
    double least = INF, highest = -INF;
    // Where sums are prescribed intercepts are what users ask for: all samples between their bounds
    // have them to the last digit after another of Newton's steps.
    int passes = limits.tol <= PRECISE && n <= FEW && dual.sum(0) != 0.0, slow = 0;
    int64_t steps = 0;
    const bool from_nothing = is_zero();
    if (from_nothing) fill();
    std::vector<double> losses(n);
    for (int turn = 0;; ++turn) {
      const double enough = limits.tol * (turn < 2 ? limits.part : 1.0);
      const bool begins = turn == 0 && from_nothing;
      if (begins) {
        // Pairs have to move whatever the gap is.
        scores();
      } else {
        scores();
        found = largest_gap(dual, beta, f, errors, {slopes_.data, n}, parts_, {losses.data(), n});
        if (!(found.gap <= enough * found.primal)) lengthen(found);
        const double now = found.primal - found.gap - dual.lifted(found.b);
        const bool fast = found.gap <= SLOW * least || now - highest > RISEN * found.gap;
        slow = fast ? 0 : slow + 1;
        least = std::min(least, found.gap);
        highest = std::max(highest, now);
        const bool done = found.gap <= enough * found.primal;
        if ((done && --passes < 0) || slow == STALLED || steps >= limits.steps || turn >= TURNS ||
            vanishes())
          break;
        // Which samples a start for another C has between their bounds says little.
        if (turn > 0 || dual.sum(0) != 0.0) steps += solve_free(found);
      }
      const double to = std::max(SHARE * enough, begins ? DIGITS : 0.0);
      steps += descend(to, std::min(limits.steps - steps, (100 + n) << std::min(turn, 3)));
    }
    // The gap is none below 0: what is there are rounding errors, and the gap may be as large.
    found.gap = std::abs(found.gap);
    return {found, steps};
  }

  // Whether w is 0 where sums alone, and no targets, keep beta from 0: then there is no other.
  bool vanishes() const {
    double square = 0.0, size = 0.0;
    for (int64_t k = 0; k < n; ++k) {
      if (dual.target[k] != 0.0) return false;
      square += beta[k] * f[k];
      size += std::abs(beta[k]) * K.length(k);
    }
    return (dual.sum(0) != 0.0 || dual.groups() > 1) && square <= VANISHED * size * size;
  }

 private:
  // Share of the tolerance that steps may leave, by slopes with rounding errors; what they leave
  // before Newton's method has its turn.
  static constexpr double SHARE = 0.8, DIGITS = 1e-4;
  // Tolerance from which on intercepts have all digits, and the most samples of such a problem.
  static constexpr double PRECISE = 1e-4;
  static constexpr int64_t FEW = 1000;
  // A turn is slow if it leaves more than a share of the gap, and raises the dual value by less
  // than a share of it; so many slow ones, or turns, are the end.
  static constexpr double SLOW = 0.7, RISEN = 0.01;
  static constexpr int STALLED = 6, TURNS = 60;
  // Accuracy of slopes of the first round, over the largest violation; share of the allowed gap
  // that a round may leave; it is the last one if it leaves more than a share of the gap.
  static constexpr double ROUGH = 0.02, ROUND_SHARE = 0.5, SAME = 0.98;
  static constexpr int ROUNDS = 60;
  // Squared length of w, over that of a sum of vectors of one direction, from which on w is 0.
  static constexpr double VANISHED = 1e-12;

  FewRows& K;
  Dual dual;
  Array<double> beta;
  int64_t n;
  std::vector<double> space_;
  // Padded: bounds, a point, its slopes and the diagonal; and what samples add to a gap.
  Array<double> low_, high_, point_, slopes_, diagonal_, parts_;

  bool is_zero() const {
    return std::all_of(beta.data, beta.data + n, [](double value) { return value == 0.0; });
  }

  // Give beta its prescribed sums: the first samples of a group have what they can.
  void fill() {
    for (int group = 0; dual.free && group < dual.groups(); ++group) {
      double missing = dual.sum(group);
      if (missing == 0.0) continue;
      for (int64_t k = 0; k < n; ++k) {
        if (!dual.is_in(k, group)) continue;
        beta[k] = std::min(std::max(missing, dual.low[k]), dual.high[k]);
        missing -= beta[k];
      }
      balance_group(dual, group, beta);
    }
  }

  // Scores by values with |K_ij| <= sizes_i sizes_j, and bounds on their errors.
  void scores() {
    double total = 0.0, terms = 4.0;
    std::fill_n(f.data, n, 0.0);
    for (int64_t k = 0; k < n; ++k) {
      if (beta[k] == 0.0) continue;
      total += std::abs(beta[k]) * K.length(k);
      terms += 1.0;
      const double c = beta[k];
      const double* row = K.row(k);
      double* sums = f.data;
      for_all(n, [=](int64_t j) { sums[j] += c * row[j]; });
    }
    const double unit = (K.values.relative + 0.5 * EPS * terms) * total;
    for (int64_t k = 0; k < n; ++k) errors[k] = unit * K.length(k) + 2.0 * EPS * std::abs(f[k]);
  }

  // Move the free samples by Newton's method, and scores with them; return the steps taken.
  int64_t solve_free(const View& found) {
    std::copy_n(beta.data, n, point_.data);
    std::fill(slopes_.data + n, slopes_.data + K.width, 0.0);
    FreeNewton<FewView> newton(FewView(K), low_, high_, point_, slopes_, dual.group);
    const int64_t taken = newton.run(dual.free);
    std::copy_n(point_.data, n, beta.data);
    for (int64_t k = 0; k < n; ++k) f[k] = dual.target[k] - dual.intercept(found.b, k) - slopes_[k];
    return taken;
  }

  // Make the point longer if losses through errors alone vanish then.
  void lengthen(View& found) {
    const auto [factor, longer] = stretch(dual, beta, f, errors);
    if (!(factor > 0.0 && longer.gap < found.gap)) return;
    for (int64_t k = 0; k < n; ++k) {
      beta[k] *= factor;
      f[k] *= factor;
      errors[k] *= factor;
      slopes_[k] = dual.target[k] - f[k] - dual.intercept(longer.b, k);
    }
    found = longer;
  }

  // Move pairs until the gap, by slopes that are updated, is small enough; return steps taken.
  int64_t descend(double tol, int64_t steps) {
    int64_t taken = 0;
    double before = INF;
    std::vector<double> g(n);
    for (int64_t k = 0; k < n; ++k) g[k] = dual.target[k] - f[k];
    for (int round = 0; round < ROUNDS; ++round) {
      const View now = view(dual, beta, {g.data(), n});
      if (now.gap <= tol * now.primal || !(now.gap <= SAME * before) || taken >= steps) break;
      before = now.gap;
      for (int64_t k = 0; k < n; ++k) slopes_[k] = g[k] - dual.intercept(now.b, k);
      const auto [worst, width] = violation();
      const double allowed = ROUND_SHARE * tol * now.primal / std::max(width, 1e-300);
      taken += move(std::min(allowed, (width > 0.0 ? 0.5 : ROUGH) * worst), steps - taken);
      for (int64_t k = 0; k < n; ++k) g[k] = slopes_[k] + dual.intercept(now.b, k);
    }
    if (K.twice() && dual.group.size == 0) cancel();
    if (dual.free) balance(dual, beta);
    return taken;
  }

  // The largest violation by a slope, and the sum of the widths of the intervals of free samples.
  std::pair<double, double> violation() const {
    double worst = 0.0, width = 0.0;
    for (int64_t k = 0; k < n; ++k) {
      const double slope = slopes_[k];
      const bool rises = beta[k]<dual.high[k], falls = beta[k]> dual.low[k];
      worst = std::max(worst, std::max(rises ? slope : 0.0, falls ? -slope : 0.0));
      if (rises && falls) width += dual.high[k] - dual.low[k];
    }
    return {worst, width};
  }

  int64_t move(double eps, int64_t steps) {
    std::copy_n(beta.data, n, point_.data);
    std::fill(slopes_.data + n, slopes_.data + K.width, 0.0);
    Smo<double, FewView> smo(FewView(K), diagonal_, low_, high_, point_, slopes_);
    const int64_t taken = dual.group.size ? smo.in_groups(dual.group, eps, steps)
                          : dual.free     ? smo.with_offset(eps, steps)
                                          : smo.without_offset(eps, steps);
    std::copy_n(point_.data, n, beta.data);
    return taken;
  }

  // Take what samples that stand twice have on both sides off both: scores stay as they are.
  void cancel() {
    const int64_t half = n / 2;
    for (int64_t k = 0; k < half; ++k) {
      const double both = std::min(beta[k], -beta[half + k]);
      if (both <= 0.0) continue;
      beta[k] -= both;
      beta[half + k] += both;
    }
  }
};

// Solve one problem on some samples, from beta; write scores and bounds on their errors.
inline std::pair<View, int64_t> solve_few(const FewValues& values, Array<const int64_t> samples,
                                          const Dual& dual, bool twice, const FewLimits& limits,
                                          Array<double> beta, Array<double> f,
                                          Array<double> errors) {
  expects_places("samples", samples, values.X.rows);
  FewRows rows(values, {samples.data, samples.data + samples.size}, twice);
  expects_sizes(rows.size, "f", f, "errors", errors);
  FewSolver solver(rows, dual, beta);
  const auto found = solver.run(limits);
  std::copy_n(solver.f.data, f.size, f.data);
  std::copy_n(solver.errors.data, f.size, errors.data);
  return found;
}

// Write the kernel values between all samples, which problems on them take as given then.
inline void few_matrix(const FewValues& values, Matrix<double> K) {
  const int64_t n = values.X.rows;
  expects_shape(n, n, "K", K);
  std::vector<int64_t> samples(n);
  std::iota(samples.begin(), samples.end(), 0);
  FewRows rows(values, samples, false);
  for (int64_t k = 0; k < n; ++k) std::copy_n(rows.row(k), n, K.row(k).data);
}

// Solve the problems of all pairs of classes, whose samples end before `ends`, at a nu if that is
// not 0. `dual` (n_classes - 1, n) becomes sign times dual variable, a row for each other class,
// and rows of `found` intercept, gap, primal value and steps, at a nu also the intercept of the
// second class; gaps are NaN where w = 0 is the solution. Of `limits` the steps are those for each
// sample, at a nu those of each problem.
inline void solve_pairs_of_few(const FewValues& values, Array<const int64_t> ends,
                               Array<const double> caps, bool free, double nu,
                               const FewLimits& limits, Matrix<double> dual, Matrix<double> found) {
  const int64_t k = ends.size, all = values.X.rows;
  expects_starts("ends", ends, all);
  expects(k > 1 && ends[0] > 0 && ends[k - 1] == all, "ends must be those of all");
  expects_sizes(all, "caps", caps);
  expects_shape(k - 1, all, "dual", dual);
  const bool at_nu = nu > 0.0;
  expects_shape(k * (k - 1) / 2, at_nu ? 5 : 4, "found", found);
  const auto first = [&](int64_t c) { return c == 0 ? 0 : ends[c - 1]; };
  std::vector<double> low, high, target, beta;
  std::vector<int8_t> group;
  int64_t p = 0;
  for (int64_t i = 0; i < k; ++i)
    for (int64_t j = i + 1; j < k; ++j, ++p) {
      const int64_t m = ends[i] - first(i), n = m + ends[j] - first(j);
      for (auto* part : {&low, &high, &target, &beta}) part->assign(n, 0.0);
      group.assign(at_nu ? n : 0, 0);
      std::vector<int64_t> samples(n);
      double totals[2] = {0.0, 0.0};
      for (int64_t r = 0; r < n; ++r) {
        samples[r] = r < m ? first(i) + r : first(j) + r - m;
        const double sign = r < m ? 1.0 : -1.0, cap = caps[samples[r]];
        (r < m ? high : low)[r] = sign * cap;
        totals[r < m ? 0 : 1] += cap;
        if (at_nu)
          group[r] = r < m ? 0 : 1;
        else
          target[r] = sign;
      }
      // No more than there is room for: rounding errors of the largest nu.
      const double share = 0.5 * nu * (totals[0] + totals[1]);
      const double sums[2] = {std::min(share, totals[0]), -std::min(share, totals[1])};
      const Dual problem{{target.data(), n},
                         {low.data(), n},
                         {high.data(), n},
                         free,
                         {},
                         {sums, at_nu ? 2 : 0},
                         {group.data(), at_nu ? n : 0}};
      FewRows rows(values, samples, false);
      FewSolver solver(rows, problem, {beta.data(), n});
      const int64_t limit = at_nu ? limits.steps : steps_of(limits.steps, n);
      const auto [view, steps] = solver.run({limits.tol, limits.part, limit});
      for (int64_t r = 0; r < n; ++r)
        dual(r < m ? j - 1 : i, samples[r]) = std::min(std::max(beta[r], low[r]), high[r]);
      found(p, 0) = free ? view.b[0] : 0.0;
      found(p, 1) = solver.vanishes() ? NAN : view.gap;
      found(p, 2) = view.primal;
      found(p, 3) = static_cast<double>(steps);
      if (at_nu) found(p, 4) = view.b[1];
    }
}

}  // namespace skscreen::svm
