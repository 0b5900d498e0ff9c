// Bindings of the passes over rows on workers.
#include "distributed.hpp"

#include "bindings.hpp"

using namespace skscreen;

template <class T, class Column, class Start>
static void bind_rows(nb::module_& m) {
  using Data = std::tuple<Array<const T>, Array<const Column>, Array<const Start>, int64_t>;
  using Room = Rows<T, Column, Start>;
  using Doubles = Array<const double>;
  m.def(
      "linear_losses",
      [](const Data& rows, int64_t first, int64_t last,
         const std::tuple<Doubles, double, int32_t, Doubles>& at,
         const std::tuple<Array<const int32_t>, Doubles, Doubles, Array<const float>>& known,
         const std::tuple<Array<float>, Array<double>, Matrix<double>>& found,
         const std::tuple<Matrix<double>, Matrix<double>, Doubles, Array<double>>& sums) {
        linear_losses(as<Room>(rows), first, last, as<ClassAtWeights>(at), as<KnownOfRows>(known),
                      as<FoundOfRows>(found), as<RowSums>(sums));
      },
      ReleaseGIL());
  m.def(
      "add_squares",
      [](const Data& rows, double scale, Doubles second, Array<double> out) {
        add_squares(as<Room>(rows), scale, second, out);
      },
      ReleaseGIL());
  m.def(
      "add_curved",
      [](const Data& rows, double scale, Doubles second, Doubles v, Array<double> out) {
        add_curved(as<Room>(rows), scale, second, v, out);
      },
      ReleaseGIL());
}

template <class T>
static void bind_type(nb::module_& m) {
  bind_rows<T, uint32_t, int32_t>(m);
  bind_rows<T, uint64_t, int64_t>(m);
  using Data = std::tuple<Array<const T>, Array<const uint32_t>, Array<const int32_t>, int64_t>;
  m.def(
      "root_rows",
      [](const Data& rows, int64_t first, int64_t last, double scale, Array<const double> second,
         Matrix<T> out) {
        return root_rows(as<Rows<T, uint32_t, int32_t>>(rows), first, last, scale, second, out);
      },
      ReleaseGIL());
}

void bind_distributed(nb::module_& m) {
  bind_type<double>(m);
  bind_type<float>(m);
}
