// What is computed from fitted dimensions: errors of entries, and how alike objects are.
#pragma once

#include "concepts/trials.hpp"

namespace skscreen::concepts {

// Diagonal of the inverse of a symmetric, positive definite matrix (size x size), which is
// overwritten by its Cholesky factor; false where it is not positive definite.
inline bool inverse_diagonal(double* A, int64_t size, double* out) {
  for (int64_t j = 0; j < size; ++j) {
    double* row = A + j * size;
    for (int64_t i = 0; i < j; ++i) row[i] = (row[i] - dot(row, A + i * size, i)) / A[i * size + i];
    const double rest = row[j] - dot(row, row, j);
    if (!(rest > 0.0)) return false;
    row[j] = std::sqrt(rest);
  }
  std::vector<double> column(size);
  for (int64_t j = 0; j < size; ++j) {
    double squares = 0.0;
    for (int64_t i = j; i < size; ++i) {
      const double right = (i == j ? 1.0 : 0.0) - dot(A + i * size + j, column.data() + j, i - j);
      column[i] = right / A[i * size + i];
      squares += column[i] * column[i];
    }
    out[j] = squares;
  }
  return true;
}

// Information of the positive entries of each row of X given the other rows: of each object a
// matrix (k, k), its lower triangle, where k entries are positive.
struct RowInformation {
  Matrix<const double> X;
  Array<const int64_t> first;    // where the positive entries of each object begin
  Array<const int32_t> columns;  // of these entries
  Array<const int64_t> at;       // where the matrix of each object begins
  Array<double> values;

  int64_t count(int64_t i) const { return first[i + 1] - first[i]; }

  // Of object i, whose pairs with j and k have these probabilities; k may be j if its one is 0.
  void add(int64_t i, int64_t j, int64_t k, double pj, double pk, double weight,
           std::vector<double>& u, std::vector<double>& v) const {
    const double both = pj + pk;
    if (!(both > 0.0)) return;
    // The covariance of the slopes, of rank two.
    const double f = std::sqrt(weight * pj * pk / both);
    const double g = std::sqrt(weight * std::max(1.0 - both, 0.0) / both);
    const int64_t size = count(i);
    const int32_t* on = columns.data + first[i];
    const double *xj = X.row(j).data, *xk = X.row(k).data;
    for (int64_t d = 0; d < size; ++d) {
      u[d] = f * (xj[on[d]] - xk[on[d]]);
      v[d] = g * (pj * xj[on[d]] + pk * xk[on[d]]);
    }
    double* matrix = values.data + at[i];
    for (int64_t d = 0; d < size; ++d) {
      const double ud = u[d], vd = v[d];
      if (ud == 0.0 && vd == 0.0) continue;
      double* row = matrix + d * size;
#pragma omp simd
      for (int64_t e = 0; e <= d; ++e) row[e] += ud * u[e] + vd * v[e];
    }
  }
};

// Add what trials (i, j, odd one), (head, near, far) or (a, b, c, d) tell of each row.
inline void add_row_information(const RowInformation& information, Matrix<const int32_t> rows,
                                Array<const double> weights, bool is_odd) {
  const auto X = information.X;
  std::vector<double> u(X.columns), v(X.columns);
  const auto add = [&](int64_t i, int64_t j, int64_t k, double pj, double pk, double weight) {
    information.add(i, j, k, pj, pk, weight, u, v);
  };
  for (int64_t q = 0; q < rows.rows; ++q) {
    const double weight = weights.size ? weights[q] : 1.0;
    const auto similarity = [&](int64_t i, int64_t j) {
      return dot(X.row(i).data, X.row(j).data, X.columns);
    };
    const int64_t a = rows(q, 0), b = rows(q, 1);
    // The second pair, and of the odd one out the third.
    const int64_t c = is_odd || rows.columns == 3 ? a : rows(q, 2), d = rows(q, rows.columns - 1);
    const double s0 = similarity(a, b), s1 = similarity(c, d);
    const double s2 = is_odd ? similarity(b, d) : -INFINITY;
    const double highest = std::max({s0, s1, s2});
    const double e0 = std::exp(s0 - highest), e1 = std::exp(s1 - highest);
    const double e2 = std::exp(s2 - highest), z = e0 + e1 + e2;
    const double p0 = e0 / z, p1 = e1 / z, p2 = e2 / z;
    if (is_odd) {
      add(a, b, d, p0, p1, weight);
      add(b, a, d, p0, p2, weight);
      add(d, a, b, p1, p2, weight);
      continue;
    }
    // Two pairs may share any object.
    const int64_t pairs[2][2] = {{a, b}, {c, d}};
    for (int s = 0; s < 2; ++s)
      for (int t = 0; t < 2; ++t) {
        const int64_t i = pairs[s][t], j = pairs[s][1 - t];
        const double own = s ? p1 : p0, other = s ? p0 : p1;
        const int64_t* rest = pairs[1 - s];
        if (rest[0] != i && rest[1] != i)
          add(i, j, j, own, 0.0, weight);
        else if (s == 0)
          add(i, j, rest[0] == i ? rest[1] : rest[0], own, other, weight);
      }
  }
}

// Standard errors of the positive entries of all rows, with a ridge on the information, whose
// matrices are overwritten; NaN where it is not positive definite.
inline void row_errors(const RowInformation& information, double ridge, Matrix<double> errors) {
  std::vector<double> variances(errors.columns);
  for (int64_t i = 0; i < errors.rows; ++i) {
    const int64_t size = information.count(i);
    const int32_t* on = information.columns.data + information.first[i];
    double* matrix = information.values.data + information.at[i];
    for (int64_t d = 0; d < size; ++d) matrix[d * size + d] += ridge;
    const bool sound = inverse_diagonal(matrix, size, variances.data());
    for (int64_t d = 0; d < size; ++d) errors(i, on[d]) = sound ? std::sqrt(variances[d]) : NAN;
  }
}

// For object i and each later j the probability that the two are kept together, summed over third
// objects: adds what trials of i and later objects say. `powers` is exp(similarity); sums of pairs
// stand above the diagonal.
inline void sum_over_thirds(Matrix<const double> powers, int64_t i, Matrix<double> sums) {
  const int64_t n = powers.rows;
  for (int64_t j = i + 1; j < n; ++j) {
    const double *ei = powers.row(i).data, *ej = powers.row(j).data, own = ei[j];
    double *si = sums.row(i).data, *sj = sums.row(j).data, total = 0.0;
#pragma omp simd reduction(+ : total)
    for (int64_t k = j + 1; k < n; ++k) {
      const double r = 1.0 / (own + ei[k] + ej[k]);
      total += r;
      si[k] += ei[k] * r;
      sj[k] += ej[k] * r;
    }
    si[j] += own * total;
  }
}

}  // namespace skscreen::concepts
