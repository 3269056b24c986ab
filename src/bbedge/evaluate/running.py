"""How the work of a study is done and what it may cost: settings that change nothing about what is measured."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, cast, get_args

from bbedge.errors import FormatError
from bbedge.evaluate.limits import Limits
from bbedge.evaluate.table import Table

Copies = Literal["refuse", "allow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """How the work is done. None of it changes what is measured, so all of it may change between calls."""

    retries: int = 3
    """How often failed samples are tried again before the study stops."""
    pause: float = 5.0
    """Seconds before the first of these tries; the next ones wait twice as long each, up to a minute."""
    connections: int | None = None
    """Requests to one model at a time; ``None`` leaves it to the engine."""
    timeout: float | None = None
    """Seconds after which a request, or a command, has failed."""
    request_retries: int = 5
    """How often the engine sends a failed request again before the sample fails."""
    workers: int = 1
    """Commands at a time."""
    copies: Copies = "refuse"
    """What to do about a replicate that repeats an earlier one answer by answer."""
    preflight: bool = True
    """Whether every model is asked a short question before the first sample."""


def read_running(table: Table) -> Running:
    """What ``[run]`` says."""
    defaults = Running()
    running = Running(
        retries=table.whole("retries", defaults.retries, least=0),
        pause=table.number("pause", defaults.pause, least=0.0),
        connections=table.whole("connections", least=1) if table.has("connections") else None,
        timeout=table.number("timeout", least=0.01) if table.has("timeout") else None,
        request_retries=table.whole("request_retries", defaults.request_retries, least=0),
        workers=table.whole("workers", defaults.workers, least=1),
        copies=cast("Copies", table.choice("copies", get_args(Copies), defaults.copies)),
        preflight=table.flag("preflight", default=defaults.preflight),
    )
    table.finish()
    if not math.isfinite(running.pause):
        raise FormatError(f"{table.at('pause')}: {running.pause} seconds; give a finite number")
    return running


def read_limits(top: Table) -> Limits:
    """What the study says about money, tokens and time."""
    return Limits(
        max_cost=_positive(top, "max_cost"),
        max_tokens=top.whole("max_tokens", least=1) if top.has("max_tokens") else None,
        max_hours=_positive(top, "max_hours"),
    )


def _positive(top: Table, key: str) -> float | None:
    if not top.has(key):
        return None
    value = top.number(key, least=0.0)
    if not value > 0.0 or not math.isfinite(value):
        raise FormatError(f"{top.at(key)} = {value:g}; give a number above 0")
    return value
