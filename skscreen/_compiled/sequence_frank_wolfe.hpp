// Sweeps of block-coordinate Frank-Wolfe with a cache of labellings for each chain.
//
// The dual variables of a chain are shares alpha of a few labellings, those it has met. A visit to
// the chain finds the labelling of largest loss + score, adds it to the cache, and moves the shares
// until they nearly maximise the dual among the cached labellings: a quadratic programme over a
// simplex, whose matrix has the products of f(x, y_c) - f(x, y) between cached labellings.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "arrays.hpp"
#include "sequence.hpp"
#include "sequence_rows.hpp"

namespace skscreen {

// The chains: see sequence/chains.py.
struct ChainTask {
  ChainRows rows;
  Array<const int64_t> first, codes;
  Array<const double> shares, losses, scales;
  double lam;
};

// Labellings of chain c: see sequence/solvers/frank_wolfe_loops.py.
struct ChainCache {
  Array<const int64_t> room;
  Array<int64_t> count;
  Array<const int64_t> slot, label, square;
  Array<int32_t> labels;
  Array<double> alpha, loss, gram;
  Array<bool> full;

  // Labelling q of chain c.
  Array<int32_t> labelling(int64_t c, int64_t q, int64_t length) const {
    const int64_t start = label[c] + q * length;
    return labels.slice(start, start + length);
  }
};

class ChainSweep {
 public:
  ChainSweep(const ChainTask& task, const ChainCache& cache, Matrix<double> W, Matrix<double> E)
      : task(task), cache(cache), W(W), E(E), m(E.rows), longest(longest_chain(task.first)),
        space(longest, m), scores_(longest * m), changes_(longest * m), path_(longest),
        table_(W.rows * m), steps_(m * m) {
    int64_t most = 0;
    for (int64_t c = 0; c < cache.room.size; ++c) most = std::max(most, cache.room[c]);
    gains_.resize(most);
    old_.resize(most);
  }

  // Visit chains in an order; return the sum of the gaps that were found on the way.
  double run(Array<const int64_t> order, bool search) {
    double total = 0.0;
    for (int64_t k = 0; k < order.size; ++k)
      total += task.shares[order[k]] * visit(order[k], search);
    return total;
  }

 private:
  // A visit ends when the gap of its programme is this share of the gap at its start.
  static constexpr double INNER = 0.1;
  // Largest number of steps of a programme, for each labelling in it.
  static constexpr int64_t STEPS = 20;
  // Gains are differences of values; gains below this share of them count as rounding errors.
  static constexpr double ROUNDING = 1e-13;

  const ChainTask& task;
  const ChainCache& cache;
  Matrix<double> W, E;
  int64_t m, longest;
  // Work space; `table_` and `steps_` are zero between visits.
  PathSpace space;
  std::vector<double> scores_, changes_, gains_, old_;
  std::vector<int32_t> path_;
  std::vector<double> table_, steps_;

  // Improve the shares of one chain; return its gap before.
  double visit(int64_t c, bool search) {
    const int64_t begin = task.first[c], end = task.first[c + 1], length = end - begin;
    const int64_t slot = cache.slot[c];
    int64_t k = cache.count[c];
    const Matrix<double> U{scores_.data(), length, m};
    const auto truth = task.codes.slice(begin, end);
    row_scores(task.rows, begin, end, W, U);
    const auto scales = scales_of(task.scales, begin, end);
    const double level = path_score<int64_t>(U, E, truth, scales);
    double mean = 0.0, top = -std::numeric_limits<double>::infinity();
    for (int64_t q = 0; q < k; ++q) {
      gains_[q] = cache.loss[slot + q] - level;
      gains_[q] += path_score<int32_t>(U, E, cache.labelling(c, q, length), scales);
      mean += cache.alpha[slot + q] * gains_[q];
      top = std::max(top, gains_[q]);
    }
    if (search) {
      const Array<int32_t> path{path_.data(), length};
      const double value =
          best_path(U, E, truth, task.losses.slice(begin, end), scales, space, path) - level;
      if (value - top > ROUNDING * (std::abs(value) + std::abs(level))) {
        const int64_t q = free_slot(c, k);
        if (q >= 0) {
          insert(c, q);
          gains_[q] = value;
          k = cache.count[c];
        }
      }
      top = std::max(top, value);
    }
    if (top - mean > 0.0) {
      const auto alpha = cache.alpha.slice(slot, slot + k);
      std::copy_n(alpha.data, k, old_.data());
      const double scale = task.shares[c] / task.lam;
      const int64_t room = cache.room[c];
      if (maximise(alpha, {cache.gram.data + cache.square[c], room, room}, scale))
        apply(c, scale);
    }
    return top - mean;
  }

