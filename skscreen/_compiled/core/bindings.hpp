// What every file of bindings includes: nanobind, and NumPy arrays as views.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include "core/arrays.hpp"

namespace nb = nanobind;

// For loops that can take long: other threads run meanwhile.
using ReleaseGIL = nb::call_guard<nb::gil_scoped_release>;

namespace skscreen {

// Whether a struct has a method `check` of what its members owe each other.
template <class Struct, class = void>
struct is_checked : std::false_type {};
template <class Struct>
struct is_checked<Struct, std::void_t<decltype(std::declval<const Struct&>().check())>>
    : std::true_type {};

// A struct from the tuple of its members, as a named tuple of Python arrives.
template <class Struct, class... Parts>
Struct as(const std::tuple<Parts...>& parts) {
  return std::apply([](const Parts&... part) { return Struct{part...}; }, parts);
}

}  // namespace skscreen

namespace nanobind::detail {

// A view from an array of exactly its type, without conversion, alive during the call.
template <class View, class T, size_t dimensions>
struct view_caster {
  using Source = ndarray<T, ndim<dimensions>, c_contig, device::cpu>;
  NB_TYPE_CASTER(View, make_caster<Source>::Name)

  bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) noexcept {
    if (!caster.from_python(source, flags & ~(uint32_t)cast_flags::convert, cleanup)) return false;
    const auto& array = caster.value;
    if constexpr (dimensions == 1)
      value = {array.data(), (int64_t)array.shape(0)};
    else if constexpr (dimensions == 2)
      value = {array.data(), (int64_t)array.shape(0), (int64_t)array.shape(1)};
    else
      value = {array.data(), (int64_t)array.shape(0), (int64_t)array.shape(1),
               (int64_t)array.shape(2)};
    return true;
  }

 private:
  make_caster<Source> caster;
};

// The same, for arrays whose entries may be apart.
template <class T>
struct type_caster<skscreen::Steps<T>> {
  using Source = ndarray<T, ndim<1>, device::cpu>;
  NB_TYPE_CASTER(skscreen::Steps<T>, make_caster<Source>::Name)

  bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) noexcept {
    if (!caster.from_python(source, flags & ~(uint32_t)cast_flags::convert, cleanup)) return false;
    const auto& array = caster.value;
    value = {array.data(), (int64_t)array.shape(0), array.stride(0)};
    return true;
  }

 private:
  make_caster<Source> caster;
};

// A struct from the tuple of its members, as a named tuple of Python arrives.
template <class Struct, class... Members>
struct struct_caster : type_caster<std::tuple<Members...>> {
  template <class T>
  using Cast = Struct;

  explicit operator Struct() {
    Struct value = skscreen::as<Struct>(this->operator std::tuple<Members...>());
    if constexpr (skscreen::is_checked<Struct>::value) value.check();
    return value;
  }
};

template <class T>
struct type_caster<skscreen::Array<T>> : view_caster<skscreen::Array<T>, T, 1> {};
template <class T>
struct type_caster<skscreen::Matrix<T>> : view_caster<skscreen::Matrix<T>, T, 2> {};
template <class T>
struct type_caster<skscreen::Stack<T>> : view_caster<skscreen::Stack<T>, T, 3> {};

}  // namespace nanobind::detail
