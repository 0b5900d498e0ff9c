// A problem between two classes with known kernel values: svm/solvers/kernel/pairs.py.
//
// SMO runs on working sets; after each set all slopes are updated. The first set has a few samples
// of both classes, evenly chosen, with bounds that are larger in proportion: its scores tell which
// samples are near the margin or on its wrong side. These form the next working set, which others
// can join later. A problem of few samples has all of them in its only set.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/arrays.hpp"
#include "core/checks.hpp"
#include "core/core.hpp"
#include "core/sums.hpp"
#include "svm/certificate.hpp"
#include "svm/smo.hpp"

namespace skscreen::svm {

// Absolute error of kernel values, because smaller powers of two are cut off.
constexpr double SMALLEST_POWER = 0x1p-125;

// Kernel values of two classes: inside the first, whose samples come first, inside the second, and
// between them; and B^2 of a penalised intercept, added to all of them.
template <class T>
struct PairValues {
  Matrix<const T> A, B, AB;
  double square_bias;

  int64_t m() const { return A.rows; }
  int64_t size() const { return A.rows + B.rows; }

  void check() const {
    expects(A.rows == A.columns && B.rows == B.columns, "A and B must be square");
    expects_shape(A.rows, B.rows, "AB", AB);
  }

  // The value of samples i and j, without B^2.
  T operator()(int64_t i, int64_t j) const {
    const int64_t m = A.rows;
    if (i < m) return j < m ? A(i, j) : AB(i, j - m);
    return j < m ? AB(j, i - m) : B(i - m, j - m);
  }
};

// Samples of one class, by their places in it, whose beta changes, and by how much.
struct Changed {
  std::vector<int64_t> index;
  std::vector<double> values;

  Changed(Array<const int64_t> W, const double* changes, int64_t first, int64_t last) {
    for (int64_t k = 0; k < W.size; ++k)
      if (changes[k] != 0.0 && first <= W[k] && W[k] < last) {
        index.push_back(W[k] - first);
        values.push_back(changes[k]);
      }
  }
};

// Subtract from g what changes of samples of the first class add to the scores.
template <class T>
void subtract_first(const PairValues<T>& K, const Changed& changed, double* g) {
  for (size_t k = 0; k < changed.index.size(); ++k) {
    const double c = changed.values[k];
    const T *row = K.A.row(changed.index[k]).data, *across = K.AB.row(changed.index[k]).data;
    double* rest = g + K.m();
    for_all(K.m(), [=](int64_t j) { g[j] -= c * row[j]; });
    for_all(K.B.rows, [=](int64_t j) { rest[j] -= c * across[j]; });
  }
}

// The same of the second class.
template <class T>
void subtract_second(const PairValues<T>& K, const Changed& changed, double* g) {
  const int64_t count = (int64_t)changed.index.size();
  const int64_t* index = changed.index.data();
  const double* values = changed.values.data();
  for (int64_t i = 0; i < K.m(); ++i) {
    const T* row = K.AB.row(i).data;
    g[i] -= sum_of(count, [=](int64_t k) { return values[k] * row[index[k]]; });
  }
  for (int64_t k = 0; k < count; ++k) {
    const double c = values[k];
    const T* row = K.B.row(index[k]).data;
    double* rest = g + K.m();
    for_all(K.B.rows, [=](int64_t j) { rest[j] -= c * row[j]; });
  }
}

// Differences of sums with known relative errors into `f`, and error bounds into `errors`.
//
// `positive` and `negative` are sums of |beta_i| K_ij over the samples of either class, of values
// that are not negative.
inline void bounded_scores(Array<const double> positive, Array<const double> negative,
                           double square_bias, Array<const double> beta,
                           Array<const double> relative, Array<const double> own, Array<double> f,
                           Array<double> errors) {
  expects_sizes(beta.size, "relative", relative);
  expects_sizes(f.size, "positive", positive, "negative", negative, "own", own, "errors", errors);
  double most = 0.0, total = 0.0, size = 0.0;
  for (int64_t k = 0; k < beta.size; ++k) {
    most = std::max(most, relative[k]);
    total += square_bias * beta[k];
    size += std::abs(beta[k]);
  }
  most += EPS * beta.size;
  // Rounding error of the sum of beta, in any order.
  const double lost = square_bias * EPS * beta.size * size;
  for (int64_t k = 0; k < f.size; ++k) {
    f[k] = positive[k] - negative[k] + total;
    const double error = (most + own[k]) * (positive[k] + negative[k]);
    errors[k] = error + (EPS * (std::abs(f[k]) + std::abs(total)) + lost + SMALLEST_POWER * size);
  }
}

// Add sums of |beta_i| K_ij over the samples of either class, whose beta have one sign.
template <class T>
void add_class_sums(const PairValues<T>& K, Array<const double> beta, double* positive,
                    double* negative) {
  const int64_t n = beta.size, m = K.m();
  std::vector<double> sizes(n);
  std::vector<int64_t> samples(n);
  for (int64_t k = 0; k < n; ++k) {
    samples[k] = k;
    sizes[k] = -std::abs(beta[k]);
  }
  const Array<const int64_t> all{samples.data(), n};
  subtract_first(K, Changed(all, sizes.data(), 0, m), positive);
  subtract_second(K, Changed(all, sizes.data(), m, n), negative);
}

// Scores by values with relative errors of at most r_i + r_j, and bounds on their errors.
inline void pair_scores(const PairValues<float>& K, Array<const double> relative,
                        Array<const double> beta, Array<double> f, Array<double> errors) {
  const int64_t n = K.size();
  expects_sizes(n, "relative", relative, "beta", beta, "f", f, "errors", errors);
  std::vector<double> positive(n), negative(n);
  add_class_sums(K, beta, positive.data(), negative.data());
  bounded_scores({positive.data(), n}, {negative.data(), n}, K.square_bias, beta, relative,
                 relative, f, errors);
}

// The same by values with |K_ij| <= sizes_i sizes_j, whose errors are `relative` to that.
inline void pair_scores_of_few(const PairValues<double>& K, Array<const double> sizes,
                               double relative, Array<const double> beta, Array<double> f,
                               Array<double> errors) {
  const int64_t n = K.size();
  expects_sizes(n, "sizes", sizes, "beta", beta, "f", f, "errors", errors);
  std::vector<double> negative(n);
  std::fill_n(f.data, n, 0.0);
  add_class_sums(K, beta, f.data, negative.data());
  double total = 0.0, sum = 0.0, terms = 4.0;  // two of them for B^2 times the sum
  for (int64_t k = 0; k < n; ++k) {
    total += std::abs(beta[k]) * sizes[k];
    sum += beta[k];
    terms += beta[k] != 0.0;
  }
  for (int64_t k = 0; k < n; ++k) {
    f[k] += K.square_bias * sum - negative[k];
    errors[k] =
        (relative + 0.5 * EPS * terms) * total * sizes[k] + 2.0 * EPS * (1.0 + std::abs(f[k]));
  }
}

template <class T>
class PairSolver {
 public:
  // Largest working set.
  static constexpr int64_t LARGEST = 3000;

