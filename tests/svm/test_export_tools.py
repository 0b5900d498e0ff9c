"""Tools that know scikit-learn's classes run on what `to_sklearn` returns.

Each is tested where it is installed; `pip install -e .[export]` brings all of them.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skscreen import ScreenedLinearSVC, ScreenedSVC, ScreenedSVR, to_sklearn

X, Y = load_iris(return_X_y=True)
# Runtimes compute in single precision.
X = X.astype(np.float32).astype(np.float64)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]

# No one-vs-rest: skl2onnx gets labels wrong of any `OneVsRestClassifier(SVC())`.
MODELS = {
    "two classes": (ScreenedSVC(), Y == 1),
    "pairs": (ScreenedSVC(), NAMES),
    "poly": (ScreenedSVC(kernel="poly"), Y),
    "linear kernel": (ScreenedSVC(kernel="linear"), Y),
    "linear": (ScreenedLinearSVC(), NAMES),
    "linear, two": (ScreenedLinearSVC(), Y == 1),
    "pipeline": (make_pipeline(StandardScaler(), ScreenedSVC()), NAMES),
}


@pytest.mark.few(5)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.slow
def test_onnx(name):
    runtime = pytest.importorskip("onnxruntime", reason="pip install skscreen[export]")
    to_onnx = pytest.importorskip("skl2onnx", reason="pip install skscreen[export]").to_onnx
    model, labels = MODELS[name]
    model.fit(X, labels)
    graph = to_onnx(to_sklearn(model), X[:1].astype(np.float32))
    session = runtime.InferenceSession(graph.SerializeToString())
    found = session.run(None, {"X": X.astype(np.float32)})[0]
    assert np.mean(found == model.predict(X)) > 0.98


@pytest.mark.slow
def test_onnx_of_a_regression():
    runtime = pytest.importorskip("onnxruntime", reason="pip install skscreen[export]")
    to_onnx = pytest.importorskip("skl2onnx", reason="pip install skscreen[export]").to_onnx
    model = ScreenedSVR().fit(X[:, 1:], X[:, 0])
    graph = to_onnx(to_sklearn(model), X[:1, 1:].astype(np.float32))
    session = runtime.InferenceSession(graph.SerializeToString())
    found = session.run(None, {"X": X[:, 1:].astype(np.float32)})[0]
    assert_allclose(found.ravel(), model.predict(X[:, 1:]), atol=1e-4)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_m2cgen(kernel):
    m2cgen = pytest.importorskip("m2cgen", reason="pip install skscreen[export]")
    model, code = ScreenedSVC(kernel=kernel, decision_function_shape="ovo").fit(X, Y), {}
    exec(m2cgen.export_to_python(to_sklearn(model)), code)
    found = [code["score"](list(row)) for row in X]
    assert_allclose(found, model.decision_function(X), atol=1e-8)


@pytest.mark.slow
def test_shap():
    shap = pytest.importorskip("shap", reason="pip install skscreen[export]")
    model = ScreenedLinearSVC().fit(X, Y == 1)
    explainer = shap.LinearExplainer(
        to_sklearn(model), shap.maskers.Independent(X, max_samples=150)
    )
    values = explainer.shap_values(X)
    assert_allclose(values, (X - X.mean(axis=0)) * model.coef_[0], atol=1e-6)
    kernel = ScreenedSVC().fit(X, Y == 1)
    predict = to_sklearn(kernel).decision_function
    values = shap.KernelExplainer(predict, X[::15]).shap_values(X[:2], silent=True)
    base = predict(X[::15]).mean()
    assert_allclose(base + np.sum(values, axis=1), kernel.decision_function(X[:2]), atol=1e-6)
    assert_array_equal(np.shape(values), (2, 4))
