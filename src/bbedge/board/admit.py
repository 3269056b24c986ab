"""What may enter a board's ledger: one function for each kind of event, from a state and an event to the next state."""

from __future__ import annotations

from bbedge.board.state import BoardState
from bbedge.errors import BoardError
from bbedge.records.events import AttemptBegun, AttemptEnded


def begin_attempt(state: BoardState, event: AttemptBegun) -> None:
    """Count an attempt at a replicate: the first one, or the next after one that was abandoned."""
    attempts = state.epoch.attempts.setdefault(event.replicate, [])
    which = f"attempt {event.attempt} at replicate {event.replicate}"
    if event.attempt != len(attempts) + 1:
        raise BoardError(f"{which} is out of order: the next one is attempt {len(attempts) + 1}")
    if attempts and attempts[-1] != "abandoned":
        raise BoardError(f"{which} cannot begin: {_became(event.attempt - 1, attempts[-1])}")
    attempts.append(None)


def end_attempt(state: BoardState, event: AttemptEnded) -> None:
    """Note what became of an attempt, once; a finished one has its scores on the board."""
    epoch = state.epoch
    attempts = epoch.attempts.get(event.replicate, [])
    which = f"attempt {event.attempt} at replicate {event.replicate}"
    if event.attempt > len(attempts):
        raise BoardError(f"{which} cannot end: it has not begun")
    if attempts[event.attempt - 1] is not None:
        raise BoardError(f"{which} cannot end again: {_became(event.attempt, attempts[event.attempt - 1])}")
    if event.outcome == "finished" and event.replicate > epoch.pilots + epoch.replicates:
        raise BoardError(f"{which} is not finished: its scores are not on the board; add them first")
    attempts[event.attempt - 1] = event.outcome


def _became(attempt: int, outcome: str | None) -> str:
    return f"attempt {attempt} " + ("has not ended" if outcome is None else f"was {outcome}")
