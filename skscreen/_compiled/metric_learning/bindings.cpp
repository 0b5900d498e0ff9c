// Bindings of the loops of metric learning.
#include "metric_learning/screening.hpp"

#include "core/bindings.hpp"

using namespace skscreen;
using namespace skscreen::metric_learning;

using Numbers = Array<const double>;
using Four = std::tuple<Numbers, Numbers, Numbers, Numbers>;

// Loops over items, whose numbers may be of 32 or 64 bits.
template <class Integer>
static void bind_items(nb::module_& m) {
  m.def("proximal_pass", &proximal_pass<Integer>, ReleaseGIL());
  m.def(
      "shrink_pass",
      [](Array<int64_t> start, Array<int64_t> stop, Ranges blocks, Array<const int64_t> base,
         Array<const Integer> rank, Numbers near_sizes, Numbers far_sizes, Numbers near_low,
         Numbers near_high, Array<double> far_low, Array<double> far_high, double radius,
         Levels thresholds, double gamma, std::optional<Array<int8_t>> codes,
         Array<double> near_linear, Array<double> place_steps) {
        Decisions<Integer> decisions = {base, rank, codes, near_linear, place_steps};
        shrink_pass(start, stop, blocks, near_sizes, far_sizes,
                    {near_low, near_high, far_low, far_high}, radius, thresholds, gamma, decisions);
        return std::pair(decisions.n_zero, decisions.n_linear);
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(),
      nb::arg(), ReleaseGIL());
  m.def(
      "split_rows",
      [](Ranges start, Ranges stop, Array<const int64_t> base, Array<const Integer> rank,
         Array<const int8_t> found, Array<int64_t> rows, Array<int64_t> begins, Array<int64_t> ends,
         std::optional<Array<int8_t>> codes, Array<double> near_linear, Array<double> place_steps) {
        Decisions<Integer> decisions = {base, rank, codes, near_linear, place_steps};
        split_rows(start, stop, found, rows, begins, ends, decisions);
        return std::pair(decisions.n_zero, decisions.n_linear);
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
      nb::arg().none(), nb::arg(), nb::arg(), ReleaseGIL());
  m.def(
      "list_ranges",
      [](Ranges start, Ranges stop, Array<const int64_t> base, Array<const Integer> rank,
         Pairs near, Pairs far, Matrix<const double> X, bool diagonal, Numbers near_sizes,
         Numbers far_sizes, const Four& at, Levels thresholds, double gamma, double reference_lam,
         double size, double epsilon, Matrix<double> out) {
        expects(out.columns == 2, "out must have two columns");
        visit_ranges(start, stop, base, rank, near, far, X, diagonal, near_sizes, far_sizes,
                     as<Intervals<const double>>(at), thresholds, gamma, reference_lam, size,
                     epsilon, [&](int64_t number, double low, double high) {
                       expects(0 <= number && number < out.rows, "out must have all items");
                       out(number, 0) = low;
                       out(number, 1) = high;
                     });
      },
      ReleaseGIL());
  m.def(
      "count_ranges",
      [](Ranges start, Ranges stop, Array<const int64_t> base, Array<const Integer> rank,
         Pairs near, Pairs far, Matrix<const double> X, bool diagonal, Numbers near_sizes,
         Numbers far_sizes, const Four& at, Levels thresholds, double gamma, double reference_lam,
         double size, double epsilon, Numbers lams, Array<int64_t> steps) {
        expects_sizes(lams.size + 1, "steps", steps);
        const double *first = lams.data, *last = lams.data + lams.size;
        visit_ranges(start, stop, base, rank, near, far, X, diagonal, near_sizes, far_sizes,
                     as<Intervals<const double>>(at), thresholds, gamma, reference_lam, size,
                     epsilon, [&](int64_t, double low, double high) {
                       steps[std::upper_bound(first, last, low) - first] += 1;
                       steps[std::lower_bound(first, last, high) - first] -= 1;
                     });
      },
      ReleaseGIL());
}

namespace skscreen::metric_learning {

void bind(nb::module_& m) {
  m.def("add_interval", &add_interval, ReleaseGIL());
  m.def("scale_columns", &scale_columns, ReleaseGIL());
  m.def("squared_distances", &squared_distances, ReleaseGIL());
  m.def("add_laplacian", &add_laplacian, ReleaseGIL());
  m.def("add_edges", &add_edges, ReleaseGIL());
  m.def("add_scaled_rows", &add_scaled_rows, ReleaseGIL());
  m.def("add_weighted_squares", &add_weighted_squares, ReleaseGIL());
  m.def("pair_sizes", &pair_sizes, ReleaseGIL());
  m.def("row_and_frobenius_norms", &row_and_frobenius_norms, ReleaseGIL());
  m.def("cover_places", &cover_places, ReleaseGIL());
  m.def("renumber_places", &renumber_places, ReleaseGIL());
  m.def("mark_points", &mark_points, ReleaseGIL());
  m.def("renumber_points", &renumber_points, ReleaseGIL());
  m.def("sort_blocks", &sort_blocks, ReleaseGIL());
  m.def("loss_pass", &loss_pass, ReleaseGIL());
  m.def("sorted_loss_pass", &sorted_loss_pass, ReleaseGIL());
  m.def("largest_ratio", &largest_ratio, ReleaseGIL());
  m.def("half_space_lower", &half_space_lower);
  m.def("orthant_decides", &orthant_decides);
  m.def(
      "cone_decides", [](Numbers values, double radius, double level, double margin, double size,
                         Numbers a, Numbers b, double noise, double slack, Array<double> scratch) {
        return ConeSearch{values, a, b, scratch}.decides(radius, level, margin, size, noise, slack);
      });
  m.def("zero_range", &zero_range);
  m.def(
      "item_pass",
      [](Ranges start, Ranges stop, Pairs near, Pairs far, Matrix<const double> X, bool diagonal,
         Numbers near_sizes, Numbers far_sizes, const Four& at, const Four& normal, double scale,
         double depth, Numbers values, Matrix<const double> points, double noise, double slack,
         double radius, Levels thresholds, double gamma, Array<int8_t> codes) {
        item_pass(start, stop, near, far, X, diagonal, near_sizes, far_sizes,
                  as<Intervals<const double>>(at), as<Intervals<const double>>(normal),
                  {scale, depth, values, points, noise, slack, radius}, thresholds, gamma, codes);
      },
      ReleaseGIL());
  m.def("count_pieces", &count_pieces, ReleaseGIL());
  bind_items<int32_t>(m);
  bind_items<int64_t>(m);
}

}  // namespace skscreen::metric_learning
