// Passes over label chains: the best labelling, expectations. See sequence/loops.py.
//
// Position t of a chain has a score U(t, j) for label j, a step from label i to label j the score
// E(i, j); the score of a labelling is the sum of both along it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/arrays.hpp"
#include "core/checks.hpp"

namespace skscreen::sequence {

// Scores of a position, or of steps, that differ by more than this need logarithms: up to this,
// exponentials of differences, and products of three of them, are normal numbers.
constexpr double SPREAD = 200.0;
// Logarithm of the factor by which negligible terms of a sum are smaller than the largest.
constexpr double NEGLIGIBLE = 45.0;

// The chains of a stack: chain c has the positions starts[c] to starts[c + 1] - 1.
inline int64_t longest_chain(Array<const int64_t> starts) {
  int64_t longest = 0;
  for (int64_t c = 0; c + 1 < starts.size; ++c)
    longest = std::max(longest, starts[c + 1] - starts[c]);
  return longest;
}

// Chains of at least one position each, of `size` in all.
inline void expects_chains(Array<const int64_t> starts, int64_t size) {
  expects_starts("starts", starts, size);
  for (int64_t c = 0; c + 1 < starts.size; ++c)
    expects(starts[c] < starts[c + 1], "starts must leave a position to each chain");
}

// Scores of positions and of steps, and the scales of steps, which are none where all are one.
inline void expects_scores(Matrix<const double> U, Matrix<const double> E,
                           Array<const double> scales) {
  expects(E.rows > 0 && E.rows < MOST_ENTRIES / std::max<int64_t>(U.rows, 1),
          "E must have a row for each label");
  expects_shape(E.rows, E.rows, "E", E);
  expects_shape(U.rows, E.rows, "U", U);
  if (scales.size) expects_sizes(U.rows, "scales", scales);
}

// Rows first, ..., last - 1.
template <class T>
Matrix<T> rows_of(Matrix<T> matrix, int64_t first, int64_t last) {
  return {matrix.data + first * matrix.columns, last - first, matrix.columns};
}

struct Ends {
  double low, high;
};

// The smallest and the largest entry; NaN if there is one.
inline Ends ends_of(Array<const double> values) {
  const double *v = values.data, some = values[0];
  double low = some, high = some, sum = 0.0;
#pragma omp simd reduction(min : low) reduction(max : high) reduction(+ : sum)
  for (int64_t k = 0; k < values.size; ++k) {
    low = std::min(low, v[k]);
    high = std::max(high, v[k]);
    sum += v[k];
  }
  return sum == sum ? Ends{low, high} : Ends{sum, sum};
}

// Whether entries are near enough for exponentials of differences; not for NaN.
inline bool are_near(Array<const double> values) {
  const Ends ends = ends_of(values);
  return ends.high - ends.low <= SPREAD;
}

// The scales of the steps into the positions of a part; no entries where all are one.
inline Array<const double> scales_of(Array<const double> scales, int64_t first, int64_t last) {
  return scales.size ? scales.slice(first, last) : scales;
}

// The scores of the steps into position t: E itself, or a scaled copy in `space`.
inline Matrix<const double> steps_into(int64_t t, Matrix<const double> E,
                                       Array<const double> scales, std::vector<double>& space) {
  if (!scales.size || scales[t] == 1.0) return E;
  space.resize(E.rows * E.columns);
  for (int64_t k = 0; k < E.rows * E.columns; ++k) space[k] = scales[t] * E.data[k];
  return {space.data(), E.rows, E.columns};
}

// Work space of `best_path`, for chains of some length.
struct PathSpace {
  int64_t m;
  std::vector<double> best, scaled;
  std::vector<int32_t> back;

