// Sequential dual method for the multi-class hinge of Crammer and Singer: svm/crammer_singer/.
//
// S. S. Keerthi, S. Sundararajan, K.-W. Chang, C.-J. Hsieh, C.-J. Lin (2008), A sequential dual
// method for large scale multi-class linear SVMs, KDD. Section 2.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "core/arrays.hpp"
#include "core/checks.hpp"
#include "core/core.hpp"
#include "samples/rows.hpp"
#include "svm/linear.hpp"

namespace skscreen::svm {

// Classes whose weights of a feature are read together: a vector of AVX2, or up to eight of them.
constexpr int64_t SCORE_LANES = 4;

// Visits in a row that leave a sample alone, after which it rests until the next certificate.
constexpr int64_t MOST_IDLE = 3;

// Samples (x_i, bias) with classes and bounds c_i. Rows of alpha (n, width) add up to 0, with
// alpha(i, k) <= 0 for other classes than that of i, and for this at most c_i. The weights
// ((d + 1) * width,) of a feature in all classes are contiguous. Both are filled up with zeros to
// whole lanes.
template <class Data>
struct ClassHinge {
  Data X;
  double bias;
  int64_t n_classes;
  Array<const int64_t> own;
  Array<const double> caps, squares;
  Matrix<double> alpha;
  Array<double> weights;

  int64_t width() const { return alpha.columns; }

  void check() const {
    const int64_t n = own.size;
    expects(X.has(n), "own must have an entry for each row");
    expects(n_classes > 0 && n_classes <= width() && width() % SCORE_LANES == 0 &&
                width() < MOST_ENTRIES / (X.d + 1),
            "alpha must have whole lanes of classes");
    expects(alpha.rows == n, "alpha must have a row for each sample");
    expects_sizes(n, "caps", caps, "squares", squares);
    expects_places("own", own, n_classes);
    expects(weights.size >= width() * (X.d + (bias != 0.0)), "weights must have all features");
  }

  // Call use(row of weights, value) for each feature of sample i.
  template <class Use>
  SKSCREEN_INLINE void for_features(int64_t i, double* lanes, Use use) const {
    const int64_t first = X.first(i), last = X.first(i + 1), step = width();
    if (X.dense())
      for (int64_t j = 0; j < X.d; ++j) use(lanes + j * step, (double)X.data.data[first + j]);
    else
      for (int64_t p = first; p < last; ++p)
        use(lanes + (int64_t)X.columns[p] * step, (double)X.data.data[p]);
    if (bias != 0.0) use(lanes + X.d * step, bias);
  }

  // <w_k, x_i>, plus 1 for other classes than that of i; -inf for classes that there are none of.
  void losses(int64_t i, double* out) const {
    int64_t k = 0;
    for (; k + 8 * SCORE_LANES <= width(); k += 8 * SCORE_LANES) scores<8>(i, k, out);
    switch ((width() - k) / SCORE_LANES) {
      case 7:
        scores<7>(i, k, out);
        break;
      case 6:
        scores<6>(i, k, out);
        break;
      case 5:
        scores<5>(i, k, out);
        break;
      case 4:
        scores<4>(i, k, out);
        break;
      case 3:
        scores<3>(i, k, out);
        break;
      case 2:
        scores<2>(i, k, out);
        break;
      case 1:
        scores<1>(i, k, out);
        break;
    }
    out[own[i]] -= 1.0;
    std::fill(out + n_classes, out + width(), -INF);
  }

  // The same of some classes, of which there are as many as registers hold. The loop over a vector
  // stays innermost, so that compilers do not gather several entries of a sparse row instead.
  template <int PARTS>
  SKSCREEN_INLINE void scores(int64_t i, int64_t k, double* out) const {
    double sums[PARTS * SCORE_LANES];
    for (double& sum : sums) sum = 1.0;
    for_features(i, weights.data + k, [&sums](const double* row, double value) {
      for (int64_t part = 0; part < PARTS; ++part)
#pragma omp simd
        for (int64_t l = 0; l < SCORE_LANES; ++l)
          sums[part * SCORE_LANES + l] += value * row[part * SCORE_LANES + l];
    });
    for (int64_t l = 0; l < PARTS * SCORE_LANES; ++l) out[k + l] = sums[l];
  }

