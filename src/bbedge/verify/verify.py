"""Whether a certificate is what it says: readable, consistent, and what follows from the scores or the board.

The one module that knows certificates, scores and boards together: it computes again what a certificate states, and
compares. Reading files is left to the caller.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs

from bbedge._version import __version__
from bbedge.board import Board
from bbedge.certificate.certificate import Certificate
from bbedge.certificate.document import certificate as document_of
from bbedge.certificate.document import to_json
from bbedge.certificate.of_board import board_certificate
from bbedge.core.scores import Scores, SourceFile
from bbedge.core.views import SuiteOptions
from bbedge.errors import Argument, BbedgeError, BoardError, DomainError, NoBoardError
from bbedge.records.certificate import Document
from bbedge.records.notes import NoteKind
from bbedge.records.reading import Reading, ReadingRecord
from bbedge.text import counted, listed, shown
from bbedge.verify.checks import Check, GivenCertificate, Status, Verification, own_checks
from bbedge.verify.differences import OF_SCORES, OF_TABLE_OF_BOARD, compare, compare_files, compare_notes
from bbedge.verify.recompute import (
    board_of,
    check_given,
    check_items,
    design_hashes,
    design_of,
    document_from_table,
    has_steps,
    leaderboard_from_scores,
    needs_suite,
    stated_suite,
)

Write = Callable[[Argument], str]


def reading_of(document: Document, given: Reading) -> tuple[ReadingRecord, Reading]:
    """How the scores of a certificate were read, with what is given besides: to be compared, and to read files by.

    Files are read by what its design says where nothing else is given.
    """
    stated = document.provenance and document.provenance.reading
    reading = given.with_stated(stated) if stated else given
    found: dict[str, object] = {"score_range": document.design.score_range}
    if document.board or has_steps(document):
        found["incomplete"] = "worst-case"  # what was not run is no gap: verification tells them apart
    else:
        policies = ("stopped" if document.stopped else "", "worst-case" if document.design.gaps == "worst-case" else "")
        found["incomplete"] = ",".join(filter(None, policies)) or "refuse"
    wanted = {name: value for name, value in found.items() if name not in reading.changed()}
    return reading.stated, structs.replace(reading, **wanted)


def verify_certificate(
    certificate: str | os.PathLike[str] | Mapping[str, Any] | Certificate | GivenCertificate,
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
    given = certificate if isinstance(certificate, GivenCertificate) else GivenCertificate.read(certificate)
    document = given.document
    if isinstance(scores, Scores) or (scores is not None and document.view):
        check_given_scores(given)
    elif scores is not None and not document.board:
        raise DomainError(f"{given.source} is not the certificate of a board; give the scores that it was made from")
    checks = list(own_checks(given))
    if document.bbedge != __version__:
        scores = None
    if isinstance(scores, Board):
        checks += _board_checks(given, scores)
    elif scores is not None and document.board:
        checks += _board_score_checks(given, scores, write)
    elif scores is not None:
        checks += _score_checks(given, scores, suite or {}, write)
    return Verification(checks=tuple(checks), version=document.bbedge)


def file_check(given: GivenCertificate, found: Sequence[SourceFile] | None) -> Check:
    """Whether the files are those that the certificate names."""
    provenance = given.document.provenance
    if not provenance or not provenance.sources:
        return Check(kind="files", status="unknown", text="the certificate does not name the files of its scores")
    if found is None:
        return Check(kind="files", status="unknown", text="these scores do not say which files they came from")
    text, differences = compare_files(provenance.sources, found)
    status: Status = "differs" if differences else "ok"
    return Check(kind="files", status=status, text=text, differences=differences, count=len(differences))


def check_given_scores(given: GivenCertificate) -> None:
    """Raise if a table of scores cannot verify the certificate."""
    if given.document.view:
        raise DomainError(f"{given.source} is of one view by itself; compute the whole certificate again, which has it")
    if given.document.board:
        try:
            board_of(given.document)
        except DomainError as error:
            raise DomainError(f"{given.source} is {error}") from None


def _score_checks(given: GivenCertificate, scores: Scores, suite: SuiteOptions, write: Write) -> Iterator[Check]:
    document = given.document
    suite = suite or stated_suite(document, scores)
    check_given(document, scores, suite)
    yield file_check(given, scores.sources)
    yield from _reading_check(document, scores)
    try:
        fitted, design = design_of(document, scores, suite)
        leaderboard = leaderboard_from_scores(document, fitted, design)
    except BbedgeError as error:
        yield _same_scores(document, scores.origin.scores, scores)
        yield _misfit(error, write)
        return
    yield _same_scores(document, (leaderboard.origin or fitted.origin).scores, fitted)
    yield _same_design(document, fitted, is_same=design.hash == document.design.hash)
    yield from _results(given, document_of(leaderboard))


def _reading_check(document: Document, scores: Scores) -> Iterator[Check]:
    """Whether the files were read with the options that the certificate states, if it states any."""
    stated = (document.provenance and document.provenance.reading) or None
    if stated is None:
        return
    words = " ".join(stated.words())
    if scores.reading is None:
        text = f"how these scores were read is not known; the certificate states {words}"
        yield Check(kind="reading", status="unknown", text=text)
    elif stated == scores.reading:
        yield Check(kind="reading", status="ok", text=f"as the certificate states: {shown(words, None)}")
    else:
        text = f"the files were read with other options; the certificate states {words}"
        yield Check(kind="reading", status="differs", text=text)


def _board_score_checks(given: GivenCertificate, scores: Scores, write: Write) -> Iterator[Check]:
    """What a table of its scores shows of the certificate of a board."""
    document = given.document
    check_items(document, scores)
    text = "the board was not given: its history and its registration were not checked"
    yield Check(kind="ledger", status="unknown", text=text)
    try:
        again = document_from_table(document, scores)
    except BbedgeError as error:
        yield _misfit(error, write)
        return
    yield _same_design(document, scores, is_same=design_hashes(again) <= design_hashes(document))
    yield from _results(given, again, recomputed=OF_TABLE_OF_BOARD)


def _misfit(error: BbedgeError, write: Write) -> Check:
    text = f"the design of the certificate does not fit these scores: {error.render(write).removesuffix('.')}"
    return Check(kind="design", status="differs", text=text)


def _same_scores(document: Document, found: str, scores: Scores) -> Check:
    stated = document.provenance.scores if document.provenance else None
    sizes = ((scores.models, "model"), (scores.items, "item"), (scores.replicates, "run"))
    size = ", ".join(counted(len(each), what) for each, what in sizes)
    if not stated:
        return Check(kind="scores", status="unknown", text="the certificate has no hash of its scores")
    if stated == found:
        return Check(kind="scores", status="ok", text=f"the same scores: {size}")
    return Check(kind="scores", status="differs", text=f"these are not the scores that were certified ({size})")


def _same_design(document: Document, scores: Scores, *, is_same: bool) -> Check:
    """Whether the design has the same hash; if not, why, as far as the certificate shows it."""
    if is_same:
        return Check(kind="design", status="ok", text="the design has the same hash")
    before, now = {model.name for model in document.models}, set(scores.models)
    blocks, stated = len(set(scores.blocks)), document.design.blocks.count
    if before != now:
        sides = (("only in the certificate", before - now), ("only in the scores", now - before))
        others = ", ".join(f"{listed(sorted(names))} {where}" for where, names in sides if names)
        return Check(kind="design", status="differs", text=f"other models: {others}")
    if document.items != len(scores.items):
        why = f"{document.items:,} items in the certificate, {len(scores.items):,} in the scores"
    elif not needs_suite(document) and stated != blocks:
        why = f"{stated:,} blocks in the certificate, {blocks:,} in the scores"
    elif document.design.score_range != scores.score_range:
        why = "another score range"
    else:
        why = "the items, blocks, weights or views are not the same"
    text = f"another design: {why}; read the scores with the options that the certificate was made with"
    return Check(kind="design", status="differs", text=text)


def _board_checks(given: GivenCertificate, board: Board) -> Iterator[Check]:
    record = given.document.board
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
        text = f"the board is not in order: {str(error).removesuffix('.')}"
        yield Check(kind="ledger", status="differs", text=text)
        return
    later = len(board.events) - len(past.events)
    since = f"; {counted(later, 'event')} came after the certificate" if later else ""
    text = f"{counted(done.events, 'event')} of the board follow from its scores{since}"
    yield Check(kind="ledger", status="ok", text=text)
    yield Check(kind="design", status="ok", text="the registration is the same")
    if not 1 <= record.epoch <= len(past.state.epochs):
        yield Check(kind="results", status="differs", text=f"the board had no epoch {record.epoch}")
        return
    yield from _results(given, board_certificate(past, record.epoch).content)


def _results(
    given: GivenCertificate, computed: Document, *, recomputed: frozenset[NoteKind] = OF_SCORES
) -> Iterator[Check]:
    """Whether what was computed is what is stated, and so are notes of the kinds that were ``recomputed``."""
    found = compare(given.content, json.loads(to_json(computed)), without=("bbedge", "notes", "provenance"))
    status: Status = "differs" if found.count else "ok"
    text = "everything that it concludes follows, field by field"
    if found.count:
        more = f" and {counted(found.count - 1, 'other place')}" if found.count > 1 else ""
        text = f"other results at {found.found[0].place}{more}"
    yield Check(kind="results", status=status, text=text, differences=tuple(found.found), count=found.count)
    differences, open_ = compare_notes(given.document.notes, computed.notes, recomputed)
    text, status = "its notes follow", "ok"
    if differences:
        text, status = "its notes are not those of the scores", "differs"
    elif open_:
        kinds, said = ", ".join(sorted({note.kind for note in open_})), listed([note.text for note in open_], limit=3)
        text, status = f"stated, not checked: {counted(len(open_), 'note')} of kind {kinds}: {said}", "unknown"
    yield Check(kind="notes", status=status, text=text, differences=differences, count=len(differences))
