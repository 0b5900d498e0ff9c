// Runs loops of every room on made numbers and prints what they return, for `make portable`.
//
// A line has a name and numbers in hexadecimal. Names that begin with "same." are of loops without
// sums that may be reordered, exponentials or logarithms: their numbers are the same in every bit
// on all machines, if products and sums are not contracted.
#include <cmath>
#include <cstdio>
#include <vector>

#include "concepts/tools.hpp"
#include "concepts/trials.hpp"
#include "core/core.hpp"
#include "distributed/passes.hpp"
#include "embedding/descent.hpp"
#include "embedding/places.hpp"
#include "embedding/reversal.hpp"
#include "embedding/stochastic.hpp"
#include "metric_learning/screening.hpp"
#include "pragam/steps.hpp"
#include "samples/gram.hpp"
#include "samples/row_tiles.hpp"
#include "sequence/frank_wolfe.hpp"
#include "sequence/weighted.hpp"
#include "svm/certificate.hpp"
#include "svm/class_sweeps.hpp"
#include "svm/crammer_singer.hpp"
#include "svm/few.hpp"
#include "svm/l1.hpp"
#include "svm/linear.hpp"
#include "svm/narrow.hpp"
#include "svm/narrow_tubes.hpp"
#include "svm/newton.hpp"
#include "svm/pairs.hpp"
#include "svm/pairs_together.hpp"
#include "svm/probabilities.hpp"
#include "svm/scores.hpp"
#include "svm/screening.hpp"

using namespace skscreen;

static uint64_t state = 1;

// Made numbers from -1 to 1, the same everywhere (Marsaglia's xorshift).
static double made() {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return static_cast<double>(state >> 11) * 0x1p-52 - 1.0;
}

template <class T = double>
static std::vector<T> many(int64_t n, double low = -1.0, double high = 1.0) {
  std::vector<T> out(n);
  for (T& value : out) value = static_cast<T>(low + 0.5 * (made() + 1.0) * (high - low));
  return out;
}

template <class T>
static std::vector<T> places(int64_t n, int64_t size) {
  std::vector<T> out(n);
  for (T& value : out) value = static_cast<T>(0.5 * (made() + 1.0) * static_cast<double>(size));
  return out;
}

template <class T>
static Array<T> view(std::vector<T>& values) {
  return {values.data(), static_cast<int64_t>(values.size())};
}
template <class T>
static Matrix<T> view(std::vector<T>& values, int64_t columns) {
  return {values.data(), static_cast<int64_t>(values.size()) / columns, columns};
}

static void show(const char* name, double value) { std::printf("%s %a\n", name, value); }
template <class T>
static void show(const char* name, const std::vector<T>& values) {
  std::printf("%s", name);
  for (const T value : values) std::printf(" %a", static_cast<double>(value));
  std::printf("\n");
}

constexpr int64_t N = 90, D = 7;

// Rows (N, D) of CSR with a third of the entries.
template <class T>
struct Sparse {
  std::vector<T> data;
  std::vector<uint32_t> columns;
  std::vector<int32_t> starts{0};

  explicit Sparse(int64_t d = D) {
    for (int64_t i = 0; i < N; ++i) {
      for (int64_t j = 0; j < d; ++j)
        if (made() > 0.3) {
          data.push_back(static_cast<T>(made()));
          columns.push_back(static_cast<uint32_t>(j));
        }
      starts.push_back(static_cast<int32_t>(data.size()));
    }
  }
  samples::Rows<T, uint32_t, int32_t> rows(int64_t d = D) {
    return {view(data), view(columns), view(starts), d};
  }
};

static void run_core() {
  auto m = many(N, -2.0, 2.0), ratio = many(N, 0.5, 1.0), sigma = many(N, 0.5, 1.5);
  auto low = many(N, -1.0, 0.0), high = many(N, 0.0, 1.0), out = many(N);
  show("core.project",
       project(view(m), view(ratio), view(sigma), view(low), view(high), 0.3, 0.0, view(out)));
  show("core.projected", out);
  const auto [least, most, size] = total_range(view(sigma), view(low), view(high));
  show("same.core.total_range", std::vector<double>{least, most, size});
  std::vector<double> slack;
  for (int64_t i = 0; i < N; ++i) slack.push_back(hinge_slackness(m[i], high[i], ratio[i], 0.25));
  show("same.core.hinge_slackness", slack);
  show("same.core.select", select(view(m), N / 3));
}

