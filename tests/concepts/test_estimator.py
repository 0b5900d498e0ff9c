import pickle
import signal
import sys
import time

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.utils import estimator_checks
from sklearn.utils.fixes import parse_version

from skscreen import ConceptEmbedding, ConceptEmbeddingCV, read_answers
from skscreen.concepts.problem.objective import Objective
from skscreen.concepts.reading import read
from skscreen.metrics import match_dimensions
from tests.concept_cases import answer, answers_of, draw_trials, odd_last, true_dimensions

rng = np.random.default_rng(0)
N, D = 30, 3
TRUTH = np.repeat(2.5 * np.eye(D), N // D, axis=0)
TRIALS = draw_trials(N, 3000, rng)
ODD = answer(TRUTH, TRIALS, rng)
MODEL = ConceptEmbedding(10, l1=0.04, random_state=0)
FITTED = clone(MODEL).fit(TRIALS, ODD)
ROWS = odd_last(TRIALS, ODD)


@pytest.mark.proof
def test_all_dimensions_of_a_truth_are_found_by_any_seed():
    draws = np.random.default_rng(3)
    truth = true_dimensions(100, 5, draws)
    trials = draw_trials(100, 10_000, draws)
    odd = answer(truth, trials, draws)
    fits = [ConceptEmbedding(random_state=seed).fit(trials, odd) for seed in range(10)]
    for model in fits:
        found = match_dimensions(truth, model.embedding_)
        assert (found.correlations > 0.95).all()
        true = found.partners
        assert (model.support_[true] == 1.0).all() and (model.reproducibility_[true] > 0.95).all()
        assert (model.n_significant_[true] > 5).all()
    r = [match_dimensions(fits[0].embedding_, model.embedding_).correlations[:5] for model in fits]
    assert np.min(r) > 0.99


def test_a_fit_is_a_local_minimum():
    model = clone(MODEL).set_params(tol=1e-9).fit(TRIALS, ODD)
    objective = Objective(read(answers_of(ROWS, N), None, None).trials, model.l1_, model.l2_)
    X = model.embedding_
    value, gradient = objective.evaluate(X)
    assert value == pytest.approx(model.objective_, rel=1e-12)
    assert np.abs(gradient[X > 0.0]).max() < 1e-4 and gradient[X == 0.0].min() > -1e-4
    assert model.log_likelihood_ == pytest.approx(objective.log_likelihood(X))
    draws = np.random.default_rng(1)
    for _ in range(20):
        moved = np.maximum(X + 0.01 * draws.normal(size=X.shape), 0.0)
        assert objective.evaluate(moved)[0] > value


def test_attributes_of_a_fit():
    X = FITTED.embedding_
    assert X.shape == (N, D) and X.min() == 0.0
    assert (np.diff(X.sum(axis=0)) <= 0.0).all()
    assert (match_dimensions(TRUTH, X).correlations > 0.95).all()
    assert FITTED.l1_ == 0.04 and FITTED.l2_ == pytest.approx(0.002)
    assert (FITTED.support_ == 1.0).all() and (FITTED.reproducibility_ > 0.99).all()
    assert (np.isnan(FITTED.standard_errors_) == (X == 0.0)).all()
    assert FITTED.n_significant_.tolist() == [10, 10, 10]
    assert FITTED.compared_.all() and FITTED.objects_.tolist() == list(range(N))
    history = FITTED.history_
    assert FITTED.n_iter_ == len(history) and set(history["start"]) == {0, 1, 2, 3}
    for start in range(4):
        part = history[history["start"] == start]
        assert (np.diff(part["primal"]) <= 0.0).all()
        assert (np.diff(part["dimensions"]) <= 0).all()


def test_the_penalty_belongs_to_the_number_of_trials():
    model = ConceptEmbedding(5, n_init=1, max_iter=300, random_state=0)
    for count in (1500, 3000):
        model.fit(TRIALS[:count], ODD[:count])
        share = N / count
        assert model.l1_ == pytest.approx(0.224 * np.sqrt(share) * max(1.0, 100.0 * share) ** 0.35)
        assert model.l2_ == pytest.approx(model.l1_ / 20.0)
    # As of a set as large as SPoSE's: the penalty falls with the root of the number of trials.
    model.set_params(max_iter=1).fit(TRIALS, ODD, sample_weight=np.full(len(ODD), 30.0))
    assert model.l1_ == pytest.approx(0.224 * np.sqrt(N / (30.0 * len(ODD))))


def test_answers_and_arrays_are_the_same():
    names = np.array([f"object {k:02}" for k in range(N)])
    answers = read_answers(names[ROWS], kind="oddoneout", chosen=2)
    model = clone(MODEL).fit(answers)
    np.testing.assert_array_equal(model.embedding_, FITTED.embedding_)
    assert model.objects_.tolist() == names.tolist()
    assert model.score(answers) == FITTED.score(TRIALS, ODD)
    np.testing.assert_array_equal(model.predict_proba(answers), FITTED.predict_proba(ROWS))
    with pytest.raises(ValueError, match=r"^answers\b"):
        model.score(read_answers([["a", "b", "c"]], kind="oddoneout", chosen=2))
    with pytest.raises(ValueError, match=r"^y must"):
        model.fit(answers, ODD)
    with pytest.raises(ValueError, match=r"^y must"):
        model.fit(TRIALS)


def test_weights_are_repeated_trials():
    times = np.random.default_rng(1).integers(3, size=len(TRIALS))
    weighted = clone(MODEL).fit(TRIALS, ODD, sample_weight=times)
    repeated = clone(MODEL).fit(np.repeat(TRIALS, times, axis=0), np.repeat(ODD, times))
    np.testing.assert_allclose(weighted.embedding_, repeated.embedding_, atol=1e-4)
    np.testing.assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-7)
    np.testing.assert_allclose(
        weighted.score(TRIALS, ODD, times),
        repeated.score(*map(np.repeat, (TRIALS, ODD), (times,) * 2, (0, 0))),
    )
    halved = clone(MODEL).set_params(l2=0.0)
    one = clone(halved).fit(TRIALS, ODD, np.full(len(TRIALS), 0.5))
    np.testing.assert_allclose(one.embedding_, halved.fit(TRIALS, ODD).embedding_, atol=1e-6)


