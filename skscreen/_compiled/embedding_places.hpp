// Search for the place of each object over the whole map: see embedding/solvers/place_moves.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "embedding_descent.hpp"

namespace skscreen {

// Answers of an object by which places are compared at first, and objects whose places are tried.
constexpr int64_t SOME_ANSWERS = 32, TRIED_PLACES = 16;
// A place is refined where its costs are below this share of those of the present one.
constexpr double WORTH_REFINING = 1.1;
// Rounds of the refinement, the first step as a share of the size of the map, and its decrease.
constexpr int REFINEMENTS = 5;
constexpr double FIRST_REFINEMENT = 0.4, SHORTER_REFINEMENT = 0.6;
// A move has to reduce an object's part of the objective by this share: the rest is for L-BFGS.
constexpr double WORTH_MOVING = 0.01;

// The answers of object v are which[first[v]:first[v + 1]], twice where they name it twice.
struct AnswersByObject {
  std::vector<int64_t> which, first;

  AnswersByObject(Matrix<const int32_t> answers, int64_t n) : first(n + 2, 0) {
    const int64_t m = answers.rows, width = answers.columns;
    which.resize(m * width);
    for (int64_t q = 0; q < m; ++q)
      for (int64_t c = 0; c < width; ++c) ++first[answers(q, c) + 2];
    for (int64_t v = 0; v < n; ++v) first[v + 2] += first[v + 1];
    for (int64_t q = 0; q < m; ++q)
      for (int64_t c = 0; c < width; ++c) which[first[answers(q, c) + 1]++] = q;
  }
  Array<const int64_t> of(int64_t v, int64_t most = INT64_MAX) const {
    return {which.data() + first[v], std::min(most, first[v + 1] - first[v])};
  }
};

// The part of the objective that depends on object v at a place, times the total weight, from
// some of its answers; or some number above the limit where it is above.
template <class Loss>
double cost_at(const Loss& loss, Matrix<const double> X, int64_t v, const double* place,
               const Terms& terms, Array<const int64_t> which, double share, double limit,
               int64_t& evaluated) {
  const int64_t p = X.columns;
  double squares = 0.0, total = 0.0, product = 1.0;
  for (int64_t d = 0; d < p; ++d) squares += place[d] * place[d];
  total = share * terms.total * terms.reg / (double)X.rows * squares;
  int64_t r = 0;
  for (; r < which.size && total <= limit; ++r) {
    const int64_t q = which[r];
    if (r && q == which[r - 1]) continue;  // an answer that names v twice
    const auto pairs = pairs_of<Loss::SIDES>(terms.answers, q);
    Distances<Loss::SIDES> distances;
    for (int s = 0; s < Loss::SIDES; ++s) {
      const auto [i, j] = pairs[s];
      double distance = 0.0;
      for (int64_t d = 0; d < p; ++d) {
        const double a = i == v ? place[d] : X(i, d), b = j == v ? place[d] : X(j, d);
        distance += (a - b) * (a - b);
      }
      distances[s] = distance;
    }
    const auto found = loss(distances);
    const double weight = terms.weight(q);
    if (weight != 1.0) {
      total += weight * (found.u - std::log(found.v));
      continue;
    }
    total += found.u;
    product *= found.v;
    // Now and then, so that the limit is noticed.
    if (product < 0.1) {
      total -= std::log(product);
      product = 1.0;
    }
  }
  evaluated += r;
  return total - std::log(product);
}

// Offer every object the places of others once; returns how many took one, and counts answers.
template <class Loss>
int64_t place_sweep(const Loss& loss, Matrix<double> X, const Terms& terms, int64_t& evaluated) {
  const AnswersByObject answers(terms.answers, X.rows);
  const int64_t n = X.rows, p = X.columns;
  const Matrix<const double> view = X;
  double size = 0.0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t d = 0; d < p; ++d) size += X(i, d) * X(i, d);
  size = std::sqrt(size / (double)n);
  std::vector<double> place(p), best(p), trial(p);
  int64_t taken = 0;
  const int64_t tried = std::min(n, TRIED_PLACES);
  for (int64_t v = 0; v < n; ++v) {
    const auto all = answers.of(v), some = answers.of(v, SOME_ANSWERS);
    if (!all.size) continue;
    const double share = (double)some.size / (double)all.size;
    for (int64_t d = 0; d < p; ++d) place[d] = X(v, d);
    const auto cost = [&](const std::vector<double>& at, double limit) {
      return cost_at(loss, view, v, at.data(), terms, some, share, limit, evaluated);
    };
    const double present = cost(place, INFINITY);
    double lowest = WORTH_REFINING * present;
    bool found = false;
    const auto offer = [&]() {
      const double offered = cost(trial, lowest);
      if (!(offered < lowest)) return;
      lowest = offered;
      best = trial;
      found = true;
    };
    for (int64_t g = 0; g < tried; ++g) {
      const int64_t other = (v + 1 + g * n / tried) % n;
      if (other == v) continue;
      // Beside it: at the place itself a distance has no slope.
      for (int64_t d = 0; d < p; ++d) trial[d] = 0.9 * X(other, d) + 0.01 * size;
      offer();
    }
    if (!found) continue;
    double step = FIRST_REFINEMENT * size;
    for (int round = 0; round < REFINEMENTS; ++round, step *= SHORTER_REFINEMENT)
      for (int64_t d = 0; d < p; ++d)
        for (const double side : {-step, step}) {
          trial = best;
          trial[d] += side;
          offer();
        }
    if (!(lowest < (1.0 - WORTH_MOVING) * present)) continue;
    const auto exact = [&](const std::vector<double>& at, double limit) {
      return cost_at(loss, view, v, at.data(), terms, all, 1.0, limit, evaluated);
    };
    const double before = (1.0 - WORTH_MOVING) * exact(place, INFINITY);
    if (exact(best, before) < before) {
      for (int64_t d = 0; d < p; ++d) X(v, d) = best[d];
      ++taken;
    }
  }
  return taken;
}

}  // namespace skscreen
