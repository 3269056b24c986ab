"""Whether a certificate is what it says: readable, consistent, and what follows from the scores or the board.

The one module that knows certificates, scores and boards together: it computes again what a certificate states, and
compares. Reading files is left to the caller.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bbedge._version import __version__
from bbedge.board import Board
from bbedge.board_certificate import board_certificate
from bbedge.certificate.certificate import Certificate
from bbedge.certificate.document import certificate as document_of
from bbedge.certificate.document import plain, to_json
from bbedge.certificate.parts import Parts
from bbedge.certificate.provenance import is_changed
from bbedge.core.scores import Origin, Scores, SourceFile
from bbedge.core.views import SuiteOptions
from bbedge.errors import Argument, BbedgeError, BoardError, DomainError, FormatError, NoBoardError
from bbedge.records.certificate import Document
from bbedge.records.notes import NoteKind
from bbedge.text import counted, listed, quoted, shown
from bbedge.verify.consistency import check_consistency
from bbedge.verify.differences import (
    OF_SCORES,
    OF_TABLE_OF_BOARD,
    Comparison,
    Difference,
    FileChanges,
    compare,
    compare_notes,
    unknown_keys,
)
from bbedge.verify.outcome import Check, Verification
from bbedge.verify.reading import Stated
from bbedge.verify.recompute import check_given, check_items, design_of, needs_suite, rebuilt, stated_suite
from bbedge.verify.recompute_board import board_of, rebuilt_board

Write = Callable[[Argument], str]


def verify_certificate(
    certificate: str | os.PathLike[str] | Mapping[str, Any] | Certificate | Stated,
    scores: Scores | Board | None = None,
    *,
    suite: SuiteOptions | None = None,
    write: Write = str,
) -> Verification:
    """Check a certificate, and compute it again from its scores or its board.

    ``certificate`` is a file that ``bbedge certify --json`` wrote, its content, or a :class:`Certificate`. Without
    ``scores`` it is checked for contradictions and against its digest, which shows that it is consistent, not that it
    is true. With scores, the design that it states is made again, everything is computed, and every field is compared.
    What another version of bbedge wrote is not verified: only that version can compute it again. Where the first run
    was looked at before it was complete, the scores have a column for every item, and NaN where nothing was run; they
    then verify the certificate of a board, too. A design with weights or views needs them as ``suite``, the result of
    :func:`suite_options`, unless it is that of a board or names the columns that they come from. ``write`` writes
    arguments in sentences.

    **Guarantee:** a verified certificate says what these scores say under its design: names, ranks, edges and counts
    exactly, evidence and margins up to one millionth.
    """
    stated = certificate if isinstance(certificate, Stated) else Stated.of(certificate)
    _check_kind(stated, scores)
    checks = list(own_checks(stated))
    if stated.document.bbedge != __version__:
        return Verification(checks=tuple(checks), version=stated.document.bbedge)
    if isinstance(scores, Board):
        checks += _board_checks(stated, scores)
    elif scores is not None and stated.document.board:
        checks += _board_score_checks(stated, scores, write)
    elif scores is not None:
        checks += _score_checks(stated, scores, suite or {}, write)
    return Verification(checks=tuple(checks), version=stated.document.bbedge)


def own_checks(stated: Stated) -> Iterator[Check]:
    """What a certificate can be checked for by itself."""
    yield _schema(stated)
    changed = is_changed(stated.content, stated.document)
    if changed is None:
        text = "it carries no digest, so that changes which contradict nothing else cannot be seen"
        yield Check(kind="digest", status="unknown", text=text)
    elif not changed:
        yield Check(kind="digest", status="ok", text="it matches its digest")
    else:
        text = "it does not match its digest"
        yield Check(kind="digest", status="differs", text=text)
    version = stated.document.bbedge
    if version != __version__:
        text = f"bbedge {shown(version)} wrote it, and this is bbedge {__version__}, which cannot compute it again"
        yield Check(kind="version", status="unknown", text=text)
        return
    yield Check(kind="version", status="ok", text=f"this version, {__version__}, wrote it")
    try:
        check_consistency(Parts.of(stated.document, source=stated.source))
    except FormatError as error:
        text = _without_end(str(error).removeprefix(f"{stated.source}: "))
        yield Check(kind="consistency", status="differs", text=text)
    else:
        yield Check(kind="consistency", status="ok", text="it does not contradict itself")
    if stated.in_page:
        text = "the certificate inside the page was checked, not what the page shows beside it"
        yield Check(kind="page", status="unknown", text=text)


def _schema(stated: Stated) -> Check:
    """Whether it says nothing that would not be read, and so could not be checked."""
    unknown = list(unknown_keys(stated.content, plain(stated.document)))
    if not unknown:
        return Check(kind="schema", status="ok", text="it is readable")
    return Check(kind="schema", status="differs", text=f"it has unknown keys: {listed(unknown)}")


def file_check(stated: Stated, found: Sequence[SourceFile] | None) -> Check:
    """Whether the files are those that the certificate names."""
    provenance = stated.document.provenance
    if not provenance or not provenance.sources:
        return Check(kind="files", status="unknown", text="the certificate does not name the files of its scores")
    if found is None:
        return Check(kind="files", status="unknown", text="these scores do not say which files they came from")
    changes = FileChanges.of(provenance.sources, found)
    if changes.none:
        return Check(kind="files", status="ok", text=changes.text)
    return Check(
        kind="files",
        status="differs",
        text=changes.text,
        differences=tuple(
            Difference(place=f"provenance.sources[{quoted(name, None)}]", kind=kind, stated=before, computed=now)
            for name, kind, before, now in changes.entries
        ),
        count=len(changes.entries),
    )


def check_given_scores(stated: Stated) -> None:
    """Raise if a table of scores cannot verify the certificate."""
    if stated.document.view:
        raise DomainError(
            f"{stated.source} is of one view by itself; compute the whole certificate again, which has it"
        )
    if stated.document.board:
        try:
            board_of(stated.document)
        except DomainError as error:
            raise DomainError(f"{stated.source} is {error}") from None


def _check_kind(stated: Stated, scores: Scores | Board | None) -> None:
    if scores is None:
        return
    if isinstance(scores, Scores) or stated.document.view:
        check_given_scores(stated)
    elif not stated.document.board:
        raise DomainError(f"{stated.source} is not the certificate of a board; give the scores that it was made from")


def _score_checks(stated: Stated, scores: Scores, suite: SuiteOptions, write: Write) -> Iterator[Check]:
    document = stated.document
    suite = suite or stated_suite(document, scores)
    check_given(document, scores, suite)
    yield file_check(stated, scores.sources)
    yield from _reading_check(document, scores)
    try:
        fitted, design = design_of(document, scores, suite)
        leaderboard = rebuilt(document, fitted, design)
    except BbedgeError as error:
        yield _same_scores(document, scores.origin, scores)
        yield _misfit(error, write)
        return
    yield _same_scores(document, leaderboard.origin or fitted.origin, fitted)
    same = design.hash == document.design.hash
    yield Check(
        kind="design",
        status="ok" if same else "differs",
        text="the design has the same hash" if same else _other_design(document, fitted),
    )
    yield from _results(stated, document_of(leaderboard))


def _reading_check(document: Document, scores: Scores) -> Iterator[Check]:
    """Whether the files were read with the options that the certificate states, if it states any."""
    stated = (document.provenance and document.provenance.reading) or None
    if stated is None:
        return
    words = " ".join(stated.words())
    if scores.reading is None:
        text = f"how these scores were read is not known; the certificate states {shown(words, None)}"
        yield Check(kind="reading", status="unknown", text=text)
    elif stated == scores.reading:
        yield Check(kind="reading", status="ok", text=f"as the certificate states: {shown(words, None)}")
    else:
        text = f"the files were read with other options; the certificate states {shown(words, None)}"
        yield Check(kind="reading", status="differs", text=text)


def _board_score_checks(stated: Stated, scores: Scores, write: Write) -> Iterator[Check]:
    """What a table of its scores shows of the certificate of a board."""
    document = stated.document
    check_items(document, scores)
    text = "the board was not given: its history and its registration were not checked"
    yield Check(kind="ledger", status="unknown", text=text)
    try:
        again = rebuilt_board(document, scores)
    except BbedgeError as error:
        yield _misfit(error, write)
        return
    same = again.is_same_design
    text = "the design has the same hash" if same else _other_design(document, scores)
    yield Check(kind="design", status="ok" if same else "differs", text=text)
    yield _compared(_comparison(stated, again.document))
    yield _notes(stated, again.document, recomputed=OF_TABLE_OF_BOARD)


def _misfit(error: BbedgeError, write: Write) -> Check:
    text = f"the design of the certificate does not fit these scores: {_without_end(error.render(write))}"
    return Check(kind="design", status="differs", text=text)


def _same_scores(document: Document, origin: Origin, scores: Scores) -> Check:
    stated = document.provenance.scores if document.provenance else None
    size = f"{counted(len(scores.models), 'model')}, {counted(len(scores.items), 'item')}, " + counted(
        len(scores.replicates), "run"
    )
    if not stated:
        return Check(kind="scores", status="unknown", text="the certificate has no hash of its scores")
    if stated == origin.scores:
        return Check(kind="scores", status="ok", text=f"the same scores: {size}")
    return Check(kind="scores", status="differs", text=f"these are not the scores that were certified ({size})")


def _other_design(document: Document, scores: Scores) -> str:
    """Why the design may not be the same, as far as the certificate shows it."""
    before, now = {model.name for model in document.models}, set(scores.models)
    if before != now:
        sides = (("only in the certificate", before - now), ("only in the scores", now - before))
        return "other models: " + ", ".join(f"{listed(sorted(names))} {where}" for where, names in sides if names)
    blocks, stated = len(set(scores.blocks)), document.design.blocks.count
    if document.items != len(scores.items):
        why = f"{document.items:,} items in the certificate, {len(scores.items):,} in the scores"
    elif not needs_suite(document) and stated != blocks:
        why = f"{stated:,} blocks in the certificate, {blocks:,} in the scores"
    elif document.design.score_range != scores.score_range:
        why = "another score range"
    else:
        why = "the items, blocks, weights or views are not the same"
    return f"another design: {why}; read the scores with the options that the certificate was made with"


def _board_checks(stated: Stated, board: Board) -> Iterator[Check]:
    record = stated.document.board
    assert record  # checked before
    if record.design_hash != board.registration:
        yield Check(kind="design", status="differs", text="this is another board: its registration is not the same")
        return
    try:
        done = board.verify(record.head)
        past = board.as_of(record.head)
    except NoBoardError:
        raise
    except BoardError as error:
        yield Check(kind="ledger", status="differs", text=f"the board is not in order: {_without_end(str(error))}")
        return
    later = len(board.events) - len(past.events)
    since = f"; {counted(later, 'event')} came after the certificate" if later else ""
    yield Check(
        kind="ledger", status="ok", text=f"{counted(done.events, 'event')} of the board follow from its scores{since}"
    )
    yield Check(kind="design", status="ok", text="the registration is the same")
    if not 1 <= record.epoch <= len(past.state.epochs):
        yield Check(kind="results", status="differs", text=f"the board had no epoch {record.epoch}")
        return
    yield from _results(stated, board_certificate(past, record.epoch).content)


def _results(stated: Stated, computed: Document) -> Iterator[Check]:
    yield _compared(_comparison(stated, computed))
    yield _notes(stated, computed)


def _comparison(stated: Stated, computed: Document) -> Comparison:
    return compare(stated.content, json.loads(to_json(computed)), without=("bbedge", "notes", "provenance"))


def _compared(found: Comparison) -> Check:
    if not found.count:
        return Check(kind="results", status="ok", text="everything that it concludes follows, field by field")
    first = found.found[0]
    more = f" and {counted(found.count - 1, 'other place')}" if found.count > 1 else ""
    return Check(
        kind="results",
        status="differs",
        text=f"other results at {first.place}{more}",
        differences=tuple(found.found),
        count=found.count,
    )


def _notes(stated: Stated, computed: Document, *, recomputed: frozenset[NoteKind] = OF_SCORES) -> Check:
    differences, open_ = compare_notes(stated.document.notes, computed.notes, recomputed)
    if differences:
        text = "its notes are not those of the scores"
        return Check(kind="notes", status="differs", text=text, differences=differences, count=len(differences))
    if open_:
        kinds, said = ", ".join(sorted({note.kind for note in open_})), listed([note.text for note in open_], limit=3)
        text = f"stated, not checked: {counted(len(open_), 'note')} of kind {kinds}: {said}"
        return Check(kind="notes", status="unknown", text=text)
    return Check(kind="notes", status="ok", text="its notes follow")


def _without_end(text: str) -> str:
    return text.removesuffix(".")