def test_a_weight_of_zero_leaves_a_trial_out():
    weights = (np.arange(len(TRIALS)) < 2000).astype(float)
    weights[TRIALS.max(axis=1) == N - 1] = 0.0
    model = clone(MODEL).fit(TRIALS, ODD, weights)
    kept = weights > 0.0
    other = clone(MODEL).fit(TRIALS[kept], ODD[kept])
    np.testing.assert_array_equal(model.embedding_[:-1], other.embedding_)
    assert not model.compared_[-1] and not model.embedding_[-1].any()
    assert np.isnan(model.standard_errors_[-1]).all()


def test_objects_that_were_never_shown():
    answers = answers_of(ROWS, N + 2)
    model = clone(MODEL).fit(answers)
    np.testing.assert_array_equal(model.embedding_[:N], FITTED.embedding_)
    assert model.compared_.tolist() == [True] * N + [False] * 2
    S = model.similarity()
    assert np.isnan(S[N:]).all() and np.isnan(S[:, N:]).all()
    np.testing.assert_array_equal(S[:N, :N], FITTED.similarity())
    assert model.predict_proba([[0, N, N + 1]]) == pytest.approx(np.full((1, 3), 1.0 / 3.0))


def test_the_same_for_any_number_of_threads():
    for n_jobs in (2, 3):
        model = clone(MODEL).set_params(n_jobs=n_jobs).fit(TRIALS, ODD)
        np.testing.assert_array_equal(model.embedding_, FITTED.embedding_)
    other = clone(MODEL).set_params(random_state=1).fit(TRIALS, ODD)
    assert not np.array_equal(other.embedding_, FITTED.embedding_)
    np.testing.assert_allclose(
        match_dimensions(other.embedding_, FITTED.embedding_).correlations, 1.0, atol=1e-3
    )


