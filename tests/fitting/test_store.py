"""The store of solved problems: what it returns, what it survives, that it changes no result."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale

from skscreen import PragamSVC, ScreenedLinearSVC, ScreenedRTLM, ScreenedSVC, Store
from skscreen.fitting.store import check_store, content_key

# As `content_key` makes them.
KEY = "a" * 40
X, y = load_breast_cancer(return_X_y=True)
X = scale(X)


def test_neighbours_are_the_nearest_on_both_sides(tmp_path):
    store = Store(tmp_path)
    assert store.neighbours(KEY, 1.0) == []
    for value in (0.1, 0.5, 2.0, 8.0):
        store.put(KEY, value, {"alpha": np.full(3, value)})
        store.put("b", value, {"alpha": np.zeros(2)})
    assert [value for value, _ in store.neighbours(KEY, 1.0)] == [0.5, 2.0]
    assert [value for value, _ in store.neighbours(KEY, 2.0)] == [2.0]
    assert [value for value, _ in store.neighbours(KEY, 0.01)] == [0.1]
    assert [value for value, _ in store.neighbours(KEY, 9.0)] == [8.0]
    np.testing.assert_array_equal(store.neighbours(KEY, 2.0)[0][1]["alpha"], np.full(3, 2.0))


def test_a_value_is_found_to_its_last_digit(tmp_path):
    store, value = Store(tmp_path), 0.1 + 0.2
    store.put(KEY, value, {"alpha": np.ones(1)})
    assert store.neighbours(KEY, value)[0][0] == value
    assert store.neighbours(KEY, 0.3)[0][0] == value != 0.3


def test_what_was_used_least_recently_makes_room(tmp_path):
    store = Store(tmp_path)
    store.put(KEY, 0.0, {"alpha": np.zeros(250)})
    store.max_bytes = int(4.5 * (tmp_path / KEY / "0.0.npz").stat().st_size)
    for value in range(4):
        store.put(KEY, value, {"alpha": np.zeros(250)})
        os.utime(tmp_path / KEY / f"{float(value)!r}.npz", (value, value))
    store.neighbours(KEY, 0.0)
    store.put(KEY, 10.0, {"alpha": np.zeros(250)})
    left = {path.stem for path in (tmp_path / KEY).iterdir()}
    assert "0.0" in left and "10.0" in left and "1.0" not in left
    assert sum(path.stat().st_size for path in (tmp_path / KEY).iterdir()) <= store.max_bytes


def test_a_store_far_from_its_limit_is_not_listed_again(tmp_path, monkeypatch):
    store, listed = Store(tmp_path), []
    store.put(KEY, 0.0, {"alpha": np.zeros(250)})
    monkeypatch.setattr(Store, "_evict", lambda self, keep: listed.append(keep) or 0)
    for value in range(1, 9):
        store.put(KEY, value, {"alpha": np.zeros(250)})
    assert not listed
    # Others may write as well: a look after each tenth of the limit.
    store.max_bytes = 40 * (tmp_path / KEY / "0.0.npz").stat().st_size
    for value in range(9, 30):
        store.put(KEY, value, {"alpha": np.zeros(250)})
    assert 3 <= len(listed) <= 6


def test_the_problems_of_a_fit_are_one_file(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 2100)
    data = rng.normal(size=(2100, 4)) + labels[:, None]
    for C in (1.0, 0.1):
        ScreenedSVC(C, kernel="rbf", store=tmp_path).fit(data, labels)
    assert len(list(tmp_path.rglob("*.npz"))) == 2
    again = ScreenedSVC(0.1, kernel="rbf", store=tmp_path).fit(data, labels)
    assert not again.n_iter_


def test_an_abandoned_file_is_removed_a_young_one_is_not(tmp_path):
    store = Store(tmp_path)
    store.put(KEY, 1.0, {"alpha": np.zeros(1)})
    old, young = (f"{digit * 32}.tmp" for digit in "01")
    for name, age in ((old, 10_000), (young, 0)):
        path = tmp_path / KEY / name
        path.write_bytes(b"unfinished")
        os.utime(path, (time.time() - age, time.time() - age))
    # After a tenth of what it may write, a store looks at what there is.
    store.max_bytes = 5_000
    store.put(KEY, 2.0, {"alpha": np.zeros(1)})
    assert {path.name for path in (tmp_path / KEY).iterdir()} == {"1.0.npz", "2.0.npz", young}


def damage(path, how):
    content = path.read_bytes()
    if how == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif how == "bit":
        middle = len(content) // 2
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    elif how == "method":
        # How the first member of the archive is compressed.
        at = content.index(b"PK\1\2") + 10
        path.write_bytes(content[:at] + b"\xff" + content[at + 1 :])
    elif how == "text":
        path.write_bytes(b"something else")
    elif how == "other":
        with np.load(path) as found:
            np.savez(path, of=found["of"], alpha=np.full(500, np.nan))
    else:
        np.savez(path, alpha=np.zeros(3))


@pytest.mark.parametrize("how", ["cut", "bit", "method", "text", "foreign", "other"])
def test_a_damaged_file_is_ignored_with_a_warning(tmp_path, how):
    store = Store(tmp_path)
    store.put(KEY, 1.0, {"alpha": np.arange(500.0)})
    store.put(KEY, 0.5, {"alpha": np.arange(500.0)})
    damage(tmp_path / KEY / "1.0.npz", how)
    with pytest.warns(UserWarning, match=r"\b1\.0\.npz"):
        found = store.neighbours(KEY, 1.0)
    assert [value for value, _ in found] == [0.5]


def test_files_of_others_do_not_disturb(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    store = Store(tmp_path, max_bytes=1)
    store.put(KEY, 1.0, {"alpha": np.zeros(10)})
    (tmp_path / KEY / "notes.npz").write_text("mine")
    assert store.neighbours(KEY, 2.0)[0][0] == 1.0
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_files_of_others_are_never_removed(tmp_path):
    others = ["data/1.0.npz", "data/old.tmp", f"{KEY}/notes.npz", f"{KEY}/notes.tmp"]
    for name in others:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
        os.utime(path, (0, 0))
    store = Store(tmp_path, max_bytes=1)
    for value in (1.0, 2.0):
        store.put(KEY, value, {"alpha": np.zeros(10)})
    assert not (tmp_path / KEY / "1.0.npz").exists()
    assert all((tmp_path / name).read_text() == "mine" for name in others)


def test_a_folder_that_cannot_be_written_costs_nothing_but_a_warning(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.warns(UserWarning, match=r"^Store\b"):
        model = ScreenedLinearSVC(store=blocked).fit(X, y)
    assert model.dual_gap_ <= 1e-6


def test_a_tilde_is_the_home_directory():
    assert Store("~/solved").folder == Path.home() / "solved"


def test_a_memory_that_is_no_store_is_refused(tmp_path):
    assert check_store(None) is None and check_store(str(tmp_path)).folder == tmp_path
    with pytest.raises(TypeError, match=r"^store\b"):
        check_store(3)
    with pytest.raises(ValueError, match="'store' parameter"):
        ScreenedLinearSVC(store=3).fit(X, y)


def test_keys_tell_contents_apart():
    keys = {
        content_key(X, 1.0), content_key(X + 1e-9, 1.0), content_key(X, 1.5),
        content_key(X[:-1], 1.0), content_key(X.astype(np.float32), 1.0),
    }  # fmt: skip
    assert len(keys) == 5
    assert content_key(X.copy(), "rbf") == content_key(X, "rbf")


MODELS = {
    "linear": ScreenedLinearSVC(tol=1e-8),
    "rbf": ScreenedSVC(kernel="rbf", tol=1e-8, intercept="penalised"),
    "gap": ScreenedSVC(kernel="rbf", screening="gap", tol=1e-8, intercept="penalised"),
    "unscreened": ScreenedSVC(kernel="rbf", screening=False, tol=1e-8, intercept="penalised"),
    "free": ScreenedSVC(kernel="rbf", intercept="free", tol=1e-8),
    "precomputed": ScreenedSVC(kernel="precomputed", tol=1e-8, intercept="penalised"),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", MODELS)
def test_the_solution_is_that_of_no_store(name, tmp_path):
    rng = np.random.default_rng(0)
    # More than the 1,000 samples up to which no solutions are stored.
    data, labels = (np.concatenate(3 * [part]) for part in (X, y))
    data = data + 0.1 * rng.normal(size=data.shape)
    data = data @ data.T if name == "precomputed" else data
    weights = rng.choice([0.0, 1.0, 2.0], labels.size)
    for C in (0.01, 5.0, 0.2, 0.2, 40.0, 1e-5):
        kept = clone(MODELS[name]).set_params(C=C, store=tmp_path)
        kept.fit(data, labels, sample_weight=weights)
        bare = clone(MODELS[name]).set_params(C=C).fit(data, labels, sample_weight=weights)
        np.testing.assert_allclose(kept.objective_, bare.objective_, rtol=2e-8)
        assert kept.dual_gap_ <= 1e-8
    again = clone(MODELS[name]).set_params(C=5.0, store=tmp_path)
    again.fit(data, labels, sample_weight=weights)
    assert np.all(again.n_iter_ == 0)
    # Other weights are another problem.
    other = clone(MODELS[name]).set_params(C=5.0, store=tmp_path).fit(data, labels)
    assert np.all(other.n_iter_ > 0)


def test_more_classes_and_metrics_with_a_store(tmp_path):
    data, labels = load_wine(return_X_y=True)
    data = scale(data)
    for value in (1.0, 0.1, 0.4):
        svc = ScreenedLinearSVC(value, store=tmp_path, n_jobs=2).fit(data, labels)
        np.testing.assert_allclose(
            svc.objective_, ScreenedLinearSVC(value).fit(data, labels).objective_, rtol=2e-6
        )
        metric = ScreenedRTLM(0.1 * value, store=tmp_path, tol=1e-7).fit(data, labels)
        bare = ScreenedRTLM(0.1 * value, tol=1e-7).fit(data, labels)
        assert metric.objective_ == pytest.approx(bare.objective_, rel=2e-7)
        assert metric.dual_gap_ <= 1e-7
    again = ScreenedRTLM(0.04, store=tmp_path, tol=1e-7).fit(data, labels)
    assert again.n_iter_ == 0


@pytest.mark.parametrize("data", [(X[::4], y[::4]), (X, y), load_wine(return_X_y=True)])
def test_a_fit_that_takes_less_time_than_a_file_has_none(data, tmp_path):
    for options in ({}, {"gamma": 0.5}, {"intercept": "penalised"}, {}):
        for C in (1.0, 2.0):
            kept, bare = (
                ScreenedSVC(C, store=folder, **options).fit(*data) for folder in (tmp_path, None)
            )
            # Kernel values are kept for a matrix, and known by columns else.
            close = {"rtol": 1e-9, "atol": 1e-9}
            np.testing.assert_allclose(kept.dual_coef_, bare.dual_coef_, **close)
            np.testing.assert_allclose(kept.intercept_, bare.intercept_, **close)
    assert not list(tmp_path.rglob("*.npz"))


@pytest.mark.slow
def test_neighbours_in_lambda_save_steps(tmp_path):
    data, labels = load_wine(return_X_y=True)
    data = scale(data)
    # So small a tolerance that the solves at the neighbours are long enough to screen by.
    for lam in (2e-4, 1e-4):
        ScreenedRTLM(lam, tol=1e-9, store=tmp_path).fit(data, labels)
    between = ScreenedRTLM(1.5e-4, tol=1e-9, store=tmp_path).fit(data, labels)
    assert between.n_iter_ < ScreenedRTLM(1.5e-4, tol=1e-9).fit(data, labels).n_iter_
    assert "path" in between.screening_history_["where"]


def test_a_search_in_two_processes_has_the_scores_of_one_without_store(tmp_path):
    grid = {"C": np.geomspace(0.01, 10.0, 5)}
    kept = GridSearchCV(
        ScreenedSVC(kernel="rbf", store=Store(tmp_path), intercept="penalised"),
        grid,
        cv=3,
        n_jobs=2,
    )
    bare = GridSearchCV(ScreenedSVC(kernel="rbf", intercept="penalised"), grid, cv=3)
    kept.fit(X, y), bare.fit(X, y)
    np.testing.assert_allclose(
        kept.cv_results_["mean_test_score"], bare.cv_results_["mean_test_score"], atol=1e-12
    )
    assert kept.best_params_ == bare.best_params_


WRITER = """
import sys
import numpy as np
from skscreen.fitting.store import Store
store = Store(sys.argv[1], max_bytes=300_000)
print("ready", flush=True)
for k in range(10**6):
    store.put("a" * 40, float(k % 50), {"alpha": np.full(2000, k % 50)})
