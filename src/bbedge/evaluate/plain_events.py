"""Events of the runner as plain values, for JSON lines."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from bbedge.core.leaderboard import Leaderboard
from bbedge.evaluate.events import (
    CheckEnded,
    Ended,
    ErrorSeen,
    Event,
    LimitReached,
    Looked,
    PartLooked,
    SampleDone,
)
from bbedge.evaluate.problem import Problem
from bbedge.evaluate.usage import PassSaving, Spent


def plain(event: Event) -> dict[str, Any]:
    """The event as plain values, for JSON lines."""
    name = "".join(f"-{c.lower()}" if c.isupper() else c for c in type(event).__name__).strip("-")
    values: dict[str, Any] = {"event": name}
    if isinstance(event, Looked | PartLooked | Ended):
        return values | _look(event)
    if isinstance(event, SampleDone):
        usage = event.usage
        return values | {
            "replicate": event.replicate,
            "model": event.model,
            "sample": event.sample,
            "calls": usage.calls,
            "tokens": usage.total_tokens,
            "seconds": round(usage.seconds, 3),
        }
    if isinstance(event, ErrorSeen):
        return values | _problem(event.problem) | {"count": event.count}
    if isinstance(event, LimitReached):
        return values | asdict(event.reached) | {"replicate": event.replicate}
    if isinstance(event, CheckEnded):
        return values | {
            "answered": list(event.answered),
            "failed": list(event.failed),
            "calls": event.usage.calls,
            "tokens": event.usage.total_tokens,
        }
    return values | asdict(event)


def _look(event: Looked | PartLooked | Ended) -> dict[str, Any]:
    values: dict[str, Any] = {
        "replicate": event.leaderboard.replicates,
        "answered": event.answer.answered,
        "answer": event.answer.text,
        "open": [list(pair) for pair in event.answer.open_pairs],
        "ranks": _ranks(event.leaderboard),
    }
    if not isinstance(event, PartLooked):
        values["spent"] = _spent(event.spent)
    if event.leaderboard.views:
        values["views"] = {str(view.name): {"ranks": _ranks(view)} for view in event.leaderboard.views}
    if isinstance(event, Ended):
        return values | _end(event)
    values |= {"replicate": event.replicate, "new_edges": [list(edge) for edge in event.new_edges]}
    for name, view in values.get("views", {}).items():
        view["new_edges"] = [list(edge) for edge in event.new_view_edges.get(name, ())]
    if isinstance(event, PartLooked):
        values |= {
            "checkpoint": event.checkpoint.number,
            "checkpoints": event.checkpoints,
            "fraction": event.checkpoint.fraction,
            "blocks": event.checkpoint.blocks,
            "models": list(event.models),
            "certified_pairs": event.certified_pairs,
        }
    return values


def _end(event: Ended) -> dict[str, Any]:
    values: dict[str, Any] = {"reason": event.reason, "retired": list(event.retired)}
    if event.problems:
        values["errors"] = [_problem(each.first) | {"count": each.count} for each in event.problems]
    if event.reached is not None:
        values["limit"] = asdict(event.reached)
    early = event.leaderboard.early
    if early is not None:
        saved = {} if event.first_pass is None else _saving(event.first_pass)
        values["first_pass"] = {"complete": early.is_complete, "fraction": early.progress} | saved
    return values


def _saving(saving: PassSaving) -> dict[str, Any]:
    return {
        "item_runs": saving.items,
        "full_item_runs": saving.full_items,
        "queries": saving.used.calls,
        "full_queries": saving.full.calls,
        "tokens": saving.used.total_tokens,
        "full_tokens": saving.full.total_tokens,
        "cost": saving.cost,
        "full_cost": saving.full_cost,
    }


def _problem(problem: Problem) -> dict[str, Any]:
    return asdict(problem) | {"output": list(problem.output)}


def _ranks(leaderboard: Leaderboard) -> dict[str, list[int]]:
    return dict(zip(leaderboard.design.models, map(list, leaderboard.graph.rank_intervals), strict=True))


def _spent(spent: Spent) -> dict[str, Any]:
    return {
        "replicates": spent.replicates,
        "budget": spent.budget,
        "unknown_replicates": spent.unknown,
        "samples": spent.samples,
        "full_samples": spent.full_samples,
        "queries": spent.used.calls,
        "useful_queries": spent.useful,
        "failed_queries": spent.failed,
        "lost_queries": spent.lost,
        "check_queries": spent.checks,
        "pilot_queries": spent.pilot,
        "full_queries": spent.full.calls,
        "tokens": spent.used.total_tokens,
        "full_tokens": spent.full.total_tokens,
        "cost": spent.cost,
        "full_cost": spent.full_cost,
    }
