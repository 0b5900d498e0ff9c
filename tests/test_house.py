"""The rooms of the package: which may import which, and what they may not take."""

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import skscreen

PACKAGE = Path(skscreen.__file__).parent
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")
MAP = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")

# What a room may import beside itself. A new arrow is a decision: it changes the map too.
GROUND = {"_compiled", "core", "fitting"}
ARROWS = {
    "_compiled": set(),
    "core": {"_compiled"},
    "fitting": {"core"},
    "samples": {"_compiled", "core"},
    "metric_learning": GROUND,
    "answers": {"core", "fitting"},
    "concepts": GROUND | {"answers"},
    "embedding": GROUND | {"answers"},
    "svm": GROUND | {"samples"},
    "pragam": GROUND | {"samples"},
    "sequence": GROUND | {"samples", "pragam"},
    "distributed": GROUND | {"samples", "pragam", "metric_learning"},
    "inspection": {"core"},
    "metrics": {"answers", "concepts", "core", "fitting", "embedding", "sequence"},
    "model_selection": {"core", "sequence"},
    "preprocessing": {"answers", "core", "embedding"},
    "datasets": {"answers", "core"},
}


def room(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def nodes_of(path):
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imports(path):
    """Yield the module and the name of everything that a file takes from the package."""
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("skscreen"):
            for alias in node.names:
                yield node.module, alias.name


def test_a_room_imports_only_what_it_may():
    for path in FILES:
        used = {f"{module}.{name}".split(".")[1] for module, name in imports(path)}
        assert used <= ARROWS[room(path)] | {room(path)}, path


def test_loops_include_only_what_their_room_may_import():
    for path in sorted((PACKAGE / "_compiled").glob("*/*.?pp")):
        home, text = path.parent.name, path.read_text(encoding="utf-8")
        included = set(re.findall(r'#include "(\w+)/', text))
        assert included <= ARROWS[home] | {home, "core"}, path
        # What all rooms use stands in the outer namespace.
        assert f"namespace skscreen::{home} {{" in text or home == "core", path


def test_every_room_is_on_the_map():
    on_map = {name for row in re.findall(r"^\| (`.+?) \|", MAP, flags=re.MULTILINE)
              for name in re.findall(r"`(\w+)(?:/|\.py)`", row)}  # fmt: skip
    assert set(map(room, FILES)) == set(ARROWS) == on_map


# Names with an underscore that other packages offer to those who build on them.
OFFERED = {
    "_replace", "_fields", "_field_defaults", "_make", "_asdict",  # namedtuple
    "_abc_impl", "_is_protocol",  # Python's own
    # scikit-learn's estimators and scorers
    "_validate_params", "_parameter_constraints", "_sklearn_auto_wrap_output_keys",
    "_accept_sample_weight",
    "_init_callback_context",  # scikit-learn's callbacks
    "_effective_n_jobs",  # joblib.Parallel
}  # fmt: skip


def private_names(path):
    """Yield the names with one underscore that a file takes from elsewhere."""
    for module, name in imports(path):
        if name.startswith("_"):
            yield f"{module}.{name}"
    nodes = nodes_of(path)
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    own |= {node.attr for node in nodes if is_attribute(node, ast.Store)}
    own |= {node.id for node in nodes if isinstance(node, ast.Name) and is_stored(node)}
    for node in nodes:
        if is_attribute(node, ast.Load) and re.match(r"_[a-zA-Z]", node.attr):
            if node.attr not in own | OFFERED:
                yield ast.unparse(node)


def is_attribute(node, context):
    return isinstance(node, ast.Attribute) and isinstance(node.ctx, context)


def is_stored(node):
    return isinstance(node.ctx, ast.Store)


def test_no_module_uses_private_names_of_another():
    for path in FILES:
        assert not sorted(set(private_names(path))), path


# The one file that takes private names of scikit-learn, and says why.
OF_SKLEARN = PACKAGE / "core" / "sklearn_private.py"


def test_private_names_of_scikit_learn_are_in_one_file():
    for path in FILES:
        for node in nodes_of(path):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sklearn"):
                words = [*node.module.split("."), *(alias.name for alias in node.names)]
                private = [word for word in words if word.startswith("_")]
                assert path == OF_SKLEARN or not private, (path, private)


def in_functions(node, inside=False):
    """Yield the imports within functions."""
    for child in ast.iter_child_nodes(node):
        if inside and isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        yield from in_functions(child, inside or isinstance(child, ast.FunctionDef | ast.Lambda))


# What users may lack, imported where it is used.
OPTIONAL = {"matplotlib", "pandas", "polars"}


def test_imports_stand_at_the_top():
    for path in FILES:
        for node in in_functions(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [
                alias.name for alias in node.names
            ]  # fmt: skip
            assert {module.split(".")[0] for module in modules} <= OPTIONAL, (path, modules)


def test_no_files_import_each_other_in_a_circle():
    name_of = {path: ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
               for path in FILES}  # fmt: skip
    modules = {name: path for path, name in name_of.items()}
    above = {
        path: {modules[known] for module, name in imports(path)
               for known in (f"{module}.{name}", module) if known in modules}
        for path in FILES
    }  # fmt: skip
    done = set()

    def visit(path, way):
        assert path not in way, [*way[way.index(path) :], path]
        if path not in done:
            for other in above[path]:
                visit(other, [*way, path])
            done.add(path)

    for path in FILES:
        visit(path, [])


def all_classes():
    for path in FILES:
        name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for found in vars(importlib.import_module(name.removesuffix(".__init__"))).values():
            if isinstance(found, type) and found.__module__ == name:
                yield found


def test_no_class_overrides_private_names_of_a_base_in_another_module():
    for found in all_classes():
        for base in found.__mro__[1:]:
            if base.__module__.startswith("skscreen") and base.__module__ != found.__module__:
                common = vars(found).keys() & vars(base).keys() - OFFERED
                assert not [name for name in common if re.match(r"_[a-zA-Z]", name)], (found, base)


def test_warnings_point_at_the_line_of_the_user():
    homes = [path for path in FILES if "warnings.warn(" in path.read_text(encoding="utf-8")]
    assert homes == [PACKAGE / "fitting" / "warning.py"]


def test_no_file_is_long():
    for path in FILES:
        assert path.read_text(encoding="utf-8").count("\n") <= 500, path


def test_folders_of_many_files_have_rooms():
    for folder in {path.parent for path in FILES}:
        files = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        rooms = [path for path in folder.iterdir() if list(path.glob("*.py"))]
        assert len(files) <= 10 or rooms, folder


def public_functions(body):
    """Yield public functions and methods with the parameters that a caller names."""
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for method, named in public_functions(node.body):
                yield method, named[1:] if named and named[0].arg in ("self", "cls") else named
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            arguments = node.args
            yield node, [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def test_public_signatures_have_types():
    for path in FILES:
        for function, named in public_functions(ast.parse(path.read_text(encoding="utf-8")).body):
            where = f"{path}:{function.lineno} {function.name}"
            assert function.returns is not None, where
            assert all(argument.annotation is not None for argument in named), where


# Types whose own text fills a page; `help` shows their names where annotations are kept as written.
LONG_TYPES = {"ArrayLike", "TableLike", "MatrixLike", "ColumnLike", "AnswersLike", "SequencesLike"}


def test_help_shows_the_names_of_long_types():
    for path in FILES:
        taken = {alias.name for node in nodes_of(path) if isinstance(node, ast.ImportFrom)
                 for alias in node.names}  # fmt: skip
        assert "annotations" in taken or not taken & LONG_TYPES, path


def test_no_test_patches_a_constant():
    # The sizes of a demonstration are no part of the package.
    patches = re.compile(r"setattr\((?!demo)[\w.]+, \"_?[A-Z][A-Z0-9_]*\"")
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        assert not patches.findall(path.read_text(encoding="utf-8")), path
