import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.exceptions import NotFittedError

from skscreen import DifferenceScaling, OrdinalEmbedding, ScreenedSVC, read_answers
from skscreen.datasets import make_triplets
from skscreen.inspection import EmbeddingDisplay

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.text import Text

POINTS = np.random.default_rng(0).normal(size=(6, 2))
NAMES = list("abcdef")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def fitted(points=POINTS):
    model = OrdinalEmbedding()
    model.embedding_ = points
    return model


def test_classes_of_a_frame_of_one_column():
    frame = pd.DataFrame({"kind": list("aabbab")})
    assert_array_equal(EmbeddingDisplay.from_estimator(fitted(), classes=frame).classes, frame.kind)


def test_points_and_names():
    display = EmbeddingDisplay.from_estimator(fitted(), names=np.array(NAMES))
    (scatter,) = display.scatters_
    assert_array_equal(scatter.get_offsets(), POINTS)
    assert [text.get_text() for text in display.texts_] == NAMES
    assert [text.xy for text in display.texts_] == [tuple(point) for point in POINTS]
    # Distances are what a map shows.
    assert display.ax_.get_aspect() == 1.0
    assert display.ax_.get_legend() is None
    assert display.figure_ is display.ax_.figure


def test_classes_have_a_colour_and_a_marker_each():
    classes = ["x", "y", "x", "z", "z", "y"]
    display = EmbeddingDisplay.from_estimator(fitted(), classes=classes)
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["x", "y", "z"]
    assert_array_equal(display.scatters_[1].get_offsets(), POINTS[[1, 5]])
    colours = {tuple(scatter.get_facecolor()[0]) for scatter in display.scatters_}
    assert len(colours) == 3
    many = EmbeddingDisplay.from_estimator(
        fitted(np.arange(40.0).reshape(20, 2)), classes=np.arange(20)
    )
    looks = {
        (*scatter.get_facecolor()[0], scatter.get_paths()[0].vertices.tobytes())
        for scatter in many.scatters_
    }
    assert len(looks) == 20


def test_a_reference_is_matched_by_rotation_scale_and_reflection():
    turn = 2.5 * np.array([[0.6, 0.8], [0.8, -0.6]])
    display = EmbeddingDisplay.from_estimator(
        fitted(POINTS @ turn + 3.0), reference=POINTS, reference_name="truth"
    )
    assert_allclose(display.points, POINTS, atol=1e-12)
    assert_array_equal(display.reference_scatter_.get_offsets(), POINTS)
    assert len(display.ax_.lines) == 6
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["truth", "embedding"]


def test_more_components_are_shown_along_the_principal_axes():
    flat = (
        np.hstack([POINTS, np.zeros((6, 2))])
        @ np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    )
    display = EmbeddingDisplay.from_estimator(fitted(flat))
    centred = POINTS - POINTS.mean(axis=0)
    assert_allclose(
        np.linalg.norm(display.points, axis=1), np.linalg.norm(centred, axis=1), rtol=1e-10
    )
    variances = display.points.var(axis=0)
    assert variances[0] >= variances[1]


def test_points_of_one_component_have_rows_of_their_own():
    scale = POINTS[:, :1]
    regions = scale + np.linspace(-1.0, 1.0, 41)[:, None, None]
    display = EmbeddingDisplay.from_estimator(
        fitted(scale), names=NAMES, reference=-2.0 * scale, regions=regions, level=0.5
    )
    assert [text.get_text() for text in display.texts_] == list(NAMES)
    assert_allclose(display.points, -2.0 * scale)
    places = display.scatters_[0].get_offsets()
    assert_array_equal(places[:, 0], display.points[:, 0])
    assert_array_equal(np.argsort(places[:, 1]), np.argsort(places[:, 0]))
    # Half of a normal distribution is within 0.6745 standard deviations.
    half = 0.67449 * 2.0 * np.std(np.linspace(-1.0, 1.0, 41), ddof=1)
    widths = [np.ptp(path.vertices, axis=0) for path in display.ellipses_.get_paths()]
    assert_allclose(widths, np.tile([2.0 * half, 0.0], (len(scale), 1)), rtol=1e-4, atol=1e-12)


