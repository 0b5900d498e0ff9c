"""The public signatures of a tree of skscreen, as JSON: `python public_signatures.py FOLDER`."""

import importlib.util
import inspect
import json
import re
import sys

MODULES = ["", ".metrics", ".preprocessing", ".datasets", ".inspection", ".model_selection",
           ".distributed"]  # fmt: skip


def public(module) -> list[str]:
    """Return the names that a module offers."""
    own = [
        name
        for name, value in vars(module).items()
        if callable(value) and getattr(value, "__module__", "") == module.__name__
    ]
    return sorted(name for name in getattr(module, "__all__", own) if not name.startswith("_"))


def parameters(function) -> dict[str, str]:
    """Return what stands for each parameter where it is not given."""
    given = inspect.signature(function).parameters
    return {
        name: "*" if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
        else "required" if p.default is p.empty else repr(p.default)
        for name, p in given.items() if name not in ("self", "cls")
    }  # fmt: skip


def attributes(kind: type) -> list[str]:
    """Return the names below "Attributes" in a docstring."""
    section = re.search(
        r"^ *Attributes\n *-+\n(.*?)(?=^ *\w[\w ]*\n *---|\Z)",
        inspect.getdoc(kind) or "",
        re.S | re.M,
    )
    heads = re.findall(r"^(\w[\w, ]*) : ", section[1] if section else "", re.M)
    return sorted(name.strip() for head in heads for name in head.split(","))


def signatures() -> dict[str, dict]:
    """Return parameters, methods' parameters and attributes of all public names."""
    out = {}
    for part in MODULES:
        # Not all were there in older trees.
        if not importlib.util.find_spec(f"skscreen{part}"):
            continue
        module = importlib.import_module(f"skscreen{part}")
        for name in public(module):
            value = getattr(module, name)
            if not inspect.isclass(value):
                out[name] = {"": parameters(value)} if callable(value) else {}
                continue
            methods = {"": parameters(value.__init__), "attributes": attributes(value)}
            for method in sorted(dir(value)):
                function = getattr(value, method)
                ours = getattr(function, "__module__", "") or ""
                if method[0] != "_" and inspect.isroutine(function) and ours.startswith("skscreen"):
                    methods[method] = parameters(function)
            out[name] = methods
    return out


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    found = signatures()
    print(
        "{" + ",\n".join(f"{json.dumps(name)}: {json.dumps(found[name])}" for name in found) + "}"
    )
