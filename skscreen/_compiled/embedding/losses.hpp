// Losses of ordinal embedding, each written once: all loops take it as a template parameter.
//
// A loss f of the squared distances a, c (, e) of an answer's pairs is right where a is below the
// others. It is handed out as numbers u and 0 < v <= 1 with f = u - log v, so that sums of
// logarithms become one logarithm of a product, and with its slopes. To add a loss: write a struct
// with NAME, a constructor from its one parameter and operator(), and append it to `Losses`.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "core/arrays.hpp"
#include "core/checks.hpp"

namespace skscreen::embedding {

// Squared distances of the pairs of an answer: near, far (, third).
template <int sides>
using Distances = std::array<double, sides>;

template <int sides>
struct AnswerLoss {
  double u, v;
  std::array<double, sides> slopes;
};

// What a loss may say beyond its values.
template <int sides>
struct Loss {
  static constexpr int SIDES = sides;
  // Where each distinct pair is listed once, what the loss needs of its distance is computed once:
  // then link(distance, largest distance), of_links(distances, links), whose slopes lack a factor
  // of their pair, and slope(sum of those slopes, distance, link).
  static constexpr bool LINKED = false;
  // Whether f is convex in the Gram matrix; then conjugate(t) is -f*(t), of slopes t >= 0 of the
  // differences a - c (, a - e).
  static constexpr bool CONVEX = false;
};

// Below this a distance counts as this one: the square root has no slope at 0.
constexpr double SMALLEST_DISTANCE = 1e-12;
// A product of factors is turned into a logarithm before it could underflow.
constexpr double TINY_FACTOR = 1e-100;
// Exponentials of numbers up to this size have full precision.
constexpr double EXPONENT_RANGE = 700.0, SMALLEST_EXPONENTIAL = 1e-300;

SKSCREEN_INLINE double entropy(double t) { return t <= 0.0 ? 0.0 : -t * std::log(t); }

// exp(middle - a) in place of exp(-a) gives the same probabilities, with twice the range.
SKSCREEN_INLINE double exponential_link(double a, double largest) {
  return std::exp(std::min(0.5 * largest, 0.9 * EXPONENT_RANGE) - a);
}

// x^h for 0 < x <= 1, by multiplications where 2 h is a whole number.
struct Power {
  double h;
  int twice;  // 2 h, or 0

  explicit Power(double h) : h(h), twice(2.0 * h <= 64.0 ? (int)(2.0 * h) : 0) {
    if (twice != 2.0 * h) twice = 0;
  }
  SKSCREEN_INLINE double operator()(double x) const {
    if (twice == 0) return std::exp(h * std::log(x));
    double result = twice & 1 ? std::sqrt(x) : 1.0;
    for (int n = twice >> 1; n; n >>= 1, x *= x)
      if (n & 1) result *= x;
    return result;
  }
};

// Agarwal et al. 2007: the hinge max(0, 1 + a - c), with a quadratic piece of width `shape` >= 0.
struct GNMDS : Loss<2> {
  static constexpr const char* NAME = "gnmds";
  static constexpr bool CONVEX = true;
  double shape;

  explicit GNMDS(double shape) : shape(shape) {}
  SKSCREEN_INLINE AnswerLoss<2> operator()(const Distances<2>& d) const {
    const double s = 1.0 + d[0] - d[1];
    if (s <= 0.0) return {0.0, 1.0, {0.0, 0.0}};
    if (s < shape) return {s * s / (2.0 * shape), 1.0, {s / shape, -s / shape}};
    return {s - 0.5 * shape, 1.0, {1.0, -1.0}};
  }
  double conjugate(const std::array<double, 1>& t) const {
    return t[0] - 0.5 * shape * t[0] * t[0];
  }
};

// Tamuz et al. 2011: log((a + c + 2 mu) / (c + mu)), mu = `shape` > 0.
struct CKL : Loss<2> {
  static constexpr const char* NAME = "ckl";
  static constexpr bool LINKED = true;
  double shape;

