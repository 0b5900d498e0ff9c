// Passes over the cliques of label chains, for marginals of pairs of labels. See sequence/loops.py.
//
// A clique is a pair of neighbouring positions; it carries its step and the score on its right, the
// first one also that on its left. A chain of length one has one clique too, whose label on the
// right counts for nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/arrays.hpp"
#include "core/checks.hpp"
#include "sequence/chains.hpp"

namespace skscreen::sequence {

// A clique for each pair of neighbours, and one for a chain of length one; n positions.
inline void expects_cliques(Array<const int64_t> first, Array<const int64_t> first_cliques,
                            Array<const int64_t> codes, Array<const double> shares,
                            Array<const double> scales, int64_t n, int64_t m, int64_t cliques) {
  expects_chains(first, n);
  expects_starts("first_cliques", first_cliques, cliques);
  expects_sizes(first.size, "first_cliques", first_cliques);
  for (int64_t c = 0; c + 1 < first.size; ++c)
    expects(first_cliques[c + 1] - first_cliques[c] ==
                std::max<int64_t>(first[c + 1] - first[c] - 1, 1),
            "first_cliques must be those of first");
  expects(first.size > 0, "first must not be empty");
  expects_sizes(first.size - 1, "shares", shares);
  expects_sizes(n, "codes", codes);
  if (scales.size) expects_sizes(n, "scales", scales);
  expects_places("codes", codes, m);
}

// Fill `out` with loss + score of (i, j) - score of the true pair, times the chain's share.
//
// A wrong label has the loss of its position: on the right, in the first clique also on the left.
inline void clique_gains(Matrix<const double> U, Matrix<const double> E, Array<const int64_t> codes,
                         Array<const double> losses, Array<const double> shares,
                         Array<const double> scales, Array<const int64_t> first,
                         Array<const int64_t> first_cliques, Stack<double> out) {
  const int64_t m = E.rows;
  expects_scores(U, E, scales);
  expects_cliques(first, first_cliques, codes, shares, scales, U.rows, m, out.size);
  expects_sizes(U.rows, "losses", losses);
  expects_shape(m, m, "out", out);
  for (int64_t c = 0; c + 1 < first.size; ++c) {
    const int64_t start = first[c];
    const bool single = first[c + 1] - start == 1;
    const double share = shares[c];
    for (int64_t k = first_cliques[c]; k < first_cliques[c + 1]; ++k) {
      const int64_t t = start + k - first_cliques[c], y = codes[t];
      for (int64_t i = 0; i < m; ++i) {
        double* gains = out[k].row(i).data;
        double left = 0.0;
        if (t == start) left = U(t, i) - U(t, y) + (i != y ? losses[t] : 0.0);
        if (single) {
          std::fill_n(gains, m, share * left);
          continue;
        }
        const int64_t z = codes[t + 1];
        const double *scores = U.row(t + 1).data, *steps = E.row(i).data;
        const double score = scores[z], step = E(y, z), loss = losses[t + 1];
        const double scale = scales.size ? scales[t + 1] : 1.0;
#pragma omp simd
        for (int64_t j = 0; j < m; ++j) {
          const double gain = left + (scores[j] - score + scale * (steps[j] - step));
          gains[j] = share * (gain + (j != z ? loss : 0.0));
        }
      }
    }
  }
}

// Add to `nodes` and `edges` what true minus expected labels weigh: the adjoint of the scores.
inline void collect(Stack<const double> a, Array<const int64_t> codes, Array<const double> shares,
                    Array<const double> scales, Array<const int64_t> first,
                    Array<const int64_t> first_cliques, Matrix<double> nodes,
                    Matrix<double> edges) {
  const int64_t m = edges.rows;
  expects_shape(m, m, "edges", edges, "a", a);
  expects_shape(nodes.rows, m, "nodes", nodes);
  expects_cliques(first, first_cliques, codes, shares, scales, nodes.rows, m, a.size);
  for (int64_t c = 0; c + 1 < first.size; ++c) {
    const int64_t start = first[c];
    const bool single = first[c + 1] - start == 1;
    const double share = shares[c];
    for (int64_t k = first_cliques[c]; k < first_cliques[c + 1]; ++k) {
      const int64_t t = start + k - first_cliques[c], y = codes[t];
      const double scale = scales.size && !single ? scales[t + 1] : 1.0;
      double total = 0.0;
      for (int64_t i = 0; i < m; ++i) {
        const double* row = a[k].row(i).data;
        double sum = 0.0;
        if (single) {
          for (int64_t j = 0; j < m; ++j) sum += share * row[j];
        } else {
          double *right = nodes.row(t + 1).data, *step = edges.row(i).data;
#pragma omp simd reduction(+ : sum)
          for (int64_t j = 0; j < m; ++j) {
            const double value = share * row[j];
            sum += value;
            right[j] -= value;
            step[j] -= scale * value;
          }
        }
        total += sum;
        if (t == start) nodes(t, i) -= sum;
      }
      if (t == start) nodes(t, y) += total;
      if (!single) {
        nodes(t + 1, codes[t + 1]) += total;
        edges(y, codes[t + 1]) += scale * total;
      }
    }
  }
}

// The sum over chains of the largest sum of g along a labelling.
inline double best_sums(Stack<const double> g, Array<const int64_t> first_cliques) {
  const int64_t m = g.columns;
  expects(m > 0, "g must have labels");
  expects_shape(m, m, "g", g);
  expects_starts("first_cliques", first_cliques, g.size);
  std::vector<double> memory(2 * m);
  double total = 0.0, *best = memory.data(), *longer = best + m;
  for (int64_t c = 0; c + 1 < first_cliques.size; ++c) {
    std::fill_n(best, m, 0.0);
    for (int64_t k = first_cliques[c]; k < first_cliques[c + 1]; ++k) {
      for (int64_t i = 0; i < m; ++i) {
        const double *row = g[k].row(i).data, so_far = best[i];
        if (i == 0)
          for (int64_t j = 0; j < m; ++j) longer[j] = so_far + row[j];
        else
#pragma omp simd
          for (int64_t j = 0; j < m; ++j) longer[j] = std::max(longer[j], so_far + row[j]);
      }
      std::swap(best, longer);
    }
    total += *std::max_element(best, best + m);
  }
  return total;
}

}  // namespace skscreen::sequence
