"""What a published board consists of. Every file follows from the board: the same board is the same bytes.

No file states when it was made: the time of a page is that of the last event.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bbedge._version import __version__
from bbedge.board import Board
from bbedge.certificate.certificate import Certificate
from bbedge.certificate.of_board import board_certificate, shown_epoch
from bbedge.certificate.provenance import verify_command
from bbedge.display.compact import badge, board_badge
from bbedge.display.hero import CANVAS, hero_figure
from bbedge.display.page import FILES, render_page
from bbedge.display.page.model import ModelPages
from bbedge.display.page.table import ModelInfo
from bbedge.display.plotting import can_draw, save_figure
from bbedge.errors import BoardError, DomainError
from bbedge.ledger.archive import export_lines
from bbedge.ledger.heads import PUBLISHED_NAME as HEADS
from bbedge.ledger.heads import LedgerHead, check_heads, read_heads
from bbedge.records.values import grouped
from bbedge.site.feed import atom_feed
from bbedge.site.folder import Content, Written, write_folder
from bbedge.site.rows import row_changes, rows_csv
from bbedge.text import shown, shown_path

PICTURE = "picture.png"
"""What services show beside a link to the page."""
MODELS = "models"
"""The folder of the pages of models."""

_WORDS = re.compile(r"[a-z0-9]+")
_LONGEST = 48


def file_name(model: str) -> str:
    """What the files of a model are called, before their ending: it depends on the name of the model alone.

    Letters, digits and hyphens, so that every file system, address and shell takes it. The hash distinguishes names
    that differ by case or signs, and keeps names such as ``con``, which Windows reserves, from standing alone.

    >>> file_name("GPT-4.1 (mini)"), file_name("../x")
    ('gpt-4-1-mini-ebd1b24b7b00ab3c', 'x-d6b96a97d147daaa')
    """
    words = "-".join(_WORDS.findall(model.lower()))[:_LONGEST].strip("-")
    own = hashlib.sha256(model.encode("utf-8")).hexdigest()[:16]
    return f"{words}-{own}" if words else own


@dataclass(frozen=True, kw_only=True)
class Site:
    """A board as it is published."""

    board: Board
    """Where everything comes from."""
    title: str
    """The heading of its pages."""
    address: str | None = None
    """The address of the folder, if it is known: pages then state theirs, and there is a picture for links."""
    info: ModelInfo | None = None
    """What else is known of the models, for the table."""

    def publish(self, folder: Path, *, progress: Callable[[str], None] = lambda text: None) -> Written:
        """Write the folder, or bring it up to date; see :func:`bbedge.site.folder.write_folder`.

        A board that lacks an event whose head the folder states, or has another, is refused.
        """
        if self.board.store.is_inside(folder):
            raise DomainError(f"{shown_path(folder)}: the board is in this folder; choose another one")
        if (folder / HEADS).is_file():
            check_heads(self.board.events, read_heads(folder))  # whoever reads the folder would find another history
        return write_folder(folder, self.files(progress))

    @property
    def has_picture(self) -> bool:
        """Whether there is a picture: its address must be known, and Matplotlib there to draw it."""
        return self.address is not None and can_draw()

    def files(self, progress: Callable[[str], None]) -> Iterator[tuple[str, Content]]:
        """Every file by its path, with its content."""
        progress("computing the certificate")
        certificate, pages = self.certificate, self._pages
        yield ".nojekyll", ""  # GitHub Pages then shows the files as they are
        progress("writing the board")
        yield "board.jsonl", self._archive()
        yield "certificate.json", certificate.to_json()
        yield HEADS, (LedgerHead.from_event(event).line for event in self.board.events)
        changes = row_changes(self.board)
        yield "rows.csv", rows_csv(changes, certificate.units)
        yield "feed.xml", atom_feed(self.board, title=self.title, address=self.address)
        yield "verify.md", self._how_to_verify()
        yield "badge.svg", board_badge(certificate, label=self.title)
        if self.has_picture:
            yield PICTURE, lambda path: save_figure(hero_figure(certificate, title=self.title), path, canvas=CANVAS)
        # A model of which runs were announced alone has no row, and no page.
        history = grouped((each.model, each) for each in changes if each.model in self._last_epoch)
        for number, (model, changed) in enumerate(history.items(), start=1):
            progress(f"page {number:,} of {len(history):,}")
            view = pages[self._last_epoch[model]]
            yield f"{MODELS}/{file_name(model)}.html", view.page(model, changed)
            yield f"{MODELS}/{file_name(model)}.svg", badge(view.certificate, model)
        progress("writing the page")
        yield "index.html", self._page()

    @cached_property
    def _last_epoch(self) -> dict[str, int]:
        """The epoch that shows each model: that of the page, or the last one that it took part in."""
        shown_first = [each for each in self.board.state.epochs if each.number != shown_epoch(self.board, None)]
        every = [*shown_first, self.board.state.epochs[shown_epoch(self.board, None) - 1]]
        return {model: each.number for each in every for model in each.models}

    @cached_property
    def certificate(self) -> Certificate:
        """What is certified of the last epoch that has runs, at the time of the last event."""
        return self._sealed(shown_epoch(self.board, None))

    def _sealed(self, epoch: int) -> Certificate:
        at = self.board.events[-1].at.replace("+00:00", "Z")
        return board_certificate(self.board, epoch).sealed(at)

    @cached_property
    def _pages(self) -> dict[int, ModelPages]:
        """What the pages of models are made from, by epoch."""
        main = shown_epoch(self.board, None)
        links = {model: f"{file_name(model)}.html" for model in self._last_epoch}
        address = f"{self.address.rstrip('/')}/{MODELS}/" if self.address else None
        return {
            epoch: ModelPages(
                certificate=self.certificate if epoch == main else self._sealed(epoch),
                title=self.title,
                links=links,
                home="../index.html",
                address=address,
            )
            for epoch in set(self._last_epoch.values())
        }

    def _page(self) -> str:
        base = self.address and self.address.rstrip("/")
        return render_page(
            self.certificate,
            title=self.title,
            model_info=self.info,
            address=f"{base}/index.html" if base else None,
            picture=f"{base}/{PICTURE}" if base and self.has_picture else None,
            pages={model: f"{MODELS}/{file_name(model)}.html" for model in self._last_epoch},
        )

    def _archive(self) -> Iterator[str]:
        lines = export_lines(self.board.store)
        first = next(lines)
        if json.loads(first)["head"] != self.board.head:
            raise BoardError(f"{self.board.name} has changed since it was opened; run the command again")
        yield first
        yield from lines

    def _options(self) -> list[str]:
        """What to add to the command that publishes the board, to write the same again."""
        base = ["--base-url", self.address] if self.address else []
        return ["--title", shown(self.title, None), *base, *(["--model-info", "FILE"] if self.info else [])]

    def _how_to_verify(self) -> str:
        files = "\n".join(f"* `{name}`: {what}" for name, what in FILES.items())
        return _VERIFY.format(
            version=__version__,
            command=verify_command(self.certificate.content),
            events=len(self.board.events),
            head=self.board.head,
            files=files,
            options=shlex.join(self._options()),
        )


_VERIFY = """\
# How to verify this board

The board has {events:,} events. The hash of the last one, its head, covers the whole history, scores included:

    {head}

Two commands check it, with bbedge {version}, in this folder:

```sh
{command}
```

computes every event of the board again from its scores, then the certificate, and compares them field by field.
`bbedge verify index.html board.jsonl` does the same with the certificate inside the page.

```sh
bbedge board verify board.jsonl --heads heads.jsonl
```

checks every event and the heads. Give it a `heads.jsonl` that you kept from an earlier visit, too: it finds a history
that was rewritten or rolled back since.

To compare the other files, write them again from the board. With the same versions of bbedge and its libraries they
have the same bytes; another processor may round the last digits of evidence in another way:

    bbedge board import board.jsonl copy.bbedge
    bbedge publish copy.bbedge copy {options}

{files}
"""
