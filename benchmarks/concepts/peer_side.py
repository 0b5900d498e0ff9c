"""The peer of `peers.py`: SPoSE's loop in PyTorch."""

import time

import numpy as np

from benchmarks.support.peer_process import serve

# As published: dimensions, batches, steps, the penalty of negative entries, epochs.
COMPONENTS, BATCH, RATE, NEGATIVE, EPOCHS = 90, 100, 0.001, 0.01, 500


def run(job: dict, arrays: dict) -> dict:
    """Learn for as many epochs as the limit allows; return seconds and dimensions."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    n, trials = job["n_objects"], torch.as_tensor(arrays["train"], dtype=torch.int64)
    X = torch.normal(0.1, 0.01, size=(n, COMPONENTS)).requires_grad_()
    descent = torch.optim.Adam([X], lr=RATE)
    started, epochs = time.process_time(), 0
    while epochs < EPOCHS:
        for rows in trials[torch.randperm(len(trials))].split(BATCH):
            i, j, k = X[rows].unbind(dim=1)
            s = torch.stack([(i * j).sum(1), (i * k).sum(1), (j * k).sum(1)], dim=1)
            loss = -torch.log_softmax(s, dim=1)[:, 0].mean()
            loss = loss + job["lambda"] / n * X.abs().sum() + NEGATIVE * torch.relu(-X).sum()
            descent.zero_grad()
            loss.backward()
            descent.step()
        epochs += 1
        # A part of an epoch is no state of the published method: one is always finished.
        if time.process_time() - started > job["limit"]:
            break
    found = np.maximum(X.detach().numpy().astype(float), 0.0)
    return {"seconds": time.process_time() - started, "epochs": epochs, "found": found}


if __name__ == "__main__":
    serve(run)
