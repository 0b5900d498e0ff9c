// The certificate of points in signed variables, whatever solves for them: svm/certificate.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/arrays.hpp"
#include "core/core.hpp"
#include "samples/intercept.hpp"

namespace skscreen::svm {

// Largest uncertainty of the primal value, as a share of it.
constexpr double UNSURE = 0.1;
// Largest factor by which a point is scaled up to its margin.
constexpr double STRETCHED = 2.0;

// Targets and bounds of samples, whether there is a free intercept, shifts (none for hinges), and
// the sum of beta over samples that do not take part.
struct Box {
  Array<const double> target, low, high;
  bool free;
  Array<const double> shifts;
  double outer_sum = 0.0;

  int64_t size() const { return target.size; }
  bool smooth() const { return shifts.size > 0; }
  bool exists(int64_t k) const { return low[k] < high[k]; }
  double sign(int64_t k) const { return low[k] < 0.0 ? -1.0 : 1.0; }

  // The beta that belongs to a slope, of losses with shifts.
  double best(int64_t k, double g) const {
    return std::min(std::max(g / shifts[k], low[k]), high[k]);
  }

  double gain(int64_t k, double beta) const {
    return target[k] * beta - (smooth() ? 0.5 * shifts[k] * beta * beta : 0.0);
  }

  // The largest loss for slopes within an error.
  double loss(int64_t k, double g, double error) const {
    if (!smooth()) return std::max(high[k] * (g + error), low[k] * (g - error));
    g += sign(k) * error;
    const double a = best(k, g);
    return a * (g - 0.5 * shifts[k] * a);
  }

  // The largest contribution to the gap: convex in the slope, so largest at an end.
  double slackness(int64_t k, double beta, double g, double error) const {
    if (!smooth()) return std::max((high[k] - beta) * (g + error), (low[k] - beta) * (g - error));
    if (error == 0.0) return lacks(k, beta, g);
    return std::max(lacks(k, beta, g + error), lacks(k, beta, g - error));
  }