def test_given_axes_are_used_and_drawn_on_again():
    _, (first, second) = plt.subplots(1, 2)
    display = EmbeddingDisplay.from_estimator(fitted(), ax=first)
    assert display.ax_ is first
    assert display.plot(ax=second) is display
    assert display.ax_ is second


@pytest.mark.parametrize(
    ("points", "options", "message"),
    [
        (POINTS[:, :1], {"reference": POINTS}, "^`reference`"),
        (POINTS, {"names": NAMES[:3]}, "^`names`"),
        (POINTS, {"classes": [1, 2]}, "^`classes`"),
        (POINTS, {"reference": POINTS[:, :1]}, "^`reference`"),
        (POINTS, {"reference": "abcdef"}, "^`reference`"),
    ],
)
def test_wrong_arguments_are_named(points, options, message):
    with pytest.raises(ValueError, match=message):
        EmbeddingDisplay.from_estimator(fitted(points), **options)


def test_missing_matplotlib_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"^EmbeddingDisplay\b.*matplotlib"):
        EmbeddingDisplay.from_estimator(fitted())


def test_one_object_of_many_components_is_shown():
    display = EmbeddingDisplay.from_estimator(fitted(np.ones((1, 3))))
    assert display.points.shape == (1, 2)


def test_what_has_no_length_is_refused():
    with pytest.raises(ValueError, match=r"^`names`"):
        EmbeddingDisplay.from_estimator(fitted(), names=3)
    with pytest.raises(ValueError, match=r"^classes\b"):
        EmbeddingDisplay.from_estimator(fitted(), classes=np.zeros((6, 2)))


def test_principal_axes_are_those_of_largest_spread():
    points = np.random.default_rng(1).normal(size=(9, 4)) * [0.1, 3.0, 0.2, 1.0]
    shown = EmbeddingDisplay.from_estimator(fitted(points)).points
    singular = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    assert_allclose(np.linalg.norm(shown, axis=0), singular[:2])


@pytest.mark.slow
def test_what_is_known_by_name_may_be_in_any_order():
    model, order = fitted(), [3, 1, 5, 0, 4, 2]
    model.objects_ = np.array(NAMES)
    kinds, places = np.array(["x", "y", "x", "z", "z", "y"]), np.arange(12.0).reshape(6, 2)
    names = np.array(NAMES)[order]
    for classes in (
        dict(zip(names, kinds[order], strict=True)), pd.Series(kinds[order], index=names),
        pd.Series(kinds), pd.Series(kinds, index=list("uvwxyz")), list(kinds),
    ):  # fmt: skip
        assert_array_equal(EmbeddingDisplay.from_estimator(model, classes=classes).classes, kinds)
    for reference in (
        dict(zip(names, places[order], strict=True)), pd.DataFrame(places[order], index=names),
    ):  # fmt: skip
        display = EmbeddingDisplay.from_estimator(model, reference=reference)
        assert_array_equal(display.reference, places)
    with pytest.raises(ValueError, match=r"^`classes`"):
        EmbeddingDisplay.from_estimator(model, classes={"a": "x"})


def test_an_estimator_without_points():
    with pytest.raises(NotFittedError, match="OrdinalEmbedding"):
        EmbeddingDisplay.from_estimator(OrdinalEmbedding())
    with pytest.raises(ValueError, match=r"^estimator\b"):
        EmbeddingDisplay.from_estimator(POINTS)
    with pytest.raises(ValueError, match=r"^estimator\b"):
        EmbeddingDisplay.from_estimator(ScreenedSVC().fit([[0.0], [1.0]], [0, 1]))