  explicit CKL(double shape) : shape(shape) {}
  SKSCREEN_INLINE AnswerLoss<2> operator()(const Distances<2>& d) const {
    const double c = d[1] + shape, both = d[0] + shape + c, near = 1.0 / both;
    return {0.0, c / both, {near, near - 1.0 / c}};
  }
  SKSCREEN_INLINE double link(double a, double) const { return 1.0 / (a + shape); }
  SKSCREEN_INLINE AnswerLoss<2> of_links(const Distances<2>& d, const Distances<2>& links) const {
    const double c = d[1] + shape, near = 1.0 / (d[0] + shape + c);
    return {0.0, c * near, {near, near - links[1]}};
  }
  SKSCREEN_INLINE double slope(double sum, double, double) const { return sum; }
};

// Van der Maaten and Weinberger 2012: log(1 + exp(a - c)).
struct STE : Loss<2> {
  static constexpr const char* NAME = "ste";
  static constexpr bool LINKED = true, CONVEX = true;

  explicit STE(double) {}
  SKSCREEN_INLINE AnswerLoss<2> operator()(const Distances<2>& d) const {
    const double z = d[0] - d[1], e = std::exp(-std::abs(z)), v = 1.0 / (1.0 + e);
    const double slope = z > 0.0 ? v : e * v;
    return {std::max(z, 0.0), v, {slope, -slope}};
  }
  SKSCREEN_INLINE double link(double a, double largest) const {
    return exponential_link(a, largest);
  }
  SKSCREEN_INLINE AnswerLoss<2> of_links(const Distances<2>& d, const Distances<2>& links) const {
    if (links[0] > SMALLEST_EXPONENTIAL && links[1] > SMALLEST_EXPONENTIAL) {
      const double v = links[0] / (links[0] + links[1]);
      if (v > TINY_FACTOR) return {0.0, v, {1.0 - v, v - 1.0}};
    }
    return (*this)(d);
  }
  SKSCREEN_INLINE double slope(double sum, double, double) const { return sum; }
  double conjugate(const std::array<double, 1>& t) const {
    return entropy(t[0]) + entropy(1.0 - t[0]);
  }
};

// The same: log(1 + ((alpha + a) / (alpha + c))^h), alpha = `shape` > 0, h = (alpha + 1) / 2.
struct TSTE : Loss<2> {
  static constexpr const char* NAME = "tste";
  static constexpr bool LINKED = true;
  double shape;
  Power power;

  explicit TSTE(double shape) : shape(shape), power(0.5 * (shape + 1.0)) {}
  SKSCREEN_INLINE AnswerLoss<2> operator()(const Distances<2>& d) const {
    const double near = shape + d[0], far = shape + d[1];
    const bool wrong = near > far;
    const double x = wrong ? far / near : near / far, e = power(x), v = 1.0 / (1.0 + e);
    const double slope = power.h * (wrong ? v : e * v);
    if (wrong && e < TINY_FACTOR)
      return {-power.h * std::log(x), 1.0, {slope / near, -slope / far}};
    return {0.0, wrong ? e * v : v, {slope / near, -slope / far}};
  }
  SKSCREEN_INLINE double link(double a, double) const { return power(shape / (shape + a)); }
  SKSCREEN_INLINE AnswerLoss<2> of_links(const Distances<2>& d, const Distances<2>& links) const {
    if (links[0] > SMALLEST_EXPONENTIAL && links[1] > SMALLEST_EXPONENTIAL) {
      const double v = links[0] / (links[0] + links[1]);
      if (v > TINY_FACTOR) return {0.0, v, {1.0 - v, v - 1.0}};
    }
    AnswerLoss<2> found = (*this)(d);
    for (int s = 0; s < 2; ++s) found.slopes[s] *= (shape + d[s]) / power.h;
    return found;
  }
  SKSCREEN_INLINE double slope(double sum, double a, double) const {
    return sum * (power.h / (shape + a));
  }
};

// Terada and von Luxburg 2014: max(0, sqrt(a) + delta - sqrt(c))^2, delta = `shape` > 0.
struct SOE : Loss<2> {
  static constexpr const char* NAME = "soe";
  static constexpr bool LINKED = true;
  double shape;