template <class T>
static void run_tiles(const char* name) {
  using namespace samples;
  auto t = many<T>(N * D, -9.0, 0.0), weights = many<T>(N, 0.0, 1.0);
  std::vector<T> written(N * D);
  write_powers(t.data(), N * D, written.data());
  show(name, written);
  auto own = many(2 * N, 0.0, 1.0), other = many(D, 0.0, 1.0);
  std::vector<double> values(D), errors(D);
  const Sums sums{view(other), {6e-8, 8.0, 1e-16}, view(values), view(errors)};
  add_powers<T>(view(t, D), view(weights), false, view(own, 2), sums);
  show(name, values);
  show(name, errors);
  // Rows of eight entries, one of them padding.
  std::vector<int64_t> indptr(N + 1), none, all(N);
  for (int64_t i = 0; i <= N; ++i) indptr[i] = 8 * i;
  for (int64_t i = 0; i < N; ++i) all[i] = i;
  auto entries = many<T>(8 * N), high = many<T>(N, -3.0, -2.0), low = many<T>(N, -1e-9, 1e-9);
  const TileRows<T> rows{view(indptr), view(none), view(entries), view(high), view(low)};
  std::vector<T> kernel(N * N);
  write_tiles<T>(rows, rows, 32, 8, view(all), view(all), view(kernel, N));
  show(name, kernel);
}

static void run_samples() {
  using namespace samples;
  run_tiles<float>("same.samples.tiles.single");
  run_tiles<double>("same.samples.tiles.double");
  Sparse<double> sparse;
  auto dense = many(N * D), w = many(D), scales = many(N), out = many(N), sum = many(D);
  std::vector<uint32_t> no_columns;
  std::vector<int32_t> no_starts;
  const Rows<double, uint32_t, int32_t> full{view(dense), view(no_columns), view(no_starts), D};
  multiply(sparse.rows(), view(w), view(out));
  show("same.samples.multiply.sparse", out);
  multiply(full, view(w), view(out));
  show("samples.multiply.dense", out);
  multiply_transposed(sparse.rows(), view(scales), view(sum));
  show("same.samples.multiply_transposed", sum);
  squared_norms(full, view(out));
  show("samples.squared_norms", out);
  auto rows = places<int64_t>(11, N), columns = places<int64_t>(5, D);
  auto some = many(11), added = many(5);
  add_gram_rows_at(view(dense, D), view(rows), view(some), view(columns), view(added));
  show("same.samples.add_gram_rows_at", added);
  auto weights = many(N, 0.0, 1.0), signs = many(N);
  for (double& sign : signs) sign = sign < 0.0 ? -1.0 : 1.0;
  show("same.samples.weighted_quantile", weighted_quantile(view(out), view(weights), 9.0));
  show("samples.balancing_intercept",
       balancing_intercept(view(out), view(weights), view(signs), 1.0));
}

// A kernel matrix, linear plus a ridge, with padded columns.
template <class T>
static std::vector<T> kernel_of(std::vector<double>& X, int64_t columns) {
  std::vector<T> K(N * columns);
  for (int64_t i = 0; i < N; ++i)
    for (int64_t j = 0; j < N; ++j) {
      double total = i == j ? 0.5 : 0.0;
      for (int64_t d = 0; d < D; ++d) total += X[i * D + d] * X[j * D + d];
      K[i * columns + j] = static_cast<T>(total);
    }
  return K;
}

template <class T>
static void run_smo(const char* name, bool free) {
  const int64_t n = svm::padded(N);
  auto X = many(N * D);
  auto K = kernel_of<T>(X, n);
  std::vector<T> diagonal(n, T(1));
  std::vector<double> low(n), high(n), beta(n), g(n);
  for (int64_t i = 0; i < N; ++i) {
    diagonal[i] = K[i * n + i];
    g[i] = X[i * D] + 0.5 * made() > 0.0 ? 1.0 : -1.0;
    (g[i] > 0.0 ? high : low)[i] = g[i];
  }
  svm::Smo<T> smo({K.data(), N, n}, view(diagonal), view(low), view(high), view(beta), view(g));
  const int64_t steps = free ? smo.with_offset(1e-3, 5000) : smo.without_offset(1e-3, 5000);
  show(name, static_cast<double>(steps));
  show(name, beta);
}

