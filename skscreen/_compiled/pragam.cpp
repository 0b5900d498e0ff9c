// Bindings of the loops of pragam.
#include "pragam.hpp"

#include "bindings.hpp"

using namespace skscreen;

template <class T, class Column, class Start>
static void bind_steps(nb::module_& m) {
  m.def(
      "pegasos_steps",
      [](Array<const T> data, Array<const Column> columns, Array<const Start> starts, int64_t d,
         Array<const double> y, Matrix<const int64_t> drawn, double lam, int64_t t,
         bool projection, Array<double> w, Array<double> a) {
        pegasos_steps(Rows<T, Column, Start>{data, columns, starts, d}, y, drawn, lam, t,
                      projection, w, a);
      },
      ReleaseGIL());
}

void bind_pragam(nb::module_& m) {
  m.def("mix", &mix, ReleaseGIL());
  m.def("squared_distance", &squared_distance, ReleaseGIL());
  m.def("hinge_sum", &hinge_sum, ReleaseGIL());
  m.def("shortfalls", &shortfalls, ReleaseGIL());
  m.def("move_along", &move_along, ReleaseGIL());
  m.def("quantile_between", &quantile_between, ReleaseGIL());
  bind_steps<double, uint32_t, int32_t>(m);
  bind_steps<float, uint32_t, int32_t>(m);
  bind_steps<double, uint64_t, int64_t>(m);
  bind_steps<float, uint64_t, int64_t>(m);
}
