import os
import signal

import dask
import pytest
from distributed import Client, LocalCluster


@pytest.fixture(scope="session")
def client():
    """A client of two workers of one thread each, in this process: they start at once."""
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def lose_worker(monkeypatch):
    """Return a function that has a worker killed at a given call of a method.

    The two workers are processes, and what they get and give is pickled.
    """
    # Else a cluster gives up a worker that is being restarted so long after it was last lost.
    patience = {"distributed.deploy.lost-worker-timeout": "1 hour"}
    with (
        dask.config.set(patience),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        lost = []

        def at_call(kind, name, number):
            method, calls = getattr(kind, name), []

            def counting(self, *args):
                calls.append(name)
                if len(calls) == number:
                    held = client.has_what()
                    address = max(held, key=lambda worker: len(held[worker]))
                    assert held[address]
                    pids = client.run(os.getpid)
                    os.kill(pids[address], signal.SIGKILL)
                    lost.append(address)
                return method(self, *args)

            monkeypatch.setattr(kind, name, counting)
            return lost

        yield at_call