  // Return a slot for one more labelling: new, or that of the worst one without a share.
  int64_t free_slot(int64_t c, int64_t k) {
    if (k < cache.room[c]) {
      cache.count[c] = k + 1;
      return k;
    }
    int64_t found = -1;
    for (int64_t q = 0; q < k; ++q)
      if (cache.alpha[cache.slot[c] + q] == 0.0 && (found < 0 || gains_[q] < gains_[found]))
        found = q;
    if (found < 0) cache.full[c] = true;
    return found;
  }

  // Put the labelling of `path_` into a slot: its loss and its products with the others.
  void insert(int64_t c, int64_t q) {
    const int64_t begin = task.first[c], end = task.first[c + 1], length = end - begin;
    const auto truth = task.codes.slice(begin, end);
    const Matrix<double> changes{changes_.data(), length, m}, steps{steps_.data(), m, m};
    const auto mine = cache.labelling(c, q, length);
    const auto scales = scales_of(task.scales, begin, end);
    std::fill_n(changes.data, length * m, 0.0);
    double loss = 0.0;
    for (int64_t t = 0; t < length; ++t) {
      mine[t] = path_[t];
      if (mine[t] != truth[t]) loss += task.losses[begin + t];
      changes(t, truth[t]) += 1.0;
      changes(t, mine[t]) -= 1.0;
      if (t > 0) {
        const double scale = scales.size ? scales[t] : 1.0;
        steps(truth[t - 1], truth[t]) += scale;
        steps(mine[t - 1], mine[t]) -= scale;
      }
    }
    cache.loss[cache.slot[c] + q] = loss;
    cache.alpha[cache.slot[c] + q] = 0.0;
    const Matrix<double> U{scores_.data(), length, m}, table{table_.data(), W.rows, m};
    add_rows(task.rows, begin, end, changes, 1.0, table);
    row_scores(task.rows, begin, end, table, U);
    clear_rows(task.rows, begin, end, changes, table);
    const double level = path_score<int64_t>(U, steps, truth, scales);
    const int64_t room = cache.room[c];
    const Matrix<double> gram{cache.gram.data + cache.square[c], room, room};
    for (int64_t p = 0; p < cache.count[c]; ++p)
      gram(p, q) = gram(q, p) =
          level - path_score<int32_t>(U, steps, cache.labelling(c, p, length), scales);
    for (int64_t t = 1; t < length; ++t)
      steps(truth[t - 1], truth[t]) = steps(mine[t - 1], mine[t]) = 0.0;
  }

  // Move shares from the labelling of least gain to that of most; return whether any moved.
  bool maximise(Array<double> alpha, Matrix<const double> gram, double scale) {
    const int64_t k = alpha.size;
    double first = -1.0;
    for (int64_t step = 0; step < STEPS * k; ++step) {
      int64_t most = 0, least = -1;
      for (int64_t q = 0; q < k; ++q) {
        if (gains_[q] > gains_[most]) most = q;
        if (alpha[q] > 0.0 && (least < 0 || gains_[q] < gains_[least])) least = q;
      }
      const double gap = gains_[most] - gains_[least];
      if (first < 0.0) first = gap;
      if (gap <= INNER * first && (step > 0 || gap <= 0.0)) return step > 0;
      const double curvature =
          scale * (gram(most, most) + gram(least, least) - 2.0 * gram(most, least));
      double moved = alpha[least];
      if (moved * curvature > gap) {
        moved = gap / curvature;
        alpha[least] -= moved;
      } else {
        alpha[least] = 0.0;
      }
      alpha[most] += moved;
      // The matrix is symmetric.
      const double *up = gram.row(most).data, *down = gram.row(least).data;
      for (int64_t q = 0; q < k; ++q) gains_[q] -= scale * moved * (up[q] - down[q]);
    }
    return true;
  }

