"""The second tour of CONTRIBUTING, "a loss for embeddings", done on copies of its files."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skscreen.embedding.problem import losses

ROOT = Path(__file__).parents[2]
TOUR = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Second tour")[1]
COMPILER = shutil.which(os.environ.get("CXX", "c++"))
# The new loss in the objective, a pass of SGD, and an epoch of SVRG.
PROGRAM = r"""
#include <cstdio>
#include "embedding/descent.hpp"
#include "embedding/stochastic.hpp"
using namespace skscreen;
using namespace skscreen::embedding;

int main() {
  constexpr int64_t LAST = std::tuple_size_v<Losses> - 1;
  std::printf("%s\n", std::tuple_element_t<LAST, Losses>::NAME);
  const double points[6] = {0.0, 0.0, 1.0, 0.5, 0.2, -0.7};
  const int32_t rows[6] = {0, 1, 2, 2, 1, 0};
  double gradient[6], moved[6], epoch[6];
  const Matrix<const int32_t> answers{rows, 2, 3}, none{nullptr, 0, 2};
  const Terms terms{answers, {nullptr, 0}, none, none, 2.0, LAST, 0.3, 0.0};
  std::printf("%.17g\n", evaluate({points, 3, 2}, terms, {nullptr, 3, 0}, {gradient, 3, 2}));
  std::copy_n(points, 6, moved);
  std::copy_n(points, 6, epoch);
  with_loss(LAST, 0.3, [&](const auto& loss) {
    sgd_pass(loss, Matrix<double>{moved, 3, 2}, answers, 0, 1, 0.1, 0.1, 0.0);
    svrg_epoch(loss, Matrix<double>{epoch, 3, 2}, Matrix<const double>{points, 3, 2},
               Matrix<const double>{gradient, 3, 2}, answers, 0, 1, 1, 0.1, 0.0);
  });
  for (const double* found : {gradient, moved, epoch})
    for (int i = 0; i < 6; ++i) std::printf("%.17g\n", found[i]);
}
"""


def objective(X, rows):
    """Mean of log(1 + max(0, a + 0.3 - c)^2)."""
    i, j, k = np.array(rows).T
    a, c = (((X[i] - X[other]) ** 2).sum(axis=1) for other in (j, k))
    return np.log1p(np.maximum(a + 0.3 - c, 0.0) ** 2).mean()


def gradient(X, rows):
    """By differences."""
    found, step = np.zeros_like(X), 1e-6
    for place in np.ndindex(X.shape):
        off = np.zeros_like(X)
        off[place] = step
        found[place] = (objective(X + off, rows) - objective(X - off, rows)) / (2.0 * step)
    return found


@pytest.mark.slow
@pytest.mark.skipif("loghinge" in losses.TRAITS, reason="the tour has been done in this tree")
@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")
@pytest.mark.skipif(not (ROOT / "skscreen/_compiled/module.cpp").exists(), reason="no sources")
def test_the_second_tour_adds_a_loss(tmp_path):
    # 1. The struct, and its name at the end of `Losses`.
    struct = re.search(r"```cpp\n(.*?)```", TOUR, re.DOTALL)[1]
    name = re.search(r"struct (\w+)", struct)[1]
    for room in ("core", "embedding"):
        shutil.copytree(ROOT / "skscreen/_compiled" / room, tmp_path / room)
    header = tmp_path / "embedding/losses.hpp"
    text = header.read_text(encoding="utf-8")
    list_of_losses = re.search(r"// A loss is known by its place here.\nusing Losses = .*;", text)[
        0
    ]
    longer = struct + list_of_losses.replace(">;", f", {name}>;")
    header.write_text(text.replace(list_of_losses, longer), encoding="utf-8")
    (tmp_path / "tour.cpp").write_text(PROGRAM, encoding="utf-8")
    program = str(tmp_path / "tour")
    subprocess.run(
        [COMPILER, "-std=c++17", "-O0", "-I", tmp_path, tmp_path / "tour.cpp", "-o", program],
        check=True,
    )
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()
    assert printed[0] == "loghinge"
    value, *others = map(float, printed[1:])
    found, moved, epoch = np.reshape(others, (3, 3, 2))
    X, rows = np.array([[0.0, 0.0], [1.0, 0.5], [0.2, -0.7]]), [[0, 1, 2], [2, 1, 0]]
    assert_allclose(value, objective(X, rows), rtol=1e-12)
    assert_allclose(found, gradient(X, rows), rtol=1e-6, atol=1e-8)
    assert_allclose(moved, X - 0.1 * gradient(X, rows[:1]), rtol=1e-6, atol=1e-8)
    # From the snapshot an epoch of one step is along the mean gradient.
    assert_allclose(epoch, X - 0.1 * gradient(X, rows), rtol=1e-6, atol=1e-8)

    # 2. The line in `TRAITS`.
    traits = re.search(r'`"loghinge": (Traits\(.*?\))`', TOUR)[1]
    assert eval(traits, {"Traits": losses.Traits}).parameter == "margin"
    # 3. The formula, and the files that it speaks of.
    lines = re.search(r"```python\n(.*?)```", TOUR, re.DOTALL)[1]
    exec("def formula(loss, a, c):\n" + lines, scope := {"np": np})
    a, c = ((X[0] - X[other]) ** 2 @ np.ones(2) for other in (1, 2))
    shown = scope["formula"](losses.EmbeddingLoss(name.lower(), 0.3), a, c)
    assert_allclose(shown, objective(X, rows[:1]), rtol=1e-12)
    for path in re.findall(r"`(\S+/\S+\.(?:py|hpp))`", TOUR.split("## ")[0]):
        assert (ROOT / path).exists()
