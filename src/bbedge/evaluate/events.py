"""What the runner reports to its watcher, if there is one: a display for people, or JSON lines for programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypedDict

from bbedge.board import Added
from bbedge.board.design import BoardDesign
from bbedge.core.checkpoints import Checkpoint
from bbedge.core.leaderboard import Leaderboard
from bbedge.evaluate.limits import Reached
from bbedge.evaluate.problem import Problem, ProblemCount
from bbedge.evaluate.question import Answer
from bbedge.evaluate.usage import PassSaving, Spent, Usage

Reason = Literal["answered", "budget", "asked", "limit", "nothing-left", "contradiction"]
"""Why a study stopped: the question is answered, the budget is spent, the user asked for it, a limit on cost, tokens
or time is reached, no two models are left to run, or models are certified above each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckBegun:
    """Every model, and every judge, is asked a short question before the first sample."""

    models: tuple[str, ...]
    """The models; judges are not listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StillSilent:
    """A model has not answered the short question yet."""

    model: str
    """The model."""
    endpoint: str | None
    """The address that was asked, without credentials."""
    seconds: float
    """For how long."""


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
class RequestWaits:
    """The engine waits before it sends a failed request again."""

    model: str
    """The model."""
    seconds: float
    """How long it waits."""


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
    """What is asked."""
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
    pilot: bool
    """Whether it belongs to the pilot."""
    models: tuple[str, ...]
    """The models that are run."""
    samples: int
    """Samples for each of them."""
    done: tuple[tuple[str, int], ...]
    """Samples that are done already, by model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleDone:
    """A sample was run and scored, and is on the disk."""

    replicate: int
    """The replicate."""
    model: str
    """The model."""
    sample: str
    """The sample."""
    usage: Usage
    """What it cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleFailed:
    """A sample failed; it will be tried again."""

    replicate: int
    """The replicate."""
    model: str
    """The model."""
    sample: str
    """The sample."""
    error: str
    """What went wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleMissing:
    """A sample failed for good, and its scores count as missing, as the study says."""

    replicate: int
    """The replicate."""
    model: str
    """The model."""
    sample: str
    """The sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Samples failed, and the runner waits before it tries them again."""

    samples: int
    """How many."""
    seconds: float
    """How long it waits."""
    attempt: int
    """Which try comes next, from 2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """A replicate is on the board and the evidence was read."""

    replicate: int
    """The replicate, pilots counted."""
    leaderboard: Leaderboard
    """All that stands."""
    answer: Answer
    """How the question stands."""
    new_edges: tuple[tuple[str, str], ...]
    """Directions of the headline that are certified for the first time."""
    new_view_edges: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    """The same of every other view that has any."""
    spent: Spent
    """What was used so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartLooked:
    """The first pass has come to a checkpoint: this part of it is on the board, and the evidence was read."""

    replicate: int
    """The replicate that is run, pilots counted."""
    checkpoint: Checkpoint
    """The checkpoint."""
    checkpoints: int
    """Checkpoints of the pass."""
    models: tuple[str, ...]
    """The models that were run up to it."""
    leaderboard: Leaderboard
    """All that stands."""
    answer: Answer
    """How the question stands."""
    new_edges: tuple[tuple[str, str], ...]
    """Directions of the headline that are certified for the first time."""
    new_view_edges: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    """The same of every other view that has any."""

    @property
    def certified_pairs(self) -> int:
        """Pairs of the headline that are certified so far."""
        return self.leaderboard.graph.n_resolved


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """Models that are not run again."""

    models: tuple[str, ...]
    """Their names."""
    left: tuple[str, ...]
    """The models that are still run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """Something was written on the board that its readers should know."""

    text: str
    """The note."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The study stopped."""

    reason: Reason
    """Why."""
    answer: Answer
    """How the question stands."""
    leaderboard: Leaderboard
    """All that stands."""
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
    first_pass: PassSaving | None = None
    """What looks inside the first pass saved, if it had any and is over."""


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
    | PartLooked
    | Dropped
    | Noted
    | Ended
)
Watcher = Callable[[Event], None]


class NewEdges(TypedDict):
    """What :class:`Looked` and :class:`PartLooked` say of comparisons that are certified since the last look."""

    new_edges: tuple[tuple[str, str], ...]
    new_view_edges: dict[str, tuple[tuple[str, str], ...]]


def new_edges(added: Added) -> NewEdges:
    """The comparisons that a replicate, or a part of one, has certified."""
    views = {name: tuple((edge.winner, edge.loser) for edge in edges) for name, edges in added.views.items()}
    return NewEdges(new_edges=tuple((edge.winner, edge.loser) for edge in added.edges), new_view_edges=views)
