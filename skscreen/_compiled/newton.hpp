// Passes of Newton's method over a working set: svm/solvers/kernel/block_newton.py.
#pragma once

#include <cstdint>

#include "arrays.hpp"
#include "sums.hpp"

namespace skscreen {

// Write the lower triangle of Q[index, index] + diag(delta[index]), row by row.
template <class T>
void newton_system(Matrix<const T> Q, Array<const int64_t> index, Array<const T> delta,
                   Matrix<T> out) {
  for (int64_t k = 0; k < index.size; ++k) {
    const T* row = Q.row(index[k]).data;
    T* into = out.row(k).data;
    for (int64_t j = 0; j < k; ++j) into[j] = row[index[j]];
    into[k] = row[index[k]] + delta[index[k]];
  }
}

// Q[index, : x.size] x, added up in double precision.
template <class T>
void products_of_rows(Matrix<const T> Q, Array<const int64_t> index, Array<const double> x,
                      Array<double> out) {
  const double* factors = x.data;
  for (int64_t k = 0; k < index.size; ++k) {
    const T* row = Q.row(index[k]).data;
    out[k] = sum_of(x.size, [=](int64_t j) { return row[j] * factors[j]; });
  }
}

}  // namespace skscreen