  // The point beta with slopes g, and room for the kernel matrix of a working set.
  PairSolver(const PairValues<T>& K, const Dual& dual, Array<double> beta, Array<double> g,
             Array<T> memory)
      : K(K), dual(dual), beta(beta), g(g), memory(memory), n(beta.size), rank_(n), W_(n),
        inside_(n) {}

  // Improve the point to a relative gap, in sets of near samples or all; return steps taken.
  int64_t run(bool whole, double tol, int64_t steps) {
    int64_t taken = 0;
    double before = INF;
    const bool fresh = is_zero();
    if (fresh && !whole && n > 4 * FIRST) taken = look(steps);
    // While no sample has a rank all are in the set.
    if (fresh || whole) begin();
    if (fresh) taken += solve_set(view(dual, beta, g).b[0], ROUGH, steps - taken);
    double width = 0.0;
    for (int64_t k = 0; k < n; ++k) width += dual.high[k] - dual.low[k];
    for (int round = 0; round < ROUNDS; ++round) {
      const View now = view(dual, beta, g);
      if (now.gap <= tol * now.primal || now.gap > STALLED * before || taken >= steps) break;
      before = now.gap;
      auto [worst, weight] = rank(now.b[0]);
      // More samples may be free in the end; of all samples in the set not many.
      weight = std::max(weight, whole ? TINY : 0.1 * width * std::max(size_, SMO_LANES) / n);
      const double enough = std::max(SHARE * tol * now.primal / weight, whole ? 0.0 : LEFT * worst);
      const double eps = std::min(enough, 0.5 * worst);
      if (!grow(eps)) {
        std::fill(inside_.begin(), inside_.end(), 0);
        begin();
      }
      taken += solve_set(now.b[0], eps, steps - taken);
    }
    if (dual.free) balance(dual, beta);
    return taken;
  }

 private:
  // Number of samples of each class in the first set, and free places of a new set.
  static constexpr int64_t FIRST = 64, GROWTH = 32;
  // Largest number of rounds; they end if one leaves more than a share STALLED of the gap.
  static constexpr int ROUNDS = 60;
  static constexpr double STALLED = 0.98;
  // Accuracy of slopes on the first two sets.
  static constexpr double ROUGH = 2e-2;
  // A round stops at this share of the allowed gap, or of the largest violation.
  static constexpr double SHARE = 0.5, LEFT = 0.03, TINY = 1e-300;
  // Least curvature along one sample, relative to the largest, because of rounding errors.
  static constexpr T LEAST_DIAGONAL = std::numeric_limits<T>::epsilon();
  // Number of entries that are transposed together: a cache line.
  static constexpr int64_t LINE = 16;
  // Size of a new working set: a multiple of the violators and free samples, plus a constant.
  static constexpr double ROOM = 1.2;
  static constexpr int64_t MORE = 32;

