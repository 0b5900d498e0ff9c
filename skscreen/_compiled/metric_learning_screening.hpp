// Passes that decide items: see metric_learning/screening/active.py, cone_rules.py and ranges.py.
#pragma once

#include <optional>
#include <vector>

#include "metric_learning_losses.hpp"
#include "metric_learning_pairs.hpp"
#include "metric_learning_rules.hpp"

namespace skscreen {

// Intervals of the distances of rows (near) and slots (far) at a centre.
template <class T>
struct Intervals {
  Array<const double> near_low, near_high;
  Array<T> far_low, far_high;
};

// Where decisions go: codes by item number, if asked for, and counts by rows and slots.
template <class Integer>
struct Decisions {
  Array<const int64_t> base;
  Array<const Integer> rank;
  std::optional<Array<int8_t>> codes;
  Array<double> row_linear, slot_steps;
  int64_t n_zero = 0, n_linear = 0;

  // Row p had the slots first:last, of which begin:end stay undecided.
  void keep(int64_t p, int64_t first, int64_t begin, int64_t end, int64_t last) {
    if (begin > first) {
      slot_steps[first] += 1.0;
      if (begin < slot_steps.size) slot_steps[begin] -= 1.0;
      row_linear[p] += (double)(begin - first);
    }
    if (codes) {
      int8_t* SKSCREEN_RESTRICT code = codes->data + base[p];
      const Integer* SKSCREEN_RESTRICT place = rank.data;
      for (int64_t s = first; s < begin; ++s) code[place[s]] = LINEAR;
      for (int64_t s = end; s < last; ++s) code[place[s]] = ZERO;
    }
    n_linear += begin - first;
    n_zero += last - end;
  }
};

// The block of a slot, searching from a guess; rows are nearly in block order.
SKSCREEN_INLINE int64_t block_of(int64_t slot, Ranges blocks, int64_t guess) {
  while (slot >= blocks[guess + 1]) ++guess;
  while (slot < blocks[guess]) --guess;
  return guess;
}

// Root mean square of sqrt(|u|^4 + |v|^4) over the items of each block.
inline std::vector<double> norm_scales(Array<const int64_t> start, Array<const int64_t> stop,
                                       Ranges blocks, Array<const double> near_sizes,
                                       Array<const double> far_sizes) {
  std::vector<double> scales(blocks.size - 1), rows(blocks.size - 1);
  int64_t b = 0;
  for (int64_t p = 0; p < start.size; ++p) {
    // A row that an earlier ball has emptied may follow after the last block.
    if (start[p] == stop[p]) continue;
    b = block_of(start[p], blocks, b);
    scales[b] += near_sizes[p] * near_sizes[p];
    rows[b] += 1.0;
  }
  for (b = 0; b + 1 < blocks.size; ++b) {
    double total = 0.0;
    for (int64_t s = blocks[b]; s < blocks[b + 1]; ++s) total += far_sizes[s] * far_sizes[s];
    total /= (double)(blocks[b + 1] - blocks[b]);
    // Any positive number is safe; blocks of identical points have no scale.
    scales[b] = std::max(std::sqrt(scales[b] / std::max(rows[b], 1.0) + total), 1e-150);
  }
  return scales;
}

// Shrink every row to its undecided interval by the sphere rule, without looking at items.
//
// For H = v v' - u u', |H|^2 <= |u|^4 + |v|^4 (equal for orthogonal u and v), and for any m > 0
// sqrt(|u|^4 + |v|^4) <= (|u|^4 / m + m) / 2 + |v|^4 / (2 m): a row part plus a slot part, tight
// for m = |H|. So the rule separates, and running extremes of the slot parts over a block are
// monotone: bisection finds a prefix of slots in the linear and a suffix in the zero part. They
// overwrite the intervals of the slots, because these arrays are long.
template <class Integer>
void shrink_pass(Array<int64_t> start, Array<int64_t> stop, Ranges blocks,
                 Array<const double> near_sizes, Array<const double> far_sizes,
                 const Intervals<double>& at, double radius, Levels thresholds, double gamma,
                 Decisions<Integer>& decisions) {
  if (!std::isfinite(radius)) return;
  const auto scales = norm_scales(start, stop, blocks, near_sizes, far_sizes);
  const Array<double> prefix_high = at.far_high, suffix_low = at.far_low;
  for (int64_t b = 0; b + 1 < blocks.size; ++b) {
    const double half = 0.5 / scales[b] * (1.0 + 1e-12);
    double extreme = -INF;
    for (int64_t s = blocks[b]; s < blocks[b + 1]; ++s) {
      const double part = half * far_sizes[s] * far_sizes[s];
      prefix_high[s] = extreme = std::max(extreme, sphere_upper(at.far_high[s], part, radius));
    }
    extreme = INF;
    for (int64_t s = blocks[b + 1] - 1; s >= blocks[b]; --s) {
      const double part = half * far_sizes[s] * far_sizes[s];
      suffix_low[s] = extreme = std::min(extreme, sphere_lower(at.far_low[s], part, radius));
    }
  }
  int64_t b = 0;
  for (int64_t p = 0; p < start.size; ++p) {
    const int64_t first = start[p], last = stop[p];
    if (first == last) continue;
    b = block_of(first, blocks, b);
    const double part =
        0.5 * (near_sizes[p] * near_sizes[p] / scales[b] + scales[b]) * (1.0 + 1e-12);
    const double rounding = 4.0 * EPS * std::abs(thresholds[p]);
    const double zero_level = thresholds[p] + rounding + sphere_upper(at.near_high[p], part, radius);
    const double linear_level =
        thresholds[p] - gamma - rounding + sphere_lower(at.near_low[p], part, radius);
    // Most rows are decided as a whole, or not at all.
    int64_t begin = first, end = last;
    if (suffix_low[first] > zero_level)
      end = first;
    else if (suffix_low[last - 1] > zero_level)
      end = std::upper_bound(suffix_low.data + first, suffix_low.data + last, zero_level) -
            suffix_low.data;
    if (end > first && prefix_high[end - 1] < linear_level)
      begin = end;
    else if (end > first && prefix_high[first] < linear_level)
      begin = std::lower_bound(prefix_high.data + first, prefix_high.data + end, linear_level) -
              prefix_high.data;
    decisions.keep(p, first, begin, end, last);
    start[p] = begin;
    stop[p] = end;
  }
}

// What the rules beyond the sphere rule know of a ball: the half-space and the cone.
struct Cut {
  double scale, depth;          // of the half-space; no half-space without a scale
  Array<const double> values;   // eigenvalues of the centre; without, no search
  Matrix<const double> points;  // the data in its eigenbasis
  double noise, slack, radius;
};

// |aa' - bb'| or |a*a - b*b| of two differences of rows of X.
//
// With p = a - b and q = a + b the square is (|p|^2 |q|^2 + (p.q)^2) / 2, without the cancellation
// of |a|^4 + |b|^4 - 2 (a.b)^2.
inline double item_norm(Matrix<const double> X, const int32_t* first, const int32_t* second,
                        bool diagonal) {
  const double *a0 = X.row(first[0]).data, *a1 = X.row(first[1]).data;
  const double *b0 = X.row(second[0]).data, *b1 = X.row(second[1]).data;
  double pp = 0.0, qq = 0.0, pq = 0.0, square = 0.0;
#pragma omp simd reduction(+ : pp, qq, pq, square)
  for (int64_t k = 0; k < X.columns; ++k) {
    const double a = a0[k] - a1[k], b = b0[k] - b1[k], p = a - b, q = a + b;
    pp += p * p;
    qq += q * q;
    pq += p * q;
    square += (p * q) * (p * q);
  }
  return std::sqrt(diagonal ? square : 0.5 * (pp * qq + pq * pq)) * (1.0 + 1e-12);
}

SKSCREEN_INLINE double rounded_down(double value) { return value - 4.0 * EPS * std::abs(value); }

// Tests of the ends of rows by the linear and the semidefinite rule.
struct EndTests {
  Matrix<const double> X;
  bool diagonal;
  const Cut& cut;
  Matrix<double> scratch;

