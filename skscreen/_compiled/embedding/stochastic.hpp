// Stochastic passes of ordinal embedding: SGD on single answers, and an epoch of SVRG.
#pragma once

#include <vector>

#include "embedding/objective.hpp"

namespace skscreen::embedding {

// Move two objects against each other, along what `difference` gives by dimension.
template <class X, class Difference>
SKSCREEN_INLINE void move_apart(const X& x, Pair pair, double length,
                                const Difference& difference) {
  for (int64_t d = 0; d < x.columns; ++d) {
    const double step = length * difference(d);
    x(pair.first, d) -= step;
    x(pair.second, d) += step;
  }
}

// Steps on single answers, with lengths that go linearly from first to last; the next row.
//
// Rows are taken in order, from `start` on and round the end: they are shuffled beforehand. Each
// object shrinks by its share of the ridge when it is touched.
template <class Loss, class X>
int64_t sgd_pass(const Loss& loss, const X& x, Matrix<const int32_t> answers, int64_t start,
                 int64_t n_steps, double first_step, double last_step, double reg) {
  const int64_t m = answers.rows, width = answers.columns, p = x.columns;
  const double decay = (last_step - first_step) / (double)std::max<int64_t>(n_steps, 1);
  std::vector<double> third(Loss::SIDES == 3 ? p : 0);
  int64_t q = start;
  for (int64_t t = 0; t < n_steps; ++t) {
    const auto pairs = pairs_of<Loss::SIDES>(answers, q);
    if (++q == m) q = 0;
    const auto found = loss(distances_of(x, pairs));
    if (reg == 0.0 && is_flat(found)) continue;
    const auto [i, j] = pairs[0];
    const auto [l, k] = pairs[1];
    const double step = 2.0 * (first_step + decay * (double)t);
    const double shrink = 1.0 - step * reg / (double)width;
    const double slope_a = step * found.slopes[0], slope_c = step * found.slopes[1];
    if constexpr (Loss::SIDES == 3)  // all moves start from the same points
      for (int64_t d = 0; d < p; ++d) third[d] = step * found.slopes[2] * (x(j, d) - x(k, d));
    for (int64_t d = 0; d < p; ++d) {
      const double near = slope_a * (x(i, d) - x(j, d)), far = slope_c * (x(l, d) - x(k, d));
      if (width == 3) {
        x(i, d) = shrink * x(i, d) - near - far;
      } else {
        x(i, d) = shrink * x(i, d) - near;
        x(l, d) = shrink * x(l, d) - far;
      }
      x(j, d) = shrink * x(j, d) + near;
      x(k, d) = shrink * x(k, d) + far;
    }
    if constexpr (Loss::SIDES == 3)
      for (int64_t d = 0; d < p; ++d) {
        x(j, d) -= third[d];
        x(k, d) += third[d];
      }
  }
  return q;
}

// `n_steps` steps of SVRG on `batch` answers each, from X = snapshot.
//
// A step moves X by -batch * step * u, where u is the mean over the batch of the differences of
// gradients at X and at the snapshot, plus the full `gradient`. That last part moves every object:
// it is added to an object when the object is next needed, `last` says up to which step it has
// been. `buffer` holds the differences until all are computed.
template <class Loss, class X, class Fixed>
void svrg_epoch(const Loss& loss, const X& x, const Fixed& snapshot, const Fixed& gradient,
                Matrix<const int32_t> answers, int64_t start, int64_t n_steps, int64_t batch,
                double step, double reg) {
  constexpr int sides = Loss::SIDES;
  const int64_t m = answers.rows, width = answers.columns, p = x.columns;
  const double dense = (double)batch * step, shrink = 2.0 * step * reg / (double)width;
  std::vector<int64_t> last(x.rows);
  std::vector<double> buffer(batch * sides * p);
  const auto catch_up = [&](int64_t v, int64_t t) {
    if (last[v] >= t) return;
    const double length = dense * (double)(t - last[v]);
    for (int64_t d = 0; d < p; ++d) x(v, d) -= length * gradient(v, d);
    last[v] = t;
  };
  int64_t q = start;
  for (int64_t t = 0; t < n_steps; ++t) {
    const int64_t first = q;
    double* change = buffer.data();
    for (int64_t b = 0; b < batch; ++b) {
      const auto pairs = pairs_of<sides>(answers, q);
      if (++q == m) q = 0;
      for (int s = 0; s < 2; ++s) {  // a third side has no other objects
        catch_up(pairs[s].first, t);
        catch_up(pairs[s].second, t);
      }
      const auto slopes = loss(distances_of(x, pairs)).slopes;
      const auto old_slopes = loss(distances_of(snapshot, pairs)).slopes;
      for (int s = 0; s < sides; ++s) {
        const auto [i, j] = pairs[s];
        for (int64_t d = 0; d < p; ++d)
          *change++ =
              slopes[s] * (x(i, d) - x(j, d)) - old_slopes[s] * (snapshot(i, d) - snapshot(j, d));
      }
    }
    q = first;
    change = buffer.data();
    for (int64_t b = 0; b < batch; ++b) {
      const auto pairs = pairs_of<sides>(answers, q);
      for (int64_t column = 0; column < width; ++column) {
        const int64_t v = answers(q, column);
        for (int64_t d = 0; d < p; ++d) x(v, d) -= shrink * (x(v, d) - snapshot(v, d));
      }
      if (++q == m) q = 0;
      for (int s = 0; s < sides; ++s, change += p)
        move_apart(x, pairs[s], 2.0 * step, [&](int64_t d) { return change[d]; });
    }
  }
  for (int64_t v = 0; v < x.rows; ++v) catch_up(v, n_steps);
}

}  // namespace skscreen::embedding
