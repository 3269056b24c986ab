"""The leaderboard as a page: one file that needs no network, made from a certificate alone."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from bbedge._version import __version__
from bbedge.certificate.certificate import Certificate
from bbedge.certificate.derive import provenance
from bbedge.certificate.numbers import rank
from bbedge.certificate.provenance import verify_command
from bbedge.display import scope
from bbedge.display.answer import alarm, answer
from bbedge.display.forest import COLOURS, certificate_forest
from bbedge.display.geometry import rank_bar, round_marks
from bbedge.display.page import charts, drawing, facts, timeline
from bbedge.display.page.payload import ItemScores, embedded
from bbedge.display.page.table import ModelInfo, PageView, trust_columns
from bbedge.display.ranking import evidence_share, interval_words, observed_difference
from bbedge.text import counted, shown

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

TITLE = "Certified leaderboard"
"""The heading of a page that is given none."""
STYLES = ("page.css", "table.css", "forest.css", "compare.css", "screens.css")
"""The style sheet of the page, in this order."""
SCRIPTS = (
    "base.js",
    "comparisons.js",
    "table.js",
    "matrix.js",
    "looks.js",
    "compare.js",
    "panel.js",
    "csv.js",
    "page.js",
)
"""The script of the page, in this order."""
FILES = {
    "board.jsonl": "everything that is needed to compute the board again",
    "certificate.json": "the certificate",
    "heads.jsonl": "the head of the ledger after every event",
    "rows.csv": "every row that was ever shown: added, re-scored, retired, withdrawn, when and why",
    "feed.xml": "an Atom feed of what was certified",
    "badge.svg": "a badge of the board",
    "manifest.json": "the SHA-256 of every file",
    "verify.md": "how to check all of it",
}
"""The files beside the page of a published board, and what they are."""
MOST_VIEW_ROWS = 5_000
"""All views together have at most so many rows, or the page shows one view in full."""


def render_page(
    certificate: Certificate,
    *,
    title: str = TITLE,
    model_info: ModelInfo | None = None,
    items: ItemScores | None = None,
    address: str | None = None,
    picture: str | None = None,
    pages: Mapping[str, str] | None = None,
) -> str:
    """The page as ASCII text: safe from any mail program's idea of an encoding.

    ``model_info`` adds columns that the user knows, ``items`` the scores of single items. ``address`` is where the page
    will be, ``picture`` where its picture will be: whoever links to the page shows them. ``pages`` has the page of
    each model, where the page is part of a published board, which has all of :data:`FILES`.

    Names may contain markup. The template escapes every text, the data are JSON that cannot end its element, scripts
    set text and never markup, and a content security policy allows only the page's own style and script.
    """
    whole = certificate.headline or certificate
    info = (*trust_columns(whole), *(model_info or ModelInfo()).columns)
    in_full = (whole, *whole.views) if len(whole.views) * len(whole.names) <= MOST_VIEW_ROWS else (certificate,)
    views = [PageView.from_certificate(each, pages) for each in in_full]
    opened = [each.name for each in in_full].index(certificate.name)
    shown_items = items if certificate.pairs is not None else None
    content = {
        "views": views,
        "opened": opened,
        "switch": drawing.view_names(whole) if len(views) > 1 else (),
        "heat": drawing.draw_heat(whole, linked=len(views) > 1),
        "info": info,
        "items": shown_items,
        "files": FILES if pages is not None else {},
    }
    data = embedded(whole, views, info=info, opened=opened, items=shown_items)
    return written("page.html", content, title=title, scripts=SCRIPTS, data=data, address=address, picture=picture)


def written(
    template: str,
    content: Mapping[str, object],
    *,
    title: str,
    styles: Sequence[str] = STYLES,
    scripts: Sequence[str] = (),
    data: str = "",
    address: str | None = None,
    picture: str | None = None,
) -> str:
    """A template as a page: its heading, its style and script, what it may load, and what only this page has.

    ``data`` are JSON that was escaped for its place.
    """
    from markupsafe import Markup

    folder = files("bbedge.display.page")
    style, script = (
        "".join(folder.joinpath(name).read_text(encoding="ascii") for name in names) for names in (styles, scripts)
    )
    text = (
        templates()
        .get_template(template)
        .render(
            content,
            title=shown(title, 120),
            address=address,
            picture=picture,
            policy=_policy(style, script),
            # Both are files of this package, and the data are escaped for their place: nothing comes from outside.
            style=Markup(style),
            script=Markup(script),
            data=Markup(data),
        )
    )
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii")


@cache
def templates() -> Environment:
    """The templates of pages, compiled once: that takes longer than filling them in."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("bbedge.display.page", package_path=""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": "{:,}".format, "shown": shown, "moment": _moment}
    environment.filters |= {"unbroken": _unbroken, "breakable": _breakable}
    # Templates read the certificate and say it in the words of every display.
    used = (
        *(alarm, answer, certificate_forest, evidence_share, interval_words, observed_difference, provenance, rank),
        *(counted, rank_bar, round_marks, verify_command, charts, drawing, facts, scope, timeline),
    )
    environment.globals |= {each.__name__.rpartition(".")[2]: each for each in used}
    environment.globals |= {"version": __version__, "colours": {**COLOURS, "none": COLOURS["open"]}}
    return environment


def _policy(style: str, script: str) -> str:
    """Nothing is fetched, nothing is sent, and only this very style and script are used."""
    used = "".join(
        f"{name}-src 'sha256-{base64.b64encode(hashlib.sha256(text.encode('ascii')).digest()).decode('ascii')}'; "
        for name, text in (("style", style), ("script", script))
        if text
    )
    return f"default-src 'none'; {used}img-src data:; base-uri 'none'; form-action 'none'"


def _unbroken(text: str) -> Markup:
    """A sentence whose words do not break at hyphens, unless they are wider than the page.

    >>> _unbroken("new-1 & old lead")
    Markup('<span class="unbroken">new-1</span> &amp; old lead')
    """
    from markupsafe import Markup

    span = Markup('<span class="unbroken">{}</span>')
    return Markup(" ").join(span.format(word) if "-" in word else word for word in text.split(" "))


def _breakable(text: str) -> Markup:
    """A name that may go on in the next line before the signs that join its parts, and not only at hyphens.

    >>> _breakable("a&b@c/d")
    Markup('a&amp;b<wbr>@c<wbr>/d')
    """
    from markupsafe import Markup

    return Markup("<wbr>").join(re.split("(?=[@/_:])", text))


def _moment(time: str) -> str:
    """A time as certificates write it, for people.

    >>> _moment("2026-11-16T05:47:45Z")
    '2026-11-16 05:47 UTC'
    """
    return f"{time[:10]} {time[11:16]} UTC"
