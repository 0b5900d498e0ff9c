// Bindings of the loops of samples.
#include "samples/gram.hpp"
#include "samples/intercept.hpp"
#include "samples/kernel_values.hpp"
#include "samples/row_bindings.hpp"
#include "samples/row_tiles.hpp"
#include "samples/tiles.hpp"

using namespace skscreen;
using namespace skscreen::samples;

namespace nanobind::detail {

template <>
struct type_caster<Bound> : struct_caster<Bound, double, double, double> {};
template <>
struct type_caster<Sums>
    : struct_caster<Sums, Array<const double>, Bound, Array<double>, Array<double>> {};
template <class T>
struct type_caster<TileRows<T>>
    : struct_caster<TileRows<T>, Array<const int64_t>, Array<const int64_t>, Array<const T>,
                    Array<const T>, Array<const T>> {};

}  // namespace nanobind::detail

template <class Data>
static void bind_rows(nb::module_& m) {
  m.def("squared_norms", &squared_norms<Data>, ReleaseGIL());
  m.def("multiply", &multiply<Data>, ReleaseGIL());
  m.def("multiply_some", &multiply_some<Data>, ReleaseGIL());
  m.def("multiply_sparse", &multiply_sparse<Data>, ReleaseGIL());
  m.def("multiply_transposed", &multiply_transposed<Data>, ReleaseGIL());
  m.def("add_products", &add_products<Data>, ReleaseGIL());
}

// Loops over matrices and tiles in single or double precision.
template <class T>
static void bind_matrices(nb::module_& m) {
  m.def("count_entries", &count_entries<T>, ReleaseGIL());
  m.def("take_entries", &take_entries<T, int32_t>, ReleaseGIL());
  m.def("take_entries", &take_entries<T, int64_t>, ReleaseGIL());
  m.def("squared_distances_from", &squared_distances_from<T>, ReleaseGIL());
  m.def("copy_block", &copy_block<T>, ReleaseGIL());
  m.def("add_powers", &add_powers<T>, ReleaseGIL());
  m.def("add_tiles", &add_tiles<T>, ReleaseGIL());
  m.def("write_tiles", &write_tiles<T>, ReleaseGIL());
}

namespace skscreen::samples {

void bind(nb::module_& m) {
  for_all_rows([&m](auto rows, const char* name) {
    bind_rows_class(m, rows, name);
    bind_rows<decltype(rows)>(m);
  });
  bind_matrices<float>(m);
  bind_matrices<double>(m);
  m.def("add_gram_rows", &add_gram_rows, ReleaseGIL());
  m.def("flaws", &flaws, ReleaseGIL());
  m.def("add_gram_rows_at", &add_gram_rows_at, ReleaseGIL());
  m.def("rbf_values", &rbf_values, ReleaseGIL());
  m.def("poly_values", &poly_values, ReleaseGIL());
  m.def("sigmoid_values", &sigmoid_values, ReleaseGIL());
  m.def("powers", &powers, ReleaseGIL());
  m.def("powers_double", &powers_double, ReleaseGIL());
  m.def("differences", &differences, ReleaseGIL());
  m.def("best_intercepts", &best_intercepts, ReleaseGIL());
  m.def("weighted_quantile", &weighted_quantile, ReleaseGIL());
  m.def("balance_at_kink", &balance_at_kink, ReleaseGIL());
  m.def("balance_in", &balance_in, ReleaseGIL());
}

}  // namespace skscreen::samples
