// Passes over comparisons: sums of losses, dual variables (metric_learning/problem/loss_sums.py).
//
// Arrays with a place for each near pair have its far places start:stop, thresholds and scales; the
// weights of near pairs and of far places that passes fill or add to are without the scales.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/checks.hpp"
#include "core/core.hpp"
#include "core/sums.hpp"

namespace skscreen::metric_learning {

using Ranges = Array<const int64_t>;
using Levels = Steps<const double>;

// Minus the derivative of a loss at margin tau - z: at most `most`, 1 for the smoothed hinge.
SKSCREEN_INLINE double dual_variable(double z, double width_inverse, double most) {
  const double share = z * width_inverse, above = share < 0.0 ? 0.0 : share;
  return most < above ? most : above;
}

// Value of a loss written with its own dual variable.
SKSCREEN_INLINE double smoothed_value(double z, double alpha, double gamma) {
  return alpha * (z - 0.5 * gamma * alpha);
}

// Numbers in a register, as the compilers' own vectors: a loop over doubles turns the two bounds of
// a dual variable into comparisons and blends, at twice the time.
#if defined(__AVX__) && defined(__GNUC__)
constexpr int64_t LANES = 4;
#elif defined(__GNUC__)
constexpr int64_t LANES = 2;
#else
constexpr int64_t LANES = 1;
#endif
#if defined(__GNUC__)
typedef double Lanes __attribute__((vector_size(8 * LANES)));
#endif

// Losses of one near pair with n far places at distances D: their sum; adds dual variables to
// `weights` and to `weight`.
SKSCREEN_INLINE double row_loss(double level, const double* SKSCREEN_RESTRICT D, int64_t n,
                                double gamma, double width_inverse, double most,
                                double* SKSCREEN_RESTRICT weights, double& weight) {
  double value = 0.0, sum = 0.0;
  int64_t s = 0;
#if defined(__GNUC__)
  Lanes values = {}, alphas = {};
  const Lanes zero = {}, top = zero + most;
  for (; s + LANES <= n; s += LANES) {
    Lanes d, w;
    std::memcpy(&d, D + s, sizeof d);
    std::memcpy(&w, weights + s, sizeof w);
    const Lanes z = level - d, share = z * width_inverse;
    const Lanes above = share < zero ? zero : share, alpha = top < above ? top : above;
    values += alpha * (z - 0.5 * gamma * alpha);
    alphas += alpha;
    w += alpha;
    std::memcpy(weights + s, &w, sizeof w);
  }
  for (int64_t k = 0; k < LANES; ++k) {
    value += values[k];
    sum += alphas[k];
  }
#endif
  for (; s < n; ++s) {
    const double z = level - D[s], alpha = dual_variable(z, width_inverse, most);
    value += smoothed_value(z, alpha, gamma);
    sum += alpha;
    weights[s] += alpha;
  }
  weight += sum;
  return value;
}

// What passes over near pairs and far places have in common.
inline void expects_rows(Ranges start, Ranges stop, Array<const double> near_d,
                         Array<const double> far_d, Levels thresholds, Levels scales,
                         Array<double> near_weights, Array<double> place_weights) {
  expects_sizes(start.size, "near_d", near_d, "thresholds", thresholds, "scales", scales,
                "near_weights", near_weights);
  expects_sizes(far_d.size, "place_weights", place_weights);
  expects_ranges("start and stop", start, stop, far_d.size);
}

// Sum of losses, those of each near pair times its scale.
//
// Fills weights of near pairs and adds to those of far places, both without the scales.
inline double losses_of_rows(Ranges start, Ranges stop, Array<const double> near_d,
                             Array<const double> far_d, Levels thresholds, double gamma,
                             double most, Levels scales, Array<double> near_weights,
                             Array<double> place_weights) {
  CompensatedSum sum;
  const double width_inverse = 1.0 / gamma;
  for (int64_t p = 0; p < near_d.size; ++p) {
    double weight = 0.0;
    sum.add(scales[p] * row_loss(thresholds[p] + near_d[p], far_d.data + start[p],
                                 stop[p] - start[p], gamma, width_inverse, most,
                                 place_weights.data + start[p], weight));
    near_weights[p] = weight;
  }
  return sum.total + sum.lost;
}

inline double loss_pass(Ranges start, Ranges stop, Array<const double> near_d,
                        Array<const double> far_d, Levels thresholds, double gamma, double most,
                        Levels scales, Array<double> near_weights, Array<double> place_weights) {
  expects_rows(start, stop, near_d, far_d, thresholds, scales, near_weights, place_weights);
  return losses_of_rows(start, stop, near_d, far_d, thresholds, gamma, most, scales, near_weights,
                        place_weights);
}

// The number of an item, of `size`.
template <class Integer>
SKSCREEN_INLINE int64_t item_of(int64_t base, Integer rank, int64_t size) {
  const int64_t item = base + static_cast<int64_t>(rank);
  expects(0 <= item && item < size, "base and rank must be numbers of items");
  return item;
}

// The sums of `Comparisons.proximal_loss`; fills alphas, if given, and adds to the weights.
//
// The sums count the items of each near pair times its scale, the weights do not.
template <class Integer>
std::tuple<double, double, double, double> proximal_pass(
    Ranges start, Ranges stop, Array<const int64_t> base, Array<const Integer> rank,
    Array<const double> near_d, Array<const double> far_d, double noise, Levels thresholds,
    double gamma, Levels scales, double width, Array<const double> centre,
    std::optional<Array<double>> alphas, Array<double> near_weights, Array<double> place_weights) {
  expects_rows(start, stop, near_d, far_d, thresholds, scales, near_weights, place_weights);
  expects_sizes(start.size, "base", base);
  expects_sizes(far_d.size, "rank", rank);
  if (alphas) expects_sizes(centre.size, "alphas", *alphas);
  double smoothed = 0.0, loss = 0.0, gap = 0.0, error = 0.0;
  const double width_inverse = 1.0 / (gamma + width);
  double* out = alphas ? alphas->data : nullptr;
  for (int64_t p = 0; p < near_d.size; ++p) {
    const double level = thresholds[p] + near_d[p], scale = scales[p];
    double weight = near_weights[p];
    for (int64_t s = start[p]; s < stop[p]; ++s) {
      const double z = level - far_d[s];
      const int64_t t = item_of(base[p], rank[s], centre.size);
      const double alpha = dual_variable(z + width * centre[t], width_inverse, 1.0);
      // Without the constant width/2 centre^2, so that alpha = 0 contributes nothing.
      const double value = smoothed_value(z, alpha, gamma);
      smoothed += scale * (value + width * alpha * (centre[t] - 0.5 * alpha));
      const double slack = hinge_slackness(z, alpha, 1.0, gamma);
      loss += scale * (value + slack);
      gap += scale * slack;
      if (slack > 0.0) {
        const double size = near_d[p] + far_d[s], rounding = size + std::abs(thresholds[p]);
        error += scale * (16.0 * EPS * rounding + 4.0 * noise * std::sqrt(size));
      }
      if (out) out[t] = alpha;
      weight += alpha;
      place_weights[s] += alpha;
    }
    near_weights[p] = weight;
  }
  return {smoothed, loss, gap, error};
}

// Largest ratio of an item's margin to the reach of its near pair, of either sign.
inline double largest_ratio(Ranges start, Ranges stop, Array<const double> near_d,
                            Array<const double> far_d, Levels reaches) {
  expects_sizes(start.size, "near_d", near_d, "reaches", reaches);
  expects_ranges("start and stop", start, stop, far_d.size);
  double largest = -INF, nearest = 0.0, farthest = 0.0;
  int64_t first = 0, last = 0;
  for (int64_t p = 0; p < near_d.size; ++p) {
    if (start[p] == stop[p]) continue;
    // Near pairs with the same far places mostly follow each other.
    if (start[p] != first || stop[p] != last) {
      first = start[p];
      last = stop[p];
      nearest = INF;
      farthest = -INF;
      for (int64_t s = first; s < last; ++s) {
        nearest = std::min(nearest, far_d[s]);
        farthest = std::max(farthest, far_d[s]);
      }
    }
    const double extreme = reaches[p] > 0.0 ? farthest : nearest;
    largest = std::max(largest, (extreme - near_d[p]) / reaches[p]);
  }
  return largest;
}

// --- Passes that look at few items ---
//
// Near pairs that share far places have one threshold and one weight. For one with level c =
// threshold + distance, far places at distances u < c - width have alpha = 1 and those at u > c
// have alpha = 0. They are stored in the order of their distances at the last reference. Running
// extremes over them tell, by bisection, up to where all are of the first kind and from where on
// all are of the second: the former need only their number and the sum of their distances (a
// difference of prefix sums), the latter nothing, and what is left in between is looked at item by
// item. The less the order has changed since, the less that is; with the right order it is the
// quadratic piece. So m near pairs and k far places cost O(k + m log k) and the items in between
// instead of m k, whatever their ranges.
//
// Dual variables are those of `loss_pass` item by item: no rounding error of the prefix sums enters
// them or their sums, only the value has one, and its bound is returned.

// Number of rows whose sums are added up separately, which keeps rounding errors small.
constexpr int64_t ROWS_PER_SUM = 1024;

// Near pairs from `first` to `last` whose ranges overlap, and the hull of their far places.
struct Run {
  int64_t first, last, begin, end;
};

// Find rows from `row` on where running extremes pay; no rows if there are none among the next.
inline Run next_run(Ranges start, Ranges stop, int64_t row, int64_t long_row, int64_t per_place) {
  int64_t first = row;
  while (first < start.size && first - row < ROWS_PER_SUM) {
    if (stop[first] - start[first] < long_row) {
      ++first;
      continue;
    }
    int64_t begin = start[first], end = stop[first], items = 0, last = first;
    while (last < start.size && start[last] < end && stop[last] > begin) {
      begin = std::min(begin, start[last]);
      end = std::max(end, stop[last]);
      const int64_t length = stop[last] - start[last];
      items += length >= long_row ? length : 0;
      ++last;
    }
    last = std::max(last, first + 1);
    if (items > per_place * (end - begin)) return {first, last, begin, end};
    first = last;
  }
  return {first, first, 0, 0};
}

// Losses of runs of near pairs by running extremes and prefix sums.
class SortedRows {
 public:
  SortedRows(int64_t n_rows, int64_t n_places)
      : firsts(new int64_t[n_rows]), lasts(new int64_t[n_rows]), highest(new double[n_places]),
        lowest(new double[n_places]), sums(new double[n_places + 1]),
        steps(new double[n_places + 1]) {}

