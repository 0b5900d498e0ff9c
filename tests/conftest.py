import sys
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

# pytest's importlib mode leaves sys.path alone; the tests share `rtlm_reference`.
sys.path.append(str(Path(__file__).parent))


@pytest.fixture(scope="session", autouse=True)
def one_blas_thread():
    """Matrices are tiny here: threads that wait for each other on a busy machine take 100x."""
    with threadpool_limits(limits=1):
        yield