def test_triplets_and_quadruplets():
    s = TRUTH @ TRUTH.T
    draws = np.random.default_rng(2)
    noise = draws.gumbel(size=(2, 6000))
    rows = draw_trials(N, 6000, draws)
    first = s[rows[:, 0], rows[:, 1]] + noise[0] > s[rows[:, 0], rows[:, 2]] + noise[1]
    triplets = np.where(first[:, None], rows, rows[:, [0, 2, 1]])
    model = clone(MODEL).fit(answers_of(triplets, N, "triplets"))
    assert (match_dimensions(TRUTH, model.embedding_).correlations > 0.9).all()
    answers = answers_of(triplets, N, "triplets")
    p = model.predict_proba(answers)
    x = model.embedding_
    i, j, k = triplets.T
    difference = np.sum(x[i] * (x[k] - x[j]), axis=1)
    np.testing.assert_allclose(p[:, 0], 1.0 / (1.0 + np.exp(difference)), rtol=1e-10)
    assert model.score(answers) == np.mean(difference < 0.0)
    # The same said as quadruplets.
    four = answers_of(np.stack([i, j, i, k], axis=1), N, "quadruplets")
    np.testing.assert_allclose(clone(MODEL).fit(four).embedding_, x, atol=1e-6)


def test_probabilities_and_predictions():
    trials = TRIALS[:50]
    p = FITTED.predict_proba(trials)
    x = FITTED.embedding_
    for row, found in zip(trials, p, strict=True):
        pairs = [(row[1], row[2]), (row[0], row[2]), (row[0], row[1])]
        powers = np.exp([x[i] @ x[j] for i, j in pairs])
        np.testing.assert_allclose(found, powers / powers.sum(), rtol=1e-12)
    np.testing.assert_array_equal(FITTED.predict(trials), p.argmax(axis=1))
    assert FITTED.score(TRIALS, ODD) > 0.7
    with pytest.raises(ValueError, match=r"^answers\b"):
        FITTED.predict([[0, 1, 2], [0, 1, 1]])


def test_ties_are_wrong():
    model = clone(MODEL).fit(answers_of(ROWS, N + 3))
    strangers = np.array([[N, N + 1, N + 2]])
    assert [model.score(strangers, [k]) for k in range(3)] == [0.0, 0.0, 0.0]
    assert model.predict(strangers).tolist() == [0]


def test_similarity_is_a_mean_over_thirds():
    x = FITTED.embedding_
    e = np.exp(x @ x.T)
    S = FITTED.similarity()
    for i, j in ((0, 1), (3, 20), (29, 5)):
        thirds = [k for k in range(N) if k not in (i, j)]
        expected = np.mean([e[i, j] / (e[i, j] + e[i, k] + e[j, k]) for k in thirds])
        assert S[i, j] == pytest.approx(expected, rel=1e-12) and S[j, i] == S[i, j]
    assert (np.diag(S) == 1.0).all()


def test_top_objects():
    names = FITTED.top_objects(4)
    assert names.shape == (4, D)
    for d in range(D):
        x = FITTED.embedding_[:, d]
        assert x[names[0, d]] == x.max() and x[names[:, d]].min() == np.sort(x)[-4]
    with pytest.raises(ValueError, match="n == 31"):
        FITTED.top_objects(31)


def test_one_start_has_no_reproducibility():
    model = clone(MODEL).set_params(n_init=1).fit(TRIALS, ODD)
    assert np.isnan(model.reproducibility_).all() and (model.support_ == 1.0).all()
    assert (match_dimensions(TRUTH, model.embedding_).correlations > 0.95).all()


def test_one_dimension():
    model = ConceptEmbedding(1, random_state=0).fit(TRIALS, ODD)
    assert model.embedding_.shape[1] <= 1
    # One thing that half of the objects have.
    truth = 2.0 * (np.arange(N) % 2)[:, None]
    odd = answer(truth, TRIALS, np.random.default_rng(1))
    model.fit(TRIALS, odd)
    assert match_dimensions(truth, model.embedding_).correlations[0] > 0.95


def test_all_trials_alike():
    model = clone(MODEL).fit(np.tile([[0, 1, 2]], (200, 1)), np.full(200, 2))
    x = model.embedding_
    assert x[0] @ x[1] > 1.0 and x[2].max() == 0.0
    assert model.score([[0, 1, 2]], [2]) == 1.0


