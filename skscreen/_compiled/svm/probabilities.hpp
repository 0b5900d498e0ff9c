// Probabilities of classes from scores: svm/probabilities.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/arrays.hpp"
#include "core/checks.hpp"
#include "core/sums.hpp"

namespace skscreen::svm {

// A and B of 1 / (1 + exp(A f + B)), the probability that a sample with score f is positive.
struct Sigmoid {
  double A, B;
};

// The most likely sigmoid of some scores, by Newton's method with backtracking, for targets that
// count one more sample of either kind (Platt, 1999; H.-T. Lin, C.-J. Lin, R. C. Weng, 2007).
class SigmoidFit {
 public:
  SigmoidFit(const std::vector<double>& scores, const std::vector<uint8_t>& positive)
      : scores(scores), targets_(scores.size()) {
    double many = 0.0;
    for (uint8_t sign : positive) many += sign != 0;
    const double rest = static_cast<double>(positive.size()) - many;
    for (size_t k = 0; k < positive.size(); ++k)
      targets_[k] = positive[k] ? (many + 1.0) / (many + 2.0) : 1.0 / (rest + 2.0);
    start_ = {0.0, std::log((rest + 1.0) / (many + 1.0))};
  }

  Sigmoid run() const {
    Sigmoid now = start_;
    double value = loss(now);
    for (int turn = 0; turn < TURNS; ++turn) {
      double a = 0.0, b = 0.0, aa = RIDGE, ab = 0.0, bb = RIDGE;
      for (size_t k = 0; k < scores.size(); ++k) {
        const double f = scores[k], p = probability(now.A * f + now.B), w = p * (1.0 - p);
        a += (targets_[k] - p) * f;
        b += targets_[k] - p;
        aa += w * f * f;
        ab += w * f;
        bb += w;
      }
      const double determinant = aa * bb - ab * ab;
      if (!(determinant > 0.0)) break;
      const Sigmoid move{-(bb * a - ab * b) / determinant, -(aa * b - ab * a) / determinant};
      const double slope = a * move.A + b * move.B;
      if (!(slope < -ENOUGH * (1.0 + std::abs(value)))) break;
      double step = 1.0;
      for (; step > SHORTEST; step *= 0.5) {
        const Sigmoid next{now.A + step * move.A, now.B + step * move.B};
        const double reached = loss(next);
        if (reached < value + ARMIJO * step * slope) {
          now = next;
          value = reached;
          break;
        }
      }
      if (!(step > SHORTEST)) break;
    }
    return now;
  }

 private:
  static constexpr int TURNS = 100;
  static constexpr double RIDGE = 1e-12, ENOUGH = 1e-14, SHORTEST = 1e-10, ARMIJO = 1e-4;

  const std::vector<double>& scores;
  std::vector<double> targets_;
  Sigmoid start_{};

  static double probability(double z) {
    const double e = std::exp(-std::abs(z));
    return z > 0.0 ? e / (1.0 + e) : 1.0 / (1.0 + e);
  }
  // The negative logarithm of the likelihood.
  double loss(const Sigmoid& at) const {
    double sum = 0.0;
    for (size_t k = 0; k < scores.size(); ++k) {
      const double z = at.A * scores[k] + at.B;
      sum += targets_[k] * z + std::max(-z, 0.0) + std::log1p(std::exp(-std::abs(z)));
    }
    return sum;
  }
};

inline void fit_sigmoid(Array<const double> scores, Array<const uint8_t> positive,
                        Array<double> out) {
  expects_sizes(scores.size, "positive", positive);
  expects_sizes(2, "out", out);
  const std::vector<double> f(scores.data, scores.data + scores.size);
  const std::vector<uint8_t> signs(positive.data, positive.data + positive.size);
  const Sigmoid found = SigmoidFit(f, signs).run();
  out[0] = found.A;
  out[1] = found.B;
}

// The sigmoids (n_problems, 2) of all pairs of classes, from scores (n, n_classes - 1) of samples
// class by class, which end before ends_c, for each other class, positive for the first of a pair.
inline void fit_pair_sigmoids(Matrix<const double> scores, Array<const int64_t> ends,
                              Matrix<double> out) {
  const int64_t k = ends.size;
  expects_starts("ends", ends, scores.rows);
  expects(k > 1 && ends[k - 1] == scores.rows, "ends must be those of all");
  expects_shape(scores.rows, k - 1, "scores", scores);
  expects_shape(k * (k - 1) / 2, 2, "out", out);
  std::vector<double> f;
  std::vector<uint8_t> positive;
  int64_t p = 0;
  for (int64_t i = 0; i < k; ++i)
    for (int64_t j = i + 1; j < k; ++j, ++p) {
      f.clear();
      positive.clear();
      for (int64_t r = i == 0 ? 0 : ends[i - 1]; r < ends[i]; ++r) {
        f.push_back(scores(r, j - 1));
        positive.push_back(1);
      }
      for (int64_t r = ends[j - 1]; r < ends[j]; ++r) {
        f.push_back(scores(r, i));
        positive.push_back(0);
      }
      const Sigmoid found = SigmoidFit(f, positive).run();
      out(p, 0) = found.A;
      out(p, 1) = found.B;
    }
}

// Couple probabilities p (n, k (k - 1) / 2) of the first of each pair to those of k classes.
//
// The second method of Wu, Lin and Weng (2004): q minimises the sum of (r_ji q_i - r_ij q_j)^2 over
// q of sum 1, by Algorithm 2 with equation (47). Limits are LIBSVM's. Each row ends by itself.
inline void couple(Matrix<const double> p, Matrix<double> out) {
  const int64_t k = out.columns;
  expects_shape(out.rows, k * (k - 1) / 2, "p", p);
  std::vector<double> memory(k * k + k);
  const Matrix<double> Q{memory.data(), k, k};
  double* products = memory.data() + k * k;
  for (int64_t row = 0; row < out.rows; ++row) {
    std::fill(memory.begin(), memory.end(), 0.0);
    int64_t pair = 0;
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = i + 1; j < k; ++j, ++pair) {
        const double first = p(row, pair), second = 1.0 - first;
        Q(i, j) = Q(j, i) = -first * second;
        Q(i, i) += second * second;
        Q(j, j) += first * first;
      }
    double* q = out.row(row).data;
    std::fill_n(q, k, 1.0 / k);
    for (int64_t turn = 0; turn < std::max<int64_t>(100, k); ++turn) {
      double square = 0.0, worst = 0.0;
      for (int64_t i = 0; i < k; ++i) {
        const double* of = Q.row(i).data;
        products[i] = sum_of(k, [=](int64_t j) { return of[j] * q[j]; });
        square += q[i] * products[i];
      }
      for (int64_t i = 0; i < k; ++i) worst = std::max(worst, std::abs(products[i] - square));
      if (worst < 1e-5 / k) break;
      for (int64_t i = 0; i < k; ++i) {
        const double step = (square - products[i]) / Q(i, i), scale = 1.0 / (1.0 + step);
        square = (square + step * (step * Q(i, i) + 2.0 * products[i])) * scale * scale;
        q[i] += step;
        const double* of = Q.row(i).data;
        for_all(k, [=](int64_t j) {
          products[j] = (products[j] + step * of[j]) * scale;
          q[j] *= scale;
        });
      }
    }
  }
}

}  // namespace skscreen::svm