  // The sum, and that of the largest numbers in the differences of prefix sums; fills row weights,
  // adds to those of far places, which count from `origin` on, where D begins.
  std::pair<double, double> losses(Ranges start, Ranges stop, int64_t origin,
                                   Array<const double> near, Array<const double> D,
                                   double threshold, double gamma, double most, Levels scales,
                                   Array<double> near_weights, Array<double> place_weights,
                                   int64_t long_row) {
    const double shift = running_extremes(D), width_inverse = 1.0 / gamma;
    // Without a largest dual variable no place is in a linear part.
    bisect(near, D.size, most < INF ? threshold - gamma : -INF, threshold);
    prefix_sums(D, shift);
    std::fill_n(steps.get(), D.size + 1, 0.0);
    CompensatedSum sum;
    double size = 0.0;
    for (int64_t p = 0; p < near.size; ++p) {
      const double level = threshold + near[p];
      int64_t begin = start[p] - origin, end = stop[p] - origin;
      double value = 0.0, weight = 0.0;
      if (end - begin >= long_row) {
        const int64_t first = std::min(std::max(firsts[p], begin), end);
        end = std::max(std::min(lasts[p], end), first);
        // Then all places before `first` are below the level, and so are the prefix sums' terms.
        if (first > begin) {
          steps[begin] += 1.0;
          steps[first] -= 1.0;
          weight = (double)(first - begin);
          // Not to be reordered: level and shift may be large and close.
          const double largest = weight * (level - shift);
          value = largest - (sums[first] - sums[begin]) - 0.5 * gamma * weight;
          size += scales[p] * (largest + sums[first]);
          begin = first;
        }
      }
      value += row_loss(level, D.data + begin, end - begin, gamma, width_inverse, most,
                        place_weights.data + begin, weight);
      near_weights[p] = weight;
      sum.add(scales[p] * value);
    }
    double count = 0.0;
    for (int64_t s = 0; s < D.size; ++s) {
      count += steps[s];
      place_weights[s] += count;
    }
    return {sum.total + sum.lost, size};
  }

