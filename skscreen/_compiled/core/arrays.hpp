// Views of NumPy arrays for the loops, and their conversion from Python.
//
// A view holds no memory. Arrays must have the stated type of entries and be C-contiguous: nothing
// is converted silently, so that a wrong call is a TypeError. `const` entries also take read-only
// arrays. With SKSCREEN_CHECK_BOUNDS every access is checked.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>

#if defined(_M_X64)
#include <xmmintrin.h>
#endif

#if defined(_MSC_VER)
#define SKSCREEN_INLINE __forceinline
#define SKSCREEN_NOINLINE __declspec(noinline)
#else
#define SKSCREEN_INLINE inline __attribute__((always_inline))
#define SKSCREEN_NOINLINE __attribute__((noinline))
#endif
// Of a pointer: what it points to is reached by no other.
#define SKSCREEN_RESTRICT __restrict

namespace skscreen {

// Infinities, NaN, and doubles beyond the range of a float, which become infinite, are counted on.
static_assert(std::numeric_limits<double>::is_iec559 && std::numeric_limits<float>::is_iec559);

// Bytes fetched by one instruction; a longer cache line is fetched more than once.
constexpr int64_t CACHE_LINE = 64;

// Ask for an entry that is read soon, in an order the processor cannot foresee.
template <class T>
SKSCREEN_INLINE void prefetch(const T* entry) {
#if defined(__GNUC__)
  __builtin_prefetch(entry);
#elif defined(_M_X64)
  _mm_prefetch(reinterpret_cast<const char*>(entry), _MM_HINT_T0);
#endif
}

// The same for entries first, ..., last - 1.
template <class T>
SKSCREEN_INLINE void prefetch(const T* entries, int64_t first, int64_t last) {
  for (int64_t place = first; place < last; place += CACHE_LINE / static_cast<int64_t>(sizeof(T)))
    prefetch(entries + place);
}

#ifdef SKSCREEN_CHECK_BOUNDS
inline void check_bounds(int64_t i, int64_t size) {
  if (i < 0 || i >= size) {
    std::fprintf(stderr, "skscreen: index %lld out of %lld\n", static_cast<long long>(i),
                 static_cast<long long>(size));
    std::abort();
  }
}
#else
SKSCREEN_INLINE void check_bounds(int64_t, int64_t) {}
#endif

// A part first, ..., last - 1 of `size` entries; one of none may begin at the end.
SKSCREEN_INLINE void check_part(int64_t first, int64_t last, int64_t size) {
  check_bounds(first, size + 1);
  check_bounds(last - first, size - first + 1);
}

// One-dimensional array.
template <class T>
struct Array {
  T* data = nullptr;
  int64_t size = 0;

  SKSCREEN_INLINE T& operator[](int64_t i) const {
    check_bounds(i, size);
    return data[i];
  }
  // Entries first, ..., last - 1.
  SKSCREEN_INLINE Array slice(int64_t first, int64_t last) const {
    check_part(first, last, size);
    return {data + first, last - first};
  }
  operator Array<const T>() const { return {data, size}; }
};

// One-dimensional array whose entries may be apart, or all the same one (a step of 0).
template <class T>
struct Steps {
  T* data = nullptr;
  int64_t size = 0;
  int64_t step = 1;

  SKSCREEN_INLINE T& operator[](int64_t i) const {
    check_bounds(i, size);
    return data[i * step];
  }
  SKSCREEN_INLINE Steps slice(int64_t first, int64_t last) const {
    check_part(first, last, size);
    return {data + first * step, last - first, step};
  }
};

// Two-dimensional array, row by row.
template <class T>
struct Matrix {
  T* data = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;

  SKSCREEN_INLINE T& operator()(int64_t i, int64_t j) const {
    check_bounds(i, rows);
    check_bounds(j, columns);
    return data[i * columns + j];
  }
  SKSCREEN_INLINE Array<T> row(int64_t i) const {
    check_bounds(i, rows);
    return {data + i * columns, columns};
  }
  operator Matrix<const T>() const { return {data, rows, columns}; }
};

// Three-dimensional array, a stack of matrices.
template <class T>
struct Stack {
  T* data = nullptr;
  int64_t size = 0;
  int64_t rows = 0;
  int64_t columns = 0;

  SKSCREEN_INLINE T& operator()(int64_t k, int64_t i, int64_t j) const {
    check_bounds(k, size);
    check_bounds(i, rows);
    check_bounds(j, columns);
    return data[(k * rows + i) * columns + j];
  }
  SKSCREEN_INLINE Matrix<T> operator[](int64_t k) const {
    check_bounds(k, size);
    return {data + k * rows * columns, rows, columns};
  }
  operator Stack<const T>() const { return {data, size, rows, columns}; }
};

}  // namespace skscreen