  const PairValues<T>& K;
  Dual dual;
  Array<double> beta, g;
  Array<T> memory;
  int64_t n;
  std::vector<double> rank_;
  // Samples of the working set, of which there are size_, and whether a sample is one.
  std::vector<int64_t> W_;
  std::vector<uint8_t> inside_;
  int64_t size_ = 0, padded_ = 0;

  Matrix<T> matrix() const {
    expects(size_ * padded_ <= memory.size, "memory must have room for a working set");
    return {memory.data, size_, padded_};
  }

  bool is_zero() const {
    for (int64_t k = 0; k < n; ++k)
      if (beta[k] != 0.0) return false;
    return true;
  }

  // Solve for a few samples, rank all samples by their margins and return the steps taken.
  int64_t look(int64_t steps) {
    const int64_t m = K.m(), others = n - m;
    const int64_t few_first = std::min(std::max(FIRST, 2 * FIRST - others), m);
    const int64_t few_second = std::min(2 * FIRST - few_first, others);
    std::vector<double> low(n), high(n), zeros(n), slopes(g.data, g.data + n);
    for (int64_t k = 0; k < n; ++k) {
      const double share = k < m ? (double)m / few_first : (double)others / few_second;
      low[k] = share * dual.low[k];
      high[k] = share * dual.high[k];
    }
    const Array<double> start{zeros.data(), n}, gradient{slopes.data(), n};
    const Dual part{dual.target, {low.data(), n}, {high.data(), n}, dual.free, {}};
    PairSolver rough(K, part, start, gradient, memory);
    rough.size_ = few_first + few_second;
    rough.padded_ = padded(rough.size_);
    for (int64_t k = 0; k < few_first; ++k) rough.W_[k] = k * m / few_first;
    for (int64_t k = 0; k < few_second; ++k) rough.W_[few_first + k] = m + k * others / few_second;
    rough.gather(few_first);
    const int64_t taken = rough.solve_set(0.0, ROUGH, steps);
    const double b = view(dual, start, gradient).b[0];
    for (int64_t k = 0; k < n; ++k) {
      // y (f + b) - 1; samples with small values come first.
      const double slope = slopes[k] - b;
      rank_[k] = dual.high[k] > 0.0 ? -slope : slope;
    }
    return taken;
  }

  // Rank free samples first, then violators, then by slopes. Return the largest violation, and the
  // sum of the widths of the intervals of free samples.
  std::pair<double, double> rank(double b) {
    double worst = 0.0, weight = 0.0;
    for (int64_t k = 0; k < n; ++k) {
      const double slope = g[k] - b;
      const double violation =
          std::max(beta[k] < dual.high[k] ? slope : 0.0, beta[k] > dual.low[k] ? -slope : 0.0);
      worst = std::max(worst, violation);
      rank_[k] = violation > 0.0 ? -violation : std::abs(slope);
      if (dual.low[k] < beta[k] && beta[k] < dual.high[k]) {
        rank_[k] = -INF;
        weight += dual.high[k] - dual.low[k];
      }
    }
    return {worst, weight};
  }

  // Take the samples of lowest rank into a new working set, with room for more.
  void begin() {
    int64_t size = 0;
    // Kernel values, or a point, may be NaN: without an order such samples come last.
    for (double& rank : rank_) rank = rank == rank ? rank : INF;
    for (int64_t k = 0; k < n; ++k) size += rank_[k] <= 0.0;
    size = std::min((int64_t)(ROOM * size) + MORE, LARGEST - SMO_LANES);
    padded_ = padded(size + GROWTH);
    size_ = padded_ - GROWTH;
    double limit = INF;
    if (size_ >= n) {
      size_ = n;
      padded_ = padded(n);
    } else {
      std::vector<double> copy(rank_);
      limit = select(Array<double>{copy.data(), n}, size_ - 1);
    }
    int64_t room = size_, found = 0, few = 0;
    for (int64_t k = 0; k < n; ++k) room -= rank_[k] < limit;
    for (int64_t k = 0; k < n; ++k)
      if (rank_[k] < limit || (rank_[k] == limit && room > 0)) {
        room -= rank_[k] == limit;
        W_[found++] = k;
        inside_[k] = 1;
        few += k < K.m();
      }
    gather(few);
  }

