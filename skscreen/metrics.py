"""Measures of embeddings (answers, shape, retrieval) and of labelled sequences."""

from collections.abc import Iterator
from numbers import Integral

import numpy as np
from scipy.spatial import procrustes
from sklearn.utils import check_array, check_consistent_length, check_scalar, column_or_1d

from skscreen.embedding.problem.answers import Layout, check_total, read_answers
from skscreen.embedding.problem.objective import margins
from skscreen.embedding.problem.repeats import NoiseCeiling, ceiling_of, read_votes
from skscreen.embedding.problem.responses import check_response
from skscreen.sequence.spans import count_spans, label_pairs

__all__ = [
    "mean_average_precision",
    "mean_average_precision_at_r",
    "noise_ceiling",
    "precision_at_k",
    "procrustes_distance",
    "r_precision",
    "recall_at_k",
    "retrieval_recall_at_k",
    "sequence_accuracy",
    "span_f1",
    "span_report",
    "triplet_error",
]

# Number of distances, 8 bytes each, in a block of queries.
_BLOCK = 2**22
_EPS = float(np.finfo(np.float64).eps)
# Smaller differences of squares may have lost digits to underflow.
_SMALLEST_SQUARE = 1e-280


def triplet_error(embedding, X, y=None, sample_weight=None, *, response="auto") -> float:
    """Return the share of answers that are wrong in an embedding.

    Parameters
    ----------
    embedding : array-like of shape (n_objects, n_components)
        NaN is allowed, and counts as wrong.
    X, y, sample_weight
        Answers as `skscreen.OrdinalEmbedding.fit` takes them: triplets, quadruplets or a tensor, of
        objects that are rows of `embedding`, not names.
    response : {"auto", "position", "chosen", "sign", "count"}, default="auto"
        What y holds, as for `skscreen.OrdinalEmbedding`.

    Returns
    -------
    float
        Share of wrong answers; equal distances are wrong, too.

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument.
    """
    embedding = check_array(
        embedding, dtype=np.float64, order="C", ensure_all_finite=False, input_name="embedding"
    )
    layout, objects = Layout(response=check_response(response)), np.arange(len(embedding))
    rows, weights, _ = read_answers(X, y, sample_weight, layout, objects=objects)
    check_total(weights)
    difference = margins(embedding, rows)
    # Squares that overflow, or are so small that they lose digits, are computed again, scaled.
    again = ~((np.abs(difference) > _SMALLEST_SQUARE) & (np.abs(difference) < np.inf))
    difference[again] = _scaled_margins(embedding, rows[again])
    return float(np.average(~(difference > 0.0), weights=weights))


