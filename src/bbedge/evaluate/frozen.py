"""What a study freezes before its first request, and the checks that board and journal still belong to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from bbedge.board.board import Board
from bbedge.board.state import BoardState
from bbedge.errors import BoardError, DesignError, EvaluationError, NoBoardError
from bbedge.evaluate.engine import Benchmark, Sample, Seeds
from bbedge.evaluate.first_pass import FirstPass, asks_for_looks, frozen_design
from bbedge.evaluate.journal import Journal, Page
from bbedge.evaluate.preflight import Checked
from bbedge.evaluate.servers import Names, Servers, check_addresses, frozen_servers
from bbedge.evaluate.spec import EvaluationSpec, hash_of
from bbedge.gate.content import policy_content, policy_hash
from bbedge.text import counted, listed, quoted, shown_path


def seeds_of(study: EvaluationSpec, benchmark: Benchmark, board: Board) -> Seeds:
    """The seeds of a study: those of its frozen design, models, benchmark and seed."""
    items = sorted(zip(benchmark.items, benchmark.blocks, strict=True))
    return Seeds.of(board.design.hash, study.names, items, study.seed)


def journal_of(study: EvaluationSpec, benchmark: Benchmark, board: Board) -> Journal:
    """The journal of a study whose board is open; its lines are bound to what the board has frozen.

    The order of the first pass is part of that: answers that were seen in one order must not be used in another, which
    could be drawn again until it suits them.
    """
    (note, *_) = _notes(board)
    return Journal(
        study.folder,
        root=seeds_of(study, benchmark, board).root,
        protocol=Seeds.of(note["protocol"], note["benchmark"]).root,
        order=board.state.epoch.order_seed,
        blocks=dict(zip(benchmark.items, benchmark.blocks, strict=True)),
    )


def _notes(board: Board) -> list[Mapping[str, Any]]:
    """The protocols that are frozen on the board for its present epoch, with what was frozen beside them."""
    epoch = board.state.epoch.number
    return [note.particulars for note in board.noted if note.about == "protocol" and note.epoch == epoch]


def open_board(
    study: EvaluationSpec,
    benchmark: Benchmark,
    *,
    addresses: Mapping[str, str] | None = None,
    server_changed: str | None = None,
    before_freezing: Callable[[], Checked] = Checked,
    noted: Callable[[str], None] = lambda text: None,
) -> Board:
    """The study's board, with its design frozen; a board of another study is refused.

    ``addresses`` are those of the servers; others than the recorded ones are refused, unless ``server_changed`` gives a
    reason. ``before_freezing`` is called if there is no board yet, before one is made, and ``noted`` with what is
    recorded about servers.
    """
    served: Names = {}
    if "://" not in study.board and not Path(study.board).exists():
        Path(study.board).parent.mkdir(parents=True, exist_ok=True)
    try:
        board = Board.open(study.board)
    except NoBoardError:
        served = before_freezing().served
        board = Board.create(
            study.board,
            frozen_design(study, benchmark),
            models=study.names,
            items=benchmark.items,
            blocks=benchmark.blocks,
            columns=benchmark.columns,
        )
    _check_same(study, benchmark, board, frozen_servers(addresses or {}, served))
    for text in check_addresses(study, board, addresses or {}, server_changed):
        noted(text)
    _check_view(study, board)
    _note_policy(study, board)
    return board


def _note_policy(study: EvaluationSpec, board: Board) -> None:
    """Record the policy of a gate on the board, once: it must not be chosen by the scores that it is applied to."""
    policy = study.question.policy
    if policy is None:
        return
    found = policy_hash(policy)
    if any(note.about == "gate" and note.particulars.get("policy") == found for note in board.noted):
        return
    seen, parts = board.state.epoch.replicates, len(board.state.epoch.parts)
    when = "before the first replicate"
    if seen or parts:
        what = counted(seen, "replicate") if seen else f"{counted(parts, 'part')} of the first replicate"
        when = f"when {what} had been seen"
    text = f"A gate with the policy {found[:16]} was applied, stated {when}."
    board.note("gate", text, policy=found, content=policy_content(policy))


def _check_view(study: EvaluationSpec, board: Board) -> None:
    asked, names = study.question.view, [str(view.name) for view in board.leaderboard().views]
    if asked is not None and asked not in names:
        there = f"the views are {listed(names)}" if names else "there are no views besides the headline"
        raise DesignError(f"{shown_path(study.path)}: view: there is no view {quoted(asked)}; {there}")


def _check_same(study: EvaluationSpec, benchmark: Benchmark, board: Board, servers: Servers) -> None:
    another = "make a new board for another study: give it another name, or this one a new file"
    changed = study.changes_of(board.design)
    if changed:
        raise BoardError(
            f"{board.name}: its frozen design (hash {board.design.hash[:16]}) is not that of the study: "
            f"{listed(changed)} differ; {another}"
        )
    epoch = board.state.epoch
    if set(epoch.models) != set(study.names):
        other = sorted(set(epoch.models) ^ set(study.names))
        raise BoardError(f"{board.name}: its models are not those of the study: {listed(other)} differ; {another}")
    theirs, ours = (
        dict(zip(epoch.items, epoch.blocks, strict=True)),
        dict(zip(benchmark.items, benchmark.blocks, strict=True)),
    )
    if theirs != ours:
        other = sorted(item for item in theirs.keys() | ours.keys() if theirs.get(item) != ours.get(item))
        raise BoardError(
            f"{board.name}: its items and blocks are not those of the benchmark: {listed(other)} differ; {another}"
        )
    columns = _columns_of(board.design.kept_columns(benchmark.columns), benchmark.items)
    if columns != _columns_of(epoch.columns, epoch.items):
        raise BoardError(
            f"{board.name}: the categories or weights of its items are not those of the benchmark: "
            f"{listed(board.design.columns)} differ; {another}"
        )
    frozen = {"protocol": study.protocol_hash, "benchmark": benchmark.fingerprint}
    known = _notes(board)
    if not known:
        if epoch.replicates or epoch.pilots or epoch.parts:
            raise BoardError(
                f"{board.name}: holds replicates that no study has run, so nothing is known of their seeds; {another}"
            )
        _note_whole_passes(study, benchmark, board)
        text = f"Run by bbedge evaluate with the {study.engine} engine; protocol {study.protocol_hash[:16]}."
        if study.on_error == "zero":
            text += " A sample that goes on failing scores zero, as decided before the first run."
        elif study.on_error == "worst-case":
            text += (
                " The scores of a sample that goes on failing are missing and count against whichever model they could "
                "help, as decided before the first run."
            )
        board.note("protocol", text, content=study.protocol, servers=servers.content, **frozen)
        return
    was = known[0]["content"]
    now = _comparable(study.protocol, was)
    if known[0]["protocol"] != hash_of(now):
        keys = [key for key in now if was.get(key) != now[key]]
        if keys == ["programs"]:
            keys = [word for word, digest in was["programs"].items() if now["programs"].get(word) != digest]
        raise DesignError(
            f"{shown_path(study.path)}: {listed(keys)} changed after the study had begun; what is measured is frozen "
            f"with the design. Restore it, or {another}"
        )
    if known[0]["benchmark"] != benchmark.fingerprint:
        raise DesignError(
            f"{shown_path(study.path)}: the benchmark asks other questions than when the study began, under the same "
            f"item names. Restore it, or {another}"
        )


def _note_whole_passes(study: EvaluationSpec, benchmark: Benchmark, board: Board) -> None:
    """Record why a new board looks at complete passes only, where it would otherwise look inside the first one."""
    if board.design.checkpoints is None and asks_for_looks(study, benchmark):
        note_once(
            board,
            "checkpoints",
            f"There are no looks inside the first pass, because the engine {study.engine} runs the whole benchmark in "
            "one call here.",
            reason="whole-runs",
        )


def note_once(board: Board, about: str, text: str, **particulars: object) -> bool:
    """Record a note unless it is on the board already; whether it was recorded."""
    if any(note.text == text for note in board.noted):
        return False
    board.note(about, text, **particulars)
    return True


def _columns_of(columns: Mapping[str, Sequence[str]], items: Sequence[str]) -> dict[str, dict[str, str]]:
    return {name: dict(zip(items, texts, strict=True)) for name, texts in columns.items()}


def _comparable(now: Mapping[str, Any], was: Mapping[str, Any]) -> dict[str, Any]:
    """The protocol as it is now, without files that a word of the command names only since the program wrote them."""
    if "programs" not in now:
        return dict(now)
    known = was.get("programs", {})
    return {**now, "programs": {word: digest for word, digest in now["programs"].items() if word in known}}


def check_usage(journal: Journal, *, replicates: int) -> None:
    """Refuse a journal that knows some of the board's replicates and lacks others: lines were removed at its end."""
    known = {each.replicate for each in journal.finished()}
    missing = [place for place in range(1, replicates + 1) if place not in known]
    if known and missing:
        raise EvaluationError(
            f"{shown_path(journal.folder / 'usage.jsonl')}: replicate {missing[0]} is on the board, but not in this "
            "file. If lines were removed, restore the file from a copy. If another command has added the replicate to "
            "the board, make a new board for the study"
        )


