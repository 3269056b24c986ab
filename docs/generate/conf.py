"""The site: how Sphinx makes it from the Markdown files of the repository.

The source folder is the root of the repository, so that the same relative links work in a checkout, on the pages of a
code host and on the site. ``docs/index.md`` is the front page; its lists of links are the navigation.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

import pages
from docutils import nodes
from gallery.boards import every_board
from pygments.lexers.special import TextLexer

from bbedge import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
FRONT = "docs/index"
API = ROOT / "docs" / "reference" / "api"
"""Where autosummary writes a page for each public name, while the site is built."""
SHELVES = ("studies/README", "examples/README", "gallery/README")

project = "bbedge"
author = "The bbedge authors"
release = __version__
html_title = f"bbedge {__version__}"
copyright = "the bbedge authors"  # noqa: A001

root_doc = FRONT
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
include_patterns = [
    "docs/**",
    "studies/**",
    "examples/**",
    "gallery/**",
    "benchmarks/README.md",
    "demo/README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
]
exclude_patterns = [".*", "build", "dist", "src", "tests", "docs/generate", "studies/.chunks"]

myst_heading_anchors = 4
myst_links_external_new_tab = False
suppress_warnings = ["myst.header"]  # logs of changes repeat the levels of their headings

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_class_signature = "separated"
autodoc_preserve_defaults = True
templates_path = [str(Path(__file__).with_name("templates"))]
python_maximum_signature_line_length = 80

smartquotes = False  # they make one dash of the two of an option

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
pygments_dark_style = "monokai"

_SCRATCH = tempfile.TemporaryDirectory(prefix="bbedge-docs-")
_MOVED = f"""<!doctype html>
<meta charset="utf-8"><title>bbedge</title><meta http-equiv="refresh" content="0; url={FRONT}.html">
<a href="{FRONT}.html">Documentation of bbedge</a>
"""
_FRAME = """<div class="made"><p><a href="{page}">Open {name}</a></p>
<iframe src="{page}" title="{name}" loading="lazy"></iframe></div>
"""
_HEAD = (ROOT / "src" / "bbedge" / "display" / "page" / "head.html").read_text(encoding="ascii")
_ICON = re.findall(r'<link rel="icon".*>', _HEAD)[0]
_SECTION = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"^\* \[([^\]]+)\]\(([^)#:]+\.(?:md|ipynb))\)", re.MULTILINE)
_BOARD = re.compile(r"gallery/(\w+)/README")
_MADE = re.compile(r"--html (\S+\.html)")
_ELSEWHERE = r"""["'(]?(?:https?:)?//"""
_NETWORK = re.compile(
    rf"<(?:script|img|iframe|source)\b[^>]* src={_ELSEWHERE}"
    rf"|<link\b[^>]* rel=.?(?:stylesheet|preconnect|preload)\b[^>]* href={_ELSEWHERE}"
    rf"|<link\b[^>]* href={_ELSEWHERE}[^>]* rel=.?(?:stylesheet|preconnect|preload)\b"
    rf"|@import\s+(?:url)?{_ELSEWHERE}"
)


def navigate(app: Sphinx, name: str, source: list[str]) -> None:
    """Make the navigation from the lists of links of the front page, one part for each heading."""
    if name in SHELVES:
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\n*/README\n```\n"
    if name != FRONT:
        return
    for title, body in _SECTION.findall(source[0]):
        links = "\n".join(f"{shown} <{path}>" for shown, path in _LINK.findall(body))
        if links:
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{links}\n```\n"


def show_made_pages(app: Sphinx, document: nodes.document) -> None:
    """Show the pages that the commands of the gallery wrote below these commands, and that of a real board below it."""
    if board := _BOARD.fullmatch(app.env.docname):
        frame = _FRAME.format(page=f"../{board[1]}.html", name="the page")
        document.children[0].append(nodes.raw("", frame, format="html"))
    if app.env.docname != "docs/gallery":
        return
    for block in list(document.findall(nodes.literal_block)):
        for made in _MADE.findall(block.astext()):
            frame = _FRAME.format(page=f"../gallery/{made}", name=made)
            block.parent.insert(block.parent.index(block) + 1, nodes.raw("", frame, format="html"))


def describe(app: Sphinx, name: str, template: str, context: dict[str, str], document: nodes.document | None) -> None:
    """Give each page the icon of the pages that bbedge writes, and its first sentences as a description."""
    if document is None:
        return
    paragraphs = (" ".join(each.astext().split()) for each in document.findall(nodes.paragraph))
    said = textwrap.shorten(next((text for text in paragraphs if text), project), 300, placeholder=" ...")
    description = f'<meta name="description" content="{html.escape(said)}">'
    context["metatags"] = "\n".join((context.get("metatags", ""), description, _ICON))


def isolate_kernels(app: Sphinx) -> None:
    """Run notebooks without the settings of this machine, and without messages about the loopback interface."""
    profile = Path(_SCRATCH.name) / "ipython" / "profile_default"
    profile.mkdir(parents=True)
    (profile / "ipython_kernel_config.py").write_text("get_config().IPKernelApp.log_level = 40\n", encoding="utf-8")
    os.environ["IPYTHONDIR"] = str(profile.parent)


def make_gallery(app: Sphinx) -> None:
    """Run the commands of the gallery and write the pages of real boards; all of them become part of the site."""
    folder = Path(_SCRATCH.name) / "extra"
    (folder / "gallery").mkdir(parents=True)
    pages.rerun((ROOT / "docs" / "gallery.md").read_text(encoding="utf-8"), folder / "gallery")
    for path in (folder / "gallery").iterdir():
        if path.suffix != ".html":
            path.unlink()
    for board in every_board():
        board.write_page(folder / "gallery")
    (folder / "index.html").write_text(_MOVED, encoding="utf-8")
    app.config.html_extra_path = [str(folder)]


def check_network(app: Sphinx, error: Exception | None) -> None:
    """Refuse a site whose pages load anything from elsewhere; remove what was made for this build."""
    _SCRATCH.cleanup()
    shutil.rmtree(API, ignore_errors=True)
    if error is None:
        for path in Path(app.outdir).rglob("*.html"):
            if found := _NETWORK.search(path.read_text(encoding="utf-8")):
                raise RuntimeError(f"{path} loads something from the network: {found[0]}")


def setup(app: Sphinx) -> None:
    """Register what is done at each step."""
    app.add_lexer("csv", TextLexer)  # Pygments has none
    app.connect("builder-inited", isolate_kernels)
    app.connect("builder-inited", make_gallery)
    app.connect("source-read", navigate)
    app.connect("doctree-read", show_made_pages)
    app.connect("html-page-context", describe)
    app.connect("build-finished", check_network)