 private:
  std::unique_ptr<int64_t[]> firsts, lasts;
  std::unique_ptr<double[]> highest, lowest, sums, steps;

  // Fill in the largest distance up to each place and the smallest from each place on.
  double running_extremes(Array<const double> D) {
    double extreme = -INF;
    for (int64_t s = 0; s < D.size; ++s) highest[s] = extreme = std::max(extreme, D[s]);
    extreme = INF;
    for (int64_t s = D.size - 1; s >= 0; --s) lowest[s] = extreme = std::min(extreme, D[s]);
    return extreme;
  }

  // For each row the first index of highest >= near + low and that of lowest > near + high.
  //
  // Both arrays ascend. All rows at once: bisection of one row alone waits for memory or for
  // mispredicted branches.
  void bisect(Array<const double> near, int64_t size, double low, double high) {
    const double *above = highest.get(), *below = lowest.get(), *row = near.data;
    int64_t *f = firsts.get(), *l = lasts.get();
    std::fill_n(f, near.size, 0);
    std::fill_n(l, near.size, 0);
    int64_t length = size;
    for (; length > 1; length -= length >> 1) {
      const int64_t half = length >> 1;
      for (int64_t p = 0; p < near.size; ++p) {
        f[p] += half * (above[f[p] + half - 1] < row[p] + low);
        l[p] += half * (below[l[p] + half - 1] <= row[p] + high);
      }
    }
    for (int64_t p = 0; p < near.size; ++p) {
      f[p] += above[f[p]] < row[p] + low;
      l[p] += below[l[p]] <= row[p] + high;
    }
  }

