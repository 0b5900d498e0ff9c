"""One dialect: a word means the same in every public estimator, path, search and display."""

import inspect
import re
import warnings

import matplotlib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

import skscreen
from skscreen import inspection
from skscreen.core.sklearn_private import InvalidParameterError

matplotlib.use("Agg")
RNG = np.random.default_rng(0)
X, y = load_iris(return_X_y=True)
X, y = X[25:125], y[25:125]
SEQUENCES = [X[start : start + 5] for start in range(0, 100, 5)]
LABELS = [y[start : start + 5] + np.arange(5) % 2 for start in range(0, 100, 5)]
POINTS = RNG.normal(size=(8, 2))
TRIPLETS = np.array([RNG.permutation(8)[:3] for _ in range(200)])
FAR = np.linalg.norm(POINTS[TRIPLETS[:, 0]] - POINTS[TRIPLETS[:, 1]], axis=1) > np.linalg.norm(
    POINTS[TRIPLETS[:, 0]] - POINTS[TRIPLETS[:, 2]], axis=1
)
TRIPLETS[FAR] = TRIPLETS[FAR][:, [0, 2, 1]]
ROWS = np.array([RNG.permutation(100)[:4] for _ in range(60)])
QUADRUPLETS = np.sort([RNG.permutation(9)[:4] for _ in range(300)], axis=1)
NOISE = np.square(QUADRUPLETS) @ [1, -1, -1, 1] + RNG.normal(size=300) > 0

# What each estimator is fitted to, and whether its problem is certified.
CERTIFIED = {
    "DifferenceScaling": (QUADRUPLETS, NOISE),
    "ChainCRF": (SEQUENCES, LABELS),
    "KernelChainClassifier": (SEQUENCES, LABELS),
    "MaxMarginChain": (SEQUENCES, LABELS),
    "PragamSVC": (X, y == 1),
    "ScreenedLinearSVC": (X, y == 1),
    "ScreenedLinearSVR": (X, X[:, 0] + X[:, 1] ** 2),
    "ScreenedNuSVC": (X, y == 1),
    "ScreenedNuSVR": (X, X[:, 0] + X[:, 1] ** 2),
    "ScreenedOneClassSVM": (X,),
    "ScreenedSVC": (X, y == 1),
    "ScreenedSVR": (X, X[:, 0] + X[:, 1] ** 2),
}
METRIC = {
    "ScreenedRTLM": (X, y),
    "RTLMPairsClassifier": (X[ROWS[:, :2]], np.where(y[ROWS[:, 0]] == y[ROWS[:, 1]], 1, -1)),
    "RTLMQuadrupletsClassifier": (X[ROWS],),
    "RTLMTripletsClassifier": (X[ROWS[:, :3]],),
}
# Choose among values, and weigh nothing.
CHOSEN = {"ScreenedRTLMCV": (X, y)}
SEARCHES = {
    "ScreenedSVCCV": (X, y == 1),
    "ScreenedSVRCV": (X, X[:, 0] + X[:, 1] ** 2),
}
OTHERS = {
    "ConceptEmbedding": (TRIPLETS, np.full(200, 2)),
    "ConceptEmbeddingCV": (TRIPLETS, np.full(200, 2)),
    "OrdinalEmbedding": (TRIPLETS,),
}
FITTED = CERTIFIED | METRIC | CHOSEN | SEARCHES | OTHERS
ESTIMATORS = sorted(
    name
    for name in skscreen.__all__
    if inspect.isclass(getattr(skscreen, name))
    and issubclass(getattr(skscreen, name), BaseEstimator)
)
DISPLAYS = [getattr(inspection, name) for name in inspection.__all__]
HISTORY = ("iteration", "seconds", "primal", "dual", "gap")


def make(name: str, **options):
    """Return an estimator that is fast."""
    kind = getattr(skscreen, name)
    if "random_state" in inspect.signature(kind).parameters:
        options.setdefault("random_state", 0)
    return kind(**options)