  PathSpace(int64_t longest, int64_t m) : m(m), best(2 * m), back(longest * m) {}
};

// Fill `out` with the labelling of largest loss + score (Viterbi).
//
// A label that differs from `truth` loses `losses` of its position.
inline void best_path(Matrix<const double> U, Matrix<const double> E, Array<const int64_t> truth,
                      Array<const double> losses, Array<const double> scales, PathSpace& space,
                      Array<int32_t> out) {
  const int64_t m = E.rows, length = U.rows;
  double *now = space.best.data(), *then = now + m;
  for (int64_t j = 0; j < m; ++j) now[j] = U(0, j) + losses[0];
  now[truth[0]] -= losses[0];
  for (int64_t t = 1; t < length; ++t) {
    int32_t* source = space.back.data() + t * m;
    const Matrix<const double> table = steps_into(t, E, scales, space.scaled);
    const double* steps = table.row(0).data;
    double so_far = now[0];
    for (int64_t j = 0; j < m; ++j) {
      then[j] = so_far + steps[j];
      source[j] = 0;
    }
    for (int64_t i = 1; i < m; ++i) {
      so_far = now[i];
      steps = table.row(i).data;
      const int32_t label = (int32_t)i;
#pragma omp simd
      for (int64_t j = 0; j < m; ++j) {
        const double total = so_far + steps[j];
        source[j] = total > then[j] ? label : source[j];
        then[j] = total > then[j] ? total : then[j];
      }
    }
    const double *scores = U.row(t).data, loss = losses[t];
#pragma omp simd
    for (int64_t j = 0; j < m; ++j) then[j] += scores[j] + loss;
    then[truth[t]] -= loss;
    std::swap(now, then);
  }
  int32_t label = 0;
  for (int64_t j = 1; j < m; ++j)
    if (now[j] > now[label]) label = (int32_t)j;
  for (int64_t t = length - 1; t >= 0; --t) {
    out[t] = label;
    if (t > 0) label = space.back[t * m + label];
  }
}

inline void best_labels(Matrix<const double> U, Matrix<const double> E, Array<const int64_t> starts,
                        Array<const int64_t> truth, Array<const double> losses,
                        Array<const double> scales, Array<int32_t> out) {
  expects_scores(U, E, scales);
  expects_chains(starts, U.rows);
  expects_sizes(U.rows, "truth", truth, "losses", losses, "out", out);
  expects_places("truth", truth, E.rows);
  PathSpace space(longest_chain(starts), E.rows);
  for (int64_t c = 0; c + 1 < starts.size; ++c) {
    const int64_t start = starts[c], end = starts[c + 1];
    best_path(rows_of(U, start, end), E, truth.slice(start, end), losses.slice(start, end),
              scales_of(scales, start, end), space, out.slice(start, end));
  }
}

// Fill `nodes` and add to `counts` what expected steps are, over `factors` = exp(E - largest).
//
// Sums of products, scaled to one at each position: no logarithms inside.
inline double scaled_sums(Matrix<const double> U, Matrix<const double> factors, double weight,
                          Matrix<double> nodes, Matrix<double> counts, Matrix<double> forward,
                          Matrix<double> backward) {
  const int64_t m = factors.rows, length = U.rows;
  double total = 0.0;
  for (int64_t t = 0; t < length; ++t) {
    const double top = ends_of(U.row(t)).high, *scores = U.row(t).data;
    double *now = forward.row(t).data, *node = nodes.row(t).data, whole = 0.0;
    if (t == 0) {
      std::fill_n(now, m, 1.0);
    } else {
      std::fill_n(now, m, 0.0);
      const double* before = forward.row(t - 1).data;
      int64_t i = 0;
      for (; i + 4 <= m; i += 4) {  // to read and write sums less
        const double *a = factors.row(i).data, *b = a + m, *c = b + m, *d = c + m;
        const double p = before[i], q = before[i + 1], r = before[i + 2], s = before[i + 3];
#pragma omp simd
        for (int64_t j = 0; j < m; ++j) now[j] += (p * a[j] + q * b[j]) + (r * c[j] + s * d[j]);
      }
      for (; i < m; ++i) {
        const double share = before[i], *factor = factors.row(i).data;
#pragma omp simd
        for (int64_t j = 0; j < m; ++j) now[j] += share * factor[j];
      }
    }
    for (int64_t j = 0; j < m; ++j) node[j] = std::exp(scores[j] - top);
#pragma omp simd reduction(+ : whole)
    for (int64_t j = 0; j < m; ++j) {
      now[j] *= node[j];
      whole += now[j];
    }
    total += top + std::log(whole);
#pragma omp simd
    for (int64_t j = 0; j < m; ++j) {
      now[j] /= whole;
      node[j] /= whole;
    }
  }
  std::fill_n(backward.row(length - 1).data, m, 1.0);
  for (int64_t t = length - 1; t > 0; --t) {
    const double *later = backward.row(t).data, *now = forward.row(t).data;
    double* node = nodes.row(t).data;
    // exp(score) times the sum over what follows, over the scale of the position.
#pragma omp simd
    for (int64_t j = 0; j < m; ++j) node[j] *= later[j];
    const double* before = forward.row(t - 1).data;
    double* sums = backward.row(t - 1).data;
    int64_t i = 0;
    for (; i + 2 <= m; i += 2) {
      const double p = weight * before[i], q = weight * before[i + 1];
      const double *a = factors.row(i).data, *b = a + m;
      double *count = counts.row(i).data, *other = count + m, sum = 0.0, more = 0.0;
#pragma omp simd reduction(+ : sum, more)
      for (int64_t j = 0; j < m; ++j) {
        sum += a[j] * node[j];
        more += b[j] * node[j];
        count[j] += p * node[j];
        other[j] += q * node[j];
      }
      sums[i] = sum;
      sums[i + 1] = more;
    }
    for (; i < m; ++i) {
      const double share = weight * before[i], *factor = factors.row(i).data;
      double *count = counts.row(i).data, sum = 0.0;
#pragma omp simd reduction(+ : sum)
      for (int64_t j = 0; j < m; ++j) {
        sum += factor[j] * node[j];
        count[j] += share * node[j];
      }
      sums[i] = sum;
    }
#pragma omp simd
    for (int64_t j = 0; j < m; ++j) node[j] = now[j] * later[j];
  }
  for (int64_t j = 0; j < m; ++j) nodes(0, j) = forward(0, j) * backward(0, j);
  return total;
}

// log sum exp; terms that are negligible next to the largest are left out.
inline double log_sum(Array<const double> values) {
  const double top = ends_of(values).high;
  double total = 0.0;
  for (int64_t k = 0; k < values.size; ++k)
    if (values[k] > top - NEGLIGIBLE) total += std::exp(values[k] - top);
  return top + std::log(total);
}

// The same as `scaled_sums` with logarithms, for scores of any size; adds to `edges` itself.
inline double log_sums_of(Matrix<const double> U, Matrix<const double> E,
                          Array<const double> scales, double weight, Matrix<double> nodes,
                          Matrix<double> edges, Matrix<double> forward, Matrix<double> backward) {
  const int64_t m = E.rows, length = U.rows;
  const auto scale = [&](int64_t t) { return scales.size ? scales[t] : 1.0; };
  std::vector<double> terms(m), transposed(m * m);
  const Array<double> work{terms.data(), m};
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < m; ++j) transposed[j * m + i] = E(i, j);
  for (int64_t j = 0; j < m; ++j) {
    backward(length - 1, j) = 0.0;
    forward(0, j) = U(0, j);
  }
  for (int64_t t = 1; t < length; ++t)
    for (int64_t j = 0; j < m; ++j) {
      const double *before = forward.row(t - 1).data, *steps = transposed.data() + j * m;
      for (int64_t i = 0; i < m; ++i) work[i] = before[i] + scale(t) * steps[i];
      forward(t, j) = U(t, j) + log_sum(work);
    }
  for (int64_t t = length - 2; t >= 0; --t)
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < m; ++j)
        work[j] = scale(t + 1) * E(i, j) + U(t + 1, j) + backward(t + 1, j);
      backward(t, i) = log_sum(work);
    }
  const double whole = log_sum(forward.row(length - 1));
  for (int64_t t = 0; t < length; ++t)
    for (int64_t j = 0; j < m; ++j) {
      nodes(t, j) = std::exp(forward(t, j) + backward(t, j) - whole);
      if (t == 0 || !(nodes(t, j) > 0.0)) continue;
      const double rest = U(t, j) + backward(t, j) - whole;
      for (int64_t i = 0; i < m; ++i) {
        const double share = forward(t - 1, i) + scale(t) * transposed[j * m + i] + rest;
        if (share > -NEGLIGIBLE) edges(i, j) += weight * scale(t) * std::exp(share);
      }
    }
  return whole;
}