@pytest.mark.parametrize(
    "classes",
    [
        [0.0, np.nan, 1.0, 1.0, 0.0, 0.0],
        np.array(["a", None, "b", "b", "a", "a"], dtype=object),
        ["a", np.nan, "b", "b", "a", "a"],
        np.array(["a", 1, "b", "b", "a", "a"], dtype=object),
    ],
)
def test_classes_that_cannot_be_told_apart(classes):
    with pytest.raises((TypeError, ValueError), match="classes"):
        EmbeddingDisplay.from_estimator(fitted(), classes=classes)


@pytest.mark.few(1)
@pytest.mark.parametrize("size", [3.0, 6.4])
@pytest.mark.parametrize("reference", [False, True])
def test_names_cover_neither_each_other_nor_the_frame(size, reference):
    rng = np.random.default_rng(2)
    # A crowd, a line of neighbours, and points at the edge.
    points = np.vstack([0.05 * rng.normal(size=(15, 2)), rng.uniform(-1, 1, size=(25, 2))])
    names = [f"a stimulus called {k}" for k in range(40)]
    _, ax = plt.subplots(figsize=(size, size), layout="constrained")
    display = EmbeddingDisplay.from_estimator(
        fitted(points), names=names, reference=points[::-1] if reference else None, ax=ax
    )
    display.figure_.canvas.draw()
    # Of the text itself, without the line to its point.
    boxes = np.array([Text.get_window_extent(text).extents for text in display.texts_])
    low, high = boxes[:, :2], boxes[:, 2:]
    overlap = np.all((low[:, None] < high) & (low < high[:, None]), axis=2)
    assert np.count_nonzero(overlap) == len(boxes)
    frame = display.ax_.bbox.extents
    assert np.all(low >= frame[:2]) and np.all(high <= frame[2:])
    # Most have room in a large figure, and no name is beside another's point.
    assert len(boxes) >= (15 if size > 5 else 5)
    at = dict(zip(names, points, strict=True))
    assert all(text.xy == tuple(at[text.get_text()]) for text in display.texts_) or reference


def test_the_names_of_the_objects_are_written():
    model = OrdinalEmbedding(random_state=0).fit([["cat", "dog", "car"], ["dog", "cat", "car"]])
    display = EmbeddingDisplay.from_estimator(model)
    assert {text.get_text() for text in display.texts_} <= {"cat", "dog", "car"}
    assert len(display.texts_) >= 2
    assert EmbeddingDisplay.from_estimator(model, names=None).texts_ == []
    numbered = OrdinalEmbedding(random_state=0).fit([[0, 1, 2], [1, 0, 2]])
    assert EmbeddingDisplay.from_estimator(numbered).texts_ == []


def places_of(points, count=400, scale=0.1):
    """Other places: normal, longer along the first axis."""
    spread = scale * np.array([3.0, 1.0] + [1.0] * (points.shape[1] - 2))
    return points + spread * np.random.default_rng(0).normal(size=(count, *points.shape))


def test_ellipses_are_those_of_the_covariances():
    places = places_of(POINTS)
    display = EmbeddingDisplay.from_estimator(fitted(), regions=places, level=0.9)
    assert len(display.ellipses_.get_paths()) == 6
    outline = display.ellipses_.get_paths()[2].vertices - POINTS[2]
    inverse = np.linalg.inv(np.cov(places[:, 2].T))
    assert_allclose(np.einsum("ki,ij,kj->k", outline, inverse, outline), stats.chi2.ppf(0.9, 2))
    assert EmbeddingDisplay.from_estimator(fitted()).ellipses_ is None
    # All of them are in the frame.
    low, high = np.array([display.ax_.get_xlim(), display.ax_.get_ylim()]).T
    assert all(np.all((path.vertices > low) & (path.vertices < high))
               for path in display.ellipses_.get_paths())  # fmt: skip


