// The problem as loops get it: `Dual` of svm/dual.py.
#pragma once

#include "core/bindings.hpp"
#include "svm/certificate.hpp"

namespace nanobind::detail {

template <>
struct type_caster<skscreen::svm::Box>
    : struct_caster<skscreen::svm::Box, skscreen::Array<const double>,
                    skscreen::Array<const double>, skscreen::Array<const double>, bool,
                    skscreen::Array<const double>, skscreen::Array<const double>,
                    skscreen::Array<const int8_t>> {};

}  // namespace nanobind::detail
