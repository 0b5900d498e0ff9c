// Rows of a data matrix as loops get them: the tuple `flat_rows` of samples/rows.py.
#pragma once

#include "core/bindings.hpp"
#include "samples/rows.hpp"

namespace nanobind::detail {

template <class T, class Column, class Start>
struct type_caster<skscreen::samples::Rows<T, Column, Start>>
    : struct_caster<skscreen::samples::Rows<T, Column, Start>, skscreen::Array<const T>,
                    skscreen::Array<const Column>, skscreen::Array<const Start>, int64_t> {};

}  // namespace nanobind::detail

namespace skscreen::samples {

// Call bind(Rows{}) for each kind: entries in either precision, places of 32 and of 64 bits.
template <class Bind>
void for_all_rows(Bind bind) {
  bind(Rows<double, uint32_t, int32_t>{});
  bind(Rows<double, uint64_t, int64_t>{});
  bind(Rows<float, uint32_t, int32_t>{});
  bind(Rows<float, uint64_t, int64_t>{});
}

}  // namespace skscreen::samples
