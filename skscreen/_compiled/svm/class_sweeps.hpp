// Sweeps of dual coordinate descent for many one-vs-rest problems at once, in single precision:
// svm/solvers/linear/classes_together.py.
//
// All problems have the same rows and only differ in their signs. A visit of a row reads it once
// and moves its dual variable in each of CLASS_LANES problems, whose weights of a feature are
// contiguous. For rows with few entries in many columns, such as texts, most of the time goes into
// finding weights in memory; here it is shared.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/arrays.hpp"
#include "core/checks.hpp"

namespace skscreen::svm {

// Number of problems whose weights are contiguous: two cache lines.
constexpr int64_t CLASS_LANES = 32;

// CSR rows, with the value of a feature that all share, whose weights come last.
template <class Column, class Start>
struct SingleRows {
  Array<const float> data;
  Array<const Column> columns;
  Array<const Start> starts;
  float bias;

  int64_t count() const { return starts.size - 1; }
  void check() const {
    expects(starts.size > 0, "starts must not be empty");
    expects_sizes(data.size, "columns", columns);
    expects_starts("starts", starts, data.size);
  }
};

// Losses of rows, (n,): the problem in which a row has the sign +1, shifts, 1 / (|z_i|^2 +
// shift_i).
struct ClassLosses {
  Array<const int64_t> own;
  int64_t size;  // problems at hand, no more than CLASS_LANES
  Array<const float> shifts, steps;
};

// What the rows have of a sweep: dual variables (n, CLASS_LANES), weights ((d + 1) * CLASS_LANES,),
// and the sums of slacknesses, of the margins met on the way, and of the dual variables.
struct ClassPoint {
  Matrix<float> alpha;
  Array<float> weights;
  Array<double> gaps, sums;
};

// A part of the lanes that the processor adds at once, where the compiler has vectors of its own.
#if defined(__AVX__) && defined(__GNUC__)
typedef float LanePart __attribute__((vector_size(32)));
#elif defined(__GNUC__)
typedef float LanePart __attribute__((vector_size(16)));
#else
typedef float LanePart;
#endif
constexpr int64_t LANE_PARTS = CLASS_LANES * sizeof(float) / sizeof(LanePart);

constexpr int64_t PART_LANES = CLASS_LANES / LANE_PARTS;

SKSCREEN_INLINE LanePart load_part(const float* place) {
  LanePart out;
  std::memcpy(&out, place, sizeof out);
  return out;
}
SKSCREEN_INLINE void store_part(LanePart part, float* place) {
  std::memcpy(place, &part, sizeof part);
}

// Add value times the lanes at `source` to those at `target`.
SKSCREEN_INLINE void add_lanes(float value, const LanePart* source, float* target) {
  for (int64_t k = 0; k < LANE_PARTS; ++k)
    store_part(load_part(target + k * PART_LANES) + value * source[k], target + k * PART_LANES);
}

struct ClassMoves {
  bool moved, resting;
  float steepest;
};

// Move the variables of row i; its scores become what these moves add to the weights.
inline ClassMoves move_classes(const ClassLosses& losses, const ClassPoint& at, int64_t i,
                               float rest, float* SKSCREEN_RESTRICT scores) {
  const float shift = losses.shifts[i], step = losses.steps[i];
  const int64_t own = losses.own[i], size = losses.size;
  const bool positive = 0 <= own && own < size;
  float* SKSCREEN_RESTRICT alpha = at.alpha.row(i).data;
  double* SKSCREEN_RESTRICT gaps = at.gaps.data;
  double* SKSCREEN_RESTRICT sums = at.sums.data;
  if (positive) scores[own] = -scores[own];
  float steepest = 0.0f;
  int moved = 0, active = 0;
#pragma omp simd reduction(max : steepest) reduction(| : moved, active)
  for (int64_t k = 0; k < size; ++k) {
    const float old = alpha[k], lacks = 1.0f + scores[k], slope = lacks - shift * old;
    const float lost = lacks > 0.0f ? lacks : 0.0f, over = lacks < 0.0f ? -lacks : 0.0f;
    const float free = old + slope * step, wanted = free > 0.0f ? free : 0.0f;
    const float off = shift * old - lost;
    gaps[k] += 0.5f / shift * (off * off) + old * over;
    sums[k] += wanted;
    alpha[k] = wanted;
    const float change = old - wanted, size_of = std::abs(change) / step;
    scores[k] = change;
    moved |= change != 0.0f;
    active |= !(wanted == 0.0f && slope < -rest);
    steepest = size_of > steepest ? size_of : steepest;
  }
  for (int64_t k = size; k < CLASS_LANES; ++k) scores[k] = 0.0f;
  if (positive) scores[own] = -scores[own];
  return {moved != 0, active == 0, steepest};
}

// Move the dual variables of the rows `order`, in that order, to their best values.
//
// A row rests if all its variables are 0 and all its gradients below minus `rest`; the first of
// `order` become those that do not. Returns their number, and the largest gradient of a variable
// that moved.
template <class Column, class Start>
std::pair<int64_t, float> class_sweep(const SingleRows<Column, Start>& X, const ClassLosses& losses,
                                      const ClassPoint& at, Array<int64_t> order, float rest) {
  const int64_t n = X.count(), width = at.weights.size / CLASS_LANES;
  expects(width > 0 && at.weights.size % CLASS_LANES == 0, "weights must have lanes of classes");
  expects_sizes(n, "own", losses.own, "shifts", losses.shifts, "steps", losses.steps);
  expects(0 <= losses.size && losses.size <= CLASS_LANES, "size must be at most CLASS_LANES");
  expects_shape(n, CLASS_LANES, "alpha", at.alpha);
  expects_sizes(CLASS_LANES, "gaps", at.gaps, "sums", at.sums);
  expects_places("order", order, n);
  for (int64_t k = 0; k < order.size; ++k) {
    const int64_t i = order[k];
    expects_places("columns", X.columns.slice(X.starts[i], X.starts[i + 1]), width - 1);
  }
  float* weights = at.weights.data;
  float* last = weights + at.weights.size - CLASS_LANES;
  int64_t kept = 0;
  float largest = 0.0f;
  for (int64_t k = 0; k < CLASS_LANES; ++k) at.gaps[k] = at.sums[k] = 0.0;
  for (int64_t t = 0; t < order.size; ++t) {
    const int64_t i = order[t];
    const Start first = X.starts[i], end = X.starts[i + 1];
    LanePart parts[LANE_PARTS] = {};
    const auto add_from = [&](const float* place, float value) {
      for (int64_t k = 0; k < LANE_PARTS; ++k)
        parts[k] += value * load_part(place + k * PART_LANES);
    };
    for (Start p = first; p < end; ++p)
      add_from(weights + CLASS_LANES * (int64_t)X.columns[p], X.data[p]);
    add_from(last, X.bias);
    float scores[CLASS_LANES];
    for (int64_t k = 0; k < LANE_PARTS; ++k) store_part(parts[k], scores + k * PART_LANES);
    const ClassMoves found = move_classes(losses, at, i, rest, scores);
    largest = found.steepest > largest ? found.steepest : largest;
    if (!found.resting) order[kept++] = i;
    if (!found.moved) continue;
    for (int64_t k = 0; k < LANE_PARTS; ++k) parts[k] = load_part(scores + k * PART_LANES);
    for (Start p = first; p < end; ++p)
      add_lanes(X.data[p], parts, weights + CLASS_LANES * (int64_t)X.columns[p]);
    add_lanes(X.bias, parts, last);
  }
  return {kept, largest};
}

}  // namespace skscreen::svm