def test_trials_that_support_nothing():
    random = np.random.default_rng(1).integers(3, size=300)
    with pytest.warns(UserWarning, match=r"\bl1\b"):
        model = ConceptEmbedding(5, l1=10.0).fit(TRIALS[:300], random)
    assert model.embedding_.shape == (N, 0) and model.n_significant_.shape == (0,)
    assert model.predict_proba(TRIALS[:5]) == pytest.approx(1.0 / 3.0)
    assert model.score(TRIALS[:5], random[:5]) == 0.0
    assert model.top_objects(2).shape == (2, 0)
    assert model.bootstrap(2).correlations.shape == (2, 0)
    assert model.log_likelihood_ == pytest.approx(-300 * np.log(3.0))


def test_penalties_and_components_have_effects():
    fewer = clone(MODEL).set_params(l1=5.0 * FITTED.l1_).fit(TRIALS, ODD)
    assert fewer.embedding_.sum() < FITTED.embedding_.sum()
    assert fewer.l2_ == pytest.approx(fewer.l1_ / 20.0)
    ridge = clone(MODEL).set_params(l2=0.1).fit(TRIALS, ODD)
    assert ridge.embedding_.max() < FITTED.embedding_.max() and ridge.l2_ == 0.1
    assert clone(MODEL).set_params(n_components=2).fit(TRIALS, ODD).embedding_.shape[1] <= 2


def test_support_decides_what_is_kept():
    # Few trials, so that starts differ.
    few = TRIALS[:150], ODD[:150]
    model = ConceptEmbedding(20, l1=0.02, n_init=4, random_state=0)
    sizes = []
    for share in (0.0, 0.5, 1.0):
        model.set_params(min_support=share).fit(*few)
        assert (model.support_ >= share).all()
        sizes.append(model.embedding_.shape[1])
    assert sizes[0] > sizes[2] and sizes == sorted(sizes, reverse=True)


def test_a_fit_that_ends_early_says_so():
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        clone(MODEL).set_params(max_iter=3).fit(TRIALS, ODD)


def test_bootstrap_of_trials_and_participants():
    found = FITTED.bootstrap(8, random_state=0)
    assert found.embeddings.shape == (8, N, D) and (found.correlations > 0.9).all()
    np.testing.assert_allclose(
        found.standard_errors, found.embeddings.std(axis=0, ddof=1), atol=1e-12
    )
    # Entries that are far from 0, by the two kinds of errors.
    clear = FITTED.embedding_ > 1.0
    ratio = np.median(found.standard_errors[clear] / FITTED.standard_errors_[clear])
    assert 0.5 < ratio < 2.0
    again = FITTED.bootstrap(8, random_state=0, n_jobs=2)
    np.testing.assert_array_equal(found.embeddings, again.embeddings)
    people = FITTED.bootstrap(4, groups=np.arange(len(TRIALS)) % 20, random_state=0)
    assert not np.array_equal(people.embeddings, found.embeddings[:4])
    assert "4 refits of 3 dimensions of 30 objects" in repr(people)
    for groups in (np.arange(5), np.zeros(len(TRIALS))):
        with pytest.raises(ValueError, match=r"^groups must"):
            FITTED.bootstrap(4, groups=groups)


def test_bootstrap_keeps_the_weights_of_the_fit():
    weights = np.random.default_rng(1).integers(3, size=len(TRIALS)).astype(float)
    model = clone(MODEL).fit(TRIALS, ODD, weights)
    reading = read(model.answers_, None, None)
    assert reading.trials.total == weights.sum()
    assert model.bootstrap(3, random_state=0).correlations.min() > 0.8


def test_works_with_scikit_learn():
    groups = np.arange(len(ROWS)) % 10
    answers = answers_of(ROWS, N, groups=groups)
    scores = cross_val_score(MODEL, answers, groups=groups, cv=GroupKFold(3))
    assert scores.min() > 0.6
    search = GridSearchCV(MODEL, {"l1": [0.04, 0.5]}, cv=3).fit(answers)
    assert search.best_params_ == {"l1": 0.04}
    again = pickle.loads(pickle.dumps(FITTED))
    np.testing.assert_array_equal(again.similarity(), FITTED.similarity())
    with pytest.raises(NotFittedError):
        clone(FITTED).similarity()


