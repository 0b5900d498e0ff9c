import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

from skscreen.core import memory

# pytest's importlib mode leaves sys.path alone; the tests share `rtlm_reference`.
sys.path.append(str(Path(__file__).parent))
from cases import keep_few

from tests import optima

# Every run tries the same examples; the searches of tests/proofs try others.
settings.register_profile("same examples", derandomize=True)
settings.load_profile("same examples")


@pytest.fixture(scope="session", autouse=True)
def one_blas_thread():
    """Matrices are tiny here: threads that wait for each other on a busy machine take 100x."""
    with threadpool_limits(limits=1):
        yield


# States of the generators that modules of tests have, before their first test.
FIRST_STATES = {}


@pytest.fixture(autouse=True)
def same_draws(request):
    """What a test and estimators with random_state=None draw does not depend on tests before."""
    np.random.seed(0)  # noqa: NPY002 - it is what None stands for
    for name in ("RNG", "rng"):
        generator = getattr(request.module, name, None)
        if isinstance(generator, np.random.Generator):
            bits, key = generator.bit_generator, (request.module.__name__, name)
            bits.state = FIRST_STATES.setdefault(key, bits.state)


@pytest.fixture
def little_memory(monkeypatch):
    """Return a function that makes the package believe that so many bytes are free."""

    def pretend(free):
        monkeypatch.setattr(memory, "free_memory", lambda: free)
        monkeypatch.setattr(memory, "is_negligible", lambda needed: False)

    return pretend


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    keep_few(items, config.getoption("--cases"))


def pytest_addoption(parser):
    parser.addoption(
        "--cases", type=int, help="leave all but so many cases of each function to proofs"
    )
    parser.addoption(
        "--proof-minutes", type=float, default=2.0, help="of each search in tests/proofs"
    )
    parser.addoption("--proof-seed", type=int, default=0, help="of all searches in tests/proofs")
    parser.addoption(
        "--optima", choices=("read", "compare", "write"), default="read",
        help="read solutions of other solvers in tests/optima.npz, solve again, or write them",
    )  # fmt: skip


def pytest_configure(config):
    optima.mode = config.getoption("--optima")