@pytest.fixture(scope="module")
def fitted():
    """Models by name; they are not changed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: make(name).fit(*data) for name, data in FITTED.items()}


def words():
    """Iterate over all public callables with their parameters."""
    for name in skscreen.__all__:
        value = getattr(skscreen, name)
        if callable(value):
            yield name, inspect.signature(value).parameters


GONE = {"memory", "algorithm", "max_epochs", "n_objects", "n_epochs"}
DEFAULTS = {
    "random_state": (None,), "store": (None,), "verbose": (0,), "screening": (True,),
    "n_jobs": (None,), "class_weight": (None,), "relative_lam": (True, None),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name, _ in words()])
def test_words_and_defaults(name):
    given = dict(words())[name]
    assert not GONE & set(given)
    for word, values in DEFAULTS.items():
        assert word not in given or given[word].default in values, word
    if "gamma" in given:
        assert "kernel" in given
    if "epsilon" in given:
        assert "SVR" in name or "svr" in name
    if "solver" in given:
        assert given["solver"].default == "auto"
    kinds = {parameter.kind for parameter in given.values()}
    assert inspect.Parameter.VAR_KEYWORD not in kinds
    if "tol" in given:
        assert {"max_iter", "verbose"} <= set(given)
        # The length of a fit of dimensions is bounded, as its likelihood hardly rises at the end.
        assert given["max_iter"].default is None or "Concept" in name


@pytest.mark.parametrize("name", sorted(set(ESTIMATORS) - {"SequenceTransformer"}))
def test_every_estimator_takes_part(name):
    assert name in FITTED


def test_weights_are_called_sample_weight():
    for name in ESTIMATORS:
        if name in ("SequenceTransformer", *CHOSEN):
            continue
        given = inspect.signature(getattr(skscreen, name).fit).parameters
        assert "weights" not in given and "sample_weight" in given, name


@pytest.mark.few(3)
@pytest.mark.parametrize("name", FITTED)
@pytest.mark.slow
def test_types_of_what_is_learned(name, fitted):
    model = fitted[name]
    if name in CERTIFIED | METRIC:
        assert isinstance(model.dual_gap_, float)
    if hasattr(model, "n_iter_"):
        assert isinstance(model.n_iter_, (int, np.integer))
    if hasattr(model, "objective_"):
        assert isinstance(model.objective_, float)
    if hasattr(model, "history_"):
        assert isinstance(model.history_, np.ndarray)
        assert set(HISTORY) <= set(model.history_.dtype.names)
    if hasattr(model, "screening_history_"):
        table = model.screening_history_
        assert {"where", "parameter", "iteration", "zero", "at_bound", "undecided", "rate",
                "seconds"} <= set(table.dtype.names)  # fmt: skip
        assert np.all((table["rate"] >= 0.0) & (table["rate"] <= 1.0))
    if name in SEARCHES | CHOSEN:
        for attribute in ("cv_results_", "best_index_", "best_score_", "best_params_",
                          "best_estimator_", "n_splits_"):  # fmt: skip
            assert hasattr(model, attribute), attribute
        assert (
            np.all(np.diff(model.Cs_) > 0.0)
            if name in SEARCHES
            else (np.all(np.diff(model.lams_) < 0.0) and model.best_lam_ <= 1.0)
        )


@pytest.mark.parametrize("name", ["PragamSVC", "ScreenedLinearSVC", "ScreenedSVC"])
def test_several_problems_have_an_array_of_objectives(name):
    model = make(name).fit(X, np.arange(len(X)) % 3)
    assert model.objective_.shape == (3,)
    assert isinstance(model.dual_gap_, float)
    assert isinstance(model.n_iter_, (int, np.integer))


@pytest.mark.parametrize("name", METRIC)
def test_lam_is_a_share_of_lambda_max(name):
    first = make(name, lam=1.0).fit(*METRIC[name])
    assert first.lam_ == pytest.approx(first.lam_max_)
    same = make(name, lam=first.lam_max_, relative_lam=False).fit(*METRIC[name])
    assert same.lam_ == first.lam_max_
    metrics = [model.components_.T @ model.components_ for model in (same, first)]
    np.testing.assert_allclose(*metrics, rtol=1e-6, atol=1e-12)
    half = make(name, lam=0.5).fit(*METRIC[name])
    assert half.lam_ == pytest.approx(0.5 * first.lam_max_)


def test_lams_of_paths_and_searches_are_shares_too():
    path = skscreen.rtlm_path(X, y, [1.0, 0.1])
    assert path.lams == pytest.approx([path.lam_max, 0.1 * path.lam_max])
    assert path[1].lam == 0.1 and path.solutions[1].converged
    search = make("ScreenedRTLMCV", lams=[0.1, 1.0], cv=2).fit(X, y)
    assert search.best_lam_ in (0.1, 1.0)
    assert search.lam_ == pytest.approx(search.best_lam_ * search.lam_max_)


@pytest.mark.parametrize("name, values", [("svc_path", "Cs"), ("rtlm_path", "lams")])
def test_paths_tell_what_they_screened_as_their_estimators_do(name, values):
    path = getattr(skscreen, name)(X, y == y[0])
    value = getattr(path, values)[-1]
    found = path.screened(value)
    same = path[-1].screened(X, y == y[0])
    assert found.codes_.dtype == np.int8 and set(np.unique(found.codes_)) <= {0, 1, 2}
    assert np.array_equal(found.codes_, same.codes_)
    assert np.array_equal(found.undecided_, np.flatnonzero(found.codes_ == 0))
    assert found.rate_ == pytest.approx(np.mean(found.codes_ != 0))
    for other in (0.123 * value, str(value), None):
        with pytest.raises(ValueError, match=rf"^{values[:-1]}\b"):
            path.screened(other)


# Their objectives are those of the problems with a C, or an epsilon, that a solution at a nu solves
# and that change with it; tests/svm/test_nu_machines.py has the gaps of the problems at a nu.
AT_NU = {"ScreenedNuSVC", "ScreenedNuSVR"}


@pytest.mark.few(3)
@pytest.mark.parametrize("name", sorted({*CERTIFIED, *METRIC} - AT_NU))
def test_tol_is_the_relative_gap(name):
    """Judged by the distance to a much better objective."""
    rough, fine = (make(name, tol=tol).fit(*FITTED[name]) for tol in (1e-2, 1e-8))
    assert 0.0 <= rough.dual_gap_ <= 1e-2 and fine.dual_gap_ <= 1e-8
    # That of a half-space is negative; its gap is relative to the part without the offset.
    size = rough.history_["primal"][-1] if name == "ScreenedOneClassSVM" else rough.objective_
    assert rough.objective_ - fine.objective_ <= (rough.dual_gap_ + 1e-9) * size
    assert fine.objective_ <= rough.objective_ + 1e-7 * size


# What bars say beside the share of the work: a number of problems, or a relative gap and others.
SAYS = re.compile(
    r"(start )?\d+ of \d+( [\w -]+)?|(objective=\S+ )?passes=\d+|(objective=\S+ )?dimensions=\d+"
    r"|((C|lam|nu)=\S+ )?gap=\d\.\de[+-]\d+( screened=\d+%)?( iterations=\d+)?"
)


@pytest.mark.few(5)
@pytest.mark.parametrize("name", FITTED)
def test_verbose(name, capfd):
    if "verbose" not in make(name).get_params():
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make(name).fit(*FITTED[name])
        assert capfd.readouterr() == ("", "")
        make(name, verbose=1).fit(*FITTED[name])
    bars = re.findall(r"\[[#.]+\] +\d+% (.*)", capfd.readouterr().err)
    assert bars
    for bar in bars:
        assert SAYS.fullmatch(bar), bar


THREE = X, np.arange(100) % 4 % 3
OF_KERNELS = {"gamma": 3.0, "degree": 7, "coef0": 2.0, "cache_size": 10}
GRID = {"Cs": [0.1, 1.0], "cv": 2}
OF_SCREENING = {"bound": "gb", "rule": "linear", "screen_every": 3}


def product(A, B):
    return A @ B.T


# Settings, and parameters that have no effect next to them: those of other kernels, losses and
# solvers, and what a grid or another parameter takes the place of.
IGNORED = [
    ("ScreenedSVC", {"kernel": "linear"}, {**OF_KERNELS, "indefinite": "shift",
                                           "shrinking": False}),
    ("ScreenedSVC", {}, {"degree": 7, "coef0": 2.0, "solver": "second-order", "indefinite": "error",
                         "multi_class": "ovr", "break_ties": True, "intercept_scaling": 9.0}),
    ("ScreenedSVC", {"kernel": product}, {**OF_KERNELS, "store": "folder"}),
    ("ScreenedSVC", {"fit_intercept": False}, {"intercept": "penalised", "intercept_scaling": 9.0}),
    ("ScreenedSVC", {"kernel": "linear", "solver": "second-order"}, {"random_state": 3}),
    ("ScreenedSVC", {"loss": "squared_hinge"}, {"screening": "ball2"}),
    ("ScreenedSVR", {"kernel": "linear"}, OF_KERNELS),
    ("ScreenedSVR", {"kernel": product}, {**OF_KERNELS, "store": "folder"}),
    ("ScreenedSVR", {}, {"degree": 7, "coef0": 2.0, "solver": "second-order", "shrinking": False}),
    ("ScreenedLinearSVC", {}, {"dual": False}),
    ("ScreenedLinearSVC", {"penalty": "l1"}, {"solver": "second-order", "screening": "ball2",
                                              "store": "folder", "random_state": 3}),
    ("ScreenedLinearSVC", {"fit_intercept": False}, {"intercept_scaling": 9.0}),
    ("ScreenedLinearSVR", {"fit_intercept": False}, {"intercept_scaling": 9.0, "dual": False}),
    ("ScreenedSVCCV", {**GRID, "kernel": "linear"}, {"gammas": [0.1, 1.0], **OF_KERNELS}),
    ("ScreenedSVCCV", {**GRID, "gammas": [0.1, 1.0]}, {"gamma": 3.0, "degree": 7}),
    ("ScreenedSVCCV", {**GRID, "kernel": product}, {"gammas": [0.1, 1.0], "store": "folder"}),
    ("ScreenedSVCCV", {**GRID, "refit": False}, {"store": "folder"}),
    ("ScreenedSVCCV", {**GRID, "kernel": "linear", "certify": 0.2, "intercept": "penalised"},
     {"gammas": [0.1, 1.0], "indefinite": "shift", "gamma": 3.0}),
    ("ScreenedSVCCV", {**GRID, "certify": 0.2, "fit_intercept": False},
     {"intercept": "free", "indefinite": "shift", "multi_class": "ovo"}),
    ("ScreenedSVRCV", {**GRID, "kernel": "linear"}, {"gammas": [0.1, 1.0], **OF_KERNELS}),
    ("ScreenedSVRCV", {**GRID, "epsilons": [0.1, 0.3]}, {"epsilon": 7.0}),
    ("ScreenedSVRCV", {**GRID, "gammas": [0.1, 1.0]}, {"gamma": 3.0, "solver": "second-order"}),
    ("ScreenedRTLM", {"loss": "hinge"}, {"width": 0.3}),
    ("ScreenedRTLM", {"screening": False}, OF_SCREENING),
    ("ScreenedRTLMCV", {"lams": 2, "cv": 2}, {"relative_lam": False}),
    ("ScreenedRTLMCV", {"lams": 2, "cv": 2, "screening": False}, OF_SCREENING),
    ("ScreenedRTLMCV", {"lams": 2, "cv": 2, "refit": False}, {"store": "folder"}),
    ("KernelChainClassifier", {"kernel": "linear"}, {"gamma": 3.0, "degree": 7, "coef0": 2.0}),
    ("PragamSVC", {"solver": "bmrm"}, {"lipschitz": 1.0, "batch_size": 5, "projection": False}),
    ("MaxMarginChain", {"solver": "bmrm"}, {"random_state": 3}),
    ("OrdinalEmbedding", {"loss": "soe"}, {"alpha": 2.0, "mu": 0.3, "sbb_epsilon": 0.1}),
]  # fmt: skip
LEARNED = {
    "coef_", "components_", "dual_coef_", "embedding_", "intercept_", "scores_", "transition_",
}  # fmt: skip


@pytest.mark.few(9)
@pytest.mark.slow
@pytest.mark.parametrize(("name", "settings", "ignored"), IGNORED)
def test_parameters_without_effect_are_ignored(name, settings, ignored, tmp_path):
    ignored = ignored | ({"store": tmp_path} if "store" in ignored else {})
    models = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for options in (settings, {**settings, **ignored}):
            models.append(make(name, **options).fit(*FITTED[name]))
    known = LEARNED & set(vars(models[0]))
    assert known
    for attribute in known:
        np.testing.assert_array_equal(*(getattr(model, attribute) for model in models))


def test_the_multi_class_hinge_knows_no_other_loss_nor_penalty():
    models = [
        make("ScreenedLinearSVC", multi_class="crammer_singer", **options).fit(*THREE)
        for options in ({}, {"penalty": "l1", "loss": "hinge", "dual": False, "screening": "gap"})
    ]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


def test_searches_say_what_a_list_of_values_is_called():
    for name, one, several in [
        ("ScreenedSVCCV", "gamma", "gammas"), ("ScreenedSVRCV", "gamma", "gammas"),
        ("ScreenedSVRCV", "epsilon", "epsilons"),
    ]:  # fmt: skip
        with pytest.raises(InvalidParameterError, match=f"'{one}' parameter .* {several}="):
            make(name, **{one: [0.1, 1.0]}).fit(*FITTED[name])
    for name, one in [("ScreenedSVCCV", "C"), ("ScreenedSVRCV", "C"), ("ScreenedRTLMCV", "lam"),
                      ("svc_path", "C"), ("rtlm_path", "lam")]:  # fmt: skip
        given = FITTED["ScreenedSVC"] if "path" in name else ()
        with pytest.raises(TypeError, match=f"'{one}'"):
            getattr(skscreen, name)(*given, **{one: [0.1, 1.0]})
    for name in (*SEARCHES, *CHOSEN):
        public = {word for word in dir(getattr(skscreen, name)) if not word.startswith("_")}
        assert "kind" not in public


@pytest.mark.parametrize("name", ["svc_path", "svr_path"])
def test_paths_have_real_signatures(name):
    path, target = (
        getattr(skscreen, name),
        FITTED["ScreenedSVC" if "svc" in name else "ScreenedSVR"],
    )
    found = path(*target, [0.1, 1.0])
    np.testing.assert_array_equal(found.Cs, [0.1, 1.0])
    assert isinstance(found[0], BaseEstimator)
    assert found[0].C == found.solutions[0].C == 0.1
    assert np.all((found.rates >= 0.0) & (found.rates <= 1.0))
    with pytest.raises(TypeError, match="'gama'"):
        path(*target, [0.1], gama=3.0)


@pytest.mark.parametrize("name", FITTED)
def test_scikit_learns_classes_of_errors(name):
    model = make(name)
    for word, value in (("tol", -1.0), ("max_iter", 0), ("C", -1.0), ("solver", "no such")):
        if word in model.get_params():
            with pytest.raises(InvalidParameterError, match=f"'{word}' parameter"):
                clone(model).set_params(**{word: value}).fit(*FITTED[name])
    method = next(m for m in ("predict", "transform", "score") if hasattr(model, m))
    with pytest.raises(NotFittedError):
        getattr(model, method)(FITTED[name][0])
    with pytest.raises(TypeError, match="unexpected keyword"):
        type(model)(no_such_word=1)


def test_result_classes_are_not_at_the_top():
    for name in ("SVCPath", "SVRPath", "RTLMPath", "CertifiedC", "DimensionTest", "PragamSVCCV",
                 "PragamChainSVC"):  # fmt: skip
        assert not hasattr(skscreen, name), name


@pytest.mark.parametrize("display", DISPLAYS)
def test_displays_are_alike(display):
    given = inspect.signature(display.__init__).parameters
    assert all(p.kind is p.KEYWORD_ONLY for name, p in given.items() if name != "self")
    makers = [name for name in dir(display) if name.startswith("from_")]
    for name in makers:
        assert next(iter(inspect.signature(getattr(display, name)).parameters)) == name[5:]
    kinds = {"from_estimator", "from_path", "from_result", "from_screenings"}
    assert makers and set(makers) <= kinds
    for name in (*makers, "plot"):
        ax = inspect.signature(getattr(display, name)).parameters["ax"]
        assert ax.default is None
        assert name == "plot" or ax.kind is ax.KEYWORD_ONLY
    text = inspect.getdoc(display)
    assert "figure_ :" in text and ("ax_ :" in text or "axes_ :" in text)


def test_the_axis_of_svm_paths_is_C():
    path = skscreen.svc_path(X, y == 1, [0.1, 1.0])
    for display in (inspection.PathDisplay, inspection.ScreeningDisplay):
        drawn = display.from_path(path)
        ax = drawn.ax_ if hasattr(drawn, "ax_") else drawn.axes_[-1]
        assert ax.get_xlabel().startswith("C ")
        assert not ax.xaxis_inverted()
        np.testing.assert_array_equal(drawn.values, path.Cs)


class Unfitted(BaseEstimator):
    """Has not seen anything."""

    def fit(self, X, y=None):
        return self


@pytest.mark.parametrize("display", DISPLAYS)
def test_errors_of_displays(display):
    for maker in ("from_path", "from_result"):
        if hasattr(display, maker):
            with pytest.raises(TypeError, match=f"^`{maker[5:]}`"):
                getattr(display, maker)(object())
    if hasattr(display, "from_estimator"):
        extra = (X,) if display.__name__ == "LearnedSpaceDisplay" else ()
        with pytest.raises(NotFittedError):
            display.from_estimator(Unfitted(), *extra)
        with pytest.raises(ValueError, match=r"^estimator\b"):
            display.from_estimator(LinearSVC().fit(X, y == 1), *extra)


def test_no_module_holds_itself():
    assert not hasattr(skscreen, "skscreen")


PEERS = {
    "PragamSVC": LinearSVC,
    "ScreenedLinearSVC": LinearSVC,
    "ScreenedLinearSVR": LinearSVR,
    "ScreenedSVC": SVC,
    "ScreenedSVR": SVR,
}


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_types_of_numbers_are_those_of_scikit_learn(name, container):
    data, options = (
        FITTED[name],
        {"kernel": "linear"} if name in ("ScreenedSVC", "ScreenedSVR") else {},
    )
    rows = container(data[0].astype(np.float32))
    model, peer = (
        make(name, **options).fit(rows, data[1]),
        PEERS[name](**options).fit(rows, data[1]),
    )
    for attribute in ("coef_", "intercept_", "dual_coef_", "support_vectors_"):
        if hasattr(peer, attribute) and hasattr(model, attribute):
            assert getattr(model, attribute).dtype == getattr(peer, attribute).dtype
    assert model.predict(rows).dtype == peer.predict(rows).dtype


def test_transformed_sequences_keep_single_precision():
    rows = [part.astype(np.float32) for part in SEQUENCES]
    for given in (
        rows,
        [sparse.csr_array(part) for part in rows],
        [pd.DataFrame(part) for part in rows],
    ):
        transformer = skscreen.SequenceTransformer(StandardScaler(with_mean=False))
        assert {part.dtype for part in transformer.fit_transform(given)} == {np.dtype(np.float32)}