static void run_kernel_machines() {
  run_smo<float>("same.svm.with_offset.single", true);
  run_smo<double>("same.svm.with_offset.double", true);
  run_smo<float>("same.svm.without_offset.single", false);
  run_smo<double>("same.svm.without_offset.double", false);
  auto X = many(N * D), target = many(N), low = many(N), high = many(N), beta = many(N),
       f = many(N);
  auto errors = many(N, 0.0, 1e-9), slopes = many(N), parts = many(N), losses = many(N);
  for (int64_t i = 0; i < N; ++i) {
    target[i] = target[i] > 0.0 ? 1.0 : -1.0;
    low[i] = target[i] > 0.0 ? 0.0 : -1.0;
    high[i] = low[i] + 1.0;
    beta[i] = 0.5 * (low[i] + high[i]) * std::abs(beta[i]);
  }
  std::vector<double> none;
  const svm::Dual dual{view(target), view(low), view(high), true, view(none)};
  svm::balance(dual, view(beta));
  show("same.svm.balance", beta);
  const auto found = svm::largest_gap(dual, view(beta), view(f), view(errors), view(slopes),
                                      view(parts), view(losses));
  show("same.svm.largest_gap", std::vector<double>{found.b[0], found.gap, found.primal});
  auto K = kernel_of<double>(X, N), out = many(N);
  auto index = places<int64_t>(N, N);
  svm::products_of_rows<double>(view(K, N), view(index), view(beta), view(out));
  show("svm.products_of_rows", out);
}

static void run_linear_machines() {
  Sparse<double> sparse;
  const auto X = sparse.rows();
  auto terms = many(6 * N), alpha = many(N, 0.0, 0.0), u = many(D, 0.0, 0.0);
  std::vector<double> rest{INF, -INF}, w(D), sums(D);
  std::vector<int64_t> active(N);
  std::vector<uint64_t> random{7};
  for (int64_t i = 0; i < N; ++i) {
    active[i] = i;
    double square = 0.0;
    for (int64_t p = X.first(i); p < X.first(i + 1); ++p) square += X.data[p] * X.data[p];
    const double sign = made() < 0.0 ? -1.0 : 1.0;
    const double parts[] = {sign, 1.0, 1.0, 0.0, 1.0 / std::max(square, 0.1), 1.0};
    std::copy_n(parts, 6, terms.data() + 6 * i);
  }
  const auto done = svm::epochs(X, 0.0, 0.0, view(terms, 6), view(alpha), view(u), view(active),
                                view(rest), 2.0, view(random), 1e9, 20, 0.0, 1.0, 0.0);
  show("same.svm.epochs", static_cast<double>(std::get<0>(done)));
  show("same.svm.epochs", alpha);
  auto H = many(D * D), gradient = many(D, -3.0, 3.0), x = many(D);
  for (int64_t i = 0; i < D; ++i) {
    for (int64_t j = 0; j < i; ++j) H[i * D + j] = H[j * D + i];
    H[i * D + i] += 9.0;
  }
  svm::quadratic_descent(view(H, D), view(gradient), view(x), 1e-9, 500);
  show("same.svm.quadratic_descent", x);
  auto base = many(N, 0.0, 1.0), inverses = many(N, 1.0, 2.0), caps = many(N, 1.0, 2.0);
  auto lacks = many(N), out = many(N), zeros = many(N, 0.0, 0.0);
  show("svm.smooth_duals", svm::smooth_duals({view(base), view(inverses), view(zeros), view(caps)},
                                             view(lacks), view(out)));
  // Classes at once, in single precision and in double.
  Sparse<float> single;
  std::vector<int64_t> own(N);
  for (int64_t i = 0; i < N; ++i) own[i] = i % 5;
  auto shifts = many<float>(N, 0.5, 1.0), steps = many<float>(N, 0.2, 0.4);
  std::vector<float> duals(N * svm::CLASS_LANES), weights((D + 1) * svm::CLASS_LANES);
  std::vector<double> gaps(svm::CLASS_LANES), totals(svm::CLASS_LANES);
  const svm::ClassPoint at{view(duals, svm::CLASS_LANES), view(weights), view(gaps), view(totals)};
  const svm::SingleRows<uint32_t, int32_t> rows{view(single.data), view(single.columns),
                                                view(single.starts), 1.0f};
  for (int64_t i = 0; i < N; ++i) active[i] = i;
  svm::class_sweep(rows, {view(own), 5, view(shifts), view(steps)}, at, view(active), 1e9f);
  show("same.svm.class_sweep.single", duals);
  auto C = many(N, 0.5, 1.0), squares = many(N, 1.0, 2.0);
  std::vector<double> variables(N * 8), features(8 * D);
  const svm::ClassHinge<decltype(sparse.rows())> hinge{
      X, 0.0, 5, view(own), view(C), view(squares), view(variables, 8), view(features)};
  for (int64_t i = 0; i < N; ++i) active[i] = i;
  hinge.sweeps(view(active), view(random), 0.0, 1000, 10);
  show("svm.sweep_classes", variables);
}

