// The certificate of points in signed variables, whatever solves for them: svm/certificate.py.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/arrays.hpp"
#include "core/checks.hpp"
#include "core/core.hpp"
#include "samples/intercept.hpp"

namespace skscreen::svm {

// Largest uncertainty of the primal value, as a share of it.
constexpr double UNSURE = 0.1;
// Largest factor by which a point is scaled up to its margin.
constexpr double STRETCHED = 2.0;

// Largest number of groups of samples, each with an intercept of its own.
constexpr int GROUPS = 2;

// Intercepts of the groups.
using Intercepts = std::array<double, GROUPS>;

// Targets and bounds of samples, whether there are free intercepts, shifts (none for hinges), what
// beta of each group sums to (0 if not given), and the groups (none where all samples are one).
struct Dual {
  Array<const double> target, low, high;
  bool free;
  Array<const double> shifts;
  Array<const double> sums{};
  Array<const int8_t> group{};

  void check() const {
    expects_sizes(size(), "low", low, "high", high);
    if (smooth()) expects_sizes(size(), "shifts", shifts);
    expects(sums.size <= GROUPS, "sums must have an entry or two");
    if (group.size) expects_sizes(size(), "group", group);
    expects_places("group", group, GROUPS);
  }

  int64_t size() const { return target.size; }
  int groups() const { return (int)std::max<int64_t>(sums.size, 1); }
  double sum(int g) const { return sums.size > g ? sums[g] : 0.0; }
  bool is_in(int64_t k, int g) const { return group.size == 0 || group[k] == g; }
  double intercept(const Intercepts& b, int64_t k) const { return b[group.size ? group[k] : 0]; }
  // What prescribed sums add to the primal value.
  double lifted(const Intercepts& b) const {
    double out = 0.0;
    for (int g = 0; free && g < groups(); ++g)
      if (sum(g) != 0.0) out += b[g] * sum(g);
    return out;
  }
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

// The primal value is that with the intercepts held fixed, 1/2 |w|^2 and `losses`: with prescribed
// sums the value with free ones, which has the same gap, may be negative.
struct View {
  Intercepts b;
  double gap, primal, losses;
};

// The kinks of the losses of a group, as functions of its intercept, for slopes without it.
class Kinks {
 public:
  Kinks(const Dual& dual, Array<const double> g, int group)
      : smooth_(dual.smooth()), level_(-dual.sum(group)) {
    for (auto* part : {&kinks_, &weights_}) part->reserve(g.size);
    for (int64_t k = 0; k < g.size; ++k) {
      if (!dual.is_in(k, group) || (smooth_ && !dual.exists(k))) continue;
      kinks_.push_back(g[k]);
      weights_.push_back(smooth_ ? 1.0 / dual.shifts[k] : dual.high[k] - dual.low[k]);
      if (smooth_) signs_.push_back(dual.sign(k));
      level_ += dual.high[k];
    }
  }

  // Move to the kinks of other slopes.
  void move(const Dual& dual, Array<const double> g, int group) {
    int64_t place = 0;
    for (int64_t k = 0; k < g.size; ++k)
      if (dual.is_in(k, group) && !(smooth_ && !dual.exists(k))) kinks_[place++] = g[k];
  }

  // The lower (side -1) or the upper end of the interval of best intercepts: of weighted quantiles,
  // or roots.
  double end(double side) const {
    if (!smooth_) return samples::best_intercept_end(of(kinks_), of(weights_), level_, side);
    if (kinks_.empty()) return 0.0;
    return samples::balancing_intercept(of(kinks_), of(weights_), of(signs_), -side);
  }

  // Their middle.
  double middle() const {
    const auto [lower, upper] = smooth_
                                    ? std::make_pair(end(-1.0), end(1.0))
                                    : samples::best_intercepts(of(kinks_), of(weights_), level_);
    return 0.5 * lower + 0.5 * upper;
  }

 private:
  std::vector<double> kinks_, weights_, signs_;
  bool smooth_;
  double level_;