def test_ellipses_turn_with_the_points():
    places = places_of(POINTS)
    turn = 2.0 * np.array([[0.6, 0.8], [0.8, -0.6]])
    plain = EmbeddingDisplay.from_estimator(fitted(), regions=places)
    turned = EmbeddingDisplay.from_estimator(
        fitted(POINTS @ turn + 1.0), regions=places @ turn + 1.0, reference=POINTS
    )
    squares = [axes @ axes.transpose(0, 2, 1) for axes in (plain.ellipses, turned.ellipses)]
    assert_allclose(squares[0], squares[1], rtol=1e-8)
    # Of three components the two principal ones are seen, in the places too.
    flat = np.hstack([POINTS * [5.0, 3.0], np.zeros((6, 1))])
    shown = EmbeddingDisplay.from_estimator(fitted(flat), regions=places_of(flat))
    assert shown.ellipses.shape == (6, 2, 2)
    assert_allclose(np.linalg.svd(shown.ellipses)[1] / np.sqrt(stats.chi2.ppf(0.95, 2)),
                    np.tile([0.3, 0.1], (6, 1)), rtol=0.15)  # fmt: skip


def test_a_bootstrap_has_the_places():
    rows = np.random.default_rng(0).permuted(np.tile(np.arange(5), (60, 1)), axis=1)[:, :3]
    model = OrdinalEmbedding(2, random_state=0).fit(rows)
    display = EmbeddingDisplay.from_estimator(model, regions=model.bootstrap(5, random_state=0))
    assert len(display.ellipses_.get_paths()) == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"regions": POINTS}, "^`regions`"),
        ({"regions": np.zeros((2, 6, 2))}, "^`regions`"),
        ({"regions": "many"}, "^`regions`"),
        ({"regions": np.full((4, 6, 2), np.nan)}, "^`regions`"),
        ({"regions": np.zeros((4, 6, 2)), "level": 1.0}, "level == 1.0"),
    ],
)
def test_wrong_regions(options, message):
    with pytest.raises(ValueError, match=message):
        EmbeddingDisplay.from_estimator(fitted(), **options)


def with_names(points, names):
    model = fitted(points)
    model.objects_ = np.array(names)
    return model


def boxes(texts):
    # Without the lines of annotations.
    return np.array([Text.get_window_extent(text).extents for text in texts])


@pytest.mark.slow
def test_all_names_find_room_and_cover_no_point():
    points = np.random.default_rng(2).normal(size=(60, 2))
    model = with_names(points, [f"object {k}" for k in range(60)])
    some = EmbeddingDisplay.from_estimator(model)
    assert 0 < len(some.texts_) < 60
    assert some.ax_.get_xlabel() == f"{60 - len(some.texts_)} of 60 names have no room"
    every = EmbeddingDisplay.from_estimator(model, names="all")
    assert len(every.texts_) > len(some.texts_)
    for display in (some, every):
        display.figure_.draw_without_rendering()
        at = display.ax_.transData.transform(points)
        low, high = np.split(boxes(display.texts_)[:, None], 2, axis=2)
        inside = ((at > low) & (at < high)).all(axis=2)
        assert not inside.any()
    few = EmbeddingDisplay.from_estimator(with_names(POINTS, NAMES), names="all")
    assert len(few.texts_) == 6
    assert few.ax_.get_xlabel() == " "
    assert EmbeddingDisplay.from_estimator(model, names=None).texts_ == []


def test_names_cover_no_line_where_another_side_is_free():
    # A reference far to the right of one point, whose name stood there.
    points = np.array([[0.0, 0.0], [0.0, 4.0], [4.0, 4.0], [4.0, 0.0]])
    reference = points + np.array([[2.5, 0.0], [0.1, 0.0], [0.1, 0.0], [0.1, 0.0]])
    display = EmbeddingDisplay(points=points, names=["Athens", *"bcd"], reference=reference).plot()
    display.figure_.canvas.draw()
    along = np.linspace(points, reference, 50).reshape(-1, 2)
    lines = display.ax_.transData.transform(along)
    low, high = np.split(boxes(display.texts_)[:, None], 2, axis=2)
    assert not ((lines > low) & (lines < high)).all(axis=2).any()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_lines_to_names_pass_no_other_name(seed):
    # A crowd, whose names are partly further away and joined to their points.
    points = np.random.default_rng(seed).normal(scale=0.2, size=(12, 2))
    points = np.vstack([points, [[-1.0, -1.0], [1.0, 1.0]]])
    names = [f"name {k}" for k in range(14)]
    display = EmbeddingDisplay(points=points, names=names).plot()
    display.figure_.canvas.draw()
    low, high = np.split(boxes(display.texts_), 2, axis=1)
    joined = [k for k, text in enumerate(display.texts_) if text.arrow_patch is not None]
    assert joined
    for k in joined:
        start = display.ax_.transData.transform(display.texts_[k].xy)
        line = np.linspace(start, 0.5 * (low[k] + high[k]), 100)[:, None]
        assert not ((line > low) & (line < high)).all(axis=2)[:, np.arange(14) != k].any()


