"""Values of parameters that fits are asked for."""

import numpy as np
import pytest

from skscreen.fitting.grid import positive_values


def test_numbers_as_strings_are_refused_as_those_of_one_fit_are():
    for values in (["1", "2"], np.array(["1"]), ["a"]):
        with pytest.raises(ValueError, match=r"^Cs\b"):
            positive_values("Cs", values)
    assert positive_values("Cs", np.array([2, 1], dtype=object)).tolist() == [1.0, 2.0]
