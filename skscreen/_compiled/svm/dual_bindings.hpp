// The problem as loops get it: `Dual` of svm/dual.py.
#pragma once

#include "core/bindings.hpp"
#include "svm/certificate.hpp"

namespace skscreen::svm {

using DualCaster = nanobind::detail::struct_caster<Dual, Array<const double>, Array<const double>,
                                                   Array<const double>, bool, Array<const double>,
                                                   Array<const double>, Array<const int8_t>>;

}  // namespace skscreen::svm

namespace nanobind::detail {

template <>
struct type_caster<skscreen::svm::Dual> : skscreen::svm::DualCaster {};

}  // namespace nanobind::detail
