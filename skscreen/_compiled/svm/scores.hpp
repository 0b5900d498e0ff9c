// Scores of classifiers at prediction: sums over support vectors, and the votes of pairs.
//
// Scores of pairs of classes i < j stand in the order (0, 1), (0, 2), ..., (1, 2), ..., positive
// for class i. What rounding errors alone tell from a tie is a tie.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/arrays.hpp"
#include "core/checks.hpp"
#include "core/sums.hpp"

namespace skscreen::svm {

// For each class c, out(c, r, m) = sum of K(r, j) coefs(j, m) over its support vectors j, which end
// before ends_c.
inline void sum_by_class(Matrix<const double> K, Matrix<const double> coefs,
                         Array<const int64_t> ends, Stack<double> out) {
  expects_starts("ends", ends, coefs.rows);
  expects_shape(K.rows, coefs.rows, "K", K);
  expects(out.size == ends.size, "out must have a matrix for each class");
  expects_shape(K.rows, coefs.columns, "out", out);
  for (int64_t c = 0; c < ends.size; ++c)
    for (int64_t r = 0; r < K.rows; ++r) {
      double* sums = out[c].row(r).data;
      std::fill_n(sums, out.columns, 0.0);
      for (int64_t j = c == 0 ? 0 : ends[c - 1]; j < ends[c]; ++j) {
        const double value = K(r, j);
        const double* row = coefs.row(j).data;
        for_all(out.columns, [sums, row, value](int64_t m) { sums[m] += value * row[m]; });
      }
    }
}

// Adds to `primals`, one a problem, what training samples, class by class, have of the values
// 1/2 |w|^2 + sum of cap max(0, 1 - sign score): of samples from `first` on, whose kernel values
// with all are K. Row m of dual (n_classes - 1, n) holds dual variables with signs in the problem
// with the m-th other class; classes end before `ends`.
inline void add_primals(Matrix<const double> K, int64_t first, Matrix<const double> dual,
                        Array<const double> caps, Array<const double> intercepts,
                        Array<const int64_t> ends, Array<double> primals) {
  const int64_t n = K.columns, n_classes = ends.size;
  expects(n_classes > 0 && ends[n_classes - 1] == n, "ends must be those of all");
  expects_starts("ends", ends, n);
  expects(0 <= first && first + K.rows <= n, "first must be that of rows of samples");
  expects_shape(n_classes - 1, n, "dual", dual);
  expects_sizes(n, "caps", caps);
  expects_sizes(n_classes * (n_classes - 1) / 2, "intercepts", intercepts, "primals", primals);
  // Of values times dual variables of a class.
  const auto sum = [dual, ends](const double* values, int64_t row, int64_t c) {
    const int64_t begin = c == 0 ? 0 : ends[c - 1];
    const double *own = values + begin, *coefs = dual.row(row).data + begin;
    return sum_of(ends[c] - begin, [own, coefs](int64_t j) { return own[j] * coefs[j]; });
  };
  for (int64_t i = 0, p = 0; i < K.rows; ++i) {
    const int64_t r = first + i;
    const double* values = K.row(i).data;
    while (r >= ends[p]) ++p;
    for (int64_t m = 0; m < n_classes - 1; ++m) {
      const int64_t other = m + (m >= p), low = std::min(p, other), high = std::max(p, other);
      const int64_t k = low * n_classes - low * (low + 1) / 2 + high - low - 1;
      const double score = sum(values, m, p) + sum(values, p - (p > other), other);
      const double margin = (p < other ? 1.0 : -1.0) * (score + intercepts[k]);
      primals[k] += 0.5 * dual(m, r) * score + caps[r] * std::max(1.0 - margin, 0.0);
    }
  }
}

// Errors of long sums mostly cancel: no score above is taken for noise.
constexpr double MOST_NOISE = 1e-8;

// Estimates of the rounding errors of scores: of samples with sizes max(lengths_r, longest), or 1,
// and of problems with sizes sums_p of dual variables and an intercept each.
struct Noise {
  Array<const double> lengths;
  double longest;
  Array<const double> sums, intercepts;

  void check_for(int64_t samples, int64_t problems) const {
    if (lengths.size != 0) expects_sizes(samples, "lengths", lengths);
    expects_sizes(problems, "sums", sums, "intercepts", intercepts);
  }
  SKSCREEN_INLINE double operator()(int64_t r, int64_t p) const {
    const double size = lengths.size == 0 ? 1.0 : std::max(lengths[r], longest);
    return std::min(UNITS * (size * sums[p] + std::abs(intercepts[p])), MOST_NOISE);
  }

 private:
  static constexpr double UNITS = 8.0 * 2.220446049250313e-16;
};

// Scores of pairs from the sums of `sum_by_class`.
struct SumsOfPairs {
  Stack<const double> sums;
  Array<const double> intercepts;

