// The weighted log-likelihood of label chains and its gradient. See sequence/likelihood.py.
//
// p(y_t = j | y_{t-1} = i) is proportional to exp(x_t(j) + r_t E(i, j)), with
// x_t(j) = U(t, j) + later(t, j) / k_t, r_t = s_t / k_t, s_t the scale of the step and k_t > 0 the
// weight of the position; later(t - 1, i) is k_t times the logarithm of the sum over j.
#pragma once

#include "core/sums.hpp"
#include "sequence/chains.hpp"

namespace skscreen::sequence {

// Sums of products below this may have lost terms, and are summed by logarithms.
constexpr double LEAST_SUM = 1e-200;

class WeightedLikelihood {
 public:
  // `table` has the place of r_t in `ratios` for each position, -1 where it has none.
  WeightedLikelihood(Matrix<const double> U, Matrix<const double> E, Array<const double> weights,
                     Array<const double> scales, Array<const int64_t> table,
                     Array<const double> ratios, int64_t longest)
      : U(U), E(E), weights(weights), scales(scales), table(table), m(E.rows), tops(m), terms(m),
        mass(m), next(m), factors(ratios.size * m * m), counts(ratios.size * m * m),
        memory(3 * longest * m), later{memory.data(), longest, m},
        products{memory.data() + longest * m, longest, m},
        sums{memory.data() + 2 * longest * m, longest, m} {
    for (int64_t i = 0; i < m; ++i) tops[i] = ends_of(E.row(i)).high;
    double* factor = factors.data();
    for (int64_t r = 0; r < ratios.size; ++r)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < m; ++j) *factor++ = std::exp(ratios[r] * (E(i, j) - tops[i]));
  }

  // Return the value of the positions start, ..., end - 1; add the gradient times `share`.
  double add(int64_t start, int64_t end, Array<const int64_t> truth, double share,
             Matrix<double> nodes, Matrix<double> edges) {
    std::fill_n(later.row(end - start - 1).data, m, 0.0);
    for (int64_t t = end - 1; t > start; --t) step_back(t, t - start);
    double total = begin(start, truth[start]);
    for (int64_t t = start; t < end; ++t) {
      if (t > start) total += step_on(t, t - start, truth[t - 1], truth[t], share, edges);
      for (int64_t j = 0; j < m; ++j) nodes(t, j) = -share * weights[t] * mass[j];
      nodes(t, truth[t]) += share * weights[t];
    }
    return total;
  }

  // Subtract from `edges` the expected steps that were counted over `factors`.
  void finish(Matrix<double> edges) const {
    for (size_t k = 0; k < counts.size(); ++k) edges.data[k % (m * m)] -= counts[k] * factors[k];
  }

 private:
  double ratio(int64_t t) const { return scales[t] / weights[t]; }

  double score(int64_t t, int64_t place, int64_t j) const {
    return U(t, j) + later(place, j) / weights[t];
  }

  // The logarithm of the sum over j, whose terms fill `terms`.
  double fill(int64_t t, int64_t place, int64_t i) {
    for (int64_t j = 0; j < m; ++j) terms[j] = score(t, place, j) + ratio(t) * E(i, j);
    return log_sum({terms.data(), m});
  }

  // Fill `later` of the position before, `products` = exp(x - largest), and `sums` of factors times
  // products; 0 where these are too small.
  void step_back(int64_t t, int64_t place) {
    double *product = products.row(place).data, *sum = sums.row(place).data;
    double* before = later.row(place - 1).data;
    for (int64_t j = 0; j < m; ++j) product[j] = score(t, place, j);
    const double top = ends_of({product, m}).high, k = weights[t];
    for (int64_t j = 0; j < m; ++j) product[j] = std::exp(product[j] - top);
    for (int64_t i = 0; i < m; ++i) {
      const double* factor = table[t] < 0 ? nullptr : row(t, i);
      sum[i] = factor ? sum_of(m, [=](int64_t j) { return factor[j] * product[j]; }) : 0.0;
      if (sum[i] >= LEAST_SUM) {
        before[i] = k * (std::log(sum[i]) + ratio(t) * tops[i] + top);
      } else {
        sum[i] = 0.0;
        before[i] = k * fill(t, place, i);
      }
    }
  }

