"""Scores of all replicates, mapped to [0, 1]; where they came from, and one hash of them.

The hash is that of what is compared, not of how it was written: the same scores in another order of rows or files, or
in another format, have the same hash.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bbedge.core.checkpoints import Checkpoints
from bbedge.core.copies import Copy, described, find_copies, fingerprints
from bbedge.core.design import Design
from bbedge.core.panels import block_members, content_hash
from bbedge.core.stakes import Stakes
from bbedge.errors import CopiedReplicateError, DataError, DesignError
from bbedge.records.notes import Note
from bbedge.records.options import OptionArguments
from bbedge.records.reading import ReadingRecord
from bbedge.records.values import Copies, Gaps
from bbedge.text import counted

_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class SourceFile:
    """A file that scores were read from."""

    name: str
    """Its path as it was given, without the folders that only one machine has."""
    bytes: int
    """Its size."""
    sha256: str
    """The SHA-256 of its bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What the scores of a leaderboard are identified by."""

    scores: str
    """The hash of the scores, as :func:`scores_hash` makes it."""
    sources: tuple[SourceFile, ...] | None = None
    """The files that the scores were read from; ``None`` if that is not known."""
    reading: ReadingRecord | None = None
    """The options that they were read with; ``None`` if these are not known."""


def scores_hash(scores: Scores) -> str:
    """SHA-256 of scores in one form: what they are about, then the mapped scores as doubles, replicate by replicate.

    Models, items and the members of blocks are sorted, so that neither the order of rows nor the spelling of block
    labels makes a difference. The order of replicates does: it is the order of the looks.

    >>> from bbedge import Scores
    >>> one = Scores.of([[1.0, 0.0], [0.5, 0.0]], models=["a", "b"], items=["q1", "q2"])
    >>> two = Scores.of([[0.0, 0.5], [0.0, 1.0]], models=["b", "a"], items=["q2", "q1"])
    >>> scores_hash(one) == scores_hash(two)
    True
    """
    models = sorted(range(len(scores.models)), key=scores.models.__getitem__)
    items = sorted(range(len(scores.items)), key=scores.items.__getitem__)
    found = content_hash(_about(scores, models, items))
    for row in _rows(scores, models, items):
        found.update(row)
    return found.hexdigest()


def _rows(scores: Scores, models: list[int], items: list[int]) -> Iterator[bytes]:
    # A row at a time: a panel may be as large as memory allows.
    places = None if items == list(range(len(items))) else np.array(items, dtype=np.intp)
    for panel in scores.values:
        for model in models:
            row = panel[model] if places is None else panel[model][places]
            row = np.asarray(row, dtype="<f8") + 0.0  # -0.0 is 0.0
            row[np.isnan(row)] = np.nan  # one form of missing
            yield row.tobytes()


def _about(scores: Scores, models: list[int], items: list[int]) -> dict[str, object]:
    about: dict[str, object] = {
        "version": _VERSION,
        "models": [scores.models[i] for i in models],
        "items": [scores.items[i] for i in items],
        "blocks": block_members(scores.items, scores.blocks),
        "replicates": list(scores.replicates),
        "score_range": [float(end) for end in scores.score_range],
    }
    if scores.columns:
        about["columns"] = {name: [_plain(texts[i]) for i in items] for name, texts in scores.columns.items()}
    if scores.gaps != "refuse":
        about["gaps"] = scores.gaps
    if scores.stops is not None:
        about["stops"] = [scores.stops[i] for i in models]
    return about


def _plain(text: str) -> str:
    """A number in one form, as a weight is ``3`` in one format and ``3.0`` in another; other texts as they are."""
    try:
        number = float(text)
    except ValueError:
        return text
    return repr(number) if math.isfinite(number) else text


class DesignOptions(OptionArguments, total=False):
    """What may be chosen about a design: the options, and what depends on models and items."""

    blocks: Sequence[str] | Literal["item", "one"] | None
    grid: Stakes | Sequence[float] | None
    candidate: Sequence[str] | None
    newcomer: str | None
    weights: Sequence[float] | None
    views: Mapping[str, Sequence[float]] | None
    shares: Mapping[str, float] | None
    gaps: Gaps
    checkpoints: Checkpoints | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeenCopies:
    """Copies that were found in some values, kept because large values take a while to search."""

    values: NDArray[np.float64]
    """The values that were searched; for any others this says nothing."""
    models: tuple[str, ...]
    """The names of their rows."""
    blocks: tuple[str, ...]
    """The block of each column."""
    copies: tuple[Copy, ...]
    """What was found."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Scores:
    """Complete panels in replicate order, with the names of their rows and columns.

    Two of them are equal only if they are the same object.

    >>> scores = Scores.of(np.array([[[1.0, 0.0], [0.0, 0.0]]]), models=["a", "b"], items=["q1", "q2"])
    >>> scores.replicates, scores.design().models
    (('1',), ('a', 'b'))
    >>> scores
    Scores(2 models, 2 items in 2 blocks, 1 replicate)
    """

    models: tuple[str, ...]
    """Names of the models."""
    items: tuple[str, ...]
    """Names of the items."""
    blocks: tuple[str, ...]
    """Label of the block of each item."""
    replicates: tuple[str, ...]
    """Labels of the replicates, in the order in which they are processed."""
    values: NDArray[np.float64]
    """Scores mapped to [0, 1]: replicates x models x items. Large ones are mapped from a file and cannot be changed."""
    numbered: bool = True
    """Whether the replicates came with labels, or are simply in the order given."""
    score_range: tuple[float, float] = (0.0, 1.0)
    """The scale that the scores had before they were mapped to [0, 1]."""
    blocked: bool = False
    """Whether ``blocks`` are those that the files name, in a column or a field, and not a rule."""
    notes: tuple[Note, ...] = ()
    """What a reader noticed and a user should know."""
    runs: tuple[tuple[str, ...], ...] = ()
    """For every replicate the identities that its logs give to the runs in it; empty if nothing gives any."""
    files: tuple[str, ...] = ()
    """SHA-256 of the files that the scores were read from, if they were asked for."""
    sources: tuple[SourceFile, ...] | None = None
    """The same files with their names and sizes, for the certificate; ``None`` if they are not known."""
    reading: ReadingRecord | None = None
    """The options that they were read with, for the certificate; ``None`` if these are not known."""
    seen: SeenCopies | None = None
    """What a reader found when it looked for copies; see :attr:`copies`."""
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What else is known of each item and was asked for, by the name of its column: categories, weights."""
    gaps: Gaps = "refuse"
    """How missing scores, NaN in ``values``, count; with ``refuse`` there are none."""
    stops: tuple[int, ...] | None = None
    """For every model the number of replicates after which it was stopped, if some were; later values are NaN."""

    def __repr__(self) -> str:
        items = f"{counted(len(self.items), 'item')} in {counted(len(set(self.blocks)), 'block')}"
        return f"Scores({counted(len(self.models), 'model')}, {items}, {counted(len(self.replicates), 'replicate')})"

    @classmethod
    def of(
        cls,
        values: ArrayLike,
        *,
        models: Sequence[str],
        items: Sequence[str],
        blocks: Sequence[str] | Literal["item", "one"] = "item",
    ) -> Scores:
        """Wrap an array of scores in [0, 1], replicates x models x items (or models x items: one replicate).

        The array is copied, unless it is read-only: that may be mapped from a file that is larger than memory.
        """
        fixed = isinstance(values, np.ndarray) and not values.flags.writeable
        array = _as_floats(values, copy=None if fixed else True)
        if array.ndim == 2:
            array = array[None]
        if array.ndim != 3 or array.shape[1:] != (len(models), len(items)):
            raise DataError(
                f"scores of shape {array.shape} do not fit {len(models)} models and {len(items)} items; "
                "expected replicates x models x items"
            )
        if isinstance(blocks, str):
            if blocks not in ("item", "one"):
                raise DesignError(f"unknown block rule {blocks!r}; choose item or one, or give one label per item")
            blocks = tuple(items) if blocks == "item" else ("one",) * len(items)
        return cls(
            models=tuple(models),
            items=tuple(items),
            blocks=tuple(blocks),
            replicates=tuple(str(r + 1) for r in range(len(array))),
            values=array,
            numbered=False,
        )

    def design(self, models: Sequence[str] | None = None, **options: Unpack[DesignOptions]) -> Design:
        """A design for these models, or others, on these items and blocks; options as in :meth:`Design.make`.

        **Needs:** options chosen before the scores were seen.
        """
        if options.get("blocks") is None:
            options["blocks"] = self.blocks
        options.setdefault("gaps", self.gaps)
        options["score_range"] = self.score_range
        return Design.make(models or self.models, self.items, **options)

    def of_model(self, model: str) -> Scores:
        """The scores of one model alone."""
        place = self.models.index(model)
        stops = None if self.stops is None else (self.stops[place],)
        return replace(self, models=(model,), values=self.values[:, [place]], stops=stops, seen=None)

    @property
    def copies(self) -> tuple[Copy, ...]:
        """Replicates that repeat earlier ones score by score."""
        seen = self.seen
        if seen is not None and seen.values is self.values and (seen.models, seen.blocks) == (self.models, self.blocks):
            return seen.copies
        prints = [fingerprints(self.models, panel) for panel in self.values]
        return find_copies(
            prints, lambda place, model: self.values[place, self.models.index(model)], blocks=self.blocks
        )

    @property
    def origin(self) -> Origin:
        """What identifies these scores: one hash of all of them, and the files that they came from."""
        return Origin(scores=scores_hash(self), sources=self.sources, reading=self.reading)

    def check_copies(self, rule: Copies) -> None:
        """Raise :class:`~bbedge.errors.CopiedReplicateError` if there are copies that the rule does not allow."""
        if rule == "refuse" and self.copies:
            raise CopiedReplicateError(described(self.copies, self.replicates))

    def panels(self) -> Iterator[NDArray[np.float64]]:
        """The panels, replicate by replicate."""
        yield from self.values


def _as_floats(values: ArrayLike, *, copy: bool | None) -> NDArray[np.float64]:
    """The numbers as float64; ``copy`` as in :func:`numpy.array`, where None copies only what must be converted."""
    try:
        return np.array(values, dtype=np.float64, copy=copy)
    except (TypeError, ValueError) as error:
        raise DataError(f"the scores are not a table of numbers with rows of one length ({error})") from error


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgedScores:
    """Scores, with the judgements that they are the means of."""

    scores: Scores
    """The mean of the judgements of every answer."""
    judgements: NDArray[np.float64]
    """Every judgement, mapped to [0, 1]: replicates x judgements x models x items."""