  // Whether a point of what is left of the ball, Q or the nearest in the half-space, decides.
  bool may_decide(double margin, double along, double level) const {
    return margin - std::min(cut.depth, 0.0) * along > level;
  }

  // Whether <aa' - bb', X> > level for the differences a and b of two pairs of points.
  bool decides(double margin, double along, double sizes, const int32_t* a, const int32_t* b,
               double level) const {
    if (!may_decide(margin, along, level)) return false;
    const double size = item_norm(X, a, b, diagonal) + 8.0 * EPS * sizes;
    const double lowest =
        cut.scale > 0.0 ? half_space_lower(margin, size, cut.radius, along, cut.depth)
                        : sphere_lower(margin, size, cut.radius);
    if (lowest > level) return true;
    // Without a size or a radius there is nothing to search.
    if (cut.values.size == 0 || !(size > 0.0 && cut.radius > 0.0)) return false;
    for (int64_t k = 0; k < cut.values.size; ++k) {
      scratch(0, k) = cut.points(a[0], k) - cut.points(a[1], k);
      scratch(1, k) = cut.points(b[0], k) - cut.points(b[1], k);
    }
    if (diagonal)
      return orthant_decides(cut.values, cut.radius, level, scratch.row(0), scratch.row(1));
    const ConeSearch search = {cut.values, scratch.row(0), scratch.row(1), scratch.row(2)};
    return search.decides(cut.radius, level, margin, size, cut.noise, cut.slack);
  }
};

// Test the ends of each row, inwards for as long as they are decided. `normal` are the intervals of
// the half-space's normal. For the linear part the pairs change roles.
template <class Integer>
void refine_pass(Array<int64_t> start, Array<int64_t> stop, Pairs near, Pairs far,
                 Matrix<const double> X, bool diagonal, Array<const double> near_sizes,
                 Array<const double> far_sizes, const Intervals<const double>& at,
                 const Intervals<const double>& normal, const Cut& cut, Levels thresholds,
                 double gamma, Decisions<Integer>& decisions) {
  std::vector<double> memory(3 * cut.values.size);
  const EndTests tests = {X, diagonal, cut, {memory.data(), 3, cut.values.size}};
  const bool is_cut = cut.scale > 0.0;
  for (int64_t p = 0; p < start.size; ++p) {
    const int64_t first = start[p], last = stop[p];
    const double rounding = 4.0 * EPS * std::abs(thresholds[p]);
    const double zero_level = thresholds[p] + rounding, linear_level = gamma - thresholds[p] + rounding;
    const int32_t* row = near.row(p).data;
    int64_t begin = first, end = last;
    for (; end > first; --end) {
      const int64_t s = end - 1;
      const double along =
          is_cut ? rounded_down(cut.scale * (normal.far_low[s] - normal.near_high[p])) : 0.0;
      if (!tests.decides(at.far_low[s] - at.near_high[p], along, near_sizes[p] + far_sizes[s],
                         far.row(s).data, row, zero_level))
        break;
    }
    for (; begin < end; ++begin) {
      const double along =
          is_cut ? rounded_down(cut.scale * (normal.near_low[p] - normal.far_high[begin])) : 0.0;
      if (!tests.decides(at.near_low[p] - at.far_high[begin], along,
                         near_sizes[p] + far_sizes[begin], row, far.row(begin).data, linear_level))
        break;
    }
    decisions.keep(p, first, begin, end, last);
    start[p] = begin;
    stop[p] = end;
  }
}

// Add 1 at the first of the ascending values in each item's range and -1 behind the last.
inline void add_ranges(Ranges start, Ranges stop, Array<const double> near_sizes,
                       Array<const double> far_sizes, const Intervals<const double>& at,
                       Levels thresholds, double gamma, double reference_lam, double size,
                       double epsilon, Array<const double> lams, Array<int64_t> steps) {
  const double *first = lams.data, *last = lams.data + lams.size;
  for (int64_t p = 0; p < start.size; ++p) {
    const double tau = thresholds[p];
    for (int64_t s = start[p]; s < stop[p]; ++s) {
      const double norm_bound =
          std::sqrt(near_sizes[p] * near_sizes[p] + far_sizes[s] * far_sizes[s]) * (1.0 + 1e-12);
      auto [low, high] = zero_range(at.far_low[s] - at.near_high[p], norm_bound, tau,
                                    reference_lam, size, epsilon);
      if (!(low < high))  // the linear part is the zero part of minus the margin
        std::tie(low, high) = zero_range(at.near_low[p] - at.far_high[s], norm_bound, gamma - tau,
                                         reference_lam, size, epsilon);
      if (low < high) {
        steps[std::upper_bound(first, last, low) - first] += 1;
        steps[std::lower_bound(first, last, high) - first] -= 1;
      }
    }
  }
}

}  // namespace skscreen