def test_the_bar_and_what_it_says(capsys):
    clone(MODEL).set_params(verbose=1).fit(TRIALS, ODD)
    lines = capsys.readouterr().err.splitlines()
    assert "100% dimensions=3" in lines[-1] and any("objective=" in line for line in lines)
    clone(MODEL).fit(TRIALS, ODD)
    assert capsys.readouterr().err == ""


class Recorder:
    """Counts tasks, and asks to stop after some of them."""

    def __init__(self, stop_after=None):
        self.names, self.stop_after = [], stop_after

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.names.append(context.task_name)
        return len(self.names) == self.stop_after

    def teardown(self, estimator, context):
        pass


@pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.9"),
    reason="scikit-learn has callbacks from 1.9 on",
)
def test_starts_are_tasks_of_callbacks():
    recorder = Recorder()
    model = clone(MODEL).set_callbacks(recorder).fit(TRIALS, ODD)
    assert recorder.names == ["start"] * 4 + ["fit"]
    np.testing.assert_array_equal(model.embedding_, FITTED.embedding_)
    stopped = clone(MODEL).set_callbacks(Recorder(stop_after=1)).fit(TRIALS, ODD)
    alone = clone(MODEL).set_params(n_init=1).fit(TRIALS, ODD)
    np.testing.assert_array_equal(stopped.embedding_, alone.embedding_)


def test_tables_that_do_not_fit_are_named(little_memory):
    little_memory(1000)
    with pytest.raises(MemoryError, match=r"3,000 trials\b.*\bn_components\b"):
        clone(MODEL).fit(TRIALS, ODD)


class Interrupt(BaseException):
    pass


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no alarms")
@pytest.mark.skipif(sys.platform == "win32", reason="the system has no alarms")
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_signal_ends_a_fit_soon(n_jobs):
    draws = np.random.default_rng(1)
    trials = draw_trials(300, 100_000, draws)
    odd = draws.integers(3, size=len(trials))

    def stop(*_):
        raise Interrupt

    before = signal.signal(signal.SIGALRM, stop)
    model = ConceptEmbedding(l1=0.0, tol=0.0, n_jobs=n_jobs)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        began = time.perf_counter()
        with pytest.raises(Interrupt):
            model.fit(trials, odd)
        assert time.perf_counter() - began < 3.0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert not hasattr(model, "embedding_")


@pytest.mark.parametrize("model", [ConceptEmbedding(), ConceptEmbeddingCV()], ids=["one", "search"])
@pytest.mark.parametrize("check", [
    "check_estimator_cloneable", "check_estimator_repr", "check_get_params_invariance",
    "check_no_attributes_set_in_init", "check_parameters_default_constructible", "check_set_params",
])  # fmt: skip
def test_checks_of_scikit_learn_that_need_no_samples(model, check):
    getattr(estimator_checks, check)(type(model).__name__, model)


def test_fits_as_scikit_learn_asks_of_them():
    """What its checks with samples ask, with trials: they pass features, which are no trials."""
    shown, odd = TRIALS[:600].copy(), ODD[:600].copy()
    for model in (clone(MODEL), ConceptEmbeddingCV(4, l1s=[0.02], n_init=1, random_state=0)):
        before = model.get_params()
        with pytest.raises(NotFittedError):
            model.predict(shown)
        assert model.fit(shown, odd) is model and model.get_params() == before
        again = pickle.loads(pickle.dumps(model))
        assert again.score(shown, odd) == model.score(shown, odd)
        np.testing.assert_array_equal(clone(model).fit(shown, odd).embedding_, model.embedding_)
        np.testing.assert_array_equal(model.predict(shown)[::-1], model.predict(shown[::-1]))
        public = {name for name in vars(model) if not name.startswith("_")}
        assert all(name.endswith("_") for name in public - set(before))
        with pytest.raises(ValueError, match=r"\bodd\b|^y\b"):
            model.fit(shown, odd[:-1])
    np.testing.assert_array_equal(shown, TRIALS[:600])
    np.testing.assert_array_equal(odd, ODD[:600])
