"""How the site is built; `make doc` runs it."""

import skscreen

project = "skscreen"
author = "The skscreen developers"
version = release = skscreen.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates", "auto_examples/**.ipynb", "auto_examples/**.py"]
templates_path = ["_templates"]
default_role = "literal"

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
# LaTeX of the maths pages; `\st` is "subject to" on a screen reader too.
mathjax3_config = {
    "tex": {
        "macros": {
            "inner": [r"\langle #1, #2\rangle", 2],
            "norm": [r"\lVert #1\rVert", 1],
            "sign": r"\operatorname{sign}",
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
numpydoc_validation_checks = {
    "all",
    "ES01",  # an extended summary is not always needed
    "EX01",  # nor are examples
    "GL01",  # the summary begins on the line of the quotes, as in all of the package
    "GL08",  # what scikit-learn adds to a class has no docstring here
    "PR04",  # a type that says "optional" or a class is enough
    "PR06",  # "str" and "string" are the words of NumPy
    "RT03",  # "Returns: the object itself" needs no more
    "SA01",  # See Also
    "SS06",  # a summary may need two lines
    "YD01",
}

# Checked only where the network allows it: names resolve without it, too.
intersphinx_mapping = {}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"demo\.py|__init__\.py",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("skscreen",),
    "write_computation_times": False,
    "show_memory": False,
    "remove_config_comments": True,
    "download_all_examples": False,
    "abort_on_example_error": True,
    "plot_gallery": "True",
    "default_thumb_file": None,
    "image_scrapers": ("matplotlib",),
}

html_theme = "pydata_sphinx_theme"
html_title = f"skscreen {release}"
html_theme_options = {
    "show_prev_next": False,
    "show_nav_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 6,
    "pygments_light_style": "tango",
}
html_show_sourcelink = False
project_copyright = "the skscreen developers, BSD-3-Clause"
