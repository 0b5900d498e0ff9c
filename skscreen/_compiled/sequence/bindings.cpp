// Bindings of the loops of sequence.
#include "sequence/chains.hpp"

#include "core/bindings.hpp"
#include "sequence/frank_wolfe.hpp"
#include "sequence/weighted.hpp"

using namespace skscreen;
using namespace skscreen::sequence;

// The named tuples of sequence/solvers/frank_wolfe.py.
using Task = std::tuple<ChainRows, Array<const int64_t>, Array<const int64_t>, Array<const double>,
                        Array<const double>, Array<const double>, double>;
using Cache = std::tuple<Array<const int64_t>, Array<int64_t>, Array<const int64_t>,
                         Array<const int64_t>, Array<const int64_t>, Array<int32_t>, Array<double>,
                         Array<double>, Array<double>, Array<bool>>;

namespace skscreen::sequence {

void bind(nb::module_& m) {
  nb::class_<ChainRows>(m, "Rows");
  m.def(
      "rows",
      [](Array<const double> data, Array<const uint32_t> columns, Array<const int64_t> starts,
         int64_t d) {
        const ChainRows rows{data, columns, starts, d};
        rows.check();
        return rows;
      },
      nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>());
  m.def("best_labels", &best_labels, ReleaseGIL());
  m.def("expectations", &expectations, ReleaseGIL());
  m.def("weighted_likelihoods", &weighted_likelihoods, ReleaseGIL());
  m.def(
      "sweep",
      [](const Task& task, const Cache& cache, Matrix<double> W, Matrix<double> E,
         Array<const int64_t> order, Array<double> gaps, bool search) {
        const auto chains = as<ChainTask>(task);
        const auto labellings = as<ChainCache>(cache);
        chains.check(E.rows);
        chains.rows.check_table(W, E.rows);
        expects_shape(E.rows, E.rows, "E", E);
        labellings.check(chains.chains());
        ChainSweep(chains, labellings, W, E, search).run(order, gaps);
      },
      ReleaseGIL());
  m.def(
      "mixture",
      [](const Task& task, const Cache& cache, Matrix<double> nodes, Matrix<double> edges) {
        return mixture(as<ChainTask>(task), as<ChainCache>(cache), nodes, edges);
      },
      ReleaseGIL());
  m.def(
      "copy_cache",
      [](const Cache& old, const Cache& wide, Array<const int64_t> lengths) {
        copy_cache(as<ChainCache>(old), as<ChainCache>(wide), lengths);
      },
      ReleaseGIL());
}

}  // namespace skscreen::sequence