 private:
  double lacks(int64_t k, double beta, double g) const {
    const double a = best(k, g), s = shifts[k];
    return 0.5 * s * (beta - a) * (beta - a) + (a - beta) * (g - s * a);
  }
};

struct View {
  double b, gap, primal, losses;  // the last is what losses are of the primal value
};

// The b that minimises the primal for slopes g without it: a weighted quantile, or a root.
inline double best_intercept(const Box& box, Array<const double> g) {
  std::vector<double> kinks, weights, signs;
  for (auto* part : {&kinks, &weights, &signs}) part->reserve(box.size());
  double level = box.outer_sum;
  for (int64_t k = 0; k < box.size(); ++k) {
    if (!box.smooth()) {
      level += box.high[k];
      weights.push_back(box.high[k] - box.low[k]);
    } else if (box.exists(k)) {
      kinks.push_back(g[k]);
      weights.push_back(1.0 / box.shifts[k]);
      signs.push_back(box.sign(k));
    }
  }
  const Array<const double> w{weights.data(), (int64_t)weights.size()};
  std::pair<double, double> ends{0.0, 0.0};
  if (!box.smooth()) {
    ends = samples::best_intercepts(g, w, level);
  } else if (w.size > 0) {
    const Array<const double> at{kinks.data(), w.size}, y{signs.data(), w.size};
    ends = {samples::balancing_intercept(at, w, y, 1.0),
            samples::balancing_intercept(at, w, y, -1.0)};
  }
  return 0.5 * ends.first + 0.5 * ends.second;
}

// The best intercept, gap and primal value of a point with slopes g, all without errors.
inline View view(const Box& box, Array<const double> beta, Array<const double> g) {
  const double b = box.free ? best_intercept(box, g) : 0.0;
  double gap = 0.0, both = 0.0, losses = 0.0;
  for (int64_t k = 0; k < beta.size; ++k) {
    const double loss = box.loss(k, g[k] - b, 0.0);
    gap += box.slackness(k, beta[k], g[k] - b, 0.0);
    both += box.gain(k, beta[k]) + loss;
    losses += loss;
  }
  // P - D is the gap, and P + D what the losses and beta alone make it.
  const double primal = 0.5 * (both + gap);
  return {b, primal < INF ? gap : NAN, primal, losses};
}

// The same for scores f; `slopes` become those with the intercept.
inline View view_of_scores(const Box& box, Array<const double> beta, Array<const double> f,
                           Array<double> slopes) {
  for (int64_t k = 0; k < beta.size; ++k) slopes[k] = box.target[k] - f[k];
  const View found = view(box, beta, slopes);
  for (int64_t k = 0; k < beta.size; ++k) slopes[k] -= found.b;
  return found;
}

// The rounding error of found = a - b (Knuth's sum of two).
SKSCREEN_INLINE double lost(double a, double b, double found) {
  const double back = found - a;
  return (a - (found - back)) - (b + back);
}

// The certificate at an intercept b for scores f within errors, with the largest gap they allow.
//
// `parts` become the largest contributions of samples to the gap, `losses` what their errors add to
// their losses. The uncertainty of the primal value is added to the gap, which is above it where
// hardly anything is known.
inline View certify_at(const Box& box, Array<const double> beta, Array<const double> f,
                       Array<const double> errors, double b, Array<double> parts,
                       Array<double> losses) {
  double gap = 0.0, known = 0.0, both = 0.0, unsure = 0.0, total = 0.0;
  for (int64_t k = 0; k < beta.size; ++k) {
    const double raw = box.target[k] - f[k], slope = raw - b;
    const double error =
        errors[k] + std::abs(lost(box.target[k], f[k], raw)) + std::abs(lost(raw, b, slope));
    const double loss = box.loss(k, slope, 0.0);
    both += box.gain(k, beta[k]) + loss;
    total += loss;
    known += box.slackness(k, beta[k], slope, 0.0);
    gap += parts[k] = box.slackness(k, beta[k], slope, error);
    unsure += losses[k] = box.loss(k, slope, error) - loss;
  }
  const double primal = 0.5 * (both + known);
  if (!(primal < INF)) return {b, NAN, primal, total};
  unsure = 0.5 * (unsure + gap - known);
  if (unsure > UNSURE * primal)
    gap += unsure + primal;
  else if (unsure > 0.0)
    gap /= 1.0 - unsure / primal;
  return {b, gap, primal, total};
}

// The same at the best intercept for these scores; `slopes` become those with it.
inline View certify(const Box& box, Array<const double> beta, Array<const double> f,
                    Array<const double> errors, Array<double> slopes, Array<double> parts,
                    Array<double> losses) {
  for (int64_t k = 0; k < beta.size; ++k) slopes[k] = box.target[k] - f[k];
  const double b = box.free ? best_intercept(box, slopes) : 0.0;
  for (int64_t k = 0; k < beta.size; ++k) slopes[k] -= b;
  return certify_at(box, beta, f, errors, b, parts, losses);
}

// Scale a point up until no score is short of its target, errors included.
//
// Returns the factor and the certificate of the scaled point, if it is within its bounds; factor 0
// where there is none. With a huge C, or without one, a score that is short by a rounding error
// costs more than the tolerance, while a slightly longer vector costs nothing.
inline std::pair<double, View> stretch(const Box& box, Array<const double> beta,
                                       Array<const double> f, Array<const double> errors) {
  const int64_t n = beta.size;
  const std::pair<double, View> none{0.0, {0.0, INF, 0.0, 0.0}};
  if (box.smooth()) return none;
  double b = 0.0, lowest = INF, highest = -INF, factor = 0.0;
  if (box.free) {
    for (int64_t k = 0; k < n; ++k) {
      const double over = f[k] - box.target[k];
      if (box.high[k] > 0.0) lowest = std::min(lowest, over - errors[k]);
      if (box.low[k] < 0.0) highest = std::max(highest, over + errors[k]);
    }
    b = -0.5 * (lowest + highest);
  }
  for (int64_t k = 0; k < n; ++k) {
    if (!box.exists(k)) continue;
    const double sign = box.sign(k), target = sign * box.target[k];
    const double size = std::abs(f[k]) + std::abs(b) + target;
    const double least = sign * (f[k] + b) - errors[k] - 4.0 * EPS * size;
    if (!(target > 0.0 && STRETCHED * least > target)) return none;
    factor = std::max(factor, target / least);
  }
  std::vector<double> scaled(3 * n), ignored(2 * n);
  for (int64_t k = 0; k < n; ++k) {
    scaled[k] = factor * beta[k];
    if (!(box.low[k] <= scaled[k] && scaled[k] <= box.high[k])) return none;
    scaled[n + k] = factor * f[k];
    scaled[2 * n + k] = factor * errors[k];
  }
  const Array<double> point{scaled.data(), 3 * n}, rest{ignored.data(), 2 * n};
  return {factor,
          certify_at(box, point.slice(0, n), point.slice(n, 2 * n), point.slice(2 * n, 3 * n),
                     factor * b, rest.slice(0, n), rest.slice(n, 2 * n))};
}

// Take `excess` off the sum of beta: of all samples inside their bounds, in proportion to their
// room; if that is too little, the larger side is scaled down, which frees no sample at 0.
inline void spread(const Box& box, double excess, Array<double> beta) {
  const auto inside = [&](int64_t k) {
    return std::max(std::min(beta[k] - box.low[k], box.high[k] - beta[k]), 0.0);
  };
  const auto larger = [&](int64_t k) { return std::max(excess > 0.0 ? beta[k] : -beta[k], 0.0); };
  double room = 0.0, total = 0.0;
  for (int64_t k = 0; k < beta.size; ++k) {
    room += inside(k);
    total += larger(k);
  }
  const bool few = std::abs(excess) > room;
  for (int64_t k = 0; k < beta.size; ++k) {
    const double share = few ? larger(k) / total : inside(k) / room;
    if (share > 0.0)
      beta[k] = std::min(std::max(beta[k] - share * excess, box.low[k]), box.high[k]);
  }
}

// Make the sum of beta zero, up to rounding errors; samples stay at their bounds if possible.
inline void balance(const Box& box, Array<double> beta) {
  for (int64_t round = 0; round < beta.size; ++round) {
    double excess = 0.0, size = 0.0, most = 0.0;
    for (int64_t k = 0; k < beta.size; ++k) {
      excess += beta[k];
      size += std::abs(beta[k]);
    }
    if (excess == 0.0) return;
    if (std::abs(excess) > EPS * beta.size * size && round < 2) {
      spread(box, excess, beta);
      continue;
    }
    // What is left are rounding errors: where there is most room.
    int64_t best = 0;
    for (int64_t k = 0; k < beta.size; ++k) {
      const double space = excess > 0.0 ? beta[k] - box.low[k] : box.high[k] - beta[k];
      if (beta[k] < box.high[k] && beta[k] > box.low[k] && space > most) {
        most = space;
        best = k;
      }
    }
    if (most == 0.0) return;
    beta[best] = std::min(std::max(beta[best] - excess, box.low[best]), box.high[best]);
    if (std::abs(excess) < most) return;
  }
}

}  // namespace skscreen::svm
