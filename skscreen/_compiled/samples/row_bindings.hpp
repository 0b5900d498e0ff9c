// Rows of a data matrix as loops get them: `flat_rows` of samples/rows.py.
#pragma once

#include "core/bindings.hpp"
#include "samples/rows.hpp"

namespace skscreen::samples {

// Call bind(Rows{}, name) for each kind: entries in either precision, places of 32 and of 64 bits.
template <class Bind>
void for_all_rows(Bind bind) {
  bind(Rows<double, uint32_t, int32_t>{}, "DoubleRows");
  bind(Rows<double, uint64_t, int64_t>{}, "LongDoubleRows");
  bind(Rows<float, uint32_t, int32_t>{}, "SingleRows");
  bind(Rows<float, uint64_t, int64_t>{}, "LongSingleRows");
}

// A class of checked rows, which keep their arrays alive: a solver reads the columns thousands of
// times, and would spend a fifth of some loops on checking them again.
template <class T, class Column, class Start>
void bind_rows_class(nb::module_& m, const Rows<T, Column, Start>&, const char* name) {
  using Data = Rows<T, Column, Start>;
  nb::class_<Data>(m, name);
  m.def(
      "rows",
      [](Array<const T> data, Array<const Column> columns, Array<const Start> starts, int64_t d) {
        const Data rows{data, columns, starts, d};
        rows.check();
        return rows;
      },
      nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>());
}

}  // namespace skscreen::samples
