// Passes that decide items: see metric_learning/screening, active.py and paper/.
#pragma once

#include <optional>
#include <vector>

#include "metric_learning/losses.hpp"
#include "metric_learning/pairs.hpp"
#include "metric_learning/rules.hpp"

namespace skscreen::metric_learning {

// Intervals of the distances of near pairs and far places at a centre.
template <class T>
struct Intervals {
  Array<const double> near_low, near_high;
  Array<T> far_low, far_high;

  void check(int64_t rows, int64_t places) const {
    expects_sizes(rows, "near_low", near_low, "near_high", near_high);
    expects_sizes(places, "far_low", far_low, "far_high", far_high);
  }
};

// Where decisions go: codes by item number, if asked for, and counts by rows and places.
template <class Integer>
struct Decisions {
  Array<const int64_t> base;
  Array<const Integer> rank;
  std::optional<Array<int8_t>> codes;
  Array<double> near_linear, place_steps;
  int64_t n_zero = 0, n_linear = 0;

  void check(int64_t rows, int64_t places) const {
    expects_sizes(rows, "base", base, "near_linear", near_linear);
    expects_sizes(places, "rank", rank, "place_steps", place_steps);
  }

  // Row p had the places first:last, of which begin:end stay undecided.
  void keep(int64_t p, int64_t first, int64_t begin, int64_t end, int64_t last) {
    if (begin > first) {
      place_steps[first] += 1.0;
      if (begin < place_steps.size) place_steps[begin] -= 1.0;
      near_linear[p] += (double)(begin - first);
    }
    if (codes) {
      int8_t* SKSCREEN_RESTRICT code = codes->data;
      const Integer* SKSCREEN_RESTRICT number = rank.data;
      const int64_t before = base[p], size = codes->size;
      for (int64_t s = first; s < begin; ++s) code[item_of(before, number[s], size)] = LINEAR;
      for (int64_t s = end; s < last; ++s) code[item_of(before, number[s], size)] = ZERO;
    }
    n_linear += begin - first;
    n_zero += last - end;
  }