def _scaled_margins(embedding: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return margins of answers, each in a unit in which no square leaves the range of floats."""
    with np.errstate(invalid="ignore", over="ignore"):
        ends = 0.5 * embedding[rows]
        near, far = ends[:, 0] - ends[:, 1], ends[:, -2 if rows.shape[1] == 4 else 0] - ends[:, -1]
        unit = np.maximum(np.abs(near).max(axis=1), np.abs(far).max(axis=1))[:, None]
        unit[(unit == 0.0) | (unit == np.inf)] = 1.0
        return ((far / unit) ** 2).sum(axis=1) - ((near / unit) ** 2).sum(axis=1)


def noise_ceiling(
    X, y=None, *, oddoneout: bool = False, response="auto", sample_weight=None, groups=None
) -> NoiseCeiling:
    """Return how well answers can be predicted at best, from questions answered several times.

    Answers to the same question are repetitions, whoever gave them. For a question with c_k votes
    for option k and n votes in all, `agreement` is the mean over answers of sum_k c_k (c_k - 1) /
    (n (n - 1)); `upper` is the share of the most frequent answer, which no prediction can exceed on
    these answers; and `lower` is how often an answer equals the most frequent one of the *other*
    answers, with ties broken at random. On average, the accuracy of a predictor that knows all
    probabilities is between `lower` and `upper`. With groups, the other answers are those of other
    groups: somebody who agrees with himself says nothing about others.

    Parameters
    ----------
    X, y
        Triplets or quadruplets as in `skscreen.OrdinalEmbedding.fit`, but not a tensor.
    oddoneout : bool, default=False
        Whether X and y are choices of the odd one out, as for ``loss="oddoneout"``, among any
        number of objects.
    response : {"auto", "position", "chosen", "sign", "count"}, default="auto"
        What y holds, as for `skscreen.OrdinalEmbedding`.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights >= 0 of the rows: of the answers in all sums, also where they are the other ones.
    groups : array-like of shape (n_rows,), default=None
        Participant of each row. Only questions that at least two have answered count.

    Returns
    -------
    NoiseCeiling
        `agreement`, `lower`, `upper`, `n_questions`, `n_answers`; single answers do not count.

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument.

    References
    ----------
    J. L. Fleiss (1971). Measuring nominal scale agreement among many raters. Psychological
    Bulletin 76, 378-382. Equation 2.

    H. Nili et al. (2014). A toolbox for representational similarity analysis. PLoS Computational
    Biology 10, e1003553: the two bounds of a noise ceiling.
    """
    if not isinstance(oddoneout, bool | np.bool_):
        raise TypeError(f"oddoneout must be True or False, got {oddoneout!r}.")
    layout = Layout(response=check_response(response), choice=bool(oddoneout))
    return ceiling_of(read_votes(X, y, layout, sample_weight, groups))


def procrustes_distance(X, Y) -> float:
    """Return the distance of two embeddings after shifting, scaling, rotating and reflecting.

    Parameters
    ----------
    X, Y : array-like of shape (n_objects, n_components)

    Returns
    -------
    float
        Sum of squared differences, where both are scaled to a sum of squares of 1. It is 0 for the
        same shape, and at most 1.

    Raises
    ------
    ValueError, TypeError
        For invalid arguments, or if all points of one are the same; the message names the argument.
    """
    X = check_array(X, dtype=np.float64, input_name="X")
    Y = check_array(Y, dtype=np.float64, input_name="Y")
    if X.shape != Y.shape:
        raise ValueError(f"X and Y must have the same shape, got {X.shape} and {Y.shape}.")
    for name, points in (("X", X), ("Y", Y)):
        if not 0.0 < np.ptp(points, axis=0).max() < np.inf:
            raise ValueError(f"{name} must have two different points, at a finite distance.")
    # Shifting and scaling do not change the result, and avoid overflow.
    X, Y = (points - points[0] for points in (X, Y))
    X, Y = (points / np.abs(points).max() for points in (X, Y))
    return float(procrustes(X - X.mean(axis=0), Y - Y.mean(axis=0))[2])


def precision_at_k(relevant, distances, k: int) -> float:
    """Return the share of relevant items among the k nearest, averaged over queries.

    Parameters
    ----------
    relevant : array-like of shape (n_queries, n_items), bool
    distances : array-like of shape (n_queries, n_items)
        From each query to each item. Items at equal distance keep their order.
    k : int
        From 1 to n_items.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument.
    """
    return float(np.mean(_ranked(relevant, distances, k)[:, :k]))


def recall_at_k(relevant, distances, k: int) -> float:
    """Return the share of the relevant items that is among the k nearest, averaged over queries.

    See `retrieval_recall_at_k` for the share of queries with at least one hit.

    Parameters
    ----------
    relevant, distances, k
        As in `precision_at_k`; each query needs a relevant item.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument.
    """
    ranked = _ranked(relevant, distances, k)
    return float(np.mean(ranked[:, :k].sum(axis=1) / _totals(ranked)))


def mean_average_precision(relevant, distances) -> float:
    """Return the mean over queries of the average precision of the whole ranking.

    The average precision of a query is the mean, over its relevant items, of the share of relevant
    items up to that rank.

    Parameters
    ----------
    relevant, distances
        As in `precision_at_k`; each query needs a relevant item.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument.
    """
    ranked = _ranked(relevant, distances)
    precisions = np.cumsum(ranked, axis=1) / np.arange(1, ranked.shape[1] + 1)
    return float(np.mean((precisions * ranked).sum(axis=1) / _totals(ranked)))


def retrieval_recall_at_k(Z, labels, k: int) -> float:
    """Return the share of samples with a sample of the same label among their k nearest.

    This is the Recall@k of face recognition, re-identification and deep metric learning, where a
    single hit is enough; for k = 1 it is their precision at 1. See `recall_at_k` for the share of
    relevant items that are found.

    Parameters
    ----------
    Z : array-like of shape (n_samples, n_components)
        Embedded samples. Each is a query against all others, by Euclidean distance. Samples at
        equal distance are ranked in their given order.
    labels : array-like of shape (n_samples,)
        Identity or class of each sample. A sample whose label occurs only once is not used as a
        query.
    k : int
        From 1 to n_samples - 1.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument.

    Notes
    -----
    All distances are computed, in blocks: O(n_samples^2 n_components) operations, not memory.

    References
    ----------
    K. Musgrave, S. Belongie, S.-N. Lim (2020). A metric learning reality check. ECCV 2020,
    section 2.

    Examples
    --------
    >>> from skscreen.metrics import retrieval_recall_at_k
    >>> retrieval_recall_at_k([[0.0], [1.0], [1.4], [5.0]], ["a", "a", "b", "b"], k=1)
    0.5
    """
    Z, codes, sizes = _embedded(Z, labels)
    check_scalar(k, "k", Integral)
    if not 1 <= k < len(Z):
        raise ValueError(f"k must be from 1 to {len(Z) - 1}, the other samples, got {k}.")
    found = [hits.any(axis=1) for _, hits in _nearest_alike(Z, codes, sizes, int(k))]
    return float(np.mean(np.concatenate(found)))


def r_precision(Z, labels) -> float:
    """Return the mean share of samples of the same label among the R nearest of each sample.

    R is the number of other samples with the same label; 1 means that these always come first.

    Parameters
    ----------
    Z, labels
        As in `retrieval_recall_at_k`.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument.

    References
    ----------
    K. Musgrave, S. Belongie, S.-N. Lim (2020). A metric learning reality check. ECCV 2020,
    section 3.2.
    """
    Z, codes, sizes = _embedded(Z, labels)
    found = [hits.sum(axis=1) / n_alike for n_alike, hits in _nearest_alike(Z, codes, sizes)]
    return float(np.mean(np.concatenate(found)))


def mean_average_precision_at_r(Z, labels) -> float:
    """Return MAP@R: like `r_precision`, but with more weight on early hits.

    For each sample this is 1/R times the sum of the precision at each rank up to R that holds a
    sample of the same label; the result is the mean over samples.

    Parameters
    ----------
    Z, labels
        As in `retrieval_recall_at_k`.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument.

    References
    ----------
    K. Musgrave, S. Belongie, S.-N. Lim (2020). A metric learning reality check. ECCV 2020,
    equations 7 and 8.
    """
    Z, codes, sizes = _embedded(Z, labels)
    found = []
    for n_alike, hits in _nearest_alike(Z, codes, sizes):
        precisions = np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1)
        found.append((precisions * hits).sum(axis=1) / n_alike)
    return float(np.mean(np.concatenate(found)))


def _embedded(Z, labels) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Check embedded samples and labels; return samples in a harmless range, codes and sizes."""
    Z = check_array(Z, dtype=np.float64, ensure_min_samples=2, input_name="Z")
    labels = column_or_1d(labels, warn=True)
    check_consistent_length(Z, labels)
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError("labels must not hold NaN.")
    try:
        _, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    except TypeError as error:
        raise TypeError("labels must be uniformly strings or numbers.") from error
    if sizes.max() == 1:
        raise ValueError("labels must give at least two samples the same label.")
    # Scaling by a power of two avoids overflow, and keeps equal integers equal.
    Z = np.ldexp(Z, -np.frexp(np.abs(Z).max())[1])
    return Z - np.median(Z, axis=0), codes, sizes


def _nearest_alike(Z, codes, sizes, k: int | None = None) -> Iterator[tuple]:
    """Yield, for blocks of queries, R of each query and which of its k nearest have its label.

    The nearest come first. If k is None it is R of each query, and entries beyond R are False.
    """
    n_alike = sizes[codes] - 1
    queries = np.flatnonzero(n_alike)
    # Sorted by R, so that the rows of a block have about the same length.
    queries = queries[np.argsort(n_alike[queries], kind="stable")]
    squares = np.einsum("ij,ij->i", Z, Z)
    longest = np.sqrt(squares.max())
    n_rows = max(1, _BLOCK // len(Z))
    for first in range(0, queries.size, n_rows):
        rows = queries[first : first + n_rows]
        # Squared distances minus the squared norm of the query.
        distances = squares - 2.0 * (Z[rows] @ Z.T)
        distances[np.arange(rows.size), rows] = np.inf
        lengths = n_alike[rows]
        errors = (Z.shape[1] + 4) * _EPS * (np.sqrt(squares[rows]) + longest) ** 2
        near = _nearest(Z, rows, distances, lengths.max() if k is None else k, errors)
        hits = codes[near] == codes[rows][:, None]
        if k is None:
            hits &= np.arange(hits.shape[1]) < lengths[:, None]
        yield lengths, hits


def _nearest(Z, rows, distances, k: int, errors) -> np.ndarray:
    """Columns of the k samples nearest to each query, in order; the first of equally near ones.

    `distances` decide which samples may be among them, within twice their rounding errors; the
    order is that of distances computed from differences, which keep their digits where groups lie
    far apart and are equal for equal samples.
    """
    near = np.empty((rows.size, k), np.intp)
    bounds = np.partition(distances, k - 1, axis=1)[:, k - 1] + 2.0 * errors
    for i, row in enumerate(rows):
        candidates = np.flatnonzero(distances[i] <= bounds[i])
        exact = ((Z[candidates] - Z[row]) ** 2).sum(axis=1)
        near[i] = candidates[np.argsort(exact, kind="stable")[:k]]
    return near


def _ranked(relevant, distances, k: int = 1) -> np.ndarray:
    """Relevance of the items of each query, nearest first."""
    relevant = check_array(relevant, dtype=None, input_name="relevant")
    if relevant.dtype.kind not in "biuf":
        raise ValueError(f"relevant must hold booleans or numbers, got dtype {relevant.dtype}.")
    relevant = relevant.astype(bool)
    distances = check_array(distances, dtype=np.float64, input_name="distances")
    check_consistent_length(relevant, distances)
    if relevant.shape != distances.shape:
        raise ValueError(
            f"relevant and distances must have the same shape, got {relevant.shape} and "
            f"{distances.shape}."
        )
    check_scalar(k, "k", Integral)
    if not 1 <= k <= relevant.shape[1]:
        raise ValueError(f"k must be from 1 to {relevant.shape[1]}, the number of items, got {k}.")
    return np.take_along_axis(relevant, np.argsort(distances, axis=1, kind="stable"), axis=1)


def _totals(ranked: np.ndarray) -> np.ndarray:
    totals = ranked.sum(axis=1)
    if not totals.all():
        raise ValueError(
            f"relevant must name an item for each query, got none in row {int(totals.argmin())}."
        )
    return totals


def sequence_accuracy(y_true, y_pred) -> float:
    """Return the share of sequences with all labels right.

    Parameters
    ----------
    y_true, y_pred : list of array-likes of shape (length,)

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If they are not two lists of sequences of the same lengths, or if strings and numbers are
        mixed.
    """
    pairs = label_pairs(y_true, y_pred)
    return float(np.mean([np.array_equal(truth, found) for truth, found in pairs]))


def span_f1(y_true, y_pred, *, scheme: str | None = None, average: str | None = "micro"):
    """Return the F1 score of labelled spans, as of named entities or chunks.

    A span counts as found if its type and its first and last positions are right. F1 is 2 right /
    (true + found), in numbers of spans. The results are those of seqeval. As a `scoring` of
    scikit-learn the name is "span_f1", with "span_f1_macro" and "span_f1_weighted".

    Parameters
    ----------
    y_true, y_pred : list of array-likes of str, shape (length,)
        Tags: "O" outside of all spans, else a prefix and a type, as in "B-PER". A tag without a
        type, "B" or "B-", has the type "_".
    scheme : {"IOB1", "IOB2", "IOE1", "IOE2", "IOBES", "BILOU"} or None, default=None
        What the prefixes mean. Only spans that are written as the scheme demands count then. None
        reads the prefixes B, I, E and S as conlleval does, which finds a span in any order of tags:
        "I-PER" begins a span where it follows another type, for instance.
    average : {"micro", "macro", "weighted"} or None, default="micro"
        "micro" counts all spans alike, "macro" is the mean over types, "weighted" the mean weighted
        by true spans. None returns an array of scores, a type each, in alphabetical order.

    Returns
    -------
    float or ndarray of shape (n_types,)
        0, with an UndefinedMetricWarning, where there are no spans at all.

    Raises
    ------
    ValueError
        If they are not two lists of sequences of the same lengths, or for tags that the scheme does
        not have; names the sequence and the position.

    References
    ----------
    E.F. Tjong Kim Sang, S. Buchholz (2000). Introduction to the CoNLL-2000 shared task: chunking.

    Examples
    --------
    >>> from skscreen.metrics import span_f1
    >>> span_f1([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "I-PER", "O", "B-PER"]])
    0.5
    """
    if average not in (None, "micro", "macro", "weighted"):
        raise ValueError(f"average must be 'micro', 'macro', 'weighted' or None, got {average!r}.")
    return count_spans(y_true, y_pred, scheme).scores(average)[2]


def span_report(
    y_true, y_pred, *, scheme: str | None = None, digits: int = 2, output_dict: bool = False
) -> str | dict[str, dict[str, float]]:
    """Return a table of precision, recall and F1 of labelled spans by type, and their averages.

    Parameters
    ----------
    y_true, y_pred, scheme
        As in `span_f1`.
    digits : int, default=2
        After the decimal point.
    output_dict : bool, default=False
        Whether to return a dict in place of text.

    Returns
    -------
    str or dict
        As of `sklearn.metrics.classification_report`: for each type, and "micro avg", "macro avg"
        and "weighted avg", its "precision", "recall", "f1-score" and "support", the number of true
        spans.

    Raises
    ------
    ValueError
        As in `span_f1`.

    Examples
    --------
    >>> from skscreen.metrics import span_report
    >>> print(span_report([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "B-PER"]]))
                  precision    recall  f1-score   support
    <BLANKLINE>
             LOC       0.00      0.00      0.00         1
             PER       0.50      1.00      0.67         1
    <BLANKLINE>
       micro avg       0.50      0.50      0.50         2
       macro avg       0.25      0.50      0.33         2
    weighted avg       0.25      0.50      0.33         2
    <BLANKLINE>
    """
    check_scalar(digits, "digits", Integral, min_val=0)
    counts = count_spans(y_true, y_pred, scheme)
    columns = "precision", "recall", "f1-score", "support"
    rows = dict(zip(counts.types, zip(*counts.scores(None), strict=True), strict=True))
    averages = {}
    for name in ("micro", "macro", "weighted"):
        averages[f"{name} avg"] = [np.ravel(part)[0] for part in counts.scores(name)]
    if output_dict:
        return {
            name: dict(zip(columns, (*map(float, row[:3]), int(row[3])), strict=True))
            for name, row in {**rows, **averages}.items()
        }
    width = max(map(len, [*rows, "weighted avg"]))
    lines = [" " * (width + 1) + "".join(f" {column:>9}" for column in columns), ""]
    for block in (rows, averages):
        for name, (*shares, total) in block.items():
            cells = "".join(f" {share:>9.{digits}f}" for share in shares)
            lines.append(f"{name:>{width}s} {cells} {total:>9}")
        lines.append("")
    return "\n".join(lines)
