// Bindings of the loops of samples.
#include "bindings.hpp"
#include "gram.hpp"
#include "intercept.hpp"
#include "row_tiles.hpp"
#include "rows.hpp"
#include "tiles.hpp"

using namespace skscreen;

// A pass over rows, which come as three arrays and their number of columns.
template <class T, class Column, class Start, class... Others>
static void bind_pass(nb::module_& m, const char* name,
                      void (*pass)(const Rows<T, Column, Start>&, Others...)) {
  m.def(
      name,
      [pass](Array<const T> data, Array<const Column> columns, Array<const Start> starts,
             int64_t d, Others... others) { pass({data, columns, starts, d}, others...); },
      ReleaseGIL());
}

template <class T, class Column, class Start>
static void bind_rows(nb::module_& m) {
  using Data = Rows<T, Column, Start>;
  bind_pass(m, "squared_norms", &squared_norms<Data>);
  bind_pass(m, "multiply", &multiply<Data>);
  bind_pass(m, "multiply_transposed", &multiply_transposed<Data>);
  bind_pass(m, "sparse_products", &sparse_products<Data>);
  bind_pass(m, "add_products", &add_products<Data>);
}

template <class T>
static void bind_matrices(nb::module_& m) {
  bind_rows<T, uint32_t, int32_t>(m);
  bind_rows<T, uint64_t, int64_t>(m);
  m.def("count_entries", &count_entries<T>, ReleaseGIL());
  m.def("take_entries", &take_entries<T, int32_t>, ReleaseGIL());
  m.def("take_entries", &take_entries<T, int64_t>, ReleaseGIL());
  m.def("squared_distances_from", &squared_distances_from<T>, ReleaseGIL());
}

using Bounds = std::tuple<double, double, double>;

template <class T>
static void bind_tiles(nb::module_& m) {
  using Side = std::tuple<Array<const int64_t>, Array<const int64_t>, Array<const T>,
                          Array<const T>, Array<const T>>;
  m.def(
      "add_powers",
      [](Matrix<const T> tile, Array<const T> weights, bool negative, Matrix<const double> own,
         Array<const double> other, const Bounds& bound, Array<double> values,
         Array<double> errors) {
        add_powers(tile, weights, negative, own, {other, as<Bound>(bound), values, errors});
      },
      ReleaseGIL());
  m.def(
      "add_tiles",
      [](const Side& left, const Side& right, int64_t width, int64_t d, Array<const int64_t> I,
         Array<const int64_t> J, Array<const T> weights, int64_t n_negative,
         Matrix<const double> own, Array<const double> other, const Bounds& bound,
         Array<double> values, Array<double> errors) {
        add_tiles(as<TileRows<T>>(left), as<TileRows<T>>(right), width, d, I, J, weights,
                  n_negative, own, {other, as<Bound>(bound), values, errors});
      },
      ReleaseGIL());
  m.def(
      "write_tiles",
      [](const Side& left, const Side& right, int64_t width, int64_t d, Array<const int64_t> I,
         Array<const int64_t> J, Matrix<T> out) {
        write_tiles(as<TileRows<T>>(left), as<TileRows<T>>(right), width, d, I, J, out);
      },
      ReleaseGIL());
}

void bind_samples(nb::module_& m) {
  bind_matrices<double>(m);
  bind_matrices<float>(m);
  bind_tiles<float>(m);
  bind_tiles<double>(m);
  m.def("add_gram_rows", &add_gram_rows, ReleaseGIL());
  m.def("add_gram_rows_at", &add_gram_rows_at, ReleaseGIL());
  m.def("copy_block", &copy_block<float>, ReleaseGIL());
  m.def("copy_block", &copy_block<double>, ReleaseGIL());
  m.def("powers", &powers, ReleaseGIL());
  m.def("powers_double", &powers_double, ReleaseGIL());
  m.def("differences", &differences, ReleaseGIL());
  m.def("best_intercepts", &best_intercepts, nb::arg("kinks"), nb::arg("caps"), nb::arg("level"),
        nb::arg("error") = 0.0, ReleaseGIL());
  m.def("weighted_quantile", &weighted_quantile, ReleaseGIL());
  m.def("balancing_intercept", &balancing_intercept, ReleaseGIL());
  m.def("balance_at_kink", &balance_at_kink, ReleaseGIL());
  m.def("balance_in", &balance_in, ReleaseGIL());
  m.def("certify", &certify, ReleaseGIL());
}
