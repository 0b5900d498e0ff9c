import numpy as np
import pandas as pd
import pytest
from embedding_reference import triplets_of
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import logistic, norm
from sklearn.exceptions import ConvergenceWarning

from skscreen import DifferenceScaling, read_answers
from skscreen.datasets import make_triplets

N = 8
SCALE = np.sqrt(np.linspace(0.0, 1.0, N))
ROWS = triplets_of(SCALE[:, None], 400, 0, noise=0.15)
QUADRUPLETS = np.insert(ROWS, 2, ROWS[:, 0], axis=1)
WEIGHTS = np.random.default_rng(1).uniform(0.5, 2.0, 400)


@pytest.mark.few(6)
@pytest.mark.parametrize(("link", "law"), [("probit", norm), ("logit", logistic)])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("rows", [ROWS, QUADRUPLETS], ids=["triplets", "quadruplets"])
def test_the_likelihood_is_maximal(link, law, weights, rows):
    w = np.ones(400) if weights is None else weights

    def loss(values):
        s = np.append(0.0, values)
        i, j, k = ROWS.T
        z = np.abs(s[k] - s[i]) * np.sign((k - i) * (s[k] - s[i]))
        z = z - np.abs(s[j] - s[i]) * np.sign((j - i) * (s[j] - s[i]))
        return -(w @ law.logcdf(z)) / w.sum() + 0.5e-6 * values @ values

    found = minimize(loss, np.linspace(0.1, 2.0, N - 1), method="BFGS", options={"gtol": 1e-8})
    model = DifferenceScaling(link=link).fit(rows, sample_weight=weights)
    assert model.dual_gap_ <= 1e-8
    assert_allclose(model.scale_[1:] / model.noise_, found.x, rtol=1e-3, atol=1e-4)
    assert_allclose(model.log_likelihood_, -w.sum() * (found.fun - 0.5e-6 * found.x @ found.x),
                    rtol=1e-6)  # fmt: skip
    assert model.scale_[0] == 0.0
    assert model.scale_.max() == 1.0


def test_values_and_their_errors():
    """Of scales of answers with normal noise about two of three are within one standard error."""
    rng, inside = np.random.default_rng(0), []
    for _ in range(30):
        i, j, k = np.sort([rng.permutation(N)[:3] for _ in range(600)], axis=1).T
        z = (SCALE[k] - SCALE[j]) - (SCALE[j] - SCALE[i]) + 0.2 * rng.normal(size=600)
        rows = np.where((z > 0)[:, None], np.stack([j, i, k], 1), np.stack([j, k, i], 1))
        model = DifferenceScaling().fit(rows)
        inside.append(np.abs(model.scale_ / model.noise_ - SCALE / 0.2)[1:]
                      < (model.standard_errors_ / model.noise_)[1:])  # fmt: skip
    assert 0.5 < np.mean(inside) < 0.85


def test_answers_without_contradiction_have_a_finite_scale():
    model = DifferenceScaling().fit(triplets_of(SCALE[:, None], 300, 0))
    assert np.all(np.isfinite(model.scale_))
    assert model.score(triplets_of(SCALE[:, None], 300, 1)) > 0.95


def test_names_have_the_order_that_is_said():
    names = np.array(["none", "faint", "weak", "clear", "strong", "high", "glaring", "full"])
    answers = read_answers(names[ROWS], objects=names)
    model = DifferenceScaling().fit(answers)
    assert_allclose(model.scale_, DifferenceScaling().fit(ROWS).scale_)
    assert model.objects_.tolist() == names.tolist()
    assert model.predict([["none", "faint", "full"]]).tolist() == [1]
    assert model.score(read_answers(names[ROWS])) == DifferenceScaling().fit(ROWS).score(ROWS)


@pytest.mark.parametrize("levels", [np.arange(-1, 7), np.arange(8) + 0.5, 2.0 ** np.arange(-3, 5)])
def test_levels_are_numbers_in_ascending_order(levels):
    model = DifferenceScaling().fit(levels[ROWS])
    assert_allclose(model.scale_, DifferenceScaling().fit(ROWS).scale_)
    assert model.objects_.tolist() == levels.tolist()


def test_an_object_in_no_answer_is_a_piece_of_its_own():
    with pytest.warns(UserWarning, match="2 pieces"):
        model = DifferenceScaling().fit(read_answers(ROWS + 1, objects=range(N + 1)))
    assert model.score(ROWS + 1) == DifferenceScaling().fit(ROWS).score(ROWS)