def test_the_share_of_a_plane_is_written():
    points = np.random.default_rng(1).normal(size=(9, 3))
    display = EmbeddingDisplay.from_estimator(fitted(points))
    squares = np.linalg.svd(points - points.mean(axis=0), compute_uv=False) ** 2
    assert_allclose(display.share, squares[:2].sum() / squares.sum())
    assert display.ax_.get_xlabel() == f"{display.share:.0%} of the spread is in this plane"


def test_pictures_from_arrays_files_and_a_folder(tmp_path):
    pictures = [np.full((4, 6, 3), k / 6.0) for k in range(6)]
    for name, picture in zip(NAMES, pictures, strict=True):
        plt.imsave(tmp_path / f"{name}.png", picture)
    model = with_names(POINTS, NAMES)
    for images in (pictures, tmp_path, str(tmp_path), [tmp_path / f"{k}.png" for k in NAMES]):
        display = EmbeddingDisplay.from_estimator(model, images=images)
        assert len(display.images_) == 6
        assert [box.xy for box in display.images_] == [tuple(point) for point in POINTS]
        assert_allclose(display.images[2][0, 0, 0], 2.0 / 6.0, atol=0.01)


def test_objects_that_are_called_as_their_files_are(tmp_path):
    files = [f"{name}.png" for name in NAMES]
    for k, name in enumerate(files):
        plt.imsave(tmp_path / name, np.full((4, 6, 3), k / 6.0))
    display = EmbeddingDisplay.from_estimator(with_names(POINTS, files), images=tmp_path)
    assert_allclose([image[0, 0, 0] for image in display.images], np.arange(6) / 6.0, atol=0.01)


def test_pictures_that_are_missing_or_none(tmp_path):
    model = with_names(POINTS, NAMES)
    with pytest.raises(ValueError, match=r"^`images`"):
        EmbeddingDisplay.from_estimator(model, images=tmp_path)
    (tmp_path / "a.png").write_text("text")
    with pytest.raises(ValueError, match=r"^`images`"):
        EmbeddingDisplay.from_estimator(model, images=[tmp_path / "a.png"] * 6)
    with pytest.raises(ValueError, match=r"^`images`"):
        EmbeddingDisplay.from_estimator(model, images=[np.zeros((2, 2))] * 2)
    with pytest.raises(ValueError, match=r"^`images`.*entry 0"):
        EmbeddingDisplay.from_estimator(model, images=[np.zeros(2)] * 6)
    with pytest.raises(ValueError, match=r"^`images`"):
        EmbeddingDisplay.from_estimator(model, images=tmp_path / "none")


def test_names_have_a_meaning_or_are_refused():
    with pytest.raises(ValueError, match=r"^`names`"):
        EmbeddingDisplay.from_estimator(fitted(), names="every")


def test_pictures_go_by_name_in_a_dict_or_series():
    model = with_names(POINTS, NAMES)
    grey = {name: np.full((2, 2), float(k)) for k, name in enumerate(NAMES)}
    backwards = dict(reversed(grey.items()))
    for images in (backwards, pd.Series(backwards)):
        found = EmbeddingDisplay.from_estimator(model, images=images).images
        assert [image[0, 0] for image in found] == [float(k) for k in range(len(NAMES))]


