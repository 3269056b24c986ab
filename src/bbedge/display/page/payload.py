"""The data inside the page: the certificate, the order of its models and the scores of single items."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.document import plain
from bbedge.certificate.provenance import packed_text
from bbedge.core.scores import Scores
from bbedge.diagnostics.constant_items import ConstantItems, constant_items
from bbedge.display.page.drawing import address
from bbedge.display.page.table import InfoColumn, PageView
from bbedge.display.scope import equal_within
from bbedge.text import counted, harmless, shown

MOST_MODELS = 60
"""So many models are written, the first ones of the table."""
MOST_ITEMS = 2_000
"""So many items are written, those on which the models differ most."""
_DIGITS = 9  # the script subtracts before it rounds
_LONGEST = 200
MOST_TEXT = 2_000_000
"""Texts of questions and answers have so many characters in all, those first on whose items the models differ most."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemScores:
    """Mean scores per model and item, at most ``MOST_MODELS`` times ``MOST_ITEMS``."""

    models: tuple[str, ...]
    """Names of the models."""
    items: tuple[str, ...]
    """Names of the items."""
    means: NDArray[np.float64]
    """Models x items, in score units; NaN where no run has a score."""
    views: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    """For each view the items that it is about, by name; those of the headline under an empty name."""
    addresses: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Where the sample of a model on an item is, as a text or a link, as far as that is known."""
    questions: Mapping[str, str] = field(default_factory=dict)
    """The text of an item, as far as that is known."""
    answers: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """What a model answered on an item in its first sample, as far as that is known."""
    constant: ConstantItems
    """The items on which no scores differ, of all models and items."""
    all_models: int
    """How many models there are."""
    all_items: int
    """How many items there are."""

    @classmethod
    def from_scores(
        cls,
        scores: Scores,
        models: Sequence[str],
        *,
        weights: Mapping[str, Sequence[float] | None] | None = None,
        addresses: Mapping[tuple[str, str], str] | None = None,
        most_models: int = MOST_MODELS,
        most_items: int = MOST_ITEMS,
    ) -> ItemScores:
        """The means of some scores; ``models`` are all models in the order shown, of which the scores may lack some.

        ``weights`` has the weights of the items in each view, the headline under an empty name; an item without weight
        is not part of a view, and no weights are equal ones.
        """
        known = set(scores.models)
        kept_models = tuple(model for model in models if model in known)[:most_models]
        means = _means(scores, [scores.models.index(model) for model in kept_models])
        spread = np.nanmax(means, axis=0, initial=-np.inf) - np.nanmin(means, axis=0, initial=np.inf)
        spread = np.where(np.isfinite(spread), spread, -1.0)
        kept = np.sort(np.argsort(-spread, kind="stable")[:most_items])
        low, high = scores.score_range
        return cls(
            models=kept_models,
            items=tuple(scores.items[i] for i in kept),
            means=low + means[:, kept] * (high - low),
            views={
                name: np.ones(len(kept), dtype=np.bool_) if given is None else np.asarray(given, dtype=float)[kept] > 0
                for name, given in (weights or {"": None}).items()
            },
            addresses=dict(addresses or {}),
            constant=constant_items(scores),
            all_models=len(models),
            all_items=len(scores.items),
        )

    @property
    def bound(self) -> str:
        """What was left out, in a sentence; empty if nothing was."""
        left = []
        if len(self.items) < self.all_items:
            left.append(f"the {counted(len(self.items), 'item')} of {self.all_items:,} on which the models differ most")
        if len(self.models) < self.all_models:
            left.append(f"{len(self.models):,} of {counted(self.all_models, 'model')}")
        return f"This page has {' and '.join(left)}." if left else ""

    def packed(self) -> str:
        """All of it as compressed JSON, in letters that are safe on a page."""
        content = {
            "models": self.models,
            "items": [shown(item, _LONGEST) for item in self.items],
            "means": [[None if np.isnan(v) else round(v, _DIGITS) for v in row] for row in self.means.tolist()],
            "views": {name: np.flatnonzero(mask).tolist() for name, mask in self.views.items()},
            "addresses": [
                [shown(self.addresses.get((model, item), ""), _LONGEST) for item in self.items] for model in self.models
            ]
            if self.addresses
            else None,
            "texts": dict(self._texts()),
        }
        return base64.b64encode(gzip.compress(_json(content).encode("ascii"), compresslevel=6, mtime=0)).decode("ascii")

    def _texts(self) -> Iterator[tuple[int, list[str]]]:
        """The texts of items by their places: the question, then the answer of each model, empty where not known."""
        means, room = np.nan_to_num(self.means), MOST_TEXT
        for place in np.argsort(means.min(axis=0) - means.max(axis=0), kind="stable").tolist():
            item = self.items[place]
            texts = [self.questions.get(item, ""), *(self.answers.get((model, item), "") for model in self.models)]
            room -= sum(map(len, texts))
            if room < 0:
                return
            if any(texts):
                yield place, list(map(harmless, texts))


def _means(scores: Scores, rows: Sequence[int]) -> NDArray[np.float64]:
    """Means over the replicates that have a score, one replicate at a time: the scores may be larger than memory."""
    total, count = np.zeros((len(rows), len(scores.items))), np.zeros((len(rows), len(scores.items)))
    for panel in scores.panels():
        values = panel[list(rows)]
        there = ~np.isnan(values)
        total += np.where(there, values, 0.0)
        count += there
    return np.where(count > 0, total / np.maximum(count, 1.0), np.nan)


MOST_PLAIN = 80
"""A certificate of more models than this, or of as many pairs in its views, about a million characters, is packed."""


def embedded(
    certificate: Certificate,
    views: Sequence[PageView],
    *,
    info: Sequence[InfoColumn] = (),
    opened: int = 0,
    items: ItemScores | None = None,
    most_plain: int = MOST_PLAIN,
) -> str:
    """A JSON text that is safe inside a script element: the certificate, and the order in which it is shown.

    ``views`` is what the page can show in full, ``opened`` which of it the page opens with.
    """
    of_page = {view.certificate.name: place for place, view in enumerate(views)}
    places, names = [each.name for each in certificate.views], [model.name for model in certificate.content.models]
    is_small = (1 + len(certificate.views)) * len(certificate.names) ** 2 <= most_plain**2
    content = {
        "shown": certificate.shown,
        "decimals": certificate.units.decimals,
        "step": certificate.step,
        **({} if certificate.equal is None else {"equal_within": equal_within(certificate, points=False)}),
        "opened": opened,
        "panels": [
            {
                "view": places.index(view.certificate.name) if view.certificate.name in places else None,
                "on_new_items": of_page.get(other.name) if (other := view.certificate.on_new_items) else None,
                "link": address(view.certificate.name),
                "order": view.certificate.order,
                "labels": view.certificate.labels,
                "table": view.for_script(),
            }
            for view in views
        ],
        "info": [
            {
                "title": column.title,
                "kind": column.kind,
                "texts": [column.text(name) for name in names],
                "links": [column.link(name) for name in names] if column.kind == "link" else None,
                "keys": [column.key(name) for name in names],
            }
            for column in info
        ],
        "items": items and items.packed(),
        **({"document": plain(certificate.content)} if is_small else {"packed": packed_text(certificate.content)}),
    }
    return _json(content).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
