"""Which cases `make test` runs, and which it leaves to `make rest`."""

from itertools import combinations, product
from types import SimpleNamespace

from cases import every_pair, keep_few, some

A, B, C = "abc", (1, 2), (None, 0.5, 2.5)


def test_few_cases_are_kept_in_which_all_values_are_met():
    items, marked = [], []
    for a, b in product(A, B):
        item = SimpleNamespace(parent=SimpleNamespace(nodeid="test_x.py"), originalname="test_x")
        item.callspec = SimpleNamespace(params={"a": a, "b": b})
        item.get_closest_marker = {"few": SimpleNamespace(args=(3,))}.get
        item.add_marker = lambda mark, case=(a, b): marked.append((case, mark))
        items.append(item)
    keep_few(items)
    assert {mark for _, mark in marked} == {"proof"} and len(marked) == len(items) - 3
    kept = set(product(A, B)) - {case for case, _ in marked}
    assert {a for a, _ in kept} == set(A) and {b for _, b in kept} == set(B)


def test_any_two_values_meet_in_the_cases_of_pairs():
    (cases,) = (every_pair(a=A, b=B, c=C).args[1],)
    assert [case.values for case in cases] == list(product(A, B, C))
    kept = [case.values for case in cases if not case.marks]
    assert len(kept) < len(cases)
    for left, right in combinations(range(3), 2):
        met = {(case[left], case[right]) for case in kept}
        assert met == set(product((A, B, C)[left], (A, B, C)[right]))
    assert [bool(case.marks) for case in some(A, 0, 2)] == [False, True, False]
