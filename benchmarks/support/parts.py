"""Scripts of several parts: which to run, and where their figures go."""

import argparse
import datetime
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.support.environment import environment, one_thread


def options_of(doc: str, parts: dict, out: str, arguments=None, **more) -> argparse.Namespace:
    """Return what such a script is asked for, `more` by defaults and help; make its folder."""
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with load.py")
    parser.add_argument("--parts", default=",".join(parts))
    parser.add_argument("--out", type=Path, default=Path(out), help="folder for results")
    parser.add_argument("--quick", action="store_true", help="a rehearsal on less")
    for name, (default, said) in more.items():
        parser.add_argument(f"--{name}", type=type(default), default=default, help=said)
    args = parser.parse_args(arguments)
    args.parts = args.parts.split(",")
    if unknown := set(args.parts) - set(parts):
        parser.error(f"unknown parts: {', '.join(sorted(unknown))}")
    args.out.mkdir(parents=True, exist_ok=True)
    print(f"{environment()}, {datetime.date.today()}")
    return args


def headed(names: list[str], parts: dict) -> Iterator[tuple[str, Callable]]:
    """Yield names and functions of parts, each after its heading, to be run with one thread."""
    with one_thread():
        for name in names:
            print(f"\n## {name}\n\n{parts[name].__doc__}\n", flush=True)
            yield name, parts[name]
