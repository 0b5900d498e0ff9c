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

#include "core/arrays.hpp"
#include "core/checks.hpp"
#include "sequence/chains.hpp"
#include "sequence/rows.hpp"

namespace skscreen::sequence {

// The chains: see sequence/chains.py.
struct ChainTask {
  ChainRows rows;
  Array<const int64_t> starts, codes;
  Array<const double> shares, losses, scales;
  double lam;

  int64_t chains() const { return shares.size; }

  // Chains of m labels.
  void check(int64_t m) const {
    const int64_t n = codes.size;
    expects_chains(starts, n);
    expects_sizes(chains() + 1, "starts", starts);
    expects_sizes(n, "losses", losses);
    if (scales.size) expects_sizes(n, "scales", scales);
    expects_places("codes", codes, m);
    expects(rows.has(n), "rows must have one for each position");
  }
};

// Labellings of a chain beyond which their number is wrong, or its square overflows.
constexpr int64_t MOST_ROOM = int64_t(1) << 23;

// Labellings of chain c: see sequence/solvers/frank_wolfe.py.
struct ChainCache {
  Array<const int64_t> room;
  Array<int64_t> count;
  Array<const int64_t> slot, label, square;
  Array<int32_t> labels;
  Array<double> alpha, loss, gram;
  Array<bool> full;

  // A cache of n chains: `slot`, `label` and `square` have their ends too.
  void check(int64_t n) const {
    expects_sizes(n, "room", room, "count", count, "full", full);
    expects_sizes(n + 1, "slot", slot, "label", label, "square", square);
    expects_sizes(alpha.size, "loss", loss);
    for (int64_t c = 0; c < n; ++c)
      expects(0 < room[c] && room[c] <= std::min(alpha.size, MOST_ROOM),
              "room must be inside of alpha");
  }

  // The room of chain c, and its labellings.
  void check(int64_t c, int64_t length, int64_t m) const {
    const int64_t k = room[c];
    expects(0 <= count[c] && count[c] <= k, "count must fit into room");
    expects(0 <= slot[c] && slot[c] <= alpha.size - k, "slot must leave room in alpha");
    expects(0 <= length && length < MOST_ENTRIES / k && 0 <= label[c] &&
                label[c] <= labels.size - k * length,
            "label must leave room in labels");
    expects(0 <= square[c] && square[c] <= gram.size - k * k, "square must leave room in gram");
    expects_places("labels", labels.slice(label[c], label[c] + count[c] * length), m);
  }

  // Labelling q of chain c.
  Array<int32_t> labelling(int64_t c, int64_t q, int64_t length) const {
    const int64_t start = label[c] + q * length;
    return labels.slice(start, start + length);
  }
};

// Positions of one chain.
struct ChainPart {
  int64_t begin, length;
  Array<const int64_t> truth;
  Array<const double> losses, scales;

  ChainPart(const ChainTask& task, int64_t c)
      : begin(task.starts[c]), length(task.starts[c + 1] - begin),
        truth(task.codes.slice(begin, begin + length)),
        losses(task.losses.slice(begin, begin + length)),
        scales(scales_of(task.scales, begin, begin + length)) {}

  double scale(int64_t t) const { return scales.size ? scales[t] : 1.0; }
  // Whether the step into position t > 0 is another one than the true one.
  bool other_step(Array<const int32_t> labels, int64_t t) const {
    return labels[t] != truth[t] || labels[t - 1] != truth[t - 1];
  }
  double loss(Array<const int32_t> labels) const {
    double total = 0.0;
    for (int64_t t = 0; t < length; ++t)
      if (labels[t] != truth[t]) total += losses[t];
    return total;
  }
};

// Scores of labels at the positions of a chain, computed when they are asked for: cached labellings
// differ from the true one at some positions, and have few of all labels there.
class ChainScores {
 public:
  ChainScores(const ChainRows& rows, Matrix<const double> W, Matrix<const double> E,
              int64_t longest)
      : rows(rows), W(W), E(E), m(E.rows), values_(longest * m), known_(longest * m) {}

  // Forget all, before another chain or after a change of weights.
  void begin(const ChainPart& part) { std::fill_n(known_.data(), part.length * m, 0); }

  // The scores of all labels.
  Matrix<const double> all(const ChainPart& part) {
    const Matrix<double> values{values_.data(), part.length, m};
    for (int64_t t = 0; t < part.length; ++t) rows.dots(part.begin + t, W, values.row(t));
    std::fill_n(known_.data(), part.length * m, 1);
    return values;
  }