def lacks_parts(journal: Journal, first: FirstPass, state: BoardState) -> bool:
    """Whether the journal has nothing of a first pass that the board has parts of: it was lost.

    One that has a part of what is on the board, and lacks the rest, is refused: that part may come from elsewhere.
    """
    if first.place is None or not state.epoch.is_inside_pass:
        return False
    samples = [sample for part in first.parts[: len(state.epoch.parts)] for sample in part.samples]
    with closing(journal.page(first.place)) as page:
        there = [(model, sample.name) in page.done for model in state.active for sample in samples]
        if any(there) and not all(there):
            raise EvaluationError(
                f"{shown_path(page.path)}: {counted(there.count(False), 'sample')} of the first pass on the board "
                f"{'is' if there.count(False) == 1 else 'are'} not in this file. If lines were removed, restore the "
                "file from a copy, or remove it to continue with the scores on the board. If another command has added "
                "a part to the board, make a new board for the study"
            )
    return not all(there)


def check_page(page: Page, samples: Sequence[Sample], models: Collection[str]) -> None:
    """Refuse finished samples that are not among those of the replicate, or are not scored on exactly their items."""
    items = {sample.name: set(sample.items) for sample in samples}
    for (model, sample), done in page.done.items():
        if model not in models or set(done.scores) != items.get(sample):
            raise EvaluationError(
                f"{shown_path(page.path)}: {quoted(sample)} of {quoted(model)} has other items than the benchmark; "
                "remove the file to run its replicate again"
            )
