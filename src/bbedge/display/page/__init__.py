"""The leaderboard as a page: one file that needs no network, made from a certificate alone."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from bbedge.certificate.certificate import Certificate
from bbedge.display.page.payload import ItemScores, embedded
from bbedge.display.page.table import ModelInfo
from bbedge.display.page.view import Content
from bbedge.text import shown

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

TITLE = "Certified leaderboard"
"""The heading of a page that is given none."""
STYLES = ("page.css", "table.css", "screens.css")
"""The style sheet of the page, in this order."""
SCRIPTS = (
    "base.js",
    "comparisons.js",
    "table.js",
    "matrix.js",
    "looks.js",
    "where.js",
    "panel.js",
    "csv.js",
    "page.js",
)
"""The script of the page, in this order."""


def render_page(
    certificate: Certificate,
    *,
    title: str = TITLE,
    model_info: ModelInfo | None = None,
    items: ItemScores | None = None,
) -> str:
    """The page as ASCII text: safe from any mail program's idea of an encoding.

    ``model_info`` adds columns that the user knows, ``items`` the scores of single items.

    Names may contain markup. The template escapes every text, the data are JSON that cannot end its element, scripts
    set text and never markup, and a content security policy allows only the page's own style and script.
    """
    from markupsafe import Markup

    folder = files("bbedge.display.page")
    style, script = (
        "".join(folder.joinpath(name).read_text(encoding="ascii") for name in names) for names in (STYLES, SCRIPTS)
    )
    content = Content.of(certificate, title=title, info=model_info, items=items)
    text = _template().render(
        page=content,
        policy=_policy(style, script),
        # Both are files of this package, and the data are escaped for their place: nothing here comes from outside.
        style=Markup(style),
        script=Markup(script),
        data=Markup(
            embedded(
                certificate.headline or certificate,
                content.shown,
                tables=[view.table for view in content.views],
                opened=content.opened,
                items=content.items,
            )
        ),
    )
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii")


@cache
def _template() -> Template:
    """The page, compiled once: that takes longer than filling it in."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("bbedge.display.page", package_path=""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": "{:,}".format, "harmless": _harmless, "moment": _moment, "unbroken": _unbroken}
    return environment.get_template("page.html")


def _policy(style: str, script: str) -> str:
    """Nothing is fetched, nothing is sent, and only this very style and script are used."""
    sums = {
        name: base64.b64encode(hashlib.sha256(text.encode("ascii")).digest()).decode("ascii")
        for name, text in (("style", style), ("script", script))
    }
    return (
        f"default-src 'none'; style-src 'sha256-{sums['style']}'; script-src 'sha256-{sums['script']}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _harmless(text: str) -> str:
    return shown(text, None)


def _unbroken(text: str) -> Markup:
    """A sentence whose words do not break at hyphens, unless they are wider than the page.

    >>> _unbroken("new-1 & old lead")
    Markup('<span class="unbroken">new-1</span> &amp; old lead')
    """
    from markupsafe import Markup

    span = Markup('<span class="unbroken">{}</span>')
    return Markup(" ").join(span.format(word) if "-" in word else word for word in text.split(" "))


def _moment(time: str) -> str:
    """A time as certificates write it, for people.

    >>> _moment("2026-11-16T05:47:45Z")
    '2026-11-16 05:47 UTC'
    """
    return f"{time[:10]} {time[11:16]} UTC"
