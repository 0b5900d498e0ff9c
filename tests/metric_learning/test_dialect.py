"""What words of the parameters mean in all estimators of metric learning."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rtlm_reference import Explicit, brute_force_triplets, item_matrices
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.neighbors import KNeighborsTransformer
from sklearn.preprocessing import scale

from skscreen import (
    RTLMPairsClassifier,
    RTLMQuadrupletsClassifier,
    RTLMTripletsClassifier,
    ScreenedRTLM,
    ScreenedRTLMCV,
    rtlm_path,
)

X, y = load_wine(return_X_y=True)
X = scale(X)
RNG = np.random.default_rng(0)
WEIGHTS = RNG.integers(0, 4, len(y)).astype(float)
LAM_MAX = ScreenedRTLM().fit(X, y).lam_max_


@pytest.mark.parametrize("relative", [True, False])
def test_lambda_is_in_one_unit(relative):
    """Fractions of lambda_max or absolute in estimator, path and search alike."""
    lams = np.array([0.3, 0.05]) * (1.0 if relative else LAM_MAX)
    options = {"relative_lam": relative, "tol": 1e-8}
    path = rtlm_path(X, y, lams, **options)
    search = ScreenedRTLMCV(lams, cv=2, **options).fit(X, y)
    assert search.best_lam_ in lams
    wanted = np.array([0.3, 0.05]) * LAM_MAX
    assert_allclose(path.lams, wanted)
    assert_allclose(search.lams_, wanted)
    for model, lam in zip(path, lams, strict=True):
        single = ScreenedRTLM(lam, **options).fit(X, y)
        assert model.lam == pytest.approx(lam) and model.relative_lam is relative
        assert_allclose(model.objective_, single.objective_, rtol=2e-8)
    assert search.best_estimator_.lam == search.best_lam_ == search.best_params_["lam"]
    assert_array_equal(search.best_estimator_.components_, search.components_)
    assert search.best_estimator_.fit(X, y).lam_ == search.lam_


def test_a_number_of_values_means_fractions():
    search = ScreenedRTLMCV(2, cv=2, relative_lam=False).fit(X, y)
    assert_allclose(search.lams_, np.array([0.3, 1e-3]) * LAM_MAX)
    assert search.best_lam_ in (0.3, 1e-3) and search.best_estimator_.relative_lam


@pytest.mark.few(3)
@pytest.mark.parametrize("options", [{}, {"n_neighbors": None}, {"diagonal": True}, {"pull": 0.5},
                                     {"loss": "hinge", "n_neighbors": 3}])  # fmt: skip
def test_weights_of_samples_multiply_the_losses_of_their_triplets(options):
    """Also where far pairs are shared by the rows of an anchor, and in sorted passes."""
    options = {"lam": 0.02, "tol": 1e-9, "n_neighbors": 5, **options}
    # All triplets are a million.
    few = slice(None, None, 1 if options["n_neighbors"] else 3)
    data, labels, given = X[few], y[few], WEIGHTS[few]
    used = given > 0.0
    model = ScreenedRTLM(**options).fit(data, labels, sample_weight=given)
    triplets = brute_force_triplets(data[used], labels[used], options["n_neighbors"])
    A = item_matrices(data[used], triplets, model.diagonal)
    weights = given[used][triplets[:, 0]]
    width = 0.0 if model.loss == "hinge" else model.width
    linear_term = 0.0
    if model.pull:
        pairs = np.unique(triplets[:, :2], axis=0)
        U = data[used][pairs[:, 0]] - data[used][pairs[:, 1]]
        pull = model.pull * given[used][pairs[:, 0]]
        linear_term = -np.einsum("m,mi,mj->ij", pull, U, U)
    explicit = Explicit(A, width, linear_term=linear_term, weights=weights)
    M = model.get_mahalanobis_matrix()
    value = explicit.primal(np.diag(M) if model.diagonal else M, model.lam_)
    assert_allclose(model.objective_, value, rtol=1e-9)
    assert model.dual_gap_ <= 1e-9 and model.n_triplets_ == len(triplets)
    plain = ScreenedRTLM(**options).fit(data[used], labels[used])
    assert model.n_triplets_ == plain.n_triplets_
    same = ScreenedRTLM(**options).fit(data, labels, sample_weight=np.ones(len(labels)))
    assert_allclose(
        same.objective_, ScreenedRTLM(**options).fit(data, labels).objective_, rtol=2e-9
    )


def test_weights_of_samples_with_a_graph_of_neighbours():
    graph = KNeighborsTransformer(n_neighbors=len(X) - 1).fit_transform(X)
    kind = {"lam": 0.05, "tol": 1e-9}
    found = ScreenedRTLM(neighbors=graph, **kind).fit(X, y, sample_weight=1.0 + WEIGHTS)
    wanted = ScreenedRTLM(**kind).fit(X, y, sample_weight=1.0 + WEIGHTS)
    assert_allclose(found.objective_, wanted.objective_, rtol=2e-9)


@pytest.mark.parametrize("wrong", [-WEIGHTS - 1.0, np.zeros(len(y)), WEIGHTS[:-1],
                                   WEIGHTS * 1e60, np.where(WEIGHTS > 1, np.nan, 1.0)])  # fmt: skip
def test_wrong_weights_of_samples(wrong):
    with pytest.raises(ValueError, match=r"sample_weight|Sample weights"):
        ScreenedRTLM().fit(X, y, sample_weight=wrong)


def test_weights_of_the_wrong_kind():
    with pytest.raises(ValueError, match=r"^sample_weight\b"):
        ScreenedRTLM().fit(X, triplets=[[0, 1, 100]], sample_weight=WEIGHTS)
    with pytest.raises(ValueError, match=r"^comparison_weight\b"):
        ScreenedRTLM().fit(X, y, comparison_weight=WEIGHTS)


KINDS = {2: RTLMPairsClassifier, 3: RTLMTripletsClassifier, 4: RTLMQuadrupletsClassifier}


def tuples_of(size, n=60):
    rows = np.array([RNG.permutation(len(X))[:size] for _ in range(n)])
    return rows, np.where(RNG.random(n) < 0.7, 1, -1)


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"bounds": (20.0, 30.0)}], ids=str)
@pytest.mark.parametrize("size", [2, 3, 4])
def test_a_tuple_of_weight_k_is_k_tuples(size, options):
    if size != 2 and options:
        return
    rows, answers = tuples_of(size)
    weights = np.arange(len(rows)) % 3
    kind = KINDS[size](lam=2.0, relative_lam=False, tol=1e-9, preprocessor=X, **options)
    found = kind.fit(rows, answers, sample_weight=weights)
    objective, M = found.objective_, found.get_mahalanobis_matrix()
    again = kind.fit(np.repeat(rows, weights, axis=0), np.repeat(answers, weights))
    assert_allclose(objective, again.objective_, rtol=2e-9)
    assert_allclose(M, again.get_mahalanobis_matrix(), atol=1e-4 * np.abs(M).max())
    with pytest.raises(ValueError, match=r"^sample_weight"):
        kind.fit(rows, answers, sample_weight=weights[1:])
    with pytest.raises(ValueError, match=r"^sample_weight must"):
        kind.fit(rows, answers, sample_weight=np.zeros(60))


def test_parameters_without_effect_are_ignored():
    triplets = brute_force_triplets(X, y, 2)
    plain = ScreenedRTLM().fit(X, triplets=triplets)
    graph = sparse.csr_array((3, 3))
    other = ScreenedRTLM(pull=2.0, n_neighbors=1, neighbors=graph, unlabelled=-1)
    assert_array_equal(other.fit(X, triplets=triplets).components_, plain.components_)
    hinge = ScreenedRTLM(loss="hinge", n_neighbors=2)
    assert hinge.fit(X, y).objective_ == hinge.set_params(width=0.5).fit(X, y).objective_
    bare = ScreenedRTLM(screening=False)
    first = bare.fit(X, y).components_
    second = bare.set_params(screen_every=20, bound="pgb", rule="linear").fit(X, y).components_
    assert_allclose(second, first, atol=1e-3)
    assert rtlm_path(X, y, [0.1], ratio=0.5, stop=9.0).lams.size == 1


def test_the_path_has_a_signature():
    names = inspect.signature(rtlm_path).parameters
    assert {"width", "relative_lam", "n_neighbors", "tol", "lams"} <= names.keys()
    assert not {"lam", "store", "options"} & names.keys()
    with pytest.raises(TypeError, match="'widht'"):
        rtlm_path(X, y, widht=0.1)


@pytest.mark.parametrize("model", [ScreenedRTLM(), ScreenedRTLMCV(2, cv=2)], ids=["fit", "search"])
def test_single_precision_stays(model):
    single = model.fit(X.astype(np.float32), y)
    assert single.components_.dtype == np.float32 and single.dual_gap_ <= 1e-6
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    assert single.transform(X).dtype == np.float64


@pytest.mark.few(2)
@pytest.mark.parametrize("size", [2, 3, 4])
def test_single_precision_of_tuples_stays(size):
    rows, answers = tuples_of(size)
    samples = X.astype(np.float32)
    for model in (KINDS[size](preprocessor=samples).fit(rows, answers),
                  KINDS[size]().fit(samples[rows], answers)):  # fmt: skip
        assert model.components_.dtype == model.transform(samples).dtype == np.float32


def test_more_components_than_features_are_an_error():
    for model in (ScreenedRTLM(n_components=14), ScreenedRTLMCV(n_components=14)):
        with pytest.raises(ValueError, match=r"\bn_components\b"):
            model.fit(X, y)
    with pytest.raises(ValueError, match=r"^n_components\b"):
        RTLMTripletsClassifier(n_components=14, preprocessor=X).fit([[0, 1, 100]])
    assert ScreenedRTLM(n_components=13).fit(X, y).components_.shape[1] == 13


@pytest.mark.slow
def test_search_with_unlabelled_samples_and_neighbours():
    labels = y.copy()
    labels[::7] = -1
    kind = {"lams": [0.2, 0.02], "cv": 3, "tol": 1e-8}
    found = ScreenedRTLMCV(**kind, unlabelled=-1).fit(X, labels)
    known = labels != -1
    single = ScreenedRTLM(found.best_lam_, tol=1e-8).fit(X[known], labels[known])
    assert_allclose(found.lam_, single.lam_)
    assert_allclose(found.objective_, single.objective_, rtol=2e-8)
    plain = ScreenedRTLMCV(**kind).fit(X, y)
    graph = KNeighborsTransformer(n_neighbors=len(X) - 1).fit_transform(X)
    for neighbors in (graph, KNeighborsTransformer(n_neighbors=100)):
        other = ScreenedRTLMCV(**kind, neighbors=neighbors).fit(X, y)
        assert_allclose(other.scores_, plain.scores_, atol=0.02)
    assert_allclose(ScreenedRTLMCV(**kind, neighbors=graph).fit(X, y).objective_,
                    ScreenedRTLM(plain.best_lam_).fit(X, y).objective_, rtol=2e-6)  # fmt: skip


def test_a_search_uses_a_store(tmp_path):
    search = ScreenedRTLMCV([0.1, 0.03], cv=3, store=tmp_path).fit(X, y)
    again = ScreenedRTLM(search.best_lam_, store=tmp_path).fit(X, y)
    assert again.n_iter_ == 0 and again.lam_ == search.lam_


@pytest.mark.few(2)
@pytest.mark.parametrize("size", [2, 3, 4])
def test_tuple_learners_have_bars_and_histories(size, capsys):
    rows, answers = tuples_of(size)
    model = KINDS[size](preprocessor=X, verbose=1).fit(rows, answers)
    assert "gap=" in capsys.readouterr().err
    assert model.history_["gap"][-1] == model.dual_gap_ and model.screening_parameter_ == "lam"
    same = KINDS[size](preprocessor=X, screening=False).fit(rows, answers)
    assert same.screening_history_.size == 0
    assert_allclose(same.objective_, model.objective_, rtol=2e-6)