  // Change the weights by what the shares have changed.
  void apply(int64_t c, double scale) {
    const int64_t begin = task.first[c], end = task.first[c + 1], length = end - begin;
    const auto truth = task.codes.slice(begin, end);
    const Matrix<double> changes{changes_.data(), length, m};
    const auto scales = scales_of(task.scales, begin, end);
    std::fill_n(changes.data, length * m, 0.0);
    for (int64_t q = 0; q < cache.count[c]; ++q) {
      const double moved = cache.alpha[cache.slot[c] + q] - old_[q];
      if (moved == 0.0) continue;
      const auto mine = cache.labelling(c, q, length);
      for (int64_t t = 0; t < length; ++t) {
        if (mine[t] != truth[t]) {
          changes(t, mine[t]) -= moved;
          changes(t, truth[t]) += moved;
        }
        if (t > 0) {
          const double change = scale * moved * (scales.size ? scales[t] : 1.0);
          E(mine[t - 1], mine[t]) -= change;
          E(truth[t - 1], truth[t]) += change;
        }
      }
    }
    add_rows(task.rows, begin, end, changes, scale, W);
  }
};

// Fill with what true minus expected labels and steps weigh; return the expected loss.
//
// Shares are brought to sum one, which rounding errors may have moved.
inline double mixture(const ChainTask& task, const ChainCache& cache, Matrix<double> nodes,
                      Matrix<double> edges) {
  double expected = 0.0;
  for (int64_t c = 0; c < task.shares.size; ++c) {
    const int64_t begin = task.first[c], end = task.first[c + 1], slot = cache.slot[c];
    const auto truth = task.codes.slice(begin, end);
    const auto alpha = cache.alpha.slice(slot, slot + cache.count[c]);
    double sum = 0.0;
    for (int64_t q = 0; q < alpha.size; ++q) sum += alpha[q];
    for (int64_t q = 0; q < alpha.size; ++q) {
      alpha[q] /= sum;
      const double weight = task.shares[c] * alpha[q];
      if (weight == 0.0) continue;
      expected += weight * cache.loss[slot + q];
      const auto mine = cache.labelling(c, q, end - begin);
      for (int64_t t = 0; t < end - begin; ++t) {
        nodes(begin + t, mine[t]) -= weight;
        nodes(begin + t, truth[t]) += weight;
        if (t > 0) {
          const double step = task.scales.size ? weight * task.scales[begin + t] : weight;
          edges(mine[t - 1], mine[t]) -= step;
          edges(truth[t - 1], truth[t]) += step;
        }
      }
    }
  }
  return expected;
}

// Fill a cache that has more room.
inline void copy_cache(const ChainCache& old, const ChainCache& wide,
                       Array<const int64_t> lengths) {
  const auto copy = [](auto source, int64_t from, auto target, int64_t to, int64_t size) {
    const auto part = source.slice(from, from + size);
    std::copy_n(part.data, size, target.slice(to, to + size).data);
  };
  for (int64_t c = 0; c < lengths.size; ++c) {
    const int64_t k = old.count[c];
    wide.count[c] = k;
    copy(old.alpha, old.slot[c], wide.alpha, wide.slot[c], k);
    copy(old.loss, old.slot[c], wide.loss, wide.slot[c], k);
    copy(old.labels, old.label[c], wide.labels, wide.label[c], k * lengths[c]);
    for (int64_t p = 0; p < k; ++p)
      copy(old.gram, old.square[c] + p * old.room[c], wide.gram,
           wide.square[c] + p * wide.room[c], k);
  }
}

}  // namespace skscreen
