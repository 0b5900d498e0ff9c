"""A few examples of every target of `tests/proofs/fuzz`, and that each public name has one."""

import random
import signal
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from tests.proofs.fuzz import checks, targets
from tests.proofs.fuzz import run as fuzz

# Slow ones have fewer: a cluster, folds, chains, and what iterates long where it cannot converge.
SLOW = ("DistributedRTLM", "DistributedLinearSVC", "MaxMarginChain", "ScreenedRTLMCV",
        "ScreenedSVCCV", "ScreenedSVRCV", "PragamSVC")  # fmt: skip


@pytest.fixture
def limit():
    """Return a function that sets the processor seconds of a call, for one test."""
    before = checks.SECONDS.get()
    yield checks.SECONDS.set
    checks.SECONDS.set(before)


def test_every_public_name_has_a_target():
    assert targets.public_names() == targets.covered_names()


@pytest.mark.few(3)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", targets.TARGETS)
def test_a_call_ends_in_a_clear_error_or_a_right_answer(name, limit):
    # Tests run on machines of any speed.
    limit(60.0)
    # From bytes, as the engines make them: what Hypothesis draws by itself depends on which other
    # modules are loaded.
    run, draw = fuzz.example_of(name), random.Random(name)
    for _ in range(4 if name in SLOW else 10):
        run(draw.randbytes(1000))


def fine():
    return 1


def test_what_is_in_order_is_no_finding():
    assert checks.call(fine).result == 1

    # As if it stood in the package.
    refuse = compiled("/skscreen/a.py", "def f(C):\n    raise ValueError('C must be positive')\n")
    assert isinstance(checks.call(refuse, 0).error, ValueError)
    with pytest.raises(checks.Finding, match="refused valid input"):
        checks.call(refuse, 0, must_work=True)


def compiled(filename, source):
    import linecache

    linecache.cache[filename] = len(source), None, source.splitlines(True), filename
    space = {}
    exec(compile(source, filename, "exec"), space)
    return space["f"]


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("def f(C):\n    raise KeyError(C)\n", "crash: KeyError"),
        ("def f(C):\n    C[0] = 1.0\n", "changed an argument"),
        pytest.param(
            "def f(C):\n    while True: pass\n",
            "hang",
            marks=pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer"),
        ),
        ("import numpy as np\ndef f(C):\n    return np.float64(1e300) * 1e300\n", "crash: Runtime"),
    ],
)
def test_what_is_not_in_order_is_found(source, complaint, limit):
    limit(0.2)
    function = compiled("/skscreen/b.py", source)
    function.__globals__["__name__"] = "skscreen.b"
    with pytest.raises(checks.Finding, match=complaint):
        checks.call(function, np.zeros(1))


def test_wrong_answers_are_found():
    with pytest.raises(checks.Finding, match=r"gap 0\.1 > tol=0\.01"):
        checks.expect_certified(0.1, 0.01, False)
    checks.expect_certified(0.1, 0.01, True)
    with pytest.raises(checks.Finding, match="objective"):
        checks.expect_close(1.0, 1.01, 0.0, "objective")
    with pytest.raises(checks.Finding, match=r"\bcoef_"):
        checks.expect_finite(SimpleNamespace(coef_=np.array([1.0, np.nan])))


def test_the_driver_repeats_a_finding(monkeypatch, tmp_path):
    def broken(inputs):
        if inputs.count(0, 100) > 50:
            raise checks.Finding("wrong: a number")

    monkeypatch.setitem(targets.TARGETS, "broken", broken)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        recorder = fuzz.Recorder("broken", tmp_path / "found", 1e9)
    draw = random.Random(0)
    for _ in range(50):
        recorder(draw.randbytes(100))
    lines = (tmp_path / "found").read_text().splitlines()
    assert len(lines) == 1 and recorder.n_examples == 50
    content = bytes.fromhex(lines[0].split('"bytes": "')[1].split('"')[0])
    with pytest.raises(checks.Finding, match="a number"):
        fuzz.example_of("broken")(content)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no such timer")
def test_the_time_limit_ends_a_call():
    with pytest.raises(checks.TooLong), checks.time_limit(0.05):
        while True:
            pass


def test_a_target_without_examples_is_told(monkeypatch, capsys):
    monkeypatch.setattr(fuzz, "fuzz", lambda *_: (0, []))
    assert fuzz.main(["--target", "svc_path"]) == 1
    assert "Not tried: svc_path" in capsys.readouterr().out
