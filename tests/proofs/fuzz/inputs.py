"""Inputs of the fuzzer: awkward ones that are valid, in all forms that users bring, and spoiled.

Every choice is one draw of Hypothesis, so that an example is a string of bytes which a
coverage-guided engine can change, and which says it all.
"""

import inspect
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from scipy import sparse


def always_one(*args: object) -> float:
    """Return 1, as a function that pickles."""
    return 1.0


# What a parameter may be given by mistake.
JUNK = (
    None, "nope", "", b"x", True, -1, 0, 1, 2, 0.5, 2.5, np.nan, np.inf, -np.inf, 1e-320, 1e308,
    10**30, 1j, [], (), (1,), {}, {"a": 1}, object(), np.float32(3), np.int64(2),
    np.array([1.0, 2.0]), np.array(0.5), np.str_("auto"), int, always_one, pd.NA,
)  # fmt: skip
SCALES = (1.0, 1.0, 1.0, 1e-3, 1e3, 1e-8, 1e8, 1e-30, 1e30, 1e-160, 1e160, 1e-300, 1e300)
# Up to here a valid input must be solved; beyond, a refusal is an answer too.
MILD = 1e4


@dataclass
class Inputs:
    """Draws the arguments of one call, of which none, one or two are spoiled.

    Parameters
    ----------
    data : hypothesis.strategies.DataObject

    Attributes
    ----------
    spoiled : set of str
        Names of the arguments that are.
    mild : bool
        Whether sizes are such that nothing excuses a refusal.
    notes : dict
        What was drawn, for the report.
    values : dict
        The same, as objects.
    """

    data: object
    spoiled: set = field(default_factory=set)
    mild: bool = True
    notes: dict = field(default_factory=dict)
    values: dict = field(default_factory=dict)

    def pick(self, *choices):
        """Return one of several values."""
        return choices[self.data.draw(st.integers(0, len(choices) - 1))]

    def count(self, low: int, high: int) -> int:
        """Return a number."""
        return self.data.draw(st.integers(low, high))

    def rng(self) -> np.random.Generator:
        """Return a source of numbers that do not matter one by one."""
        return np.random.default_rng(self.count(0, 2**16))

    def spoil(self, *names: str) -> None:
        """Choose which arguments are spoiled: as a rule none or one."""
        for _ in range(self.pick(0, 0, 0, 1, 1, 2)):
            self.spoiled.add(self.pick(*names))

    def note(self, name: str, value):
        """Remember what an argument is, and return it."""
        self.notes[name], self.values[name] = describe(value), value
        return value

    def options(self, kind, valid: dict) -> dict:
        """Return some parameters of an estimator or function; spoiled ones are junk."""
        names = [name for name in inspect.signature(kind).parameters if name in valid]
        found = {}
        for name in names:
            if name in self.spoiled:
                found[name] = self.note(name, self.pick(*JUNK))
            elif self.pick(True, False, False):
                found[name] = self.note(name, self.pick(*valid[name]))
        return found

    def junk(self, name: str, valid):
        """Return a valid argument, or junk if it is to be spoiled."""
        return self.note(name, self.pick(*JUNK) if name in self.spoiled else valid)

    def matrix(self, name: str, n: int, d: int, y=None, *, forms=None) -> tuple:
        """Return numbers in some form, and the same as a float64 array."""
        X = self.numbers(n, d, y)
        if name in self.spoiled:
            return self.note(name, spoiled_matrix(self, X)), X
        dressed, X = dress(self, X, forms or DENSE)
        return self.note(name, dressed), X

    def numbers(self, n: int, d: int, y=None) -> np.ndarray:
        """Return finite numbers that are awkward: duplicates, constants, any scale and offset."""
        rng = self.rng()
        X = rng.normal(size=(n, d))
        if y is not None:
            X += self.pick(0.0, 1.0, 10.0) * np.asarray(y)[:, None]
        kind = self.pick("plain", "plain", "repeated", "constant", "equal", "whole", "zeros", "far")
        if kind == "repeated":
            X[: n // 2] = X[rng.integers(n, size=n // 2)]
        elif kind == "constant":
            X[:, 0] = self.pick(0.0, 1.0, 1e6)
        elif kind == "equal":
            X[:] = X[0]
        elif kind == "whole":
            X = np.round(X)
        elif kind == "zeros":
            X[rng.random(X.shape) < 0.7] = 0.0
        elif kind == "far":
            X[0] *= 1e4
            self.mild = False
        scale = self.pick(*SCALES)
        if max(scale, 1.0 / scale) > MILD:
            self.mild = False
        one_column = self.pick(False, False, False, True)
        if one_column:
            X[:, -1] *= scale
        else:
            X *= scale
        if self.pick(False, False, False, True):
            self.mild = False
            X += 1e6 * np.abs(X).max(initial=0.0)
        return X

    def labels(self, name: str, n: int, n_classes: int) -> tuple:
        """Return labels in some form, and as codes."""
        rng = self.rng()
        codes = np.sort(np.arange(n) % n_classes) if self.pick(False, True) else np.arange(n) % (
            n_classes
        )  # fmt: skip
        codes = rng.permutation(codes)
        if name in self.spoiled:
            return self.note(name, spoiled_labels(self, codes)), codes
        return self.note(name, dressed_labels(self, codes)), codes

    def weights(self, name: str, n: int) -> tuple:
        """Return sample weights, None among them, and the same as a float64 array."""
        rng = self.rng()
        values = rng.uniform(0.1, 3.0, n)
        kind = self.pick("none", "none", "random", "ones", "zeros", "tiny", "huge", "whole", "wide")
        if kind == "none" and name not in self.spoiled:
            return self.note(name, None), np.ones(n)
        values = {
            "ones": np.ones(n), "zeros": np.where(np.arange(n) % 3 == 0, 0.0, values),
            "tiny": 1e-12 * values, "huge": 1e12 * values, "whole": rng.integers(1, 4, n),
            "wide": 10.0 ** rng.uniform(-12, 12, n),
        }.get(kind, values)  # fmt: skip
        self.mild = self.mild and kind in ("random", "ones", "whole")
        if name in self.spoiled:
            return self.note(name, spoiled_weights(self, np.array(values, float))), values
        form = self.pick("array", "list", "series", "float32", "read-only")
        dressed = {
            "list": values.tolist(), "series": pd.Series(values, index=np.arange(n) + 7),
            "float32": values.astype(np.float32), "read-only": read_only(values),
        }.get(form, values)  # fmt: skip
        return self.note(name, dressed), np.asarray(dressed, dtype=np.float64)


def describe(value) -> str:
    """Return a short text about an argument."""
    kind = type(value).__name__
    if hasattr(value, "shape"):
        return f"{kind}{getattr(value, 'dtype', '')}{value.shape}"
    text = repr(value)
    return text if len(text) < 60 else f"{kind} {text[:50]}..."


def read_only(values) -> np.ndarray:
    """Return a copy that cannot be written to."""
    values = np.array(values)
    values.flags.writeable = False
    return values


DENSE = (
    "array", "array", "array", "Fortran", "float32", "list", "frame", "read-only", "strided",
    "big-endian", "object", "masked", "matrix of longdouble", "float16", "whole",
)  # fmt: skip
SPARSE = (*DENSE, "csr", "csr_array", "csc", "coo", "lil", "dok", "csr with repeats", "int64 csr")


def dress(inputs: Inputs, X: np.ndarray, forms) -> tuple:
    """Return the same numbers in another form, and what they are there."""
    form = inputs.pick(*forms)
    inputs.notes["form"] = form
    if form in ("float16", "float32", "whole"):
        with np.errstate(all="ignore"):
            X = np.clip(X, -1e4, 1e4).astype(form) if form != "whole" else np.round(
                np.clip(X, -1e6, 1e6)
            ).astype(np.int64)  # fmt: skip
        return X, X.astype(np.float64)
    if form == "csr with repeats":
        coo = sparse.coo_array(X)
        rows, columns = (np.repeat(axis, 2) for axis in coo.coords)
        csr = sparse.csr_matrix((np.repeat(0.5 * coo.data, 2), (rows, columns)), shape=X.shape)
        return csr, X
    if form == "int64 csr":
        csr = sparse.csr_array(X)
        csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
        return csr, X
    if form in ("csr", "csc", "coo", "lil", "dok", "csr_array"):
        return (sparse.csr_array(X) if form == "csr_array" else sparse.csr_matrix(X).asformat(form)
                ), X  # fmt: skip
    return {
        "array": lambda: X.copy(), "Fortran": lambda: np.asfortranarray(X), "list": X.tolist,
        "frame": lambda: pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]),
        "read-only": lambda: read_only(X), "strided": lambda: np.repeat(X, 2, axis=1)[:, ::2],
        "big-endian": lambda: X.astype(">f8"), "object": lambda: X.astype(object),
        "masked": lambda: np.ma.masked_array(X, mask=False),
        "matrix of longdouble": lambda: X.astype(np.longdouble),
    }[form](), X  # fmt: skip


