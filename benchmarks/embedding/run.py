"""The experiments of the paper of ordinal embedding, the cost of a fit, and what tools promise.

    python -m benchmarks.embedding.run --data FOLDER [--parts table1,...] [--out DIR] [--quick]

Ma, Zeng, Xiong, Xu, Cao, Liu and Yao (arXiv:1912.00362) propose SVRG-SBB. FOLDER has a `load.py`
with `load(name)`. One thread; seconds are CPU seconds. Tables are printed in Markdown, figures
and numbers (results.json) go to DIR. --quick is a rehearsal. cblearn stands beside in `peers.py`.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.embedding import limits, paper, paper_retrieval
from benchmarks.embedding.coverage import coverage
from benchmarks.embedding.dimension import dimension
from benchmarks.support.data import Data
from benchmarks.support.parts import headed, options_of


@dataclass(frozen=True)
class Bench:
    """Where the data comes from, where figures go, and how much is run.

    `effort` is 2 for all of it, 1 for a rehearsal and 0 for a test that it runs.
    """

    load: Callable
    out: Path
    effort: int

    def some(self, full, quick, tiny):
        """Return the one of three sizes that fits the effort."""
        return (tiny, quick, full)[self.effort]


PARTS = {
    "table1": paper.table_one,
    "figure1": paper.figure_one,
    "figure2": paper.figure_two,
    "music": paper.music,
    "retrieval": paper_retrieval.retrieval,
    "losses": limits.losses,
    "epochs": limits.epochs,
    "starts": limits.starts,
    "dimension": dimension,
    "coverage": coverage,
}


def main() -> None:
    """Run the parts asked for."""
    args = options_of(__doc__, PARTS, "embedding")
    bench = Bench(Data(args.data), args.out, 1 if args.quick else 2)
    file = args.out / "results.json"
    results = json.loads(file.read_text()) if file.exists() else {}
    for name, part in headed(args.parts, PARTS):
        results[name] = part(bench)
        file.write_text(json.dumps(results, default=lambda value: np.asarray(value).tolist()))


if __name__ == "__main__":
    main()