  // The score of a labelling minus that of the true one.
  double difference(const ChainPart& part, Array<const int32_t> labels) {
    double total = 0.0;
    for (int64_t t = 0; t < part.length; ++t) {
      if (labels[t] != part.truth[t]) total += at(part, t, labels[t]) - at(part, t, part.truth[t]);
      if (t > 0 && part.other_step(labels, t))
        total +=
            part.scale(t) * (E(labels[t - 1], labels[t]) - E(part.truth[t - 1], part.truth[t]));
    }
    return total;
  }

 private:
  const ChainRows& rows;
  Matrix<const double> W, E;
  int64_t m;
  std::vector<double> values_;
  std::vector<char> known_;

  double at(const ChainPart& part, int64_t t, int64_t j) {
    const int64_t k = t * m + j;
    if (!known_[k]) {
      values_[k] = rows.dot(part.begin + t, W, j);
      known_[k] = 1;
    }
    return values_[k];
  }
};

class ChainSweep {
 public:
  // With `search` each visit looks for a labelling that is not cached.
  ChainSweep(const ChainTask& task, const ChainCache& cache, Matrix<double> W, Matrix<double> E,
             bool search)
      : task(task), cache(cache), W(W), E(E), search(search), m(E.rows),
        longest(longest_chain(task.starts)), space(longest, m), path_(longest),
        changes_(longest * m), table_(search ? W.rows * W.columns : 0), steps_(m * m),
        scores_(task.rows, W, E, longest),
        products_(task.rows, {table_.data(), W.rows, W.columns}, {steps_.data(), m, m}, longest) {
    int64_t most = 0;
    for (int64_t c = 0; c < cache.room.size; ++c) most = std::max(most, cache.room[c]);
    gains_.resize(most);
    old_.resize(most);
  }

  // Visit chains in an order; `gaps` become what was found on the way, times their shares.
  void run(Array<const int64_t> order, Array<double> gaps) {
    expects_sizes(task.chains(), "gaps", gaps);
    expects_places("order", order, task.chains());
    for (int64_t k = 0; k < order.size; ++k)
      cache.check(order[k], task.starts[order[k] + 1] - task.starts[order[k]], m);
    for (int64_t k = 0; k < order.size; ++k)
      gaps[order[k]] = task.shares[order[k]] * visit(order[k]);
  }

 private:
  // A visit ends when the gap of its programme is this share of the gap at its start.
  static constexpr double INNER = 0.1;
  // Largest number of steps of a programme, for each labelling in it.
  static constexpr int64_t STEPS = 20;

  const ChainTask& task;
  const ChainCache& cache;
  Matrix<double> W, E;
  bool search;
  int64_t m, longest;
  // Work space; `changes_`, `table_` and `steps_` are zero between visits.
  PathSpace space;
  std::vector<int32_t> path_;
  std::vector<double> gains_, old_, changes_, table_, steps_;
  ChainScores scores_, products_;

