import numpy as np
import pytest

from skscreen.concepts.matching import consensus, mean_correlation
from skscreen.metrics import match_dimensions

rng = np.random.default_rng(0)
A = rng.gamma(1.0, size=(40, 4))


def test_partners_are_found_in_any_order():
    order = [2, 0, 3, 1]
    found = match_dimensions(A, 3.0 * A[:, order])
    assert [order[k] for k in found.partners] == [0, 1, 2, 3]
    np.testing.assert_allclose(found.correlations, 1.0)
    assert "4 of 4 dimensions have a partner; median r 1.000, 4 above .8" in repr(found)


def test_partners_are_one_to_one():
    noisy = A[:, [0]] + 0.2 * A[:, [1]] + 0.3 * rng.normal(size=(40, 1))
    # Both columns are closest to the first one.
    found = match_dimensions(np.column_stack([A[:, 0], noisy]), A[:, :2])
    assert found.partners.tolist() == [0, 1]
    assert found.correlations[0] == pytest.approx(1.0)
    r = np.corrcoef(noisy[:, 0], A[:, 1])[0, 1]
    assert found.correlations[1] == pytest.approx(r)


def test_no_partner_is_left():
    found = match_dimensions(A, A[:, [3]])
    assert found.partners.tolist() == [-1, -1, -1, 0]
    assert np.isnan(found.correlations[:3]).all()
    assert match_dimensions(A, np.empty((40, 0))).partners.tolist() == [-1] * 4
    flat = match_dimensions(A[:, :1], np.ones((40, 1)))
    assert flat.correlations.tolist() == [0.0]


def test_embeddings_of_other_objects_are_refused():
    with pytest.raises(ValueError, match=r"^A\b"):
        match_dimensions(A, A[:20])
    with pytest.raises(ValueError, match="B contains NaN"):
        match_dimensions(A, np.full((40, 1), np.nan))


def test_fits_agree_on_what_enough_of_them_have():
    noise = [0.02 * rng.normal(size=A.shape) for _ in range(3)]
    fits = [(A + noise[0])[:, [0, 1, 2]], (A + noise[1])[:, [1, 0]], (A + noise[2])[:, [3, 0]]]
    X, support = consensus(fits, 0.5)
    assert support.tolist() == [1.0, pytest.approx(2 / 3)]
    np.testing.assert_allclose(X[:, 0], A[:, 0] + sum(n[:, 0] for n in noise) / 3.0)
    np.testing.assert_allclose(X[:, 1], A[:, 1] + sum(n[:, 1] for n in noise[:2]) / 2.0)
    assert consensus(fits, 1.0)[0].shape == (40, 1)
    assert sorted(consensus(fits, 0.0)[1].round(2)) == [0.33, 0.33, 0.67, 1.0]


def test_nothing_to_agree_on():
    X, support = consensus([np.empty((40, 0)), A], 1.0)
    assert X.shape == (40, 0) and support.shape == (0,)


def test_correlations_are_averaged_by_fisher():
    r = np.array([[0.5, 1.0, np.nan], [0.7, 1.0, 0.0]])
    found = mean_correlation(r)
    assert found[0] == pytest.approx(np.tanh((np.arctanh(0.5) + np.arctanh(0.7)) / 2.0))
    assert found[1] == pytest.approx(1.0) and found[2] == 0.0


def test_correlations_of_one_and_minus_one_have_a_mean():
    with np.errstate(all="raise"):
        found = mean_correlation(np.array([[1.0, -1.0, -1.0], [1.0, -1.0, 1.0]]))
    np.testing.assert_allclose(found, [1.0, -1.0, 0.0], atol=1e-8)
