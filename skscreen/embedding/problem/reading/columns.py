"""Columns of a table that hold no objects: participants, times, ratings, responses, choices."""

from itertools import chain, combinations

import numpy as np

from skscreen.embedding.problem.reading.table import Table, are_numbers

# Fewer rows than this may look wrong by chance.
TELLING = 20
# A column whose cells meet those of others less than this has no objects.
_HARDLY = 0.1
# A column repeats others if it does so in more rows than this share, and has all values if it has
# more of them.
_NEARLY_ALL = 0.95


def check_columns(table: Table, *, declared: bool, lead: int | None) -> None:
    """Raise where a column seems to hold no objects; that of the `lead` may have few, or others."""
    # Some thousand rows, evenly spaced, are enough.
    rows = table.codes[:: max(len(table.codes) // 4000, 1)]
    if len(rows) >= TELLING:
        # The same question asked again and again tells nothing.
        rows = rows[_first_of_each(rows)]
    if len(rows) < TELLING or rows.shape[1] < 2:
        return
    n_names, width = len(table.names), rows.shape[1]
    counts = np.stack([np.bincount(column, minlength=n_names) for column in rows.T])
    mixed = not are_numbers(table.names) and len({isinstance(one, str) for one in table.names}) > 1
    reasons = _strangers(rows, counts, lead, mixed, declared)
    if width > 3:
        # If one of them is the choice, none leads.
        others = _strangers(rows, counts, None, mixed, declared) if lead == 0 else reasons
        _refuse_choices(table, rows, set(others))
    if len(reasons) == width:
        raise ValueError(
            f"No two columns of X have values in common, as those of {width} features of samples, "
            f"or of other things than objects ({table.labels}). To embed samples compare them "
            "first, OrdinalEmbedding().fit(make_triplets(X)); if all columns hold objects, pass "
            f"columns={table.labels}."
        )
    objects = _largest_group(counts, [place for place in range(width) if place not in reasons])
    for column, what in reasons.items():
        _refuse(table, column, objects, what)


def _first_of_each(rows: np.ndarray) -> np.ndarray:
    """First place of each different row."""
    size = int(rows.max()) + 1
    # One number for a row sorts faster than rows do.
    if size ** rows.shape[1] >= 2**63:
        return np.unique(rows, axis=0, return_index=True)[1]
    keys = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        keys = keys * size + column
    return np.unique(keys, return_index=True)[1]


def _strangers(
    rows: np.ndarray, counts: np.ndarray, lead: int | None, mixed: bool, declared: bool
) -> dict[int, str]:
    """Columns that seem to hold no objects, also beside the others of these, and why."""
    left, reasons = list(range(len(counts))), dict[int, str]()
    while len(left) >= min(3, len(counts)):
        place, cells, part = left.index(lead) if lead in left else None, rows[:, left], counts[left]
        apart, found = _apart(part, place, mixed), dict[int, str]()
        # Those of declared objects may have none in common, but not one alone of many.
        if not declared or (len(part) > 3 and len(apart) == 1):
            found = dict.fromkeys(apart, "has hardly any value in common with the others")
        unlike = [column for column in _unlike(cells, part) if column not in (*apart, place)]
        found |= dict.fromkeys(unlike, "has the values of the others in other shares")
        if not found:
            by_chance = "names objects of its own row as often as by chance"
            found = dict.fromkeys(_repeating_by_chance(cells, part), by_chance)
        if not found:
            break
        reasons |= {left[place]: what for place, what in found.items()}
        left = [column for column in left if column not in reasons]
    return reasons


def _apart(counts: np.ndarray, lead: int | None, mixed: bool) -> list[int]:
    """Columns whose values hardly meet those of the others, or are nearly all different."""
    found, n_rows = [], int(counts[0].sum())
    elsewhere = counts.sum(axis=0) - counts
    meets = (counts * (elsewhere > 0)).sum(axis=1) / n_rows
    met = (elsewhere * (counts > 0)).sum(axis=1) / elsewhere.sum(axis=1)
    different = np.count_nonzero(counts, axis=1).tolist()
    # What is near or far to less than five objects may be different things.
    many_heads = lead is None or different[lead] >= 5
    for column, own in enumerate(different):
        fewer = max(different[:column] + different[column + 1 :])
        # Each object once, or nearly so, in all columns tells nothing.
        repeated = min(own, fewer) <= 0.5 * n_rows
        foreign = meets[column] <= _HARDLY and met[column] < 1.0 - _HARDLY
        running = own >= (1.0 - _HARDLY) * n_rows and fewer <= 0.5 * n_rows
        # Numbers of trials begin with those of objects, which all others have in common.
        beyond = len(counts) > 3 and meets[column] < 0.5 and _common(counts, column) > 1.0 - _HARDLY
        if (foreign and repeated and (many_heads or mixed)) or running or beyond:
            found.append(column)
    return found


def _common(counts: np.ndarray, column: int) -> float:
    """Least share of the cells of the other columns whose values are in a third one, too."""
    others = np.delete(counts, column, axis=0)
    shared = others * (others.sum(axis=0) > others)
    return float((shared.sum(axis=1) / others.sum(axis=1)).min())


def _unlike(rows: np.ndarray, counts: np.ndarray) -> list[int]:
    """Columns that have a few of the values of the others, or not quite the same values."""
    found, width = [], len(counts)
    different = np.count_nonzero(counts, axis=1).tolist()
    for column in range(width if width >= 3 else 0):
        usual = different[:column] + different[column + 1 :]
        if width > 3:
            others = np.delete(counts, column, axis=0)
            own, elsewhere = counts[column], others.sum(axis=0)
            n_values = np.count_nonzero(elsewhere)
            if min(usual) >= _NEARLY_ALL * n_values:
                # A value that is 20 times in a column would be in the others by chance.
                absent = (own == 0) & (elsewhere >= 20 * len(others))
                added = (elsewhere == 0) & (own >= 20)
                if np.count_nonzero(absent | added) > _HARDLY * n_values:
                    found.append(column)
                continue
        # Of triplets the near or the far may be few; of more columns several may have none.
        enough = min(usual) if width == 3 else np.median(usual)
        if 2 * different[column] <= enough and _shares_less(rows, counts, column):
            found.append(column)
    return found


def _shares_less(rows: np.ndarray, counts: np.ndarray, column: int) -> bool:
    """Whether a column shares fewer cells with each other one than by chance."""
    # By chance: of cells that change places within their rows.
    mixed = np.random.default_rng(0).permuted(rows, axis=1)
    one, other = (np.bincount(mixed[:, place], minlength=counts.shape[1]) for place in (0, 1))
    by_chance = np.minimum(one, other).sum()
    shared = np.minimum(counts[column], np.delete(counts, column, axis=0)).sum(axis=1).max()
    # Fewer cells than 30 tell nothing.
    return bool(by_chance >= 30 and shared < 0.5 * by_chance)


def _repeating_by_chance(rows: np.ndarray, counts: np.ndarray) -> list[int]:
    """Columns that alone repeat others of their rows, each as often as by chance."""
    # The objects of a trial differ; so do those of a pair, and each has one in quadruplets.
    found, width = [], len(counts)
    # By chance there must be so many rows that repeat an object.
    least = 10
    repeats = np.zeros((width, width), dtype=np.int64)
    for a, b in combinations(range(width), 2):
        repeats[a, b] = repeats[b, a] = np.count_nonzero(rows[:, a] == rows[:, b])
    for column in range(width if repeats.any() else 0):
        others = [other for other in range(width) if other != column]
        if repeats[np.ix_(others, others)].any():
            continue
        # Two columns may differ because their objects do; triplets with all objects drawn at random
        # are left to the user.
        if width == 3 and counts[others[0]] @ counts[others[1]] < least * len(rows):
            continue
        by_chance = counts[others] @ counts[column] / len(rows)
        enough = repeats[column, others] >= 0.5 * by_chance
        if np.all(enough & (by_chance >= least)):
            found.append(column)
    return found


def _largest_group(counts: np.ndarray, places: list[int]) -> list[int]:
    """Return the most of some columns that have values in common: numbers are beside names."""
    groups: list[list[int]] = []
    for place in places:
        met = [group for group in groups if np.any(counts[group].sum(axis=0) * counts[place])]
        groups = [group for group in groups if group not in met] + [[*chain(*met), place]]
    return max(groups, key=len, default=[])


def _refuse(table: Table, column: int, objects: list[int], what: str) -> None:
    label = table.labels[column]
    others = [table.labels[place] for place in sorted(objects)]
    call = f"Pass columns={others}, those of objects, and a participant as groups"
    if len(others) == 2:
        call = (
            "Pass a response as y; ratings of pairs are answers after "
            "skscreen.preprocessing.triplets_from_ratings(pairs, ratings, groups=participants)"
        )
    raise ValueError(
        f"X must have columns of objects only, but column {label!r} {what}, as a participant, a "
        f"time, a rating or a response has. {call}; or, if all columns hold objects, "
        f"columns={table.labels}."
    )


def _refuse_choices(table: Table, rows: np.ndarray, suspects: set[int]) -> None:
    """Raise where a column repeats one of the others, now this one, now that, as a choice does."""
    width, labels = rows.shape[1], table.labels
    # The answer is rather to the right of what was shown.
    for column in reversed(range(width)):
        same = _same_as(rows, column)
        shares = same.mean(axis=0)
        chosen = np.flatnonzero(shares > 1.0 - _NEARLY_ALL)
        # Triplets as quadruplets have a column twice, but not these: there it is the first one.
        twice = shares.max() >= _NEARLY_ALL
        answer = width > 4 or (column == 3 and np.argmax(shares) == 1)
        if same.any(axis=1).mean() < _NEARLY_ALL or (twice and not answer):
            continue
        # What was shown has the values of the choice, and is no other choice.
        shown = [
            place for place in range(width)
            if place not in (column, *suspects)
            and np.isin(rows[:, place], rows[:, column]).mean() > 0.5
        ]  # fmt: skip
        _refuse_both(table, rows, column, chosen, shown)
        shown = [
            place for place in shown
            if place in chosen or _same_as(rows, place).any(axis=1).mean() < _NEARLY_ALL
        ]  # fmt: skip
        odd = set(shown) <= set(chosen)
        if not odd:
            # One that is never chosen is compared with the others.
            shown.sort(key=lambda place: place in chosen)
        shown, label = [labels[place] for place in shown], labels[column]
        y = f"X[{label!r}]" if isinstance(label, str) else f"X[:, {label}]"
        call = f"OrdinalEmbedding(columns={shown}).fit(X, {y})"
        if odd:
            call = (
                f"OrdinalEmbedding(loss='oddoneout', columns={shown}).fit(X, {y}) if it is the odd "
                f"one, triplets_from_mostcentral(X, {y}, columns={shown}) if it is the central one"
            )
        raise ValueError(
            f"X must hold objects that were shown, but column {label!r} is one of the others in "
            f"every row, as the chosen one is. Pass it as y: {call}; or, if it is no choice, "
            f"columns={labels}."
        )


def _same_as(rows: np.ndarray, column: int) -> np.ndarray:
    """Which cells of other columns are those of one."""
    same = rows == rows[:, [column]]
    same[:, column] = False
    return same


def _refuse_both(
    table: Table, rows: np.ndarray, column: int, chosen: np.ndarray, shown: list[int]
) -> None:
    """Raise where a column and another one are two others in another order, as winner and loser."""
    if len(chosen) != 2:
        return
    first, second = rows[:, chosen].T
    rest = np.where(rows[:, column] == first, second, first)
    for other in shown:
        if other not in chosen and np.mean(rows[:, other] == rest) >= _NEARLY_ALL:
            labels = table.labels
            pairs = [[labels[a], labels[b]] for a, b in (chosen, sorted((column, other)))]
            leads = [labels[place] for place in shown if place not in (*chosen, other)]
            raise ValueError(
                f"X must hold each object once, but columns {pairs[1]} hold those of {pairs[0]} in "
                f"another order. Pass columns={[*leads, *pairs[1]]}, or {[*leads, *pairs[0]]}: the "
                "one in which the nearer object is before the farther one."
            )
