"""Values of parameters that fits are asked for."""

import numpy as np
import pytest

from skscreen.fitting.grid import absolute_lam, positive_values


@pytest.mark.parametrize("lam, lam_max", [(1e300, np.float64(1e20)), (1e-300, np.float64(1e-100))])
def test_a_product_beyond_floating_point_is_an_error_that_names_both(lam, lam_max):
    with np.errstate(all="raise"), pytest.raises(ValueError, match=r"^lam=1e.300 of lambda_max = "):
        absolute_lam(lam, lam_max)


def test_numbers_as_strings_are_refused_as_those_of_one_fit_are():
    for values in (["1", "2"], np.array(["1"]), ["a"]):
        with pytest.raises(ValueError, match=r"Cs must be a non-empty list of positive finite"):
            positive_values("Cs", values)
    assert positive_values("Cs", np.array([2, 1], dtype=object)).tolist() == [1.0, 2.0]
