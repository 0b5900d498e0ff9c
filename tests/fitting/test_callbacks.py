"""Progress and early stop by scikit-learn's callback protocol."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale
from sklearn.utils.fixes import parse_version

from skscreen import (
    ScreenedLinearSVC,
    ScreenedRTLM,
    ScreenedRTLMCV,
    ScreenedSVCCV,
    rtlm_path,
    svc_path,
)

pytestmark = pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.9"),
    reason="scikit-learn has callbacks from 1.9 on",
)
X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
WINE = load_wine(return_X_y=True)


class Recorder:
    """Counts tasks by name, and asks to stop after some of them."""

    def __init__(self, stop_after=None):
        self.begun, self.ended, self.stop_after = [], [], stop_after
        self.open = 0

    def setup(self, estimator, context):
        self.open += 1

    def teardown(self, estimator, context):
        self.open -= 1

    def on_fit_task_begin(self, estimator, context):
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator, context):
        self.ended.append(context.task_name)
        steps = sum(name != "fit" for name in self.ended)
        return self.stop_after is not None and steps >= self.stop_after


def test_every_task_of_a_path_begins_and_ends():
    recorder = Recorder()
    path = svc_path(
        X, y, Cs=[0.01, 0.1, 1.0], callbacks=[recorder], kernel="linear", intercept="penalised"
    )
    assert len(path) == 3 and recorder.open == 0
    assert recorder.begun == ["fit"] + 3 * ["C"]
    assert recorder.ended == 3 * ["C"] + ["fit"]


def test_a_callback_ends_a_path():
    path = svc_path(
        X,
        y,
        Cs=np.geomspace(0.01, 1.0, 9),
        callbacks=[Recorder(stop_after=4)],
        kernel="linear",
        intercept="penalised",
    )
    assert len(path) == 4
    path = rtlm_path(*WINE, ratio=0.5, callbacks=[Recorder(stop_after=2)])
    assert len(path) == 2 and path.converged.all()


def test_fits_have_tasks_too():
    recorder = Recorder()
    ScreenedLinearSVC().set_callbacks(recorder).fit(scale(WINE[0]), WINE[1])
    assert recorder.ended == 3 * ["class"] + ["fit"]
    recorder = Recorder()
    ScreenedRTLM(0.3).set_callbacks(recorder).fit(scale(WINE[0]), WINE[1])
    assert recorder.begun.count("lambda") == recorder.ended.count("lambda") >= 2
    assert recorder.open == 0


def test_a_fit_ends_at_the_lambda_asked_for(tmp_path):
    impatient = ScreenedRTLM(0.01, store=tmp_path).set_callbacks(Recorder(stop_after=1))
    impatient.fit(scale(WINE[0]), WINE[1])
    plain = ScreenedRTLM(0.01).fit(scale(WINE[0]), WINE[1])
    assert impatient.lam_ == plain.lam_ and impatient.dual_gap_ <= 1e-6


def test_a_fit_that_fails_tears_its_callbacks_down():
    recorder = Recorder()
    with pytest.raises(ValueError, match="classes"):
        ScreenedLinearSVC().set_callbacks(recorder).fit(X, np.zeros(len(X)))
    assert recorder.open == 0


@pytest.mark.few(3)
@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    "model",
    [
        ScreenedSVCCV(3, kernel="linear", intercept="penalised"),
        ScreenedRTLMCV(3),
    ],
)
def test_folds_are_tasks(model, n_jobs):
    data, recorder = (scale(WINE[0]), WINE[1]), Recorder(stop_after=1)
    model = clone(model).set_params(cv=3, refit=n_jobs == 1)
    alone = clone(model).fit(*data)
    followed = clone(model).set_params(n_jobs=n_jobs).set_callbacks(recorder).fit(*data)
    assert recorder.begun == ["fit"] + 3 * ["fold"]
    assert recorder.ended == 3 * ["fold"] + ["fit"]
    assert recorder.open == 0
    assert np.array_equal(followed.scores_, alone.scores_)


def test_a_search_with_proof_is_a_task():
    recorder = Recorder()
    model = (
        ScreenedSVCCV([0.01, 0.1], cv=2, certify=0.05, kernel="linear", intercept="penalised")
        .set_callbacks(recorder)
        .fit(X, y)
    )
    assert recorder.ended == ["search", "fit"] and recorder.open == 0
    assert model.bounds_.eps <= 0.05


def test_searches_pass_callbacks_on():
    class Propagated(Recorder):
        max_propagation_depth = None

    recorder = Propagated()
    search = GridSearchCV(ScreenedLinearSVC(), {"C": [0.01, 0.1]}, cv=2)
    search.set_callbacks(recorder).fit(X, y)
    assert recorder.ended.count("class") >= 2 * 2
    assert recorder.open == 0
