"""The board of a study: what is frozen before the first request, and whether board and journal still belong to it.

A study may look inside its first run. The board draws the order of the blocks before the first request, and it is the
same for all models. A segment is what lies between two checkpoints of that order; the order of a file is never used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from bbedge.board import Board, BoardDesign, CheckpointRule
from bbedge.board.epoch import Epoch
from bbedge.board.stored_scores import StoredScores, stored_scores
from bbedge.core.checkpoints import LEAST_BLOCKS, Checkpoint, Checkpoints
from bbedge.errors import BoardError, DesignError, EvaluationError, NoBoardError
from bbedge.evaluate.engine import Benchmark, Job, RequestSeeds, Sample
from bbedge.evaluate.journal import Journal
from bbedge.evaluate.preflight import Checked
from bbedge.evaluate.servers import check_addresses, frozen_servers
from bbedge.evaluate.specification import EvaluationSpec, hash_of
from bbedge.gate.gate import FirstRun
from bbedge.gate.ledger import record_look, reserve
from bbedge.gate.uses import systems_of
from bbedge.records.codec import plain
from bbedge.records.policy import Policy
from bbedge.records.study import Names, OnError, Servers
from bbedge.records.values import changed, grouped
from bbedge.text import counted, listed, quoted, shown_path

_ON_ERROR: dict[OnError, str] = {
    "wait": "",
    "zero": " A sample that goes on failing scores zero, as decided before the first run.",
    "worst-case": (
        " The scores of a sample that goes on failing are missing and count against whichever model they could help, "
        "as decided before the first run."
    ),
}
_REMEDIES = {
    "command": ", or let the command read the items to run from {items}",
    "lm_eval": ", or install a newer version of lm_eval, which can be run on chosen documents",
}


def seeds_of(study: EvaluationSpec, benchmark: Benchmark, board: Board) -> RequestSeeds:
    """The seeds of a study: those of its frozen design, models, benchmark and seed."""
    return RequestSeeds.from_parts(board.design.hash, study.names, sorted(benchmark.block_of.items()), study.file.seed)


def journal_of(study: EvaluationSpec, benchmark: Benchmark, board: Board) -> Journal:
    """The journal of a study whose board is open; its lines are bound to what the board has frozen.

    The order of the first run is part of that: answers that were seen in one order must not be used in another, which
    could be drawn again until it suits them.
    """
    (note, *_) = _notes(board)
    return Journal(
        study.folder,
        root=seeds_of(study, benchmark, board).root,
        protocol=RequestSeeds.from_parts(note["protocol"], note["benchmark"]).root,
        order=board.state.epoch.order_seed,
        blocks=benchmark.block_of,
    )


def _notes(board: Board) -> list[Mapping[str, Any]]:
    """The protocols that are frozen on the board for its present epoch, with what was frozen beside them."""
    noted = (note for note in board.noted if note.epoch == board.state.epoch.number)
    return [note.particulars for note in noted if note.about == "protocol"]


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
    if "://" not in study.board:
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
    policy, noted = study.question.policy, [note.particulars for note in board.noted if note.about == "gate"]
    if policy is None or any(each.get("policy") == policy.hash for each in noted):
        return
    seen, passed = board.state.epoch.replicates, board.state.epoch.passed
    when = "before the first replicate"
    if seen or passed:
        what = counted(seen, "replicate") if seen else f"{counted(passed, 'part')} of the first replicate"
        when = f"when {what} had been seen"
    text = f"A gate with the policy {policy.hash[:16]} was applied, stated {when}."
    board.note("gate", text, policy=policy.hash, content=policy.content)


def _check_view(study: EvaluationSpec, board: Board) -> None:
    asked, names = study.question.view, [str(view.name) for view in board.leaderboard().views]
    if asked is not None and asked not in names:
        there = f"the views are {listed(names)}" if names else "there are no views besides the headline"
        raise DesignError(f"{shown_path(study.path)}: view: there is no view {quoted(asked)}; {there}")


def _check_same(study: EvaluationSpec, benchmark: Benchmark, board: Board, servers: Servers) -> None:
    another = "make a new board for another study: give it another name, or this one a new file"
    epoch, ours = board.state.epoch, benchmark.block_of
    theirs = dict(zip(epoch.items, epoch.blocks, strict=True))
    differing = {
        f"frozen design (hash {board.design.hash[:16]}) is not that of the study": study.changes_of(board.design),
        "models are not those of the study": sorted(set(epoch.models) ^ set(study.names)),
        "items and blocks are not those of the benchmark": sorted(
            item for item in theirs.keys() | ours.keys() if theirs.get(item) != ours.get(item)
        ),
    }
    for what, names in differing.items():
        if names:
            raise BoardError(f"{board.name}: its {what}: {listed(names)} differ; {another}")
    kept = board.design.kept_columns(benchmark.columns)
    if _columns_of(kept, benchmark.items) != _columns_of(epoch.columns, epoch.items):
        raise BoardError(
            f"{board.name}: the categories or weights of its items are not those of the benchmark: "
            f"{listed(board.design.columns)} differ; {another}"
        )
    known = _notes(board)
    if not known:
        if epoch.has_scores:
            raise BoardError(
                f"{board.name}: holds replicates that no study has run, so nothing is known of their seeds; {another}"
            )
        if not board.design.checkpoints and asks_for_looks(study, benchmark):
            why = f"because the engine {study.file.engine} runs the whole benchmark in one call here."
            note_once(board, "checkpoints", f"There are no looks inside the first run, {why}", reason="whole-runs")
        text = f"Run by bbedge evaluate with the {study.file.engine} engine; protocol {study.protocol_hash[:16]}."
        board.note(
            "protocol",
            text + _ON_ERROR[study.file.on_error],
            content=study.protocol,
            servers=plain(servers),
            protocol=study.protocol_hash,
            benchmark=benchmark.fingerprint,
        )
        return
    was, now = known[0]["content"], study.protocol
    if "programs" in now:  # without files that a word of the command names only since the program wrote them
        words = was.get("programs", {})
        now["programs"] = {word: digest for word, digest in now["programs"].items() if word in words}
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


def note_once(board: Board, about: str, text: str, **particulars: object) -> bool:
    """Record a note unless it is on the board already; whether it was recorded."""
    if any(note.text == text for note in board.noted):
        return False
    board.note(about, text, **particulars)
    return True


def _columns_of(columns: Mapping[str, Sequence[str]], items: Sequence[str]) -> dict[str, dict[str, str]]:
    return {name: dict(zip(items, texts, strict=True)) for name, texts in columns.items()}


def asks_for_looks(study: EvaluationSpec, benchmark: Benchmark) -> bool:
    """Whether a new board of the study has checkpoints, as far as the engine can stop at them."""
    design = study.design
    if "checkpoints" not in study.left_out:
        return bool(design.checkpoints)
    if design.method != "bb-edge-x" or design.family != "all" or design.target == "new-items" or design.of_runs:
        return False
    return len(set(benchmark.blocks)) >= LEAST_BLOCKS


def can_stop_inside(benchmark: Benchmark) -> bool:
    """Whether the engine can run the benchmark block by block: no sample that is run as a whole has several blocks."""
    return all(sample.is_divisible or len(set(sample.blocks)) == 1 for sample in benchmark.samples)


def frozen_design(study: EvaluationSpec, benchmark: Benchmark) -> BoardDesign:
    """The design that a new board of the study freezes."""
    design, looks = study.design, asks_for_looks(study, benchmark)
    if looks and can_stop_inside(benchmark):
        return changed(design, checkpoints=design.checkpoints or CheckpointRule())
    if not looks or not design.checkpoints:
        return design
    raise DesignError(
        f"{shown_path(study.path)}: checkpoints: the engine {study.file.engine} runs the whole benchmark in one call "
        "here, so that there is nothing to look at inside a run; leave out checkpoints"
        + _REMEDIES.get(study.file.engine, "")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSegment:
    """The first run from one checkpoint to the next."""

    checkpoint: Checkpoint | None
    """The checkpoint at its end; ``None`` at the end of the run."""
    samples: tuple[Sample, ...]
    """Its samples, in the order in which they are run."""

    def jobs(self, study: EvaluationSpec, active: Sequence[str]) -> list[Job]:
        """Every sample of the segment for each of the models, in the same order."""
        models = (model for model in study.models if model.name in active)
        return [Job(model=model, sample=sample) for model, sample in product(models, self.samples)]


class FirstRunSchedule:
    """The first run of a study whose board is open; without checkpoints it has no segments."""

    def __init__(self, benchmark: Benchmark, board: Board) -> None:
        self.benchmark, self._board = benchmark, board
        self._segments: tuple[RunSegment, ...] | None = None

    @property
    def segments(self) -> tuple[RunSegment, ...]:
        """Its segments; none before a pilot is complete."""
        if self._board.state.in_pilot:
            return ()
        if self._segments is None:
            self._segments = segments_of(self.benchmark, self._board.state.epoch)
        return self._segments

    @property
    def place(self) -> int | None:
        """The number of the replicate that has checkpoints; ``None`` if there is none."""
        return self._board.state.epoch.pilots + 1 if self.segments else None

    @property
    def next_segment(self) -> RunSegment | None:
        """The segment that is run next; ``None`` if a whole replicate is."""
        epoch = self._board.state.epoch
        return self.segments[epoch.passed] if self.segments and not epoch.replicates else None

    def samples_of(self, place: int) -> tuple[Sample, ...]:
        """The samples of a replicate, in the order of the benchmark: answers of two replicates are compared in it."""
        if place != self.place:
            return self.benchmark.samples
        number = {item: row for row, sample in enumerate(self.benchmark.samples) for item in sample.items}
        samples = (sample for segment in self.segments for sample in segment.samples)
        return tuple(sorted(samples, key=lambda sample: number[sample.items[0]]))


def segments_of(benchmark: Benchmark, epoch: Epoch) -> tuple[RunSegment, ...]:
    """The segments of the first run; none if the board has no checkpoints."""
    plan = epoch.plan
    if plan is None:
        return ()
    if not can_stop_inside(benchmark):
        raise EvaluationError(
            "the design of the board has checkpoints, but the engine runs the whole benchmark in one call; make a "
            "board without checkpoints"
        )
    sample_of = {item: sample for sample in benchmark.samples for item in sample.items}
    segments = []
    for number, checkpoint in enumerate((*plan.checkpoints, None), start=1):
        new = (epoch.items[place] for place in plan.new_places(number))
        by_sample = grouped((sample_of[item].name, item) for item in new)
        of, samples = len(plan.checkpoints) + 1, []
        for items in by_sample.values():
            whole = sample_of[items[0]]
            is_whole = len(items) == len(whole.items)
            samples.append(whole if is_whole else whole.part(items, name=f"{whole.name}, part {number} of {of}"))
        segments.append(RunSegment(checkpoint=checkpoint, samples=tuple(samples)))
    return tuple(segments)


def checkpoints_of(board: Board) -> Checkpoints | None:
    """The looks inside the first run and the order of the blocks, as the board has frozen them."""
    rule, epoch = board.design.checkpoints, board.state.epoch
    return None if not rule or epoch.order_seed is None else rule.seeded(epoch.order_seed)


def _checkpoints_for(policy: Policy | None, board: Board) -> Checkpoints | None:
    """The looks of a board inside its first run; none for a policy that looks at complete runs alone."""
    return checkpoints_of(board) if policy is None or policy.looks_after_every_run else None


def first_run_of(board: Board, models: Sequence[str], policy: Policy | None = None) -> FirstRun | None:
    """The first run of these models, which all run, up to its checkpoints.

    ``None`` if the board has none, or if the policy looks at complete runs alone.
    """
    checkpoints = _checkpoints_for(policy, board)
    if checkpoints is None:
        return None
    with board.store.read() as session:
        found = StoredScores(session).panels_inside(board.state.epoch)
    panels = {upto: np.stack([panel[model] for model in models]) for upto, panel in found.items()}
    return FirstRun(checkpoints=checkpoints, panels=panels)


def reserved_study(
    study: EvaluationSpec,
    policy: Policy,
    board: Board,
    ledger: str | PathLike[str],
    *,
    label: str | None,
    head: str | None = None,
) -> EvaluationSpec:
    """The study of a gate at the level of its use in a ledger, which the label identifies.

    Every look inside the first run is recorded there before it is reported.
    """
    own, planned = study_hash(board), _checkpoints_for(policy, board)
    scores = stored_scores(board, systems_of(policy, board.state.epoch.models))
    use = reserve(ledger, policy, scores, label=label, study=own, checkpoints=planned, head=head)
    gated = study.gated(policy.at_level(use.level))
    keep = partial(record_look, ledger, policy, label=label, study=own)
    return replace(gated, question=replace(gated.question, keep=keep))


def study_hash(board: Board) -> str:
    """What a gate's ledger knows a study by: the hash of the first event of its board."""
    return board.events[0].hash
