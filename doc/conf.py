"""How the site is built; `make doc` runs it."""

import inspect
import re
import zlib
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont, ImageOps
from sklearn.utils.discovery import all_estimators, all_functions

import skscreen
import skscreen.metrics

HERE = Path(__file__).parent

project = "skscreen"
author = copyright = "The skscreen developers"
version = release = skscreen.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    # MathJax comes with the site, which then reads the same without a network.
    "sphinx-mathjax-offline",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates", "auto_examples/**.ipynb", "auto_examples/**.py"]
templates_path = ["_templates"]
# A name in single backticks is a link where it is one of ours.
default_role = "py:obj"
# Roles that are written out must find their target; backticks are for parameters as well.
nitpicky = True
nitpick_ignore_regex = [("py:obj", ".*")]

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
mathjax3_config = mathjax4_config = {
    "tex": {
        "macros": {
            "inner": [r"\langle #1, #2\rangle", 2],
            "norm": [r"\lVert #1\rVert", 1],
            "clip": r"\operatorname{clip}",
        }
    }
}

# Signatures name what docstrings say already.
autodoc_typehints = "none"
autosummary_generate = True
autosummary_ignore_module_all = False
numpydoc_show_class_members = False
numpydoc_attributes_as_param_list = True
# What can be checked without an opinion on style.
numpydoc_validation_checks = {
    *("GL02", "GL03", "GL05", "GL06", "GL07", "GL09", "GL10"),  # sections: known, in order, closed
    *("SS01", "SS02", "SS03", "SS04", "SS05"),  # a summary, one sentence in the imperative
    *("PR01", "PR02", "PR05", "PR10"),  # every parameter, and no other
    *("RT01", "RT04", "RT05", "YD01", "SA04"),  # what is returned
}
numpydoc_validation_exclude = {
    # Made by functions, not by users: their fields are attributes.
    r"\.RTLMPath",
    r"\.SVCPath",
    r"\.SVRPath",
    r"\.CertifiedC",
    r"\.DimensionTest",
    r"\.DistributedSVCPath",
    r"\.SampleScreening",
    r"\.TripletScreening",
    r"\.ReducedProblem",
    r"\.NuPath",
    r"\.NuScreening",
    r"\.Answers$",
    r"\.ConceptBootstrap\.(count|index)$",
    # What kinds of chains define for each other, and displays for their base.
    r"\.stacked_scores",
    r"Display\.(draw|read_estimator|read_result)$",
}
# What a page of a whole module meets on its way: functions that the module imports.
numpydoc_validation_exclude |= {
    rf"\.metrics\.{name}$"
    for name, item in vars(skscreen.metrics).items()
    if name not in skscreen.metrics.__all__
}

# From those who want a result to those who want to know how it is found.
SECTIONS = ["svm", "comparisons", "metric_learning", "sequences", "experts"]
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "subsection_order": [*(f"../examples/{section}" for section in SECTIONS), "*"],
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"demo\.py|__init__\.py",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("skscreen",),
    "write_computation_times": False,
    "show_memory": False,
    "download_all_examples": False,
    "abort_on_example_error": True,
}

html_theme = "pydata_sphinx_theme"
html_title = f"skscreen {release}"
html_theme_options = {
    "show_prev_next": False,
    "show_nav_level": 2,
    "navigation_with_keys": False,
    "navbar_persistent": ["search-button"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 6,
    "pygments_light_style": "tango",
}
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_css_files = ["skscreen.css"]
html_show_sourcelink = False

# Docstrings are read as plain text, too: |x| is a norm there, and x_ a fitted attribute.
_PAPER = re.compile(r"arXiv:(\d{4}\.\d{4,5})")
_LITERAL = re.compile(r"(``.*?``|`[^`]*`|\*\*.*?\*\*)")


def escape(app, what, name, obj, options, lines):
    """Keep bars and trailing underscores of docstrings from being markup; link papers."""
    formula = None  # the indentation of the directive while a formula lasts
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if formula is not None and (not line.strip() or indent > formula):
            continue
        formula = indent if line.lstrip().startswith(".. math::") else None
        if line.lstrip().startswith((">>>", "...", "..")):
            continue
        # What scikit-learn's docstrings refer to is on its own pages.
        parts = _LITERAL.split(re.sub(r":ref:`([^`<]*\w)[^`]*`", r"\1", line))
        parts[::2] = [re.sub(r"\||(?<=\w)_(?!\w)", r"\\\g<0>", part) for part in parts[::2]]
        parts[::2] = [
            _PAPER.sub(r"`\g<0> <https://arxiv.org/abs/\1>`__", part) for part in parts[::2]
        ]
        lines[number] = "".join(parts)


def write_inventory(file):
    """Write where scikit-learn documents what, so that no network is needed to know it."""
    lines = []
    for kind, found in (("class", all_estimators()), ("function", all_functions())):
        for name, item in found:
            full = f"{re.sub(r'[.]_.*', '', item.__module__)}.{name}"
            lines.append(f"{full} py:{kind} 1 modules/generated/{full}.html#$ {full}\n")
    head = "# Sphinx inventory version 2\n# Project: scikit-learn\n# Version: \n"
    head += "# The remainder of this file is compressed using zlib.\n"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(head.encode() + zlib.compress("".join(lines).encode()))
    return str(file)


intersphinx_mapping = {
    "sklearn": ("https://scikit-learn.org/stable/", write_inventory(HERE / "generated/sklearn.inv"))
}


# Parameters by who needs them; what is in neither set is for daily use.
_EXPERTS = {
    "active_set", "break_ties", "cache_size", "decision_function_shape", "diagonal_val",
    "intercept", "intercept_scaling", "max_iter", "n_init", "n_jobs", "neighbors", "ranges",
    "refit", "relative_lam", "screening", "solver", "store", "tol", "verbose", "warm_start",
    "width", "gamma_candidates", "indefinite", "shrinking", "probability", "random_state",
    "unlabelled", "pull", "reg",
}  # fmt: skip
_PAPERS = {
    "alpha", "batch_size", "bound", "eta0", "formulation", "margin", "mu", "rule", "sbb_epsilon",
    "screen_every", "smoothing", "update_frequency",
}  # fmt: skip


def group_parameters(app, what, name, obj, options, lines):
    """Say at the top of an estimator which parameters are for daily use, and which are not."""
    if what != "class" or not hasattr(obj, "get_params") or "Parameters" not in lines:
        return
    known = list(inspect.signature(obj).parameters)
    groups = {
        "Daily": [key for key in known if key not in _EXPERTS | _PAPERS],
        "For experts": [key for key in known if key in _EXPERTS],
        "To study the papers": [key for key in known if key in _PAPERS],
    }
    at = lines.index("Parameters")
    lines[at:at] = [
        line
        for title, found in groups.items() if found
        for line in (f"**{title}:** {', '.join(f'``{key}``' for key in found)}.", "")
    ]  # fmt: skip


def first_panel(figure):
    """Return what is left of the first white gap, where a figure is much wider than high."""
    width, height = figure.size
    if width < 1.9 * height:
        return figure
    blank = (np.asarray(figure.convert("L")) > 250).all(axis=0)
    gap = width // 150
    ends = (x for x in range(width // 4, width - gap) if blank[x : x + gap].all())
    return figure.crop((0, 0, next(ends, width), height))


def make_thumbnails(app):
    """Show the first panel of a figure below the words of the example's name, in large letters."""
    bold = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans-Bold.ttf"
    for thumbnail in HERE.glob("auto_examples/*/images/thumb/sphx_glr_plot_*_thumb.png"):
        first = thumbnail.parent.parent / thumbnail.name.replace("_thumb", "_001")
        if not first.exists():
            continue  # The gallery is not drawn, `make doc-quick`.
        # Without the title of the figure.
        figure = Image.open(first).convert("RGB")
        panel = first_panel(figure.crop((0, 30, *figure.size)))
        picture = Image.new("RGB", (400, 280), "white")
        picture.paste(
            ImageOps.pad(panel, (400, 226), Image.Resampling.LANCZOS, color="white"), (0, 54)
        )
        words = thumbnail.name.removeprefix("sphx_glr_plot_").removesuffix("_thumb.png")
        words, size = words.replace("_", " "), 40
        draw = ImageDraw.Draw(picture)
        while draw.textlength(words, ImageFont.truetype(bold, size)) > 388:
            size -= 2
        draw.text((6, 27), words, "#0072B2", ImageFont.truetype(bold, size), anchor="lm")
        picture.save(thumbnail)


def skip_fields(app, what, name, obj, skip, options):
    """Leave out the fields of dataclasses, which the docstrings describe; keep properties."""
    return True if what == "attribute" else None


def setup(app):
    # After the gallery is made.
    app.connect("builder-inited", make_thumbnails, priority=900)
    app.connect("autodoc-skip-member", skip_fields)
    # Before numpydoc, which reads the sections.
    app.connect("autodoc-process-docstring", group_parameters, priority=100)
    # After numpydoc, which writes reStructuredText.
    app.connect("autodoc-process-docstring", escape, priority=900)