  // Improve the shares of one chain; return its gap before.
  double visit(int64_t c) {
    const ChainPart part(task, c);
    const int64_t slot = cache.slot[c];
    int64_t k = cache.count[c];
    scores_.begin(part);
    double mean = 0.0, top = -std::numeric_limits<double>::infinity();
    for (int64_t q = 0; q < k; ++q) {
      gains_[q] = cache.loss[slot + q];
      gains_[q] += scores_.difference(part, cache.labelling(c, q, part.length));
      mean += cache.alpha[slot + q] * gains_[q];
      top = std::max(top, gains_[q]);
    }
    if (search) {
      const Array<int32_t> path{path_.data(), part.length};
      best_path(scores_.all(part), E, part.truth, part.losses, part.scales, space, path);
      // As the other gains are computed: a labelling that is cached has the gain it has there.
      const double value = part.loss(path) + scores_.difference(part, path);
      if (value > top) {
        const int64_t q = free_slot(c, k);
        if (q >= 0) {
          insert(c, q, part);
          gains_[q] = value;
          k = cache.count[c];
        }
        top = value;
      }
    }
    if (top - mean > 0.0) {
      const auto alpha = cache.alpha.slice(slot, slot + k);
      std::copy_n(alpha.data, k, old_.data());
      const double scale = task.shares[c] / task.lam;
      const int64_t room = cache.room[c];
      if (maximise(alpha, {cache.gram.data + cache.square[c], room, room}, scale))
        apply(c, scale, part);
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
  void insert(int64_t c, int64_t q, const ChainPart& part) {
    const auto mine = cache.labelling(c, q, part.length);
    std::copy_n(path_.data(), part.length, mine.data);
    cache.loss[cache.slot[c] + q] = part.loss(mine);
    cache.alpha[cache.slot[c] + q] = 0.0;
    const Matrix<double> table{table_.data(), W.rows, W.columns}, steps{steps_.data(), m, m};
    for (int64_t t = 0; t < part.length; ++t)
      if (mine[t] != part.truth[t]) {
        task.rows.add(part.begin + t, 1.0, table, part.truth[t]);
        task.rows.add(part.begin + t, -1.0, table, mine[t]);
      }
    move_steps(part, mine, 1.0, steps);
    products_.begin(part);
    const int64_t room = cache.room[c];
    const Matrix<double> gram{cache.gram.data + cache.square[c], room, room};
    for (int64_t p = 0; p < cache.count[c]; ++p)
      gram(p, q) = gram(q, p) = -products_.difference(part, cache.labelling(c, p, part.length));
    for (int64_t t = 0; t < part.length; ++t) {
      if (mine[t] != part.truth[t]) {
        task.rows.clear(part.begin + t, table, part.truth[t]);
        task.rows.clear(part.begin + t, table, mine[t]);
      }
      if (t > 0) steps(part.truth[t - 1], part.truth[t]) = steps(mine[t - 1], mine[t]) = 0.0;
    }
  }

  // Add `amount` of the true steps minus those of a labelling.
  void move_steps(const ChainPart& part, Array<const int32_t> labels, double amount,
                  Matrix<double> steps) {
    for (int64_t t = 1; t < part.length; ++t)
      if (part.other_step(labels, t)) {
        steps(part.truth[t - 1], part.truth[t]) += amount * part.scale(t);
        steps(labels[t - 1], labels[t]) -= amount * part.scale(t);
      }
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
      if (least < 0) return step > 0;  // no shares to move: they are NaN, or add up to 0
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
  void apply(int64_t c, double scale, const ChainPart& part) {
    const Matrix<double> changes{changes_.data(), part.length, m};
    const auto each_other = [&](auto act) {
      for (int64_t q = 0; q < cache.count[c]; ++q) {
        const double moved = scale * (cache.alpha[cache.slot[c] + q] - old_[q]);
        if (moved != 0.0) act(moved, cache.labelling(c, q, part.length));
      }
    };
    each_other([&](double moved, Array<const int32_t> mine) {
      move_steps(part, mine, moved, E);
      for (int64_t t = 0; t < part.length; ++t)
        if (mine[t] != part.truth[t]) {
          changes(t, part.truth[t]) += moved;
          changes(t, mine[t]) -= moved;
        }
    });
    const auto take = [&](int64_t t, int64_t j) {
      if (changes(t, j) == 0.0) return;
      task.rows.add(part.begin + t, changes(t, j), W, j);
      changes(t, j) = 0.0;
    };
    each_other([&](double, Array<const int32_t> mine) {
      for (int64_t t = 0; t < part.length; ++t)
        if (mine[t] != part.truth[t]) {
          take(t, part.truth[t]);
          take(t, mine[t]);
        }
    });
  }
};

// Fill with what true minus expected labels and steps weigh; return the expected loss.
//
// Shares are brought to sum one, which rounding errors may have moved.
inline double mixture(const ChainTask& task, const ChainCache& cache, Matrix<double> nodes,
                      Matrix<double> edges) {
  const int64_t m = edges.rows;
  expects_shape(m, m, "edges", edges);
  expects_shape(task.codes.size, m, "nodes", nodes);
  task.check(m);
  cache.check(task.chains());
  double expected = 0.0;
  for (int64_t c = 0; c < task.shares.size; ++c) {
    cache.check(c, task.starts[c + 1] - task.starts[c], m);
    const int64_t begin = task.starts[c], end = task.starts[c + 1], slot = cache.slot[c];
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
  old.check(lengths.size);
  wide.check(lengths.size);
  for (int64_t c = 0; c < lengths.size; ++c) {
    old.check(c, lengths[c], std::numeric_limits<int32_t>::max());
    expects(old.room[c] <= wide.room[c], "wide must have no less room");
    wide.count[c] = 0;
    wide.check(c, lengths[c], 1);
  }
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
      copy(old.gram, old.square[c] + p * old.room[c], wide.gram, wide.square[c] + p * wide.room[c],
           k);
  }
}

}  // namespace skscreen::sequence
