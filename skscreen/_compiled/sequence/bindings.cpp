// Bindings of the loops of sequence.
#include "sequence/chains.hpp"

#include "core/bindings.hpp"
#include "sequence/cliques.hpp"
#include "sequence/frank_wolfe.hpp"
#include "sequence/projection.hpp"
#include "sequence/weighted.hpp"

using namespace skscreen;
using namespace skscreen::sequence;

// The named tuples of sequence/solvers/frank_wolfe.py.
using Rows = std::tuple<Array<const double>, Array<const uint32_t>, Array<const int64_t>>;
using Task = std::tuple<Rows, Array<const int64_t>, Array<const int64_t>, Array<const double>,
                        Array<const double>, Array<const double>, double>;
using Cache = std::tuple<Array<const int64_t>, Array<int64_t>, Array<const int64_t>,
                         Array<const int64_t>, Array<const int64_t>, Array<int32_t>, Array<double>,
                         Array<double>, Array<double>, Array<bool>>;

static ChainTask task_of(const Task& task) {
  return std::apply(
      [](const Rows& rows, auto... rest) { return ChainTask{as<ChainRows>(rows), rest...}; }, task);
}

namespace skscreen::sequence {

void bind(nb::module_& m) {
  m.def("best_labels", &best_labels, ReleaseGIL());
  m.def("expectations", &expectations, ReleaseGIL());
  m.def("weighted_likelihoods", &weighted_likelihoods, ReleaseGIL());
  m.def("clique_gains", &clique_gains, ReleaseGIL());
  m.def("collect", &collect, ReleaseGIL());
  m.def("best_sums", &best_sums, ReleaseGIL());
  m.def("project_chains", &project_chains, ReleaseGIL());
  m.def("make_consistent", &ChainProjection::make_consistent, ReleaseGIL());
  m.def(
      "sweep",
      [](const Task& task, const Cache& cache, Matrix<double> W, Matrix<double> E,
         Array<const int64_t> order, Array<double> gaps, bool search) {
        const ChainTask chains = task_of(task);
        const auto labellings = as<ChainCache>(cache);
        ChainSweep(chains, labellings, W, E, search).run(order, gaps);
      },
      ReleaseGIL());
  m.def(
      "mixture",
      [](const Task& task, const Cache& cache, Matrix<double> nodes, Matrix<double> edges) {
        return mixture(task_of(task), as<ChainCache>(cache), nodes, edges);
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
