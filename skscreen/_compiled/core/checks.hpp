// What callers owe a loop: std::invalid_argument, a ValueError in Python, names what is broken.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "core/arrays.hpp"

namespace skscreen {

// Entries of work space beyond which sizes are wrong, or their products overflow.
constexpr int64_t MOST_ENTRIES = int64_t(1) << 46;

inline void expects(bool holds, const char* promise) {
  if (!holds) throw std::invalid_argument(promise);
}

// "NAME must have SIZE entries, got ...", for pairs of a name and an array.
inline void expects_sizes(int64_t) {}
template <class View, class... Rest>
void expects_sizes(int64_t size, const char* name, const View& view, const Rest&... rest) {
  if (view.size != size)
    throw std::invalid_argument(std::string(name) + " must have " + std::to_string(size) +
                                " entries, got " + std::to_string(view.size));
  expects_sizes(size, rest...);
}

// The same of the rows and columns of matrices.
inline void expects_shape(int64_t, int64_t) {}
template <class View, class... Rest>
void expects_shape(int64_t rows, int64_t columns, const char* name, const View& view,
                   const Rest&... rest) {
  if (view.rows != rows || view.columns != columns)
    throw std::invalid_argument(std::string(name) + " must have shape (" + std::to_string(rows) +
                                ", " + std::to_string(columns) + "), got (" +
                                std::to_string(view.rows) + ", " + std::to_string(view.columns) +
                                ")");
  expects_shape(rows, columns, rest...);
}

// Whether all are from 0 to size - 1. No branch inside: the sign of what is below or above remains.
template <class I>
bool all_below(Array<const I> index, int64_t size) {
  using Bits = std::make_unsigned_t<I>;
  constexpr uint64_t MOST = std::numeric_limits<std::make_signed_t<I>>::max();
  const uint64_t sizes = size > 0 ? static_cast<uint64_t>(size) : 0;
  const Bits last = static_cast<Bits>(std::min<uint64_t>(sizes, MOST) - 1);
  const I* places = index.data;
  Bits beyond = 0;
#pragma omp simd reduction(| : beyond)
  for (int64_t k = 0; k < index.size; ++k) {
    const Bits place = static_cast<Bits>(places[k]);
    beyond |= place | static_cast<Bits>(last - place);
  }
  return (beyond >> (8 * sizeof(Bits) - 1)) == 0;
}

template <class I>
void expects_places(const char* name, Array<I> index, int64_t size) {
  if (!all_below(Array<const std::remove_const_t<I>>(index), size))
    throw std::invalid_argument(std::string(name) + " must hold numbers from 0 to " +
                                std::to_string(size) + " - 1");
}
template <class I>
void expects_places(const char* name, Matrix<I> index, int64_t size) {
  expects_places(name, Array<const std::remove_const_t<I>>{index.data, index.rows * index.columns},
                 size);
}

// Ends of parts that follow each other, all from 0 to size.
template <class I>
void expects_starts(const char* name, Array<I> starts, int64_t size) {
  bool descends = starts.size > 0 && starts[0] < 0;
  for (int64_t k = 0; k + 1 < starts.size; ++k) descends |= starts[k + 1] < starts[k];
  if (descends || (starts.size > 0 && starts[starts.size - 1] > size))
    throw std::invalid_argument(std::string(name) + " must ascend from 0 on to at most " +
                                std::to_string(size));
}

// Parts first_k, ..., last_k - 1 of `size` entries each.
template <class I>
void expects_ranges(const char* name, Array<I> first, Array<I> last, int64_t size) {
  bool beyond = first.size != last.size;
  for (int64_t k = 0; k < first.size && !beyond; ++k)
    beyond = first[k] < 0 || last[k] < first[k] || last[k] > size;
  if (beyond)
    throw std::invalid_argument(std::string(name) + " must be ranges inside 0 to " +
                                std::to_string(size));
}

// Steps for n samples, of steps for each; as many as there are numbers if that is too many.
inline int64_t steps_of(int64_t each, int64_t n) {
  expects(each >= 0, "steps must not be negative");
  return n > 0 && each > INT64_MAX / n ? INT64_MAX : each * n;
}

}  // namespace skscreen
