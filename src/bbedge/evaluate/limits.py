"""Limits on money, tokens and time. They stop a study where it can be continued, and are no part of its design.

**Guarantee:** a limit stops a study by what was spent, never by a score, and what an incomplete replicate holds is not
looked at. Certificates keep their level, and a study that goes on later ends as if it had not been stopped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bbedge.errors import EvaluationError
from bbedge.text import listed

if TYPE_CHECKING:
    from bbedge.evaluate.engine import Job
    from bbedge.evaluate.spec import Price
    from bbedge.evaluate.usage import Usage

LimitName = Literal["max_cost", "max_tokens", "max_hours"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """A limit that was reached."""

    limit: LimitName
    """Which one."""
    allowed: float
    """What the study allows."""
    used: float
    """What was used when it was noticed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most that may be spent; ``None`` is no limit."""

    max_cost: float | None = None
    """Money, in the currency of the prices, by all calls of the command together."""
    max_tokens: int | None = None
    """Tokens, in and out, by all calls of the command together."""
    max_hours: float | None = None
    """Hours that one call of the command may take."""

    @property
    def exist(self) -> bool:
        """Whether there is any limit."""
        return any(limit is not None for limit in (self.max_cost, self.max_tokens, self.max_hours))

    def reached(self, used: Usage, *, hours: float, prices: Mapping[str, Price]) -> Reached | None:
        """The first limit that is reached, if there is one."""
        if self.max_cost is not None:
            unknown = sorted(set(used.tokens) - set(prices))
            if unknown:
                raise EvaluationError(
                    f"max_cost cannot be checked, because {listed(unknown)} answered and has no price; add it under "
                    "[prices], or leave out max_cost. Finished samples are kept: run the same command again to continue"
                )
            cost = used.cost(prices) or 0.0
            if cost >= self.max_cost:
                return Reached(limit="max_cost", allowed=self.max_cost, used=cost)
        if self.max_tokens is not None and used.total_tokens >= self.max_tokens:
            return Reached(limit="max_tokens", allowed=self.max_tokens, used=used.total_tokens)
        if self.max_hours is not None and hours >= self.max_hours:
            return Reached(limit="max_hours", allowed=self.max_hours, used=hours)
        return None


def batches(jobs: Sequence[Job], *, size: int) -> list[list[Job]]:
    """The jobs in parts of about ``size``, between which limits are checked.

    The models take turns, so that a replicate that is stopped has come equally far with all of them. Samples of a
    block stay together, because they may share something.
    """
    queues: dict[str, deque[list[Job]]] = {}
    for job in jobs:
        blocks = queues.setdefault(job.model.name, deque())
        if not blocks or blocks[-1][-1].sample.blocks[0] != job.sample.blocks[0]:
            blocks.append([])
        blocks[-1].append(job)
    made: list[list[Job]] = [[]]
    while any(queues.values()):
        for blocks in filter(None, queues.values()):
            if len(made[-1]) >= size:
                made.append([])
            made[-1] += blocks.popleft()
    return made