  // The item of near pair p at far place s is decided.
  void note(int64_t p, int64_t s, int8_t code) {
    if (codes) (*codes)[item_of(base[p], rank[s], codes->size)] = code;
    if (code == ZERO) {
      ++n_zero;
      return;
    }
    ++n_linear;
    near_linear[p] += 1.0;
    place_steps[s] += 1.0;
    if (s + 1 < place_steps.size) place_steps[s + 1] -= 1.0;
  }
};

// The block of a far place, searching from a guess; near pairs are nearly in block order.
SKSCREEN_INLINE int64_t block_of(int64_t place, Ranges blocks, int64_t guess) {
  while (place >= blocks[guess + 1]) ++guess;
  while (place < blocks[guess]) --guess;
  return guess;
}

// Root mean square of sqrt(|u|^4 + |v|^4) over the items of each block.
inline std::vector<double> norm_scales(Array<const int64_t> start, Array<const int64_t> stop,
                                       Ranges blocks, Array<const double> near_sizes,
                                       Array<const double> far_sizes) {
  std::vector<double> scales(blocks.size - 1), rows(blocks.size - 1);
  int64_t b = 0;
  for (int64_t p = 0; p < start.size; ++p) {
    // A near pair that an earlier ball has emptied may follow after the last block.
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

// Shrink every near pair to its undecided interval by the sphere rule, without looking at items.
//
// For H = v v' - u u', |H|^2 <= |u|^4 + |v|^4 (equal for orthogonal u and v), and for any m > 0
// sqrt(|u|^4 + |v|^4) <= (|u|^4 / m + m) / 2 + |v|^4 / (2 m): a row part plus a place part, tight
// for m = |H|. So the rule separates, and running extremes of the place parts over a block are
// monotone: bisection finds a prefix of places in the linear and a suffix in the zero part. They
// overwrite the intervals of the places, because these arrays are long.
template <class Integer>
void shrink_pass(Array<int64_t> start, Array<int64_t> stop, Ranges blocks,
                 Array<const double> near_sizes, Array<const double> far_sizes,
                 const Intervals<double>& at, double radius, Levels thresholds, double gamma,
                 Decisions<Integer>& decisions) {
  const int64_t rows = start.size, places = far_sizes.size;
  expects_sizes(rows, "near_sizes", near_sizes, "thresholds", thresholds);
  expects_ranges("start and stop", start, stop, places);
  at.check(rows, places);
  decisions.check(rows, places);
  expects(blocks.size > 0 && blocks[0] == 0 && blocks[blocks.size - 1] == places,
          "blocks must hold all places");
  expects_starts("blocks", blocks, places);
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
    const double zero_level =
        thresholds[p] + rounding + sphere_upper(at.near_high[p], part, radius);
    const double linear_level =
        thresholds[p] - gamma - rounding + sphere_lower(at.near_low[p], part, radius);
    // Most near pairs are decided as a whole, or not at all.
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

// Tests of single items by the printed rules.
struct ItemTests {
  Matrix<const double> X;
  bool diagonal;
  const Cut& cut;
  Matrix<double> scratch;

  // Whether <aa' - bb', X> > level for the differences a and b of two pairs of points, of sizes
  // |aa'| and |bb'|.
  bool decides(double margin, double along, double a_size, double b_size, const int32_t* a,
               const int32_t* b, double level) const {
    // |aa' - bb'| is at least the difference of the two: most items need no more.
    const double least = std::max(std::abs(a_size - b_size) - 1e-11 * (a_size + b_size), 0.0);
    const bool by_ball = sphere_lower(margin, least, cut.radius) > level;
    // A point of what is left of the ball, Q or the nearest in the half-space, must decide.
    const bool by_cut = (cut.scale > 0.0 || cut.values.size > 0) &&
                        margin - std::min(cut.depth, 0.0) * along > level;
    if (!(by_ball || by_cut)) return false;
    const double size = item_norm(X, a, b, diagonal) + 8.0 * EPS * (a_size + b_size);
    if (sphere_lower(margin, size, cut.radius) > level) return true;
    if (!by_cut) return false;
    if (cut.scale > 0.0 && half_space_lower(margin, size, cut.radius, along, cut.depth) > level)
      return true;
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

// Low end of a difference of two distances, with the rounding error of the subtraction.
SKSCREEN_INLINE double difference_low(double low, double high) {
  return low - high - EPS * (std::abs(low) + std::abs(high));
}

inline int64_t count_items(Ranges start, Ranges stop) {
  int64_t count = 0;
  for (int64_t p = 0; p < start.size; ++p)
    count = std::min(count + stop[p] - start[p], MOST_ENTRIES);  // more are too many in any case
  return count;
}

// Decide undecided items one by one; `codes` are in the order of near pairs and far places.
// `normal` are the intervals of the half-space's normal. For the linear part the pairs change
// roles.
inline void item_pass(Ranges start, Ranges stop, Pairs near, Pairs far, Matrix<const double> X,
                      bool diagonal, Array<const double> near_sizes, Array<const double> far_sizes,
                      const Intervals<const double>& at, const Intervals<const double>& normal,
                      const Cut& cut, Levels thresholds, double gamma, Array<int8_t> codes) {
  const int64_t rows = start.size, places = far.rows;
  expects_ranges("start and stop", start, stop, places);
  expects_pairs("near", near, X.rows);
  expects_pairs("far", far, X.rows);
  expects(near.rows == rows, "near must have a row for each of start");
  expects_sizes(rows, "near_sizes", near_sizes, "thresholds", thresholds);
  expects_sizes(places, "far_sizes", far_sizes);
  at.check(rows, places);
  if (cut.scale > 0.0) normal.check(rows, places);
  if (cut.values.size > 0)
    expects(cut.points.rows == X.rows && cut.points.columns >= cut.values.size,
            "points must have a row for each of X, and a column for each of values");
  expects(codes.size >= count_items(start, stop), "codes must have an entry for each item");
  std::vector<double> memory(3 * cut.values.size);
  const ItemTests tests = {X, diagonal, cut, {memory.data(), 3, cut.values.size}};
  const bool is_cut = cut.scale > 0.0;
  int8_t* code = codes.data;
  for (int64_t p = 0; p < start.size; ++p) {
    const double rounding = 4.0 * EPS * std::abs(thresholds[p]);
    const double zero_level = thresholds[p] + rounding;
    const double linear_level = gamma - thresholds[p] + rounding;
    const int32_t* row = near.row(p).data;
    for (int64_t s = start[p]; s < stop[p]; ++s, ++code) {
      if (*code != UNDECIDED) continue;
      const int32_t* place = far.row(s).data;
      double along = 0.0;
      if (is_cut) along = rounded_down(cut.scale * (normal.far_low[s] - normal.near_high[p]));
      if (tests.decides(difference_low(at.far_low[s], at.near_high[p]), along, far_sizes[s],
                        near_sizes[p], place, row, zero_level)) {
        *code = ZERO;
        continue;
      }
      if (is_cut) along = rounded_down(cut.scale * (normal.near_low[p] - normal.far_high[s]));
      if (tests.decides(difference_low(at.near_low[p], at.far_high[s]), along, near_sizes[p],
                        far_sizes[s], row, place, linear_level))
        *code = LINEAR;
    }
  }
}

// How many pieces the codes leave undecided: far places of one near pair next to each other.
inline int64_t count_pieces(Ranges start, Ranges stop, Array<const int8_t> codes) {
  expects_ranges("start and stop", start, stop, MOST_ENTRIES);
  expects(codes.size >= count_items(start, stop), "codes must have an entry for each item");
  const int8_t* code = codes.data;
  int64_t count = 0;
  for (int64_t p = 0; p < start.size; ++p)
    for (int64_t s = start[p], before = -1; s < stop[p]; ++s, ++code)
      if (*code == UNDECIDED) {
        count += before != s - 1 || before < 0;
        before = s;
      }
  return count;
}

// Fill in near pair and far places of each undecided piece; note the decisions about the others.
template <class Integer>
void split_rows(Ranges start, Ranges stop, Array<const int8_t> found, Array<int64_t> rows,
                Array<int64_t> begins, Array<int64_t> ends, Decisions<Integer>& decisions) {
  expects_ranges("start and stop", start, stop, decisions.rank.size);
  decisions.check(start.size, decisions.rank.size);
  expects(found.size >= count_items(start, stop), "found must have an entry for each item");
  expects_sizes(rows.size, "begins", begins, "ends", ends);
  const int8_t* code = found.data;
  int64_t piece = -1;
  for (int64_t p = 0; p < start.size; ++p) {
    bool inside = false;
    for (int64_t s = start[p]; s < stop[p]; ++s, ++code) {
      if (*code == UNDECIDED) {
        if (!inside) {
          expects(++piece < rows.size, "rows must have an entry for each piece");
          rows[piece] = p;
          begins[piece] = s;
        }
        ends[piece] = s + 1;
      } else {
        decisions.note(p, s, *code);
      }
      inside = *code == UNDECIDED;
    }
  }
}

// Call visit(number, low, high) for each item with a range of lambda.
template <class Integer, class Visit>
void visit_ranges(Ranges start, Ranges stop, Array<const int64_t> base, Array<const Integer> rank,
                  Pairs near, Pairs far, Matrix<const double> X, bool diagonal,
                  Array<const double> near_sizes, Array<const double> far_sizes,
                  const Intervals<const double>& at, Levels thresholds, double gamma,
                  double reference_lam, double size, double epsilon, Visit visit) {
  expects_ranges("start and stop", start, stop, far.rows);
  expects_pairs("near", near, X.rows);
  expects_pairs("far", far, X.rows);
  expects(near.rows == start.size, "near must have a row for each of start");
  expects_sizes(start.size, "base", base, "near_sizes", near_sizes, "thresholds", thresholds);
  expects_sizes(far.rows, "rank", rank, "far_sizes", far_sizes);
  at.check(start.size, far.rows);
  for (int64_t p = 0; p < start.size; ++p) {
    const double tau = thresholds[p];
    for (int64_t s = start[p]; s < stop[p]; ++s) {
      const double sizes = near_sizes[p] + far_sizes[s];
      const double norm =
          item_norm(X, near.row(p).data, far.row(s).data, diagonal) + 8.0 * EPS * sizes;
      auto [low, high] = zero_range(difference_low(at.far_low[s], at.near_high[p]), norm, tau,
                                    reference_lam, size, epsilon);
      if (!(low < high))  // the linear part is the zero part of minus the margin
        std::tie(low, high) = zero_range(difference_low(at.near_low[p], at.far_high[s]), norm,
                                         gamma - tau, reference_lam, size, epsilon);
      if (low < high) visit(base[p] + static_cast<int64_t>(rank[s]), low, high);
    }
  }
}

}  // namespace skscreen::metric_learning