  // Add x_i, times a factor for each class, to the weights.
  void add(int64_t i, const double* factors) const {
    for (int64_t k = 0; k < width(); k += SCORE_LANES) {
      const double* some = factors + k;
      if (std::all_of(some, some + SCORE_LANES, [](double f) { return f == 0.0; })) continue;
      for_features(i, weights.data + k, [some](double* row, double value) {
#pragma omp simd
        for (int64_t l = 0; l < SCORE_LANES; ++l) row[l] += value * some[l];
      });
    }
  }

  // Largest of the losses of sample i, and what it adds to the gap: the sum of
  // (c_i [k = y_i] - alpha(i, k)) (largest - loss of k), all of whose terms are >= 0.
  std::pair<double, double> slackness(int64_t i, const double* f) const {
    const double top = max_of(f, width());
    const double* a = alpha.row(i).data;
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < width(); ++k) sum += a[k] == 0.0 ? 0.0 : a[k] * (top - f[k]);
    return {top, std::max(caps[i] * (top - f[own[i]]) - sum, 0.0)};
  }

  // Move the variables of sample i to their best values; f becomes the change of each. Returns
  // whether one class alone is at its largest loss.
  //
  // With v_k = c_i [k = y_i] - alpha(i, k) + (f_k - highest) / |x_i|^2, for the largest loss, these
  // are c_i [k = y_i] - max(v_k - t, 0) for the t at which the latter add up to c_i. c_i itself is
  // kept out of sums, next to which small variables would lose digits, as they would next to the
  // losses of a short row, divided by its square.
  bool move(int64_t i, double highest, double* f) const {
    const int64_t K = width(), y = own[i];
    const double cap = caps[i], inverse = 1.0 / squares[i];
    double* a = alpha.row(i).data;
    // The own class apart from the others.
    const double before = a[y], mine = (f[y] - highest) * inverse - before;
    f[y] = -INF;
    a[y] = 0.0;
    double top = -INF, total_before = before < cap ? mine : -cap, inside_before = before < cap;
#pragma omp simd reduction(max : top) reduction(+ : total_before, inside_before)
    for (int64_t k = 0; k < K; ++k) {
      f[k] = (f[k] - highest) * inverse - a[k];
      top = f[k] > top ? f[k] : top;
      total_before += a[k] != 0.0 ? f[k] : 0.0;
      inside_before += a[k] != 0.0 ? 1.0 : 0.0;
    }
    // From below, as the t of any classes is at most that of the right ones: first that of the
    // classes of the last visit, most of which stay. Every pass leaves out classes that are below
    // the t of those that are left.
    double t = std::max(top, mine + cap) - cap;
    if (inside_before > 0.0) t = std::max(t, total_before / inside_before);
    int64_t count = K + 1;
    for (;;) {
      const bool with_own = mine >= t - cap;
      double total = with_own ? mine : -cap, inside = with_own;
#pragma omp simd reduction(+ : total, inside)
      for (int64_t k = 0; k < K; ++k) {
        total += f[k] >= t ? f[k] : 0.0;
        inside += f[k] >= t ? 1.0 : 0.0;
      }
      // None are left, and no fewer, by rounding errors alone.
      if (inside == 0.0 || inside >= (double)count) break;
      count = (int64_t)inside;
      t = total / inside;
    }
    const bool single = count == 1;
    // Exact at a corner. Ties with the class there have next to nothing.
    const double corner = single ? -0.5 * cap : -INF;
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < K; ++k) {
      const double value = f[k] < t ? 0.0 : t - f[k];
      f[k] = value < corner ? -cap : value;
      sum += -f[k];
    }
    const double scale = sum > cap ? cap / sum : 1.0;
    f[y] = sum;
    a[y] = before;
#pragma omp simd
    for (int64_t k = 0; k < K; ++k) {
      const double value = scale * f[k];
      f[k] = value - a[k];
      a[k] = value;
    }
    return single;
  }

  static double max_of(const double* f, int64_t n) {
    double out = -INF;
#pragma omp simd reduction(max : out)
    for (int64_t k = 0; k < n; ++k) out = f[k] > out ? f[k] : out;
    return out;
  }

  // Make the weights those of alpha.
  void refresh() const {
    std::fill(weights.data, weights.data + weights.size, 0.0);
    for (int64_t i = 0; i < own.size; ++i)
      if (alpha(i, own[i]) != 0.0) add(i, alpha.row(i).data);
  }

  // Sums of c_i times the loss and of the slackness of all samples, for the weights of alpha.
  // `order` begins with the samples of positive slackness; returns their number too.
  std::tuple<double, double, int64_t> certify(Array<int64_t> order) const {
    expects_sizes(own.size, "order", order);
    refresh();
    std::vector<double> f(width());
    double loss = 0.0, gap = 0.0;
    int64_t count = 0;
    for (int64_t i = 0; i < own.size; ++i) {
      losses(i, f.data());
      const auto [top, slack] = slackness(i, f.data());
      loss += caps[i] * (top - f[own[i]]);
      gap += slack;
      if (slack > 0.0) order[count++] = i;
    }
    return {loss, gap, count};
  }

  // Visit the samples `order` again and again, at random, until their slacknesses on the way add up
  // to `enough`, or for `visits` visits or `most` sweeps. Samples that stay alone rest. Returns the
  // number of sweeps.
  int64_t sweeps(Array<int64_t> order, Array<uint64_t> random, double enough, int64_t visits,
                 int64_t most) const {
    expects_places("order", order, own.size);
    expects_sizes(1, "random", random);
    std::vector<double> f(width());
    std::vector<uint8_t> idle(own.size, 0);
    int64_t count = 0, size = order.size;
    while (count < most && visits > 0 && size > 0) {
      shuffle(order.slice(0, size), random[0]);
      double gap = 0.0;
      int64_t kept = 0;
      for (int64_t k = 0; k < size; ++k) {
        const int64_t i = order[k];
        ask_for(order.slice(0, size), k);
        losses(i, f.data());
        const auto [top, slack] = slackness(i, f.data());
        gap += slack;
        // Most samples stay at the corner of their own class.
        bool rests = alpha(i, own[i]) == 0.0 && f[own[i]] == top;
        if (!rests) {
          const bool single = move(i, top, f.data());
          const bool moved = std::any_of(f.begin(), f.end(), [](double c) { return c != 0.0; });
          if (moved) add(i, f.data());
          rests = single && !moved;
        }
        idle[i] = rests ? idle[i] + 1 : 0;
        if (idle[i] < MOST_IDLE) order[kept++] = i;
      }
      ++count;
      visits -= size;
      size = kept;
      if (gap <= enough) break;
    }
    return count;
  }

 private:
  // Without this, most of the time of narrow rows is spent waiting for them.
  SKSCREEN_INLINE void ask_for(Array<int64_t> order, int64_t k) const {
    if (!X.dense() && k + 2 * AHEAD < order.size) prefetch(X.starts.data + order[k + 2 * AHEAD]);
    if (k + AHEAD >= order.size) return;
    const int64_t coming = order[k + AHEAD];
    prefetch_row(X, coming);
    prefetch(alpha.data, coming * width(), (coming + 1) * width());
    prefetch(own.data + coming);
    prefetch(caps.data + coming);
    prefetch(squares.data + coming);
  }
};

}  // namespace skscreen::svm
