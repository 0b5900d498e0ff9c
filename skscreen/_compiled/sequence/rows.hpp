// Products of the rows of chains, dense or sparse, with tables of weights.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/arrays.hpp"
#include "core/checks.hpp"
#include "core/sums.hpp"
#include "samples/rows.hpp"

namespace skscreen::sequence {

// All observations.
//
// A table of weights has a row for each label where they are dense, for each feature where they are
// sparse: so what belongs together lies side by side.
struct ChainRows : samples::Rows<double, uint32_t, int64_t> {
  // Weights as `dot` reads them.
  void check_table(Matrix<const double> W, int64_t m) const {
    if (dense())
      expects_shape(m, d, "W", W);
    else
      expects_shape(d, m, "W", W);
  }

  // The product of row i with the weights of label j.
  double dot(int64_t i, Matrix<const double> W, int64_t j) const {
    if (dense()) {
      const double *x = data.data + i * W.columns, *w = W.row(j).data;
      return sum_of(W.columns, [x, w](int64_t k) { return x[k] * w[k]; });
    }
    double total = 0.0;
    for (int64_t p = starts[i]; p < starts[i + 1]; ++p) total += data[p] * W(columns[p], j);
    return total;
  }

  // Fill `out` with the products of row i with the weights of all labels.
  void dots(int64_t i, Matrix<const double> W, Array<double> out) const {
    if (dense()) {
      const int64_t d = W.columns;
      const double* x = data.data + i * d;
      int64_t j = 0;
      for (; j + 4 <= out.size; j += 4) {  // to read the row less
        const double *a = W.row(j).data, *b = a + d, *c = b + d, *e = c + d;
        double p = 0.0, q = 0.0, r = 0.0, s = 0.0;
#pragma omp simd reduction(+ : p, q, r, s)
        for (int64_t k = 0; k < d; ++k) {
          p += x[k] * a[k];
          q += x[k] * b[k];
          r += x[k] * c[k];
          s += x[k] * e[k];
        }
        out[j] = p;
        out[j + 1] = q;
        out[j + 2] = r;
        out[j + 3] = s;
      }
      for (; j < out.size; ++j) out[j] = dot(i, W, j);
      return;
    }
    std::fill_n(out.data, out.size, 0.0);
    for (int64_t p = starts[i]; p < starts[i + 1]; ++p) {
      const double value = data[p], *line = W.row(columns[p]).data;
#pragma omp simd
      for (int64_t j = 0; j < out.size; ++j) out.data[j] += value * line[j];
    }
  }

  // Add `amount` times row i to the weights of label j.
  void add(int64_t i, double amount, Matrix<double> W, int64_t j) const {
    if (dense()) {
      const double* x = data.data + i * W.columns;
      double* w = W.row(j).data;
      for_all(W.columns, [x, w, amount](int64_t k) { w[k] += amount * x[k]; });
      return;
    }
    for (int64_t p = starts[i]; p < starts[i + 1]; ++p) W(columns[p], j) += amount * data[p];
  }

  // Set the weights to zero that `add` changes.
  void clear(int64_t i, Matrix<double> W, int64_t j) const {
    if (dense()) {
      std::fill_n(W.row(j).data, W.columns, 0.0);
      return;
    }
    for (int64_t p = starts[i]; p < starts[i + 1]; ++p) W(columns[p], j) = 0.0;
  }
};

}  // namespace skscreen::sequence
