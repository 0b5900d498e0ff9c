// Search for the place of each object over the whole map: see embedding/solvers/lbfgs.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "embedding/descent.hpp"

namespace skscreen::embedding {

// Answers of an object by which places are compared at first, and objects whose places are tried.
constexpr int64_t SOME_ANSWERS = 32, TRIED_PLACES = 16;
// A place nearer than this share of the size of the map is in the valley of the present one.
constexpr double NEARBY = 0.5;
// Rounds of the refinement of a better place, the first step as a share of the size of the map, and
// its decrease.
constexpr int REFINEMENTS = 5;
constexpr double FIRST_REFINEMENT = 0.4, SHORTER_REFINEMENT = 0.6;
// A move has to reduce an object's part of the objective by this share: the rest is for L-BFGS.
constexpr double WORTH_MOVING = 0.01;

// The part of the objective that depends on one object, times the total weight, from some of its
// answers. A side of an answer is the distance of the object to a point, or a number: both are
// |base - moves * place|^2, with the answers of a base in a row, `size` of which are computed
// together.
template <int sides>
class CostOfPlace {
  static constexpr int64_t TOGETHER = 8;
  const Terms& terms;
  int64_t& evaluated;
  int64_t p, padded, count = 0;
  double ridge;
  std::vector<double> bases, moves, weights;

  const double* base(int s, int64_t d) const { return bases.data() + (s * p + d) * padded; }

 public:
  CostOfPlace(Matrix<const double> X, int64_t v, const Terms& terms, Array<const int64_t> which,
              double share, int64_t& evaluated)
      : terms(terms), evaluated(evaluated), p(X.columns),
        padded((which.size + TOGETHER - 1) / TOGETHER * TOGETHER),
        ridge(share * terms.total * terms.reg / (double)X.rows), bases(sides * p * padded),
        moves(sides * padded), weights(padded) {
    for (int64_t r = 0; r < which.size; ++r) {
      if (r && which[r] == which[r - 1]) continue;  // an answer that names v twice
      const auto pairs = pairs_of<sides>(terms.answers, which[r]);
      for (int s = 0; s < sides; ++s) {
        const auto [i, j] = pairs[s];
        const bool fixed = (i == v) == (j == v);
        moves[s * padded + count] = fixed ? 0.0 : 1.0;
        for (int64_t d = 0; d < p; ++d)
          bases[(s * p + d) * padded + count] = fixed ? X(i, d) - X(j, d) : X(i == v ? j : i, d);
      }
      weights[count++] = terms.weight(which[r]);
    }
  }

  // The costs at a place; or some number above the limit where they are above. Written into each of
  // its five calls, for each loss, it would take a seventh of the time that all loops take to
  // compile.
  template <class Loss>
  SKSCREEN_NOINLINE double operator()(const Loss& loss, const double* place, double limit) {
    double squares = 0.0;
    for (int64_t d = 0; d < p; ++d) squares += place[d] * place[d];
    LossSum sum;
    sum.total = ridge * squares;
    for (int64_t r = 0; r < count && sum.total <= limit; r += TOGETHER) {
      double distances[sides][TOGETHER] = {};
      for (int s = 0; s < sides; ++s)
        for (int64_t d = 0; d < p; ++d) {
          const double *from = base(s, d) + r, *by = moves.data() + s * padded + r;
          for (int64_t t = 0; t < TOGETHER; ++t) {
            const double difference = from[t] - by[t] * place[d];
            distances[s][t] += difference * difference;
          }
        }
      const int64_t end = std::min(TOGETHER, count - r);
      for (int64_t t = 0; t < end; ++t) {
        Distances<sides> found;
        for (int s = 0; s < sides; ++s) found[s] = distances[s][t];
        if (terms.weights.size)
          sum.add(loss(found), weights[r + t]);
        else
          sum.add(loss(found));
      }
      // So that the limit is noticed.
      sum.total = sum.value();
      sum.product = 1.0;
      evaluated += end;
    }
    return sum.total;
  }
};

// Offer every object the places of others once; returns how many took one, and counts answers.
template <class Loss>
int64_t place_sweep(const Loss& loss, Matrix<double> X, const Terms& terms, int64_t& evaluated) {
  const AnswersByObject answers(terms.answers, X.rows);
  const int64_t n = X.rows, p = X.columns;
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
    CostOfPlace<Loss::SIDES> cost(X, v, terms, some, (double)some.size / (double)all.size,
                                  evaluated);
    for (int64_t d = 0; d < p; ++d) place[d] = X(v, d);
    const double present = cost(loss, place.data(), INFINITY);
    double lowest = present;
    bool found = false;
    const auto offer = [&]() {
      const double offered = cost(loss, trial.data(), lowest);
      if (!(offered < lowest)) return;
      lowest = offered;
      best = trial;
      found = true;
    };
    for (int64_t g = 0; g < tried; ++g) {
      const int64_t other = (v + 1 + g * n / tried) % n;
      if (other == v) continue;
      // Beside it: at the place itself a distance has no slope.
      double away = 0.0;
      for (int64_t d = 0; d < p; ++d) {
        trial[d] = 0.9 * X(other, d) + 0.01 * size;
        away += (trial[d] - place[d]) * (trial[d] - place[d]);
      }
      if (away > NEARBY * NEARBY * size * size) offer();
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
    CostOfPlace<Loss::SIDES> exact(X, v, terms, all, 1.0, evaluated);
    const double before = (1.0 - WORTH_MOVING) * exact(loss, place.data(), INFINITY);
    if (exact(loss, best.data(), before) < before) {
      for (int64_t d = 0; d < p; ++d) X(v, d) = best[d];
      ++taken;
    }
  }
  return taken;
}

}  // namespace skscreen::embedding