"""


@pytest.mark.proof
def test_a_writer_killed_at_any_moment_leaves_the_store_sound(tmp_path):
    rng = np.random.default_rng(0)
    for _ in range(2):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE
        )
        writer.stdout.readline()
        time.sleep(rng.uniform(0.0, 0.1))
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        store = Store(tmp_path, max_bytes=300_000)
        for value in range(50):
            for found, arrays in store.neighbours(KEY, float(value)):
                np.testing.assert_array_equal(arrays["alpha"], np.full(2000, found))


@pytest.mark.slow
def test_pragam_starts_from_the_nearest_solution(tmp_path):
    for fit_intercept in (True, False):
        options = {"fit_intercept": fit_intercept, "tol": 1e-5}
        for C in (0.1, 1.0):
            PragamSVC(C, store=tmp_path, **options).fit(X, y)
        kept = PragamSVC(0.9, store=tmp_path, **options).fit(X, y)
        bare = PragamSVC(0.9, **options).fit(X, y)
        assert kept.n_iter_ < bare.n_iter_
        assert abs(kept.objective_ - bare.objective_) <= 1e-5 >= kept.dual_gap_
        # Cutting planes have no dual variables, and must not take away those that are there.
        PragamSVC(0.9, store=tmp_path, solver="bmrm", **options).fit(X, y)
        again = PragamSVC(0.9, store=tmp_path, **options).fit(X, y)
        assert again.n_iter_ <= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((None,), r"^folder\b"), ((b"a",), r"^folder\b"), (("a", "much"), "max_bytes"),
     (("a", -1), "max_bytes")],
)  # fmt: skip
def test_a_store_that_cannot_be_is_refused(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Store(*arguments)


def test_an_interrupt_while_a_file_is_written_stays_one(tmp_path, monkeypatch):
    def interrupted(*args, **kwargs):
        try:
            raise KeyboardInterrupt
        finally:
            # As the file of np.savez does where an array was not written to its end.
            raise ValueError("Can't close the ZIP file")

    monkeypatch.setattr(np, "savez", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Store(tmp_path).put(KEY, 1.0, {"alpha": np.zeros(3)})
    assert not list(tmp_path.rglob("*.tmp"))


def test_the_name_of_a_problem_is_that_of_the_numbers(tmp_path):
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    first = ScreenedRTLM(store=tmp_path).fit(X, y)
    assert first.n_iter_ > 0
    for same in (np.asfortranarray(X), pd.DataFrame(X), X.tolist()):
        assert ScreenedRTLM(store=tmp_path).fit(same, y).n_iter_ == 0
    pairs = [[[0, 1]], [[0, 99]], 1, 5]
    first = ScreenedRTLM(store=tmp_path).fit(X, pairs=pairs)
    again = ScreenedRTLM(store=tmp_path).fit(X, pairs=tuple(pairs))
    assert again.n_iter_ == 0 < first.n_iter_