  static Array<const double> of(const std::vector<double>& part) {
    return {part.data(), (int64_t)part.size()};
  }
};

// The b of a group that minimises the primal for slopes g without it.
inline double best_intercept(const Dual& dual, Array<const double> g, int group) {
  return Kinks(dual, g, group).middle();
}

inline Intercepts best_intercepts_of(const Dual& dual, Array<const double> g) {
  Intercepts b{};
  for (int place = 0; dual.free && place < dual.groups(); ++place)
    b[place] = best_intercept(dual, g, place);
  return b;
}

// The best intercepts, gap and primal value of a point with slopes g, all without errors.
inline View view(const Dual& dual, Array<const double> beta, Array<const double> g) {
  const Intercepts b = best_intercepts_of(dual, g);
  double gap = 0.0, both = 0.0, losses = 0.0;
  for (int64_t k = 0; k < beta.size; ++k) {
    const double slope = g[k] - dual.intercept(b, k), loss = dual.loss(k, slope, 0.0);
    gap += dual.slackness(k, beta[k], slope, 0.0);
    both += dual.gain(k, beta[k]) + loss;
    losses += loss;
  }
  // P - D is the gap, and P + D what the losses, beta and the intercepts alone make it.
  const double primal = 0.5 * (both + gap - dual.lifted(b));
  return {b, primal < INF ? gap : NAN, primal, losses};
}

// The same for scores f; `slopes` become those with the intercept.
inline View view_of_scores(const Dual& dual, Array<const double> beta, Array<const double> f,
                           Array<double> slopes) {
  for (int64_t k = 0; k < beta.size; ++k) slopes[k] = dual.target[k] - f[k];
  const View found = view(dual, beta, slopes);
  for (int64_t k = 0; k < beta.size; ++k) slopes[k] -= dual.intercept(found.b, k);
  return found;
}

// The rounding error of found = a - b (Knuth's sum of two).
SKSCREEN_INLINE double lost(double a, double b, double found) {
  const double back = found - a;
  return (a - (found - back)) - (b + back);
}

// The certificate at intercepts b for scores f within errors, with the largest gap they allow.
//
// `parts` become the largest contributions of samples to the gap, `losses` what their errors add to
// their losses. The uncertainty of the primal value is added to the gap, which is above it where
// hardly anything is known.
inline View certify_at(const Dual& dual, Array<const double> beta, Array<const double> f,
                       Array<const double> errors, const Intercepts& intercepts,
                       Array<double> parts, Array<double> losses) {
  double gap = 0.0, known = 0.0, both = 0.0, unsure = 0.0, total = 0.0;
  for (int64_t k = 0; k < beta.size; ++k) {
    const double b = dual.intercept(intercepts, k);
    const double raw = dual.target[k] - f[k], slope = raw - b;
    const double error =
        errors[k] + std::abs(lost(dual.target[k], f[k], raw)) + std::abs(lost(raw, b, slope));
    const double loss = dual.loss(k, slope, 0.0);
    both += dual.gain(k, beta[k]) + loss;
    total += loss;
    known += dual.slackness(k, beta[k], slope, 0.0);
    gap += parts[k] = dual.slackness(k, beta[k], slope, error);
    unsure += losses[k] = dual.loss(k, slope, error) - loss;
  }
  const double primal = 0.5 * (both + known - dual.lifted(intercepts));
  if (!(primal < INF)) return {intercepts, NAN, primal, total};
  unsure = 0.5 * (unsure + gap - known);
  if (unsure > UNSURE * primal)
    gap += unsure + primal;
  else if (unsure > 0.0)
    gap /= 1.0 - unsure / primal;
  return {intercepts, gap, primal, total};
}

// What slopes within errors, if there are any, add to the gap at most, and the losses at them.
inline std::pair<double, double> gap_of_slopes(const Dual& dual, Array<const double> beta,
                                               Array<const double> slopes,
                                               Array<const double> errors) {
  double gap = 0.0, total = 0.0;
  for (int64_t k = 0; k < beta.size; ++k) {
    gap += dual.slackness(k, beta[k], slopes[k], errors.size ? errors[k] : 0.0);
    total += dual.loss(k, slopes[k], 0.0);
  }
  return {gap, total};
}

// The same at the best intercepts for these scores; `slopes` become those with them.
inline View largest_gap(const Dual& dual, Array<const double> beta, Array<const double> f,
                        Array<const double> errors, Array<double> slopes, Array<double> parts,
                        Array<double> losses) {
  for (int64_t k = 0; k < beta.size; ++k) slopes[k] = dual.target[k] - f[k];
  const Intercepts b = best_intercepts_of(dual, slopes);
  for (int64_t k = 0; k < beta.size; ++k) slopes[k] -= dual.intercept(b, k);
  return certify_at(dual, beta, f, errors, b, parts, losses);
}

// Scale a point up until no score is short of its target, errors included.
//
// Returns the factor and the certificate of the scaled point, if it is within its bounds; factor 0
// where there is none. With a huge C, or without one, a score that is short by a rounding error
// costs more than the tolerance, while a slightly longer vector costs nothing. Prescribed sums fix
// the length.
inline std::pair<double, View> stretch(const Dual& dual, Array<const double> beta,
                                       Array<const double> f, Array<const double> errors) {
  const int64_t n = beta.size;
  const std::pair<double, View> none{0.0, {{}, INF, 0.0, 0.0}};
  if (dual.smooth() || dual.groups() > 1 || dual.sum(0) != 0.0) return none;
  double b = 0.0, lowest = INF, highest = -INF, factor = 0.0;
  if (dual.free) {
    for (int64_t k = 0; k < n; ++k) {
      const double over = f[k] - dual.target[k];
      if (dual.high[k] > 0.0) lowest = std::min(lowest, over - errors[k]);
      if (dual.low[k] < 0.0) highest = std::max(highest, over + errors[k]);
    }
    b = -0.5 * (lowest + highest);
  }
  for (int64_t k = 0; k < n; ++k) {
    if (!dual.exists(k)) continue;
    const double sign = dual.sign(k), target = sign * dual.target[k];
    const double size = std::abs(f[k]) + std::abs(b) + target;
    const double least = sign * (f[k] + b) - errors[k] - 4.0 * EPS * size;
    if (!(target > 0.0 && STRETCHED * least > target)) return none;
    factor = std::max(factor, target / least);
  }
  std::vector<double> scaled(3 * n), ignored(2 * n);
  for (int64_t k = 0; k < n; ++k) {
    scaled[k] = factor * beta[k];
    if (!(dual.low[k] <= scaled[k] && scaled[k] <= dual.high[k])) return none;
    scaled[n + k] = factor * f[k];
    scaled[2 * n + k] = factor * errors[k];
  }
  const Array<double> point{scaled.data(), 3 * n}, rest{ignored.data(), 2 * n};
  return {factor,
          certify_at(dual, point.slice(0, n), point.slice(n, 2 * n), point.slice(2 * n, 3 * n),
                     {factor * b}, rest.slice(0, n), rest.slice(n, 2 * n))};
}

// Take `excess` off the sum of beta in a group: of all samples inside their bounds, in proportion
// to their room; if that is too little, the larger side is scaled down, which frees no sample at 0,
// or towards a sum that is not 0 all go a part of the way to the bound ahead.
inline void spread(const Dual& dual, int group, double excess, Array<double> beta) {
  const bool vanishes = dual.sum(group) == 0.0;
  const auto inside = [&](int64_t k) {
    return std::max(std::min(beta[k] - dual.low[k], dual.high[k] - beta[k]), 0.0);
  };
  const auto larger = [&](int64_t k) {
    if (vanishes) return std::max(excess > 0.0 ? beta[k] : -beta[k], 0.0);
    return std::max(excess > 0.0 ? beta[k] - dual.low[k] : dual.high[k] - beta[k], 0.0);
  };
  double room = 0.0, total = 0.0;
  for (int64_t k = 0; k < beta.size; ++k) {
    if (!dual.is_in(k, group)) continue;
    room += inside(k);
    total += larger(k);
  }
  const bool few = std::abs(excess) > room;
  for (int64_t k = 0; k < beta.size; ++k) {
    if (!dual.is_in(k, group)) continue;
    const double share = few ? larger(k) / total : inside(k) / room;
    if (share > 0.0)
      beta[k] = std::min(std::max(beta[k] - share * excess, dual.low[k]), dual.high[k]);
  }
}

// Give the beta of a group their sum, up to rounding errors; samples stay at their bounds if
// possible.
inline void balance_group(const Dual& dual, int group, Array<double> beta) {
  const double sum = dual.sum(group);
  for (int64_t round = 0; round < beta.size; ++round) {
    double excess = -sum, size = 0.0, most = 0.0;
    for (int64_t k = 0; k < beta.size; ++k) {
      if (!dual.is_in(k, group)) continue;
      excess += beta[k];
      size += std::abs(beta[k]);
    }
    if (excess == 0.0) return;
    if (std::abs(excess) > EPS * beta.size * std::max(size, std::abs(sum)) && round < 2) {
      spread(dual, group, excess, beta);
      continue;
    }
    // What is left are rounding errors: where there is most room.
    int64_t best = 0;
    for (int64_t k = 0; k < beta.size; ++k) {
      const double space = excess > 0.0 ? beta[k] - dual.low[k] : dual.high[k] - beta[k];
      if (beta[k] < dual.high[k] && beta[k] > dual.low[k] && space > most && dual.is_in(k, group)) {
        most = space;
        best = k;
      }
    }
    if (most == 0.0) return;
    beta[best] = std::min(std::max(beta[best] - excess, dual.low[best]), dual.high[best]);
    if (std::abs(excess) < most) return;
  }
}

inline void balance(const Dual& dual, Array<double> beta) {
  for (int group = 0; group < dual.groups(); ++group) balance_group(dual, group, beta);
}

}  // namespace skscreen::svm