  void check_for(int64_t samples, int64_t n) const {
    expects(sums.size == n, "sums must have a matrix for each class");
    expects_shape(samples, n - 1, "sums", sums);
    expects_sizes(n * (n - 1) / 2, "intercepts", intercepts);
  }
  SKSCREEN_INLINE double operator()(int64_t r, int64_t i, int64_t j, int64_t p) const {
    return sums(i, r, j - 1) + sums(j, r, i) + intercepts[p];
  }
};

// Scores of pairs as they are.
struct GivenPairs {
  Matrix<const double> scores;

  void check_for(int64_t samples, int64_t n) const {
    expects_shape(samples, n * (n - 1) / 2, "scores", scores);
  }
  SKSCREEN_INLINE double operator()(int64_t r, int64_t, int64_t, int64_t p) const {
    return scores(r, p);
  }
};

template <class Scores>
void check_pairs(const Scores& scores, const Noise& noise, int64_t n, int64_t samples) {
  expects(n > 1 && n < (int64_t(1) << 20), "n must be a number of classes");
  scores.check_for(samples, n);
  noise.check_for(samples, n * (n - 1) / 2);
}

// Call visit(i, j, p, score) for all pairs of n classes of sample r.
template <class Scores, class Visit>
SKSCREEN_INLINE void for_pairs(const Scores& scores, const Noise& noise, int64_t n, int64_t r,
                               Visit visit) {
  int64_t p = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i + 1; j < n; ++j, ++p) {
      const double score = scores(r, i, j, p);
      visit(i, j, p, std::abs(score) <= noise(r, p) ? 0.0 : score);
    }
}

// Write the scores of all pairs, 0 where there is a tie.
template <class Scores>
void pair_values(const Scores& scores, const Noise& noise, int64_t n, Matrix<double> out) {
  check_pairs(scores, noise, n, out.rows);
  expects_shape(out.rows, n * (n - 1) / 2, "out", out);
  for (int64_t r = 0; r < out.rows; ++r) {
    double* row = out.row(r).data;
    for_pairs(scores, noise, n, r,
              [row](int64_t, int64_t, int64_t p, double score) { row[p] = score; });
  }
}

// Write the class with the most votes, the first of those with as many; a tie is one for the first.
template <class Scores>
void pair_winners(const Scores& scores, const Noise& noise, int64_t n, Array<int64_t> out) {
  check_pairs(scores, noise, n, out.size);
  std::vector<int64_t> votes(n);
  for (int64_t r = 0; r < out.size; ++r) {
    std::fill(votes.begin(), votes.end(), 0);
    for_pairs(scores, noise, n, r, [&votes](int64_t i, int64_t j, int64_t, double score) {
      ++votes[score >= 0.0 ? i : j];
    });
    out[r] = std::max_element(votes.begin(), votes.end()) - votes.begin();
  }
}

// Write the votes of each class, and less than half a vote for the sum of its scores.
template <class Scores>
void pair_votes(const Scores& scores, const Noise& noise, int64_t n, Matrix<double> out) {
  check_pairs(scores, noise, n, out.rows);
  expects_shape(out.rows, n, "out", out);
  std::vector<double> sums(n);
  for (int64_t r = 0; r < out.rows; ++r) {
    double* votes = out.row(r).data;
    std::fill_n(votes, n, 0.0);
    std::fill(sums.begin(), sums.end(), 0.0);
    for_pairs(scores, noise, n, r, [&sums, votes](int64_t i, int64_t j, int64_t, double score) {
      sums[i] += score;
      sums[j] -= score;
      votes[score >= 0.0 ? i : j] += 1.0;
    });
    for (int64_t i = 0; i < n; ++i) votes[i] += sums[i] / (3.0 * (std::abs(sums[i]) + 1.0));
  }
}

// Whether `settle` may change any of the scores.
inline bool near_ties(Matrix<const double> scores) {
  const int64_t n = scores.columns;
  expects(n > 0, "scores must have columns");
  for (int64_t r = 0; r < scores.rows; ++r) {
    const double* row = scores.row(r).data;
    if (n == 1) {
      if (std::abs(row[0]) <= MOST_NOISE) return true;
      continue;
    }
    const double best = *std::max_element(row, row + n);
    int64_t near = 0;
    for (int64_t p = 0; p < n; ++p) near += row[p] >= best - 2.0 * MOST_NOISE;
    if (near > 1) return true;
  }
  return false;
}

// Of scores of one problem set those to 0 that are noise; of several, in each row, those equal to
// the best that noise alone tells from it.
inline void settle(Matrix<double> scores, const Noise& noise) {
  const int64_t n = scores.columns;
  expects(n > 0, "scores must have columns");
  noise.check_for(scores.rows, n);
  for (int64_t r = 0; r < scores.rows; ++r) {
    double* row = scores.row(r).data;
    if (n == 1) {
      if (std::abs(row[0]) <= noise(r, 0)) row[0] = 0.0;
      continue;
    }
    const double best = *std::max_element(row, row + n);
    double most = 0.0;
    for (int64_t p = 0; p < n; ++p) most = std::max(most, noise(r, p));
    for (int64_t p = 0; p < n; ++p)
      if (row[p] >= best - noise(r, p) - most) row[p] = best;
  }
}

}  // namespace skscreen::svm
