// Rough maps of answers and of their reverse: see embedding/verdict.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "embedding/objective.hpp"

namespace skscreen::embedding {

// Triplets or quadruplets; a choice of the odd one out is two triplets.
struct Comparisons {
  Matrix<const int32_t> answers;
  Array<const double> weights;
  bool trials;

  // act(weight, near pair, far pair) of each.
  template <class Act>
  SKSCREEN_INLINE void each(const Act& act) const {
    for (int64_t q = 0; q < answers.rows; ++q) {
      const double weight = weights.size ? weights[q] : 1.0;
      const auto pairs = pairs_of<3>(answers, q);
      act(weight, pairs[0], pairs[1]);
      if (trials) act(weight, pairs[0], pairs[2]);
    }
  }
};

// Columns of numbers for n objects, row by row; their number is `width`, if that is not 0.
template <int width>
struct Columns {
  int64_t n, dynamic;
  std::vector<double> values;

  Columns(int64_t n, int64_t dynamic) : n(n), dynamic(dynamic), values(n * dynamic) {}
  SKSCREEN_INLINE int64_t count() const { return width ? width : dynamic; }
  SKSCREEN_INLINE double* row(int64_t i) {
    check_bounds(i, n);
    return values.data() + i * count();
  }
  SKSCREEN_INLINE double& operator()(int64_t i, int64_t c) { return row(i)[c]; }
};

// Y = S X, where S is how often a pair was the nearer one less how often the farther one.
template <int width>
void times_sums(const Comparisons& all, Columns<width>& X, Columns<width>& Y) {
  std::fill(Y.values.begin(), Y.values.end(), 0.0);
  const int64_t count = X.count();
  const auto add = [&](double weight, Pair pair) {
    const double *from = X.row(pair.first), *with = X.row(pair.second);
    double *to = Y.row(pair.first), *back = Y.row(pair.second);
#pragma omp simd
    for (int64_t c = 0; c < count; ++c) {
      to[c] += weight * with[c];
      back[c] += weight * from[c];
    }
  };
  all.each([&](double weight, Pair near, Pair far) {
    add(weight, near);
    add(-weight, far);
  });
}

// Make columns orthogonal to each other and to a constant one, and of length 1, or zero. Rows of
// objects that are in no answer are and stay zero.
template <int width>
void orthonormalise(Columns<width>& X, const std::vector<int64_t>& present) {
  const int64_t count = X.count();
  for (int64_t c = 0; c < count; ++c) {
    double mean = 0.0, before = 0.0, squares = 0.0;
    for (const int64_t i : present) {
      mean += X(i, c) / (double)present.size();
      before += X(i, c) * X(i, c);
    }
    for (const int64_t i : present) X(i, c) -= mean;
    for (int64_t b = 0; b < c; ++b) {
      double product = 0.0;
      for (const int64_t i : present) product += X(i, b) * X(i, c);
      for (const int64_t i : present) X(i, c) -= product * X(i, b);
    }
    for (const int64_t i : present) squares += X(i, c) * X(i, c);
    // What is left of a column that depends on the others is rounding errors.
    const double scale = squares > 1e-20 * before ? 1.0 / std::sqrt(squares) : 0.0;
    for (const int64_t i : present) X(i, c) *= scale;
  }
}

// Eigenvalues of a symmetric matrix, in its diagonal, and their vectors in columns (cyclic Jacobi
// method, Golub and Van Loan 2013, section 8.5).
inline void jacobi(Columns<0>& H, Columns<0>& V) {
  const int64_t size = H.n;
  for (int64_t a = 0; a < size; ++a)
    for (int64_t b = 0; b < size; ++b) V(a, b) = a == b ? 1.0 : 0.0;
  for (int sweep = 0; sweep < 8; ++sweep)
    for (int64_t a = 0; a < size; ++a)
      for (int64_t b = a + 1; b < size; ++b) {
        if (H(a, b) == 0.0) continue;
        const double turn = 0.5 * (H(b, b) - H(a, a)) / H(a, b);
        const double t = std::copysign(1.0, turn) / (std::abs(turn) + std::hypot(1.0, turn));
        const double cosine = 1.0 / std::hypot(1.0, t), sine = t * cosine;
        for (int64_t k = 0; k < size; ++k) {
          const double x = H(k, a), y = H(k, b), v = V(k, a), w = V(k, b);
          H(k, a) = cosine * x - sine * y;
          H(k, b) = sine * x + cosine * y;
          V(k, a) = cosine * v - sine * w;
          V(k, b) = sine * v + cosine * w;
        }
        for (int64_t k = 0; k < size; ++k) {
          const double x = H(a, k), y = H(b, k);
          H(a, k) = cosine * x - sine * y;
          H(b, k) = sine * x + cosine * y;
        }
      }
}

// The share of answers that agree with points of p dimensions of the eigenvalues of one sign.
template <int width>
double agreement(const Comparisons& all, Columns<width>& X, Columns<0>& H, Columns<0>& V, int64_t p,
                 double sign) {
  std::vector<int64_t> order(H.n);
  for (int64_t c = 0; c < H.n; ++c) order[c] = c;
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return sign * H(a, a) > sign * H(b, b); });
  Columns<0> points(X.n, p);
  for (int64_t i = 0; i < X.n; ++i)
    for (int64_t d = 0; d < std::min(p, H.n); ++d) {
      const int64_t c = order[d];
      // Where there are fewer of a sign, the others are no dimensions.
      const double scale = std::sqrt(std::max(sign * H(c, c), 0.0));
      for (int64_t k = 0; k < H.n; ++k) points(i, d) += scale * X(i, k) * V(k, c);
    }
  const Matrix<const double> x{points.values.data(), X.n, p};
  double right = 0.0, total = 0.0;
  all.each([&](double weight, Pair near, Pair far) {
    total += weight;
    const double margin = squared_distance(x, far) - squared_distance(x, near);
    if (sign * margin > 0.0) right += weight;
  });
  return right / total;
}