static void run_few_samples() {
  auto X = many(N * D), norms = many(N, 0.0, 0.0), signs = many(N), sizes = many(N, 1.0, 1.0);
  std::vector<double> low(N), high(N), beta(N, 0.0), f(N), errors(N), none, caps(N, 2.0),
      ones(N, 1.0);
  for (int64_t i = 0; i < N; ++i) {
    signs[i] = signs[i] > 0.0 ? 1.0 : -1.0;
    (signs[i] > 0.0 ? high : low)[i] = 2.0 * signs[i];
    for (int64_t k = 0; k < D; ++k) norms[i] += X[i * D + k] * X[i * D + k];
    norms[i] = std::sqrt(norms[i]);
  }
  const svm::FewValues values{view(X, D), svm::RBF, 1, 0.5, 0.0, 0.0, view(sizes), 1e-15, 0.0};
  const svm::Dual dual{view(signs), view(low), view(high), true, view(none)};
  std::vector<int64_t> samples(N);
  for (int64_t i = 0; i < N; ++i) samples[i] = i;
  const auto [found, steps] = svm::solve_few(
      values, view(samples), dual, false, {1e-13, 1.0, 100000}, view(beta), view(f), view(errors));
  show("svm.solve_few", found.primal);
  std::vector<double> w(D), alpha(N), said(3);
  svm::solve_squared_hinges(view(X, D), view(norms), view(ones), view(caps), view(signs, N), 1e-12,
                            view(w, D), view(alpha, N), view(said, 3));
  show("svm.solve_squared_hinges", said[0]);
  auto thresholds = many(2 * N);
  std::vector<double> both(2 * N);
  svm::solve_tube(view(X, N), view(thresholds), view(caps), 1e-12, view(w), view(both), view(said));
  show("svm.solve_tube", said[0]);
}

static void run_screening() {
  auto margins = many(N), slope = many(N), norms = many(N, 0.5, 1.0), low = many(N), high = many(N);
  svm::intersection_pass(view(margins), view(slope), view(norms), {0.5, -0.25, 0.125, 1e-9},
                         view(low), view(high));
  show("same.svm.intersection_pass", low);
  show("same.svm.intersection_pass", high);
  auto sizes = many(N, 0.5, 1.0), beta = many(N, 0.0, 0.5), more = many(N, 0.0, 0.9),
       next = many(N);
  std::vector<double> ones(N, 1.0), zeros(N, 0.0);
  const svm::PointsBetween between{view(norms), view(ones), view(zeros),   view(ones), view(sizes),
                                   view(beta),  view(more), view(margins), view(next), 1.0,
                                   2.0,         1e-9,       0.25,          0.75};
  show("same.svm.largest_slackness_between", svm::largest_slackness_between(between));
  show("same.svm.largest_squared_slackness_between",
       svm::largest_squared_slackness_between(between));
}