def spoiled_matrix(inputs: Inputs, X: np.ndarray):
    """Return what is no matrix of finite numbers, or not of this shape."""

    def with_entry(value):
        out = X.astype(object if isinstance(value, str | None | complex) else float)
        out[tuple(np.array(X.shape) // 2)] = value
        return out

    return inputs.pick(
        lambda: with_entry(np.nan), lambda: with_entry(np.inf), lambda: with_entry("a"),
        lambda: with_entry(None), lambda: X[:0], lambda: X[:, :0], lambda: X[0], lambda: X[None],
        lambda: X[:-1], lambda: X[:1], lambda: X.astype(str), lambda: X + 1j, lambda: None,
        lambda: 3.0, lambda: "text", lambda: {"a": X[:, 0]}, lambda: [[1.0], [1.0, 2.0]],
        lambda: object(), lambda: X.astype("S8"), lambda: X > 0.0,
        lambda: np.array([*X.tolist(), []], dtype=object),
        lambda: sparse.csr_array(with_entry(np.nan)),
        lambda: sparse.csr_array(X), lambda: pd.DataFrame(X).assign(text="a"),
        lambda: X[:, :1], lambda: np.hstack([X, X]), lambda: iter(X), lambda: [],
        lambda: np.zeros(0), lambda: X.astype("datetime64[s]"),
    )()  # fmt: skip


def dressed_labels(inputs: Inputs, codes: np.ndarray):
    """Return the same classes in another form."""
    names = np.array(["b", "a", "c", "d", "e", "f"])
    return inputs.pick(
        lambda: codes.copy(), lambda: names[codes], lambda: names[codes].astype(object),
        lambda: codes.tolist(), lambda: names[codes].tolist(), lambda: codes.astype(float),
        lambda: -3 * codes, lambda: codes.astype(np.uint8), lambda: pd.Series(names[codes]),
        lambda: read_only(codes), lambda: codes[:, None], lambda: codes * 10**12,
        lambda: pd.Series(names[codes], dtype="category"), lambda: (codes % 2).astype(bool)
        if codes.max() < 2 else codes, lambda: codes.astype(">i4"),
    )()  # fmt: skip


def spoiled_labels(inputs: Inputs, codes: np.ndarray):
    """Return what are no labels of at least two classes for these rows."""
    mixed = codes.astype(object)
    mixed[0] = "a"
    holed = codes.astype(float)
    holed[0] = np.nan
    lacking = codes.astype(object)
    lacking[0] = None
    return inputs.pick(
        lambda: None, lambda: codes[:-1], lambda: codes[:0], lambda: 0 * codes, lambda: mixed,
        lambda: holed, lambda: lacking, lambda: codes + 0.5, lambda: np.stack([codes, codes], 1),
        lambda: "text", lambda: 3, lambda: codes + 1j, lambda: np.eye(codes.size)[codes],
        lambda: np.arange(codes.size), lambda: pd.array(codes, dtype="Int64"), lambda: {},
        lambda: object(), lambda: np.where(codes == 0, np.inf, codes), lambda: iter(codes),
        lambda: np.append(codes, 0), lambda: [[c] for c in codes], lambda: [[c, 1] for c in codes],
        lambda: np.r_[9, np.zeros(codes.size - 1)], lambda: codes.astype("datetime64[s]"),
    )()  # fmt: skip


def spoiled_weights(inputs: Inputs, values: np.ndarray):
    """Return what are no weights."""
    one = values.copy()
    one[:1] = inputs.pick(-1.0, np.nan, np.inf, -np.inf, -1e-300)
    return inputs.pick(
        lambda: one, lambda: values[:-1], lambda: values[:, None], lambda: 0.0 * values,
        lambda: "text", lambda: 2.0, lambda: values.astype(str), lambda: values + 1j,
        lambda: [], lambda: {}, lambda: object(), lambda: np.nan, lambda: -values,
        lambda: np.append(values, 1.0), lambda: values > 1.0, lambda: 1e308 * values,
        lambda: 1e-310 * values, lambda: [None] * values.size,
    )()  # fmt: skip
