"""Signatures: the source, `inspect.signature` and what is set agree."""

import importlib
import inspect
import pkgutil

import pytest

import skscreen

# Modules with names for users.
MODULES = [skscreen] + [
    importlib.import_module(f"skscreen.{found.name}")
    for found in pkgutil.iter_modules(skscreen.__path__)
    if hasattr(importlib.import_module(f"skscreen.{found.name}"), "__all__")
]
PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in MODULES
    for name in module.__all__
    if callable(getattr(module, name))
}
ESTIMATORS = {
    name: kind
    for name, kind in PUBLIC.items()
    if inspect.isclass(kind) and hasattr(kind, "get_params")
}


def written(function):
    """Return the parameters of a function as they stand in its source."""
    code = inspect.unwrap(function).__code__
    assert not code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS), function
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def functions(public):
    """Yield a public function, or the public methods of a class that are its own."""
    if not inspect.isclass(public):
        yield public
        return
    for owner in public.__mro__:
        if owner.__module__.startswith("skscreen"):
            for name, member in vars(owner).items():
                member = getattr(member, "__func__", member)
                if inspect.isfunction(member) and (name == "__init__" or name[0] != "_"):
                    yield member


@pytest.mark.parametrize("name", PUBLIC)
def test_parameters_are_those_of_the_source(name):
    # Those that `dataclass` and metadata routing write have no source.
    for function in functions(PUBLIC[name]):
        if function.__code__.co_filename.startswith("<"):
            continue
        assert tuple(inspect.signature(function).parameters) == written(function)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_constructors_set_each_parameter(name):
    kind = ESTIMATORS[name]
    source = inspect.getsource(kind.__init__)
    assert not hasattr(kind.__init__, "__wrapped__")
    for parameter in written(kind.__init__)[1:]:
        assert f"self.{parameter} = {parameter}\n" in source


@pytest.mark.parametrize("name", PUBLIC)
def test_words_that_are_no_parameter_are_pythons_own_error(name):
    with pytest.raises(TypeError, match="argument"):
        PUBLIC[name](no_such_word=1)


# Sparse tensors of packages that are not imported, and results that are known by their attributes.
OF_ANY_KIND = {"tensor", "result"}


@pytest.mark.parametrize("name", PUBLIC)
def test_parameters_have_types(name):
    for function in functions(PUBLIC[name]):
        for parameter in inspect.signature(function).parameters.values():
            kind = parameter.annotation
            if "Any" in (kind, getattr(kind, "__name__", "")):
                assert parameter.name in OF_ANY_KIND, function