  // Fill in sums of D - shift >= 0 over all places before each; not to be reordered.
  void prefix_sums(Array<const double> D, double shift) {
    CompensatedSum sum;
    int64_t s = 0;
    while (s < D.size) {
      // Short sums have small rounding errors; the sum over them is compensated.
      const int64_t last = std::min(s + 8, D.size);
      double part = 0.0;
      for (; s < last; ++s) {
        sums[s] = sum.total + (sum.lost + part);
        part += D[s] - shift;
      }
      sum.add(part);
    }
    sums[s] = sum.total + sum.lost;
  }
};

// Like `loss_pass`; the value and a bound on its rounding error: 16 eps of the value, what sums of
// the longest row can lose, and what the prefix sums can add to it.
inline std::pair<double, double> sorted_loss_pass(
    Ranges start, Ranges stop, Array<const double> near_d, Array<const double> far_d,
    Levels thresholds, double gamma, double most, Levels scales, Array<double> near_weights,
    Array<double> place_weights, std::pair<int64_t, int64_t> sort_from) {
  expects_rows(start, stop, near_d, far_d, thresholds, scales, near_weights, place_weights);
  expects(
      0 <= sort_from.second && sort_from.second < MOST_ENTRIES / std::max<int64_t>(far_d.size, 1),
      "sort_from must hold numbers of places");
  CompensatedSum sum;
  double size = 0.0;
  std::unique_ptr<SortedRows> sorted;
  for (int64_t direct = 0; direct < near_d.size;) {
    const Run run = next_run(start, stop, direct, sort_from.first, sort_from.second);
    const int64_t first = run.first, last = run.last;
    sum.add(losses_of_rows(start.slice(direct, first), stop.slice(direct, first),
                           near_d.slice(direct, first), far_d, thresholds.slice(direct, first),
                           gamma, most, scales.slice(direct, first),
                           near_weights.slice(direct, first), place_weights));
    if (last > first) {
      if (!sorted) sorted.reset(new SortedRows(near_d.size, far_d.size));
      const auto [value, largest] = sorted->losses(
          start.slice(first, last), stop.slice(first, last), run.begin, near_d.slice(first, last),
          far_d.slice(run.begin, run.end), thresholds[first], gamma, most,
          scales.slice(first, last), near_weights.slice(first, last),
          place_weights.slice(run.begin, run.end), sort_from.first);
      sum.add(value);
      size += largest;
    }
    direct = last;
  }
  int64_t longest = 0;
  for (int64_t p = 0; p < start.size; ++p) longest = std::max(longest, stop[p] - start[p]);
  const double of_rows = 0.5 * static_cast<double>(longest / LANES);
  return {sum.total + sum.lost, EPS * (16.0 * (sum.total + size) + of_rows * sum.total)};
}

}  // namespace skscreen::metric_learning