  explicit SOE(double shape) : shape(shape) {}
  SKSCREEN_INLINE AnswerLoss<2> operator()(const Distances<2>& d) const {
    const Distances<2> roots = {link(d[0], 0.0), link(d[1], 0.0)};
    AnswerLoss<2> found = of_links(d, roots);
    for (int s = 0; s < 2; ++s) found.slopes[s] /= roots[s];
    return found;
  }
  SKSCREEN_INLINE double link(double a, double) const {
    return std::sqrt(std::max(a, SMALLEST_DISTANCE));
  }
  SKSCREEN_INLINE AnswerLoss<2> of_links(const Distances<2>&, const Distances<2>& roots) const {
    // Without a branch, which would be taken at random.
    const double s = std::max(roots[0] + shape - roots[1], 0.0);
    return {s * s, 1.0, {s, -s}};
  }
  SKSCREEN_INLINE double slope(double sum, double, double root) const { return sum / root; }
};

// The odd one out: -log(exp(-a) / (exp(-a) + exp(-c) + exp(-e))), a the squared distance of the two
// others, c and e those from each of them to it. The likelihood is that of Zheng, Pereira, Baker
// and Hebart (2019, SPoSE) and of Muttenthaler et al. (2022, VICE), with the similarity
// -|x_i - x_j|^2 in place of a product.
struct OddOneOut : Loss<3> {
  static constexpr const char* NAME = "oddoneout";
  static constexpr bool LINKED = true, CONVEX = true;

  explicit OddOneOut(double) {}
  SKSCREEN_INLINE AnswerLoss<3> operator()(const Distances<3>& d) const {
    const double largest = std::max({0.0, d[0] - d[1], d[0] - d[2]});
    const double right = std::exp(-largest), first = std::exp(d[0] - d[1] - largest);
    const double second = std::exp(d[0] - d[2] - largest), v = 1.0 / (right + first + second);
    return {largest, v, {(first + second) * v, -first * v, -second * v}};
  }
  SKSCREEN_INLINE double link(double a, double largest) const {
    return exponential_link(a, largest);
  }
  SKSCREEN_INLINE AnswerLoss<3> of_links(const Distances<3>& d, const Distances<3>& links) const {
    const double share = 1.0 / (links[0] + links[1] + links[2]), v = links[0] * share;
    if (!(links[0] > SMALLEST_EXPONENTIAL && v > TINY_FACTOR)) return (*this)(d);
    const double first = links[1] * share, second = links[2] * share;
    return {0.0, v, {first + second, -first, -second}};
  }
  SKSCREEN_INLINE double slope(double sum, double, double) const { return sum; }
  double conjugate(const std::array<double, 2>& t) const {
    return entropy(t[0]) + entropy(t[1]) + entropy(1.0 - t[0] - t[1]);
  }
};

// A loss is known by its place here.
using Losses = std::tuple<GNMDS, CKL, STE, TSTE, SOE, OddOneOut>;

template <size_t... places>
int64_t sides_of(int64_t loss, std::index_sequence<places...>) {
  constexpr int64_t SIDES[] = {std::tuple_element_t<places, Losses>::SIDES...};
  expects(0 <= loss && loss < static_cast<int64_t>(sizeof...(places)),
          "loss must be a place of LOSSES");
  return SIDES[loss];
}

// How many distances a loss has, whose code is checked.
inline int64_t sides_of(int64_t loss) {
  return sides_of(loss, std::make_index_sequence<std::tuple_size_v<Losses>>());
}

// act(loss) with the loss of this place and parameter.
template <size_t place = 0, class Act>
SKSCREEN_INLINE auto with_loss(int64_t loss, double shape, const Act& act) {
  if constexpr (place + 1 < std::tuple_size_v<Losses>)
    if (loss != static_cast<int64_t>(place)) return with_loss<place + 1>(loss, shape, act);
  return act(std::tuple_element_t<place, Losses>(shape));
}

// A sum of w (u - log v).
struct LossSum {
  double total = 0.0, product = 1.0;

  template <int sides>
  SKSCREEN_INLINE void add(const AnswerLoss<sides>& found) {
    total += found.u;
    product *= found.v;
    if (product < TINY_FACTOR) {
      total -= std::log(product);
      product = 1.0;
    }
  }
  template <int sides>
  SKSCREEN_INLINE void add(const AnswerLoss<sides>& found, double weight) {
    total += weight * (found.u - std::log(found.v));
  }
  double value() const { return total - std::log(product); }
};

}  // namespace skscreen::embedding