def test_too_few_steps_are_told():
    with pytest.warns(ConvergenceWarning, match="1 Newton steps"):
        DifferenceScaling(max_iter=1).fit(ROWS)


def test_equal_weights_are_so_many_answers():
    repeated = DifferenceScaling().fit(np.repeat(ROWS, 4, axis=0))
    for given in (ROWS, read_answers(ROWS)):
        weighted = DifferenceScaling().fit(given, sample_weight=np.full(400, 4.0))
        assert_allclose(weighted.standard_errors_, repeated.standard_errors_)
        assert_allclose(weighted.log_likelihood_, repeated.log_likelihood_)


@pytest.mark.parametrize("rows", [ROWS, QUADRUPLETS])
def test_reversed_answers_show_in_the_scale(rows):
    falling = DifferenceScaling().fit(rows, np.zeros(len(rows), dtype=bool))
    rising = DifferenceScaling().fit(rows)
    assert_allclose(falling.scale_, -rising.scale_, rtol=1e-3)


def test_a_reversed_order_shows_in_the_scale():
    rows = np.array([[0, 2, 1], [2, 0, 1]] * 5)
    model = DifferenceScaling().fit(rows)
    assert model.scale_[2] == -1.0 < model.scale_[1] < 0.0
    assert model.score(rows) == 1.0 and (model.predict(rows) == 1).all()


@pytest.mark.parametrize(("link", "law"), [("probit", norm), ("logit", logistic)])
def test_standard_errors_are_those_of_fishers_information(link, law):
    rows = make_triplets(np.linspace(0.0, 1.0, 6)[:, None] ** 2, 300, noise=0.1, random_state=0)
    weights = np.random.default_rng(0).integers(1, 4, size=300).astype(float)
    fit = DifferenceScaling(link=link, tol=1e-12).fit(rows, sample_weight=weights)
    s, unit = fit.scale_ / fit.noise_, fit.noise_
    i, near, far = rows.T
    expected = np.zeros((6, 6))
    for a, b, c, w in zip(i, near, far, weights, strict=True):
        row = np.zeros(6)
        np.add.at(row, [max(a, c), min(a, b)], 1.0)
        np.add.at(row, [min(a, c), max(a, b)], -1.0)
        z = row @ s
        expected += w * law.pdf(z) ** 2 / (law.cdf(z) * law.sf(z)) * np.outer(row, row)
    errors = np.sqrt(np.diag(np.linalg.inv(expected[1:, 1:])))
    assert_allclose(fit.standard_errors_[1:], errors * unit, rtol=1e-5)


def test_the_scale_of_quadruplets_is_that_of_a_probit_model():
    rng = np.random.default_rng(1)
    rows = np.array([rng.permutation(9)[:4] for _ in range(400)]) + 1
    s = np.r_[0.0, np.linspace(0.0, 2.0, 9) ** 2]
    pairs = np.sort(rows.reshape(-1, 2, 2), axis=2)
    z = np.diff(s[pairs], axis=2)[:, :, 0]
    upper = z[:, 1] - z[:, 0] + rng.normal(size=400) > 0

    def loss(values):
        z = np.diff(np.r_[0.0, 0.0, values][pairs], axis=2)[:, :, 0]
        return -norm.logcdf(np.where(upper, 1, -1) * (z[:, 1] - z[:, 0])).sum()

    found = minimize(loss, np.linspace(0.1, 1.0, 8), method="BFGS").x
    columns = ["S1", "S2", "S3", "S4"]
    table = pd.DataFrame(rows, columns=columns).assign(resp=upper.astype(int))
    answers = read_answers(table, columns, kind="quadruplets", chosen="resp",
                           response={0: "S1", 1: "S3"}, asked="different")  # fmt: skip
    scale = DifferenceScaling(reg=1e-9).fit(answers)
    assert scale.objects_.tolist() == list(range(1, 10))
    assert_allclose(scale.scale_[1:] / scale.noise_, found, rtol=1e-3, atol=1e-3)


def test_tiny_weights_are_weights():
    rng = np.random.default_rng(0)
    X = np.sort([rng.choice(9, 4, replace=False) for _ in range(60)], axis=1)
    y = X[:, 3] - X[:, 2] > X[:, 1] - X[:, 0]
    tiny, plain = (
        DifferenceScaling().fit(X, y, sample_weight=np.full(60, size)) for size in (1e-200, 1.0)
    )
    assert_allclose(tiny.scale_, plain.scale_, rtol=1e-6)