// Probabilities of labels into `nodes`, expected steps of chains times `weights` onto `edges`.
inline void expectations(Matrix<const double> U, Matrix<const double> E,
                         Array<const int64_t> starts, Matrix<double> nodes, Matrix<double> edges,
                         Array<double> log_sums, Array<const double> weights,
                         Array<const double> scales) {
  expects_scores(U, E, scales);
  expects_chains(starts, U.rows);
  expects_shape(U.rows, E.rows, "nodes", nodes);
  expects_shape(E.rows, E.rows, "edges", edges);
  expects(starts.size > 0, "starts must not be empty");
  expects_sizes(starts.size - 1, "log_sums", log_sums, "weights", weights);
  const int64_t m = E.rows, longest = longest_chain(starts);
  const Array<const double> all{E.data, m * m};
  const double top = ends_of(all).high;
  std::vector<double> factors(m * m), counts(m * m), memory(2 * longest * m);
  for (int64_t k = 0; k < m * m; ++k) factors[k] = std::exp(E.data[k] - top);
  const Matrix<const double> F{factors.data(), m, m};
  const Matrix<double> forward{memory.data(), longest, m};
  const Matrix<double> backward{memory.data() + longest * m, longest, m};
  const bool narrow = !scales.size && are_near(all);
  for (int64_t c = 0; c + 1 < starts.size; ++c) {
    const auto part = rows_of(U, starts[c], starts[c + 1]);
    const auto labels = rows_of(nodes, starts[c], starts[c + 1]);
    bool scaled = narrow;
    for (int64_t t = 0; t < part.rows && scaled; ++t) scaled = are_near(part.row(t));
    if (scaled)
      log_sums[c] = (part.rows - 1) * top + scaled_sums(part, F, weights[c], labels,
                                                        {counts.data(), m, m}, forward, backward);
    else
      log_sums[c] = log_sums_of(part, E, scales_of(scales, starts[c], starts[c + 1]), weights[c],
                                labels, edges, forward, backward);
  }
  for (int64_t k = 0; k < m * m; ++k) edges.data[k] += counts[k] * factors[k];
}

}  // namespace skscreen::sequence
