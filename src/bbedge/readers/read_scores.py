"""Score tables and logs in, complete panels out; answers that were judged several times; the files behind scores.

polars takes a while to import; the modules that use it are imported when the first table is read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, Unpack

from msgspec import structs

from bbedge.errors import Argument, Blank, DomainError, FormatError
from bbedge.readers.choices import IncompletePolicy
from bbedge.readers.limits import limited
from bbedge.records.reading import Reading, ReadingOptions
from bbedge.text import quoted, shown

if TYPE_CHECKING:
    from bbedge.core.scores import JudgedScores, Scores, SourceFile
    from bbedge.readers.sources import Source


class DataFrameLike(Protocol):
    """A polars, pandas or Arrow table."""

    @property
    def columns(self) -> Any:  # noqa: ANN401 - each library has its own type for it
        """The columns or their names."""


class Wanted(TypedDict, total=False):
    """What is wanted of scores besides the scores; :func:`read_scores` describes it."""

    least_models: int
    identify: bool
    provenance: bool


def read_scores(
    *sources: str | os.PathLike[str] | DataFrameLike,
    least_models: int = 2,
    identify: bool = False,
    provenance: bool = True,
    progress: Callable[[str], None] | None = None,
    **options: Unpack[ReadingOptions],
) -> Scores:
    """Read scores: tables with a row per score, wide tables, logs of evaluation tools, or folders of these.

    Sources are paths (.csv and .tsv, .jsonl, all of these also with .gz, .parquet, logs), folders, patterns with ``*``,
    or data frames; their rows are put together. ``-`` reads a table from standard input. Fewer than ``least_models``
    models are refused. ``identify`` adds the hashes of the files, by which a board remembers where its scores came
    from; ``provenance`` adds names, sizes and hashes, and how files were read, which a certificate states. Without
    both, files are not read again to be hashed. The options are those of the command line, under the same names; where
    one may be repeated, pass a text or several.

    ``blocks`` is ``None`` (the block column if there is one, otherwise every item for itself), ``"item"``, ``"one"``,
    or the name of a column or of a field of the log such as ``metadata.dialogue_id``. ``column`` names the column of a
    role where the usual names do not fit: ``{"item": "question_id"}``. Scores are mapped from ``score_range`` to
    [0, 1], and mirrored in it if ``less_is_better``; names of scores such as ``error`` need it, or ``False``.
    ``max_size`` raises the limits of what small files may turn into.

    ``format``, ``metric``, ``filter``, ``model_name``, ``model_from`` and ``replicate_from`` say what logs and paths
    cannot say by themselves, ``skip`` and ``drop_column`` what is left out on purpose, ``merge_names`` that models
    whose names are alike are one, and ``metric_range`` which range a metric has: ``{"wer": (1, 0)}``.

    ``item_column`` names columns, or fields of logs, that describe the items, such as categories and weights; they
    become :attr:`Scores.columns`. ``items`` is a list of items as for :func:`read_items`: it has the item columns that
    the scores lack, and the blocks if the scores name none. The item column ``metric`` stands for the metrics of logs,
    or of a table with such a column: each metric of an item becomes an item, in the block of that item.

    ``incomplete`` says what to do about missing scores: ``"worst-case"`` counts each against whichever model it could
    help, ``"stopped"`` stops a model after its last replicate, ``"zero"`` declares that a missing score is a failure,
    ``"drop-models"``, ``"drop-items"`` and ``"drop-replicates"`` drop; :class:`IncompletePolicy` explains how they are
    combined.

    **Needs:** every model x item x replicate at most once. A missing score is an error unless ``incomplete`` says what
    it counts as, or what to drop, which must be decided without looking at the scores.
    """
    return scores_in(
        sources,
        Reading.of(options),
        least_models=least_models,
        identify=identify,
        provenance=provenance,
        progress=progress,
    )


def scores_in(
    sources: Sequence[str | os.PathLike[str] | DataFrameLike],
    reading: Reading,
    *,
    least_models: int = 2,
    identify: bool = False,
    provenance: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Scores:
    """The scores in files or frames, read with the options of a record."""
    from bbedge.readers.assemble.joining import join_rows
    from bbedge.readers.assemble.pivot import build_panels, named_scores
    from bbedge.readers.assemble.shaping import original_items

    policy, report = IncompletePolicy.of(reading.incomplete), progress or (lambda _: None)
    if not sources:
        raise DomainError("no table to read; pass one or more files or data frames")
    with limited(reading.max_size):
        rows = join_rows(sources, reading, progress=progress)
        report("arranging the scores")
        panels = build_panels(rows, policy=policy, least_models=least_models)
        names = panels.items
        rows.described.check_listed(rows.coder, names)
        listed_blocks = rows.described.blocks(rows.coder, names) if reading.blocks is None else None
        of_items = listed_blocks or original_items(rows.coder, names)
        if rows.blocked:
            of_items = tuple(map(rows.coder.known("block").__getitem__, names))
        if reading.blocks == "one":
            of_items = ("one",) * len(names)
        scores = named_scores(rows, panels, of_items, blocked=rows.blocked or listed_blocks is not None)
        if not (identify or provenance):
            return scores
        report("hashing the files")
        only_files = all(isinstance(each, str | os.PathLike) for each in sources)
        found = source_files(rows.sources.files)
        listing = [] if rows.described.path is None else [source_file(rows.described.path)]
        # Which means are compared is not known here: whoever compares them states it.
        stated = structs.replace(reading.stated, macro=None, weights=None, views=None)
        return replace(
            scores,
            files=tuple(sorted({each.sha256 for each in found})) if identify else (),
            # With data frames among the sources, the files are not all.
            sources=tuple(sorted([*found, *listing])) if provenance and only_files else None,
            reading=stated if provenance and stated.changed() else None,
        )


def read_judgements(
    *sources: str | os.PathLike[str] | DataFrameLike,
    judgement: str,
    least_models: int = 2,
    progress: Callable[[str], None] | None = None,
    **options: Unpack[ReadingOptions],
) -> JudgedScores:
    """Read tables with a row for every judgement; ``judgement`` is the column that numbers those of one answer.

    The other arguments are those of :func:`read_scores`, which refuses such a table, because a model x item x replicate
    comes more than once in it.

    **Needs:** a replicate column, and every answer judged equally often.
    """
    return judgements_in(sources, Reading.of(options), judgement, least_models=least_models, progress=progress)


def judgements_in(
    sources: Sequence[str | os.PathLike[str] | DataFrameLike],
    reading: Reading,
    judgement: str,
    *,
    least_models: int = 2,
    progress: Callable[[str], None] | None = None,
) -> JudgedScores:
    """The judged scores in files or frames, read with the options of a record."""
    if reading.replicate_from is not None:
        raise DomainError(
            Argument("judgement", shown(judgement)), " needs a replicate column; leave out ", Argument("replicate_from")
        )
    from bbedge.readers.assemble.pivot import arranged_judgements
    from bbedge.readers.tables.roles import ColumnError

    replicate = reading.columns.get("replicate", "replicate")
    both = reading.with_argument(Argument("column", {"replicate": f"{replicate}+{judgement}"}))
    try:
        read = scores_in(sources, both, least_models=least_models, progress=progress)
    except ColumnError as error:
        if error.role != "replicate":
            raise
        raise FormatError(
            f"there are no columns {quoted(replicate)} and {quoted(judgement)} for the replicate and its judgements; "
            "correct ",
            Argument("judgement", shown(judgement)),
            ", or name the replicate column with ",
            Argument("column", {"replicate": Blank("NAME")}),
        ) from None
    return arranged_judgements(read, column=replicate)


def source_files(sources: Sequence[Source]) -> list[SourceFile]:
    """The files of sources.

    A certificate is made to be published, so that its names must not reveal the folders of a machine: a relative path
    is kept as it was given, of absolute ones what they have in common is left out.
    """
    names = iter(harmless_names([source.path for source in sources if source.called is None]))
    return [source_file(source.path, source.called or next(names)) for source in sources]


def source_file(path: str, name: str | None = None) -> SourceFile:
    """A single file; ``name`` is what to call it where it must be distinguished from others."""
    from bbedge.core.scores import SourceFile
    from bbedge.readers.sources import fingerprint

    return SourceFile(name=name or harmless_names([path])[0], sha256=fingerprint(path), bytes=Path(path).stat().st_size)


def harmless_names(paths: Sequence[str]) -> list[str]:
    """The names of files for others to read.

    >>> harmless_names(["runs/a.csv", "../b.csv"]), harmless_names(["/home/me/x/a.csv", "/home/me/y/a.csv"])
    (['runs/a.csv', 'b.csv'], ['x/a.csv', 'y/a.csv'])
    >>> harmless_names(["/home/me/a.csv"])
    ['a.csv']
    """
    absolute = [PurePath(os.path.normpath(path)) for path in paths if PurePath(path).is_absolute()]
    parents = {str(path.parent) for path in absolute}
    # Paths on different drives of Windows have nothing in common.
    together = len({path.anchor for path in absolute}) == 1
    common = PurePath(os.path.commonpath(parents)) if together else None
    return [shown(_name(PurePath(os.path.normpath(path)), common), None) for path in paths]


def _name(path: PurePath, common: PurePath | None) -> str:
    if path.is_absolute():
        return path.relative_to(common).as_posix() if common is not None else path.name
    return PurePath(*(part for part in path.parts if part != os.pardir)).as_posix()
