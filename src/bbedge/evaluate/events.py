"""What the runner reports to its watcher, if there is one: a display for people, or JSON lines for programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from bbedge.board import Added
from bbedge.board.design import BoardDesign
from bbedge.core.checkpoints import Checkpoint
from bbedge.core.leaderboard import Leaderboard
from bbedge.evaluate.engine import RequestWaits, StillSilent
from bbedge.evaluate.failures import Problem, ProblemCount
from bbedge.evaluate.question import Answer
from bbedge.evaluate.usage import FirstRunSaving, Reached, Spent
from bbedge.records.journal import Usage

Reason = Literal["answered", "budget", "asked", "limit", "nothing-left", "contradiction"]
"""Why a study stopped: the question is answered, the budget is spent, the user asked for it, a limit on cost, tokens
or time is reached, no two models are left to run, or models are certified above each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckBegun:
    """Every model, and every judge, is asked a short question before the first sample."""

    models: tuple[str, ...]
    """The models; judges are not listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckEnded:
    """All short questions were answered or have failed, and the study goes on."""

    answered: tuple[str, ...]
    """Who answered."""
    failed: tuple[str, ...]
    """Who did not, for a reason that may pass."""
    usage: Usage
    """What the questions cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PilotBegun:
    """The pilot of a dry run begins."""

    models: tuple[str, ...]
    """The models."""
    samples: int
    """Samples for each of them; for a command, items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSeen:
    """A request, a program or a sample failed."""

    problem: Problem
    """The cause, without credentials."""
    count: int
    """Which one of its kind it is, from 1; kinds differ by model, address and HTTP status."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestsRepeated:
    """Requests were in flight, or answered and not yet in the journal, at an interruption: they are sent again."""

    requests: int
    """How many at most: some may not have reached the server. For a command, items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitReached:
    """A limit stops the study, where it can be continued."""

    reached: Reached
    """Which limit, and what was used."""
    replicate: int
    """The replicate that is not complete, or comes next; 0 is the pilot of a dry run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """The design is frozen and the study begins, or continues."""

    board: str
    """Where the board is."""
    design_hash: str
    """The design."""
    question: str
    models: tuple[str, ...]
    """All models."""
    samples: int
    """Samples of the benchmark."""
    items: int
    """Items of the benchmark."""
    replicates: int
    """Replicates on the board already, pilots counted."""
    budget: int
    """The most replicates that will be run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicateBegun:
    """A replicate begins, or continues after an interruption."""

    replicate: int
    """Its number, pilots counted."""
    attempt: int
    """The number of the attempt at it; another one begins where the journal of the one before is missing."""
    pilot: bool
    """Whether it belongs to the pilot."""
    models: tuple[str, ...]
    """The models that are run."""
    samples: int
    """Samples for each of them."""
    done: tuple[tuple[str, int], ...]
    """Samples that are done already, by model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfSample:
    """What happened to one sample of a model."""

    replicate: int
    model: str
    sample: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleDone(_OfSample):
    """A sample was run and scored, and is on the disk."""

    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleFailed(_OfSample):
    """A sample failed; it will be tried again."""

    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleMissing(_OfSample):
    """A sample failed for good, and its scores count as missing, as the study says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Samples failed, and the runner waits before it tries them again."""

    samples: int
    """How many."""
    seconds: float
    attempt: int
    """Which try comes next, from 2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """What is known when the evidence was read."""

    answer: Answer
    """How the question stands."""
    leaderboard: Leaderboard
    """All that stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked(_Look):
    """A replicate is on the board, or the first one up to a checkpoint, and the evidence was read."""

    replicate: int
    """The replicate, pilots counted."""
    added: Added
    """What it has changed on the board."""
    spent: Spent | None = None
    """What was used so far; ``None`` at a checkpoint."""
    checkpoint: Checkpoint | None = None
    """The checkpoint that the first run has come to; ``None`` after a complete replicate."""
    checkpoints: int = 0
    """Checkpoints of the first run."""
    models: tuple[str, ...] = ()
    """The models that were run."""

    @property
    def new_edges(self) -> tuple[tuple[str, str], ...]:
        """Directions of the headline that are certified for the first time."""
        return tuple((edge.winner, edge.loser) for edge in self.added.edges)

    @property
    def new_view_edges(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """The same of every other view that has any."""
        views = self.added.views.items()
        return {name: tuple((edge.winner, edge.loser) for edge in edges) for name, edges in views}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """Models that are not run again."""

    models: tuple[str, ...]
    left: tuple[str, ...]
    """The models that are still run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """Something was written on the board that its readers should know."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended(_Look):
    """The study stopped."""

    reason: Reason
    spent: Spent
    """What was used, beside the full budget."""
    retired: tuple[str, ...]
    """Models that were dropped on the way."""
    design: BoardDesign
    """The design that is frozen on the board."""
    problems: tuple[ProblemCount, ...] = ()
    """What failed during this call, by kind."""
    reached: Reached | None = None
    """The limit that has stopped the study, if one has."""
    first_run: FirstRunSaving | None = None
    """What looks inside the first run saved, if it had any and is over."""


Event = (
    CheckBegun
    | StillSilent
    | CheckEnded
    | PilotBegun
    | ErrorSeen
    | RequestsRepeated
    | RequestWaits
    | LimitReached
    | Begun
    | ReplicateBegun
    | SampleDone
    | SampleFailed
    | SampleMissing
    | Waiting
    | Looked
    | Dropped
    | Noted
    | Ended
)
Watcher = Callable[[Event], None]


def plain(event: Event) -> dict[str, Any]:
    """The event as plain values, for JSON lines."""
    name = "".join(f"-{c.lower()}" if c.isupper() else c for c in type(event).__name__).strip("-")
    match event:
        case Looked() | Ended():
            values = _look(event)
        case SampleDone() | CheckEnded():
            values = {field.name: getattr(event, field.name) for field in fields(event) if field.name != "usage"}
            values |= {"calls": event.usage.calls, "tokens": event.usage.total_tokens}
            values |= {"seconds": round(event.usage.seconds, 3)} if isinstance(event, SampleDone) else {}
        case ErrorSeen():
            values = asdict(event.problem) | {"count": event.count}
        case LimitReached():
            values = asdict(event.reached) | {"replicate": event.replicate}
        case _:
            values = asdict(event)
    return {"event": name} | values


def _look(event: Looked | Ended) -> dict[str, Any]:
    board, answer = event.leaderboard, event.answer
    values: dict[str, Any] = {
        "replicate": board.replicates,
        "answered": answer.answered,
        "answer": answer.text,
        "open": answer.open_pairs,
        "ranks": _ranks(board),
    }
    if event.spent is not None:
        values["spent"] = _spent(event.spent)
    if board.views:
        values["views"] = {str(view.name): {"ranks": _ranks(view)} for view in board.views}
    if isinstance(event, Ended):
        return values | _end(event)
    values |= {"replicate": event.replicate, "new_edges": event.new_edges}
    for name, view in values.get("views", {}).items():
        view["new_edges"] = event.new_view_edges.get(name, ())
    if event.checkpoint is not None:
        values |= {
            "event": "part-looked",
            "checkpoint": event.checkpoint.number,
            "checkpoints": event.checkpoints,
            "fraction": event.checkpoint.fraction,
            "blocks": event.checkpoint.blocks,
            "models": event.models,
            "certified_pairs": board.graph.n_resolved,
        }
    return values


def _end(event: Ended) -> dict[str, Any]:
    values: dict[str, Any] = {"reason": event.reason, "retired": event.retired}
    if event.problems:
        values["errors"] = [asdict(each.first) | {"count": each.count} for each in event.problems]
    if event.reached is not None:
        values["limit"] = asdict(event.reached)
    early, saving = event.leaderboard.early, event.first_run
    if early is not None:
        values["first_pass"] = {"complete": early.is_complete, "fraction": early.progress}
        if saving is not None:
            values["first_pass"] |= {"item_runs": saving.items, "full_item_runs": saving.full_items, **_used(saving)}
    return values


def _ranks(leaderboard: Leaderboard) -> dict[str, tuple[int, int]]:
    return dict(zip(leaderboard.design.models, leaderboard.graph.rank_intervals, strict=True))


def _spent(spent: Spent) -> dict[str, Any]:
    used = _used(spent)
    return {
        "replicates": spent.replicates,
        "budget": spent.budget,
        "unknown_replicates": spent.unknown,
        "samples": spent.samples,
        "full_samples": spent.full_samples,
        "queries": used.pop("queries"),
        "useful_queries": spent.useful,
        "failed_queries": spent.failed,
        "lost_queries": spent.lost,
        "check_queries": spent.checks,
        "pilot_queries": spent.pilot,
        **used,
    }


def _used(saving: Spent | FirstRunSaving) -> dict[str, Any]:
    return {
        "queries": saving.used.calls,
        "full_queries": saving.full.calls,
        "tokens": saving.used.total_tokens,
        "full_tokens": saving.full.total_tokens,
        "cost": saving.cost,
        "full_cost": saving.full_cost,
    }
