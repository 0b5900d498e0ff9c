"""The benchmark page of the documentation, made from `results.json` of `run_all.py`.

    python -m benchmarks.page --out DIR --page doc/benchmarks.md

Nothing is measured or written by hand here: what a script compares is what its docstring says, its
tables are what it printed. Figures of scripts without a page of their own are copied to a folder
beside the page that has the page's name.
"""

import argparse
import ast
import json
import shutil
from pathlib import Path

HERE = Path(__file__).parent
# Scripts whose experiments have a page: what they compare is said there.
PAGES = {
    "rtlm_paper": "rtlm_paper", "svc": "svc", "squared_hinge": "svc", "store": "svc",
    "certified": "svc", "pragam": "pragam", "embedding": "embedding", "on_dask": "distributed",
}  # fmt: skip
HEAD = """# All benchmarks

The output of the scripts in `benchmarks/`, one section a script: what it compares, when it ran and
on what, and what it printed. `make bench DATA=FOLDER` runs all, which takes hours; this page holds
what has been run in parts, each with its own date. Losses are shown as wins are. Seconds are CPU
seconds of one thread unless a section says otherwise, and compilation is not in them: what it costs
is in the section "latency" and in the line "compilation or loading" of the others. *Load* is the
number of processes that wanted a core before and after a script; where it is above the number of
cores, others shared the machine, and CPU seconds are longer than on an idle one.

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
    parts = [HEAD, overview(results["scripts"])]
    parts += [section(name, entry, out, page) for name, entry in results["scripts"].items()]
    page.write_text("".join(parts).rstrip() + "\n", encoding="utf-8")


def overview(scripts: dict) -> str:
    """Return the table of all scripts, and below it the software and the machines."""
    lines = ["| script | date | took | load |\n| --- | --- | --: | --: |\n"]
    software = {}
    for name, entry in scripts.items():
        took = f"{entry['seconds'] / 60:.1f} min"
        load = " → ".join(str(value) for value in entry["load"])
        lines.append(
            f"| [{name}](#{name}) | {entry['date'].replace('T', ' ')} | {took} | {load} |\n"
        )
        listed = ", ".join(f"{package} {version}" for package, version in entry["versions"].items())
        machine = f"{entry['machine']['processor']}, {entry['machine']['cores']} cores"
        software.setdefault(f"Python {entry['python']}, {listed}; {machine}", []).append(name)
    lines.append("\n")
    for text, names in software.items():
        every = len(names) == len(scripts)
        lines.append(f"{'All' if every else ', '.join(names)}: {text}.\n\n")
    return "".join(lines)


def section(name: str, entry: dict, out: Path, page: Path) -> str:
    """Return the section of a script."""
    file = HERE.joinpath(*entry["module"].split(".")).with_suffix(".py")
    source = ast.parse(file.read_text(encoding="utf-8"))
    title, _usage, *rest = ast.get_docstring(source).split("\n\n")
    said = [f"## {name}", title, *rest]
    if name in PAGES:
        said.append(f"With figures and what follows from them: {{doc}}`/{PAGES[name]}`.")
    if entry["options"]:
        said.append(f"Run with `{entry['options']}`.")
    if entry["code"]:
        said.append(f"**Exit code {entry['code']}.**")
    printed = "\n".join(entry["output"]).strip("\n")
    said.append(f"```text\n{printed}\n```\n")
    if name not in PAGES:
        said += [figure(path, page) for path in sorted((out / name).glob("*.png"))]
    return "\n\n".join(part.strip() for part in said) + "\n\n"


def figure(path: Path, page: Path) -> str:
    """Copy a figure beside the page; return the link to it."""
    folder = page.parent / page.stem
    folder.mkdir(exist_ok=True)
    shutil.copyfile(path, folder / path.name)
    return f"![{path.stem}]({page.stem}/{path.name})"


if __name__ == "__main__":
    main()