  // Fill `mass` with the probabilities of the first position.
  double begin(int64_t t, int64_t truth) {
    for (int64_t j = 0; j < m; ++j) terms[j] = score(t, 0, j);
    const double whole = log_sum({terms.data(), m});
    for (int64_t j = 0; j < m; ++j) mass[j] = std::exp(terms[j] - whole);
    return weights[t] * (terms[truth] - whole);
  }

  // Move `mass` to position t.
  double step_on(int64_t t, int64_t place, int64_t from, int64_t to, double share,
                 Matrix<double> edges) {
    const double *product = products.row(place).data, *sum = sums.row(place).data;
    const double weight = share * scales[t];
    double value = 0.0, *sent = next.data();
    std::fill_n(sent, m, 0.0);
    for (int64_t i = 0; i < m; ++i) {
      if (sum[i] == 0.0) continue;
      const double *factor = row(t, i), out = mass[i] / sum[i], expected = weight * out;
      double* count = counts.data() + (factor - factors.data());
#pragma omp simd
      for (int64_t j = 0; j < m; ++j) {
        sent[j] += out * factor[j];
        count[j] += expected * product[j];
      }
    }
    for (int64_t j = 0; j < m; ++j) sent[j] *= product[j];
    for (int64_t i = 0; i < m; ++i) {
      if (sum[i] > 0.0 || (i != from && mass[i] < NO_MASS)) continue;
      const double whole = fill(t, place, i);
      if (i == from) value = terms[to] - whole;
      for (int64_t j = 0; j < m; ++j) {
        const double p = mass[i] * std::exp(terms[j] - whole);
        sent[j] += p;
        edges(i, j) -= weight * p;
      }
    }
    if (sum[from] > 0.0) value = log_share(t, place, from, to);
    edges(from, to) += weight;
    std::swap(mass, next);
    return weights[t] * value;
  }

  // log p(to | from), without cancellation where it is near 0.
  double log_share(int64_t t, int64_t place, int64_t from, int64_t to) const {
    const double part = row(t, from)[to] * products(place, to);
    if (part >= LEAST_SUM) return std::log(part / sums(place, from));
    return score(t, place, to) + ratio(t) * E(from, to) - later(place - 1, from) / weights[t];
  }

  const double* row(int64_t t, int64_t i) const { return factors.data() + (table[t] * m + i) * m; }

  static constexpr double NO_MASS = 1e-20;
  Matrix<const double> U, E;
  Array<const double> weights, scales;
  Array<const int64_t> table;
  const int64_t m;
  std::vector<double> tops, terms, mass, next, factors, counts, memory;
  Matrix<double> later, products, sums;
};

// The sum over chains of their shares times the weighted log-likelihood; fills `nodes` with its
// gradient in U, and adds to `edges` that in E.
inline double weighted_likelihoods(Matrix<const double> U, Matrix<const double> E,
                                   Array<const int64_t> starts, Array<const int64_t> truth,
                                   Array<const double> weights, Array<const double> scales,
                                   Array<const int64_t> table, Array<const double> ratios,
                                   Array<const double> shares, Matrix<double> nodes,
                                   Matrix<double> edges) {
  const int64_t n = U.rows, m = E.rows;
  expects_scores(U, E, {});
  expects_chains(starts, n);
  expects(starts.size > 0, "starts must not be empty");
  expects_sizes(starts.size - 1, "shares", shares);
  expects_sizes(n, "truth", truth, "weights", weights, "scales", scales, "table", table);
  expects_places("truth", truth, m);
  for (int64_t t = 0; t < n; ++t)
    expects(-1 <= table[t] && table[t] < ratios.size, "table must hold places of ratios, or -1");
  expects_shape(n, m, "nodes", nodes);
  expects_shape(m, m, "edges", edges);
  WeightedLikelihood chains(U, E, weights, scales, table, ratios, longest_chain(starts));
  double total = 0.0;
  for (int64_t c = 0; c + 1 < starts.size; ++c)
    total += shares[c] * chains.add(starts[c], starts[c + 1], truth, shares[c], nodes, edges);
  chains.finish(edges);
  return total;
}

}  // namespace skscreen::sequence