def test_a_reference_of_one_point_is_refused():
    with pytest.raises(ValueError, match=r"^`reference`"):
        EmbeddingDisplay.from_estimator(with_names(POINTS, NAMES), reference=0.0 * POINTS)


def test_names_and_other_maps_are_those_of_the_objects():
    names = np.array(list("vwxyz"))
    triplets = make_triplets(np.random.default_rng(0).normal(size=(5, 2)), 200, random_state=0)
    fitted, other = (
        OrdinalEmbedding(random_state=seed).fit(names[triplets[::step]])
        for seed, step in ((0, 1), (1, -1))
    )
    shown = {name: name.upper() for name in names.tolist()}
    expected = [shown[name] for name in fitted.objects_.tolist()]
    for given in (shown, pd.Series(shown)):
        assert EmbeddingDisplay.from_estimator(fitted, names=given).names == expected
    with pytest.raises(ValueError, match=r"^`names`"):
        EmbeddingDisplay.from_estimator(fitted, names=pd.Series(shown)[:4])
    reference = pd.DataFrame(other.embedding_, index=other.objects_)
    assert_allclose(
        EmbeddingDisplay.from_estimator(fitted, reference=other).reference,
        EmbeddingDisplay.from_estimator(fitted, reference=reference).reference,
    )


@pytest.mark.slow
def test_dollar_signs_of_names_that_are_no_formula_are_written():
    names = ["$x_1$", "$a^$", "$5", "US$ and A$"]
    display = EmbeddingDisplay(points=np.eye(4)[:, :2] + np.arange(4)[:, None], names=names).plot()
    display.figure_.canvas.draw()
    assert [text.get_text() for text in display.texts_[:3]] == ["$x_1$", r"\$a^\$", r"\$5"]


def test_colours_that_would_be_clipped_are_refused():
    fitted = OrdinalEmbedding(random_state=0).fit([[0, 1, 2], [1, 2, 0]])
    with pytest.raises(ValueError, match=r"^`images`"):
        EmbeddingDisplay.from_estimator(fitted, images=[np.full((2, 2, 3), 200.0)] * 3)


def test_the_bootstrap_of_a_scale_has_regions():
    rng = np.random.default_rng(0)
    X = np.sort([rng.choice(6, 4, replace=False) for _ in range(60)], axis=1)
    scale = DifferenceScaling().fit(X, X[:, 3] - X[:, 2] + rng.normal(size=60) > X[:, 1] - X[:, 0])
    drawn = scale.bootstrap(4, random_state=0)
    display = EmbeddingDisplay.from_estimator(scale, regions=drawn)
    assert_allclose(
        display.ellipses[1:, 0, 0] ** 2,
        drawn.scales[:, 1:].var(axis=0, ddof=1) * stats.chi2.ppf(0.95, 1),
    )


def test_objects_go_by_their_names():
    rows = make_triplets(POINTS, 400, random_state=0) + 1
    model = OrdinalEmbedding(random_state=0).fit(rows)
    classes = ["a", "a", "b", "b", "a", "b"]
    for given in (classes, pd.Series(classes, index=range(1, 7))):
        display = EmbeddingDisplay.from_estimator(model, names=NAMES, classes=given)
        assert display.classes.tolist() == classes
        assert_allclose(display.points, model.embedding_)
    with pytest.raises(ValueError, match=r"^`classes`"):
        EmbeddingDisplay.from_estimator(model, classes=classes[1:])
    # Points of given objects are drawn, compared or not.
    given = OrdinalEmbedding(random_state=0).fit(read_answers(rows, objects=range(7)))
    assert len(EmbeddingDisplay.from_estimator(given).points) == 7


def test_legends_write_what_classes_are_called():
    classes = ["_control", "<$_$5", "test"] * 2
    display = EmbeddingDisplay.from_estimator(fitted(), classes=classes)
    display.figure_.draw_without_rendering()
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert [text.strip().replace("\\", "") for text in texts] == sorted(set(classes))