  // Take free samples and violators into the working set; return false where it has no room.
  bool grow(double eps) {
    const int64_t first = size_;
    for (int64_t k = 0; k < n; ++k)
      if (rank_[k] < -0.5 * eps && !inside_[k]) {
        if (size_ == padded_) return false;
        W_[size_++] = k;
        inside_[k] = 1;
      }
    if (padded_ == 0) return false;
    const Matrix<T> Q = matrix();
    const T shift = (T)K.square_bias;
    for (int64_t k = first; k < size_; ++k) {
      std::fill(&Q(k, 0) + size_, &Q(k, 0) + padded_, T(0));
      for (int64_t j = 0; j <= k; ++j) Q(k, j) = Q(j, k) = K(W_[k], W_[j]) + shift;
    }
    return true;
  }

  // Write the kernel matrix of the working set; its first `few` samples are of the first class.
  void gather(int64_t few) {
    const Matrix<T> Q = matrix();
    const T shift = (T)K.square_bias;
    const int64_t m = K.m(), rest = size_ - few;
    std::vector<int32_t> first(few), second(rest);
    for (int64_t k = 0; k < few; ++k) first[k] = (int32_t)W_[k];
    for (int64_t k = 0; k < rest; ++k) second[k] = (int32_t)(W_[few + k] - m);
    for (int64_t k = 0; k < few; ++k) {
      const T *row = K.A.row(first[k]).data, *across = K.AB.row(first[k]).data;
      T* into = Q.row(k).data;
      for (int64_t j = 0; j < few; ++j) into[j] = row[first[j]] + shift;
      for (int64_t j = 0; j < rest; ++j) into[few + j] = across[second[j]] + shift;
    }
    for (int64_t start = 0; start < few; start += LINE)
      for (int64_t j = few; j < size_; ++j)
        for (int64_t k = start; k < std::min(start + LINE, few); ++k)
          Q.row(j).data[k] = Q.row(k).data[j];
    for (int64_t k = 0; k < rest; ++k) {
      const T* row = K.B.row(second[k]).data;
      T* into = Q.row(few + k).data + few;
      for (int64_t j = 0; j < rest; ++j) into[j] = row[second[j]] + shift;
    }
    for (int64_t k = 0; k < size_; ++k)
      std::fill(Q.row(k).data + size_, Q.row(k).data + padded_, T(0));
  }

  // Solve the problem on the working set, and update all slopes; return steps taken.
  int64_t solve_set(double b, double eps, int64_t steps) {
    const Matrix<const T> Q = matrix();
    std::vector<T> diagonal(padded_, T(1));
    std::vector<double> low(padded_), high(padded_), part(padded_), slopes(padded_);
    T least = LEAST_DIAGONAL;
    for (int64_t k = 0; k < size_; ++k) least = std::max(least, LEAST_DIAGONAL * Q(k, k));
    for (int64_t k = 0; k < size_; ++k) {
      const int64_t i = W_[k];
      diagonal[k] = std::max(Q(k, k), least);
      low[k] = dual.low[i];
      high[k] = dual.high[i];
      part[k] = beta[i];
      slopes[k] = g[i] - b;
    }
    Smo<T> smo(Q, {diagonal.data(), padded_}, {low.data(), padded_}, {high.data(), padded_},
               {part.data(), padded_}, {slopes.data(), padded_});
    const int64_t taken = dual.free ? smo.with_offset(eps, steps) : smo.without_offset(eps, steps);
    if (size_ == n) {
      std::copy_n(part.begin(), n, beta.data);
      for (int64_t k = 0; k < n; ++k) g[k] = slopes[k] + b;
      return taken;
    }
    double total = 0.0;
    for (int64_t k = 0; k < size_; ++k) {
      const double now = part[k];
      part[k] -= beta[W_[k]];
      beta[W_[k]] = now;
      total += part[k];
    }
    const Array<const int64_t> W{W_.data(), size_};
    subtract_first(K, Changed(W, part.data(), 0, K.m()), g.data);
    subtract_second(K, Changed(W, part.data(), K.m(), n), g.data);
    if (K.square_bias > 0.0)
      for (int64_t k = 0; k < n; ++k) g[k] -= K.square_bias * total;
    return taken;
  }
};

// Improve a point with scores f to a relative gap, as updated scores show it; return steps taken.
//
// If the set is `whole`, its matrix is left in `memory`.
template <class T>
int64_t improve_pair(const PairValues<T>& K, const Dual& dual, Array<double> beta,
                     Array<const double> f, bool whole, double tol, int64_t steps,
                     Array<T> memory) {
  expects(K.m() > 0 && K.B.rows > 0, "A and B must not be empty");
  expects_sizes(K.size(), "target", dual.target, "beta", beta, "f", f);
  std::vector<double> g(beta.size);
  for (int64_t k = 0; k < beta.size; ++k) g[k] = dual.target[k] - f[k];
  return PairSolver<T>(K, dual, beta, {g.data(), beta.size}, memory).run(whole, tol, steps);
}

}  // namespace skscreen::svm
