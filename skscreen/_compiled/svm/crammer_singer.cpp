// Bindings of the sequential dual method for the multi-class hinge.
#include "svm/crammer_singer.hpp"

#include "samples/row_bindings.hpp"

using namespace skscreen;
using namespace skscreen::samples;
using namespace skscreen::svm;

namespace nanobind::detail {

template <class Data>
struct type_caster<ClassHinge<Data>>
    : struct_caster<ClassHinge<Data>, Data, double, int64_t, Array<const int64_t>,
                    Array<const double>, Array<const double>, Matrix<double>, Array<double>> {};

}  // namespace nanobind::detail

namespace skscreen::svm {

void bind_crammer_singer(nb::module_& m) {
  m.attr("SCORE_LANES") = SCORE_LANES;
  for_all_rows([&m](auto rows, const char*) {
    using Hinge = ClassHinge<decltype(rows)>;
    m.def(
        "certify_classes",
        [](const Hinge& hinge, Array<int64_t> order) { return hinge.certify(order); },
        ReleaseGIL());
    m.def(
        "sweep_classes",
        [](const Hinge& hinge, Array<int64_t> order, Array<uint64_t> random, double enough,
           int64_t visits,
           int64_t most) { return hinge.sweeps(order, random, enough, visits, most); },
        ReleaseGIL());
  });
}

}  // namespace skscreen::svm
