// The Python module of one processor level: a submodule for each room.
#include "core/bindings.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
static bool has_v3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}
#elif defined(_M_X64)
#include <immintrin.h>
#include <intrin.h>
static bool has_v3() {
  int leaf[4];
  __cpuid(leaf, 0);
  if (leaf[0] < 7) return false;
  __cpuid(leaf, 1);
  const bool fma = leaf[2] & (1 << 12), avx = leaf[2] & (1 << 28), saved = leaf[2] & (1 << 27);
  __cpuidex(leaf, 7, 0);
  const bool avx2 = leaf[1] & (1 << 5), bmi2 = leaf[1] & (1 << 8);
  return fma && avx && avx2 && bmi2 && saved && (_xgetbv(0) & 6) == 6;
}
#else
static bool has_v3() { return false; }
#endif

#define SKSCREEN_ROOMS(DO) \
  DO(concepts)             \
  DO(core)                 \
  DO(distributed) DO(embedding) DO(metric_learning) DO(pragam) DO(samples) DO(sequence) DO(svm)

#define DECLARE(room)        \
  namespace skscreen::room { \
  void bind(nb::module_&);   \
  }
SKSCREEN_ROOMS(DECLARE)

// Two steps, so that the name of the module is replaced first.
#define DEFINE_MODULE(name, module) NB_MODULE(name, module)
DEFINE_MODULE(SKSCREEN_MODULE, module) {
  // Reports of leaks would come at exit from interpreters that end with arrays alive.
  nb::set_leak_warnings(false);
  module.def("has_v3", &has_v3, "Whether this processor has AVX2, FMA and bit manipulation.");
#define BIND(room)                                  \
  {                                                 \
    nb::module_ part = module.def_submodule(#room); \
    skscreen::room::bind(part);                     \
  }
  SKSCREEN_ROOMS(BIND)
}