// The shares of answers, and of their reverse, that agree with a rough map of their own: the
// largest eigenvalues of S, which is like a Gram matrix of the points, and of -S.
template <int width>
std::pair<double, double> rough_agreement(const Comparisons& all, int64_t n, int64_t p,
                                          int64_t count, int64_t n_steps) {
  std::vector<char> in_answer(n);
  all.each([&](double, Pair near, Pair far) {
    for (const int64_t i : {near.first, near.second, far.first, far.second}) in_answer[i] = 1;
  });
  std::vector<int64_t> present;
  Columns<width> X(n, count), Y(n, count);
  uint64_t state = 1;
  for (int64_t i = 0; i < n; ++i) {
    if (!in_answer[i]) continue;
    present.push_back(i);
    for (int64_t c = 0; c < count; ++c) {
      // Any numbers will do (Knuth's linear congruential generator).
      state = state * 6364136223846793005u + 1442695040888963407u;
      X(i, c) = (double)(state >> 33) * 0x1p-30 - 1.0;
    }
  }
  orthonormalise(X, present);
  for (int64_t step = 0; step < n_steps; ++step) {
    times_sums(all, X, Y);
    std::swap(X.values, Y.values);
    orthonormalise(X, present);
  }
  times_sums(all, X, Y);
  Columns<0> H(count, count), V(count, count);
  for (int64_t a = 0; a < count; ++a)
    for (int64_t b = 0; b <= a; ++b) {
      double sum = 0.0;
      for (const int64_t i : present) sum += X(i, a) * Y(i, b);
      H(a, b) = H(b, a) = sum;
    }
  jacobi(H, V);
  return {agreement(all, X, H, V, p, 1.0), agreement(all, X, H, V, p, -1.0)};
}

// The same, with the number of columns of the maps known when it is compiled for few dimensions.
inline std::pair<double, double> rough_agreement(Matrix<const int32_t> answers,
                                                 Array<const double> weights, bool trials,
                                                 int64_t n, int64_t p, int64_t n_steps) {
  expects(0 < n && 0 < p && p < MOST_ENTRIES / n, "n and p must be positive");
  expects_answers(answers, n);
  expects(!trials || answers.columns == 3, "trials must have three columns");
  if (weights.size) expects_sizes(answers.rows, "weights", weights);
  const Comparisons all{answers, weights, trials};
  const int64_t count = std::max<int64_t>(std::min(2 * p + 2, n - 1), 1);
  switch (count) {
    case 4:
      return rough_agreement<4>(all, n, p, count, n_steps);
    case 6:
      return rough_agreement<6>(all, n, p, count, n_steps);
    default:
      return rough_agreement<0>(all, n, p, count, n_steps);
  }
}

}  // namespace skscreen::embedding
