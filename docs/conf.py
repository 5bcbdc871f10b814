"""Sphinx settings of the documentation. `make docs` builds it, offline and without warnings."""

import os
import sys
from pathlib import Path

import matplotlib as mpl

import causaldq

sys.path.insert(0, str(Path(__file__).parent / "extensions"))
from pictures import apply_style

# Pictures and examples are small: more threads would only disturb each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

project = "Causal DQ"
author = "The Causal DQ authors"
copyright = "2026, The Causal DQ authors"
version = release = causaldq.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "matplotlib.sphinxext.plot_directive",
    "accessible",
    "mathml",
    "method_reference",
    "repository_links",
    "settings_parameters",
]
exclude_patterns = ["_build", "gallery/*.py", "gallery/*.ipynb"]
# A name in backticks is code, and a link where the API pages have it. Names that they do not
# have stay code; links to pages and explicit roles must resolve.
default_role = "py:obj"
nitpicky = True
nitpick_ignore_regex = [("py:obj", ".*")]

highlight_language = "text"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = False
numpydoc_show_class_members = False
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3

apply_style()
plot_html_show_formats = False
plot_html_show_source_link = False
plot_formats = [("png", 160)]
plot_rcparams = dict(mpl.rcParams)
plot_apply_rcparams = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"(^|/)(mqtt_watch|water_\w+)\.py$",  # waits for a broker; helpers of 7
    "within_subsection_order": "FileNameSortKey",
    "reset_modules": ("matplotlib", "pictures.apply_style"),
    "abort_on_example_error": True,
    "run_stale_examples": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "image_srcset": ["2x"],
    "plot_gallery": True,
}

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"Causal DQ {release}"
html_static_path = ["static"]
html_css_files = ["causaldq.css"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
