"""The benchmark page of the documentation, made from `results.json` of `run_all.py`.

    python -m benchmarks.page --out DIR --page doc/benchmarks.md

What is measured is not written by hand: a family of comparisons has what its docstring says, a
figure of all its rows, and the table, folded; a search for what is wrong has the last line that it
printed; other scripts have their tables. All that was printed is in DIR, which goes to a release.
"""

import argparse
import ast
import importlib.util
import json
import shutil
from itertools import groupby
from pathlib import Path

from benchmarks.compare import FAMILIES
from benchmarks.support.dots import dots

# Scripts whose experiments have a page: what they compare is said there.
PAGES = {
    "rtlm_memory": "rtlm_paper", "rtlm_paper": "rtlm_paper", "svc_paper": "svc",
    "pragam": "pragam",
    "embedding_paper": "embedding", "on_dask": "distributed", "dask_rows": "distributed",
}  # fmt: skip
HEAD = """# All benchmarks

A figure and a table for each family, of what the scripts in `benchmarks/` printed. `make bench
DATA=FOLDER` runs all of them, which takes hours; each has the date of its own run. In the figures
each line is one piece of work, blue is skscreen, a hollow marker the limit that ended a peer's fit,
and the number on the right says how many times as long the fastest peer took: below 1x we are
slower. Seconds are CPU seconds of one thread unless a section says otherwise, and what the first
call in a process costs is not in them. All that was printed is attached to the release.
Experiments with pages of their own: [support vector machines](svc.md), [metrics](rtlm_paper.md),
[embeddings](embedding.md), [Pragam](pragam.md), [clusters](distributed.md).

"""


def main() -> None:
    """Write the page of a folder."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("bench-output"))
    parser.add_argument("--page", type=Path, default=Path("doc/benchmarks.md"))
    args = parser.parse_args()
    results = json.loads((args.out / "results.json").read_text())
    write_page(results, args.out, args.page)


def write_page(results: dict, out: Path, page: Path) -> None:
    """Write the page, and its figures beside it."""
    scripts = results["scripts"]
    proofs = {name: e for name, e in scripts.items() if e["module"].startswith("tests.")}
    parts = [HEAD, overview(scripts)]
    parts += [
        section(name, entry, out, page)
        for name, entry in scripts.items()
        if name not in proofs and name not in PAGES
    ]
    if proofs:
        parts.append(searches(proofs))
    page.write_text("".join(parts).rstrip() + "\n", encoding="utf-8")


def overview(scripts: dict) -> str:
    """Say when, with what and on what each script ran."""
    software = {}
    for name, entry in scripts.items():
        day = entry["date"].split("T")[0]
        software.setdefault(f"{day}, {entry['environment']}", []).append(name)
    return "".join(
        f"{'All' if len(names) == len(scripts) else ', '.join(names)}: {text}.\n\n"
        for text, names in software.items()
    )


def section(name: str, entry: dict, out: Path, page: Path) -> str:
    """Return the section of a script: what it compares, its tables, its figures."""
    spec = importlib.util.find_spec(FAMILIES.get(name, entry["module"]))
    source = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    title, *rest = ast.get_docstring(source).split("\n\n")
    said = [f"## {name}", title, *(part for part in rest if not part.startswith("    "))]
    if entry["code"]:
        said.append(f"**Exit code {entry['code']}.**")
    figures = [figure(path, page) for path in sorted((out / name).glob("*.png"))]
    if name in FAMILIES:
        folder = page.parent / page.stem
        folder.mkdir(exist_ok=True)
        rows = side_by_side(entry["tables"][0]["rows"])
        drawn = dots(rows, title.split(":")[0], folder, name)
        said.append(f"![CPU seconds of skscreen and peers]({page.stem}/{drawn.name})")
        means = [f"- {line}." for line in entry["output"] if "in the geometric mean" in line]
        said.append("\n".join(means))
        said.append(folded(joined(rows)))
    elif not figures:
        for t in entry["tables"]:
            head = [t["columns"], [":--"] * len(t["columns"])]
            said.append("\n".join(map(markdown, [*head, *t["rows"]])))
    return "\n\n".join(part.strip() for part in said + figures) + "\n\n"


def side_by_side(rows: list[list[str]]) -> list[list[str]]:
    """Put rows of the same work, on the same data, next to each other."""
    places = {}
    for row in rows:
        places.setdefault(tuple(row[:4]), len(places))
    return sorted(rows, key=lambda row: places[tuple(row[:4])])


def folded(rows: list[list[str]]) -> str:
    """Return a table that opens on a click; a method and what it reached share a column."""
    head = ["work", "data", "skscreen", "CPU s", "beside", "CPU s", "skscreen is"]
    lines = [head, [":--", ":--", ":--", "--:", ":--", "--:", ":--"]]
    for work, data, ours, seconds, reached, peer, theirs, reached_there, factor in rows:
        mine, others = with_reached(ours, reached), with_reached(peer, reached_there)
        lines.append([work, data, mine, seconds, others, theirs, factor])
    table = "\n".join(map(markdown, lines))
    summary = "<summary>The table: what each side reached</summary>"
    return f"<details>\n{summary}\n\n{table}\n\n</details>"


def with_reached(names: str, reached: str) -> str:
    """Write behind each name of a cell what it reached."""
    names, reached = names.split("<br>"), reached.split("<br>")
    n = max(len(names), len(reached))
    names, reached = names * (n // len(names)), reached * (n // len(reached))
    return "<br>".join(f"{a}: {b}" if b else a for a, b in zip(names, reached, strict=True))


def joined(rows: list[list[str]]) -> list[list[str]]:
    """Put what stands beside one result, or is of one data set, into one row, a line for each."""
    # What stands beside one of ours, and beside one of a peer.
    for same in ((0, 1, 2, 3, 4), (0, 1, 5, 6, 7)):
        rows = _merged(rows, same, [[row[k] for k in same] for row in rows])
    # Other work on the same data; rows that have several lines already stay alone.
    alone = [row if any("<br>" in cell for cell in row) else [row[k] for k in (1, 2, 5)]
             for row in rows]  # fmt: skip
    return _merged(rows, (1, 2, 5), alone)


def _merged(rows: list[list[str]], same: tuple[int, ...], keys: list) -> list[list[str]]:
    """Join neighbouring rows of equal keys: cells that are the `same` stand once."""
    groups = groupby(zip(keys, rows, strict=True), key=lambda pair: pair[0])
    columns = (zip(*(row for _, row in group), strict=True) for _, group in groups)
    return [
        [cells[0] if k in same else "<br>".join(cells) for k, cells in enumerate(each)]
        for each in columns
    ]


def searches(proofs: dict) -> str:
    """Return the section of the searches for what is wrong: the last line of each."""
    head = "## Searches for what is wrong\n\nThe last line that each of `tests/proofs` printed.\n\n"
    rows = [["search", "result"], ["---", "---"]]
    rows += [[name, next(line for line in reversed(entry["output"]) if line.strip())]
             for name, entry in proofs.items()]  # fmt: skip
    return head + "\n".join(map(markdown, rows)) + "\n"


def markdown(cells) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(cells)} |"


def figure(path: Path, page: Path) -> str:
    """Copy a figure beside the page; return the link to it."""
    folder = page.parent / page.stem
    folder.mkdir(exist_ok=True)
    shutil.copyfile(path, folder / path.name)
    return f"![{path.stem}]({page.stem}/{path.name})"


if __name__ == "__main__":
    main()