static void run_metric_learning() {
  using namespace metric_learning;
  auto X = many(N * D), out = many(N);
  auto pairs = places<int32_t>(2 * N, N);
  squared_distances(view(X, D), view(pairs, 2), view(out));
  show("metric_learning.squared_distances", out);
  auto weights = many(N), degrees = many(N), sums = many(N * D);
  add_edges(view(X, D), view(pairs, 2), view(weights), 1.0, view(degrees), view(sums, D));
  show("same.metric_learning.add_edges", sums);
  std::vector<int64_t> start, stop, blocks{0, N / 2, N}, order(N);
  for (int64_t p = 0; p < N; ++p) {
    start.push_back(p < N / 2 ? 0 : N / 2);
    stop.push_back(p < N / 2 ? N / 2 : N);
  }
  auto near = many(N, 0.0, 2.0), far = many(N, 0.0, 2.0);
  std::vector<double> ones(N, 1.0), near_weights(N), place_weights(N);
  const Levels level{ones.data(), N, 1};
  show("metric_learning.loss_pass",
       loss_pass(view(start), view(stop), view(near), view(far), level, 0.05, 1.0, level,
                 view(near_weights), view(place_weights)));
  show("metric_learning.place_weights", place_weights);
  sort_blocks(view(blocks), view(far), view(order));
  show("same.metric_learning.sort_blocks", order);
  show("same.metric_learning.largest_ratio",
       largest_ratio(view(start), view(stop), view(near), view(far), level));
  show("same.metric_learning.half_space_lower", half_space_lower(0.5, 1.0, 0.75, 0.5, 0.25));
}

static void run_embedding() {
  using namespace embedding;
  auto X = many(2 * N), gradient = many(2 * N);
  std::vector<int32_t> triplets;
  for (int64_t q = 0; q < 4 * N; ++q) {
    const int32_t i = static_cast<int32_t>(q % N);
    for (const int32_t step : {0, 1, 2})
      triplets.push_back((i + step * static_cast<int32_t>(1 + q / N)) % static_cast<int32_t>(N));
  }
  std::vector<double> none;
  std::vector<int32_t> no_pairs;
  for (int64_t loss = 0; loss < 5; ++loss) {
    const Terms terms{view(triplets, 3),
                      view(none),
                      view(no_pairs, 2),
                      view(no_pairs, 2),
                      4.0 * N,
                      loss,
                      0.5,
                      1e-3};
    show("embedding.evaluate", evaluate(view(X, 2), terms, {nullptr, 0, 0}, view(gradient, 2)));
    show("embedding.gradient", gradient);
  }
  with_loss(0, 0.5, [&](const auto& loss) {
    sgd_pass(loss, view(X, 2), view(triplets, 3), 0, 4 * N, 0.1, 0.01, 1e-3);
  });
  show("same.embedding.sgd_pass", X);
  const auto [agree, reversed] = rough_agreement(view(triplets, 3), view(none), false, N, 2, 20);
  show("embedding.rough_agreement", std::vector<double>{agree, reversed});
}

static void run_sequence() {
  using namespace sequence;
  constexpr int64_t M = 5;
  auto U = many(N * M), E = many(M * M), losses = many(N, 0.0, 1.0), nodes = many(N * M);
  std::vector<int64_t> first{0, 1, 30, N}, truth = places<int64_t>(N, M);
  std::vector<double> none, edges(M * M), log_sums(3), ones(3, 1.0);
  std::vector<int32_t> best(N);
  best_labels(view(U, M), view(E, M), view(first), view(truth), view(losses), view(none),
              view(best));
  show("same.sequence.best_labels", best);
  expectations(view(U, M), view(E, M), view(first), view(nodes, M), view(edges, M), view(log_sums),
               view(ones), view(none));
  show("sequence.expectations", nodes);
  show("sequence.edges", edges);
}

static void run_others() {
  Sparse<double> sparse;
  auto y = many(N), w = many(D, 0.0, 0.0), a = many(N, 0.0, 0.0), v = many(D), out = many(D);
  for (double& sign : y) sign = sign < 0.0 ? -1.0 : 1.0;
  auto drawn = places<int64_t>(N, N);
  pragam::pegasos_steps(sparse.rows(), view(y), view(drawn, 3), 0.1, 0, true, view(w), view(a));
  show("same.pragam.pegasos_steps", w);
  auto second = many(N, 0.0, 1.0);
  distributed::add_curved(sparse.rows(), 0.0, view(second), view(v), view(out));
  show("same.distributed.add_curved", out);
  auto powers = many(N, 0.5, 2.0), slopes = many(N);
  auto trials = places<int32_t>(3 * N, N);
  std::vector<double> none;
  show("concepts.choice_pass",
       concepts::choice_pass<false>(view(powers), view(slopes), view(trials, 3), view(none)));
  show("same.concepts.slopes", slopes);
}

int main() {
  run_core();
  run_samples();
  run_kernel_machines();
  run_linear_machines();
  run_few_samples();
  run_screening();
  run_metric_learning();
  run_embedding();
  run_sequence();
  run_others();
}
