"""Which servers a study asks, frozen with its protocol: another server is refused unless a reason is recorded.

Two facts are recorded of each server: its address, without credentials, and what it calls its model in its answers. The
address is known before the first request. A server at the same address may serve another model, and a name such as
``latest`` may move to one; that shows in the answers. Both are compared before scores of a new replicate count.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from bbedge.board.board import Board
from bbedge.credentials import public_address, redacted, secret_values
from bbedge.errors import Argument, Blank, BoardError, DesignError, DomainError
from bbedge.evaluate.engine import Engine, Located
from bbedge.evaluate.journal import ReplicateFile
from bbedge.evaluate.specification import EvaluationSpec
from bbedge.records.codec import convert, plain
from bbedge.records.study import Names, Servers
from bbedge.text import quoted, shown, shown_path

_ABOUT = "server"
_LONGEST_REASON = 500  # characters
# What client libraries read the address of their server from.
_VARIABLE = re.compile(r"[A-Z0-9_]+_(?:BASE_URL|API_BASE|API_BASE_URL|API_HOST|OPENAI_ENDPOINT)|OLLAMA_HOST")


def variables() -> dict[str, str]:
    """The environment variables that name the address of a server."""
    return {name: value for name, value in os.environ.items() if value and _VARIABLE.fullmatch(name)}


def addresses_of(engine: Engine) -> dict[str, str]:
    """The addresses that an engine asks, as they may be published."""
    found, secrets = engine.addresses() if isinstance(engine, Located) else {}, secret_values(os.environ)
    return {name: public_address(address, secrets) for name, address in found.items()}


def checked_reason(reason: str | None) -> str | None:
    """Why a server was changed, as it may be published."""
    if reason is None:
        return None
    text = " ".join(redacted(reason, secret_values(os.environ)).split())[:_LONGEST_REASON]
    if not text:
        raise DomainError("", Argument("server_changed"), " is empty; say why the server was changed")
    return text


def recorded_servers(board: Board) -> Servers | None:
    """What the board has of the servers of its present epoch; ``None`` if it has nothing."""
    notes = [each for each in board.noted if each.epoch == board.state.epoch.number]
    contents = [each.particulars.get("servers") for each in notes if each.about in ("protocol", _ABOUT)]
    found = [
        convert(content, Servers, source=f"{board.name}: a note on servers", error=BoardError)
        for content in contents
        if isinstance(content, Mapping)
    ]
    return found[-1] if found else None


def check_addresses(study: EvaluationSpec, board: Board, found: Mapping[str, str], reason: str | None) -> list[str]:
    """Refuse addresses that are not the recorded ones, or record them with the reason; the notes that were made."""
    recorded = recorded_servers(board)
    was = recorded or Servers()
    changes = [
        f"{quoted(name)} is {_address(found.get(name))} and no longer {_address(was.addresses.get(name))}"
        for name in {**was.addresses, **found}
        if was.addresses.get(name) != found.get(name)
    ]
    if not changes:
        return []
    if recorded is None:
        texts = [f"{shown(name)} at {shown(address, 200)}" for name, address in found.items()]
        text = f"The addresses of servers are recorded {_since(board)}: {', '.join(texts)}."
        return [_noted(board, text, Servers(addresses=found))]
    if reason is None:
        raise _refused(study, changes, "Restore the address")
    text = f"The server of {', that of '.join(changes)}, {_since(board)}. The reason given: {reason}"
    return [_noted(board, text, Servers(addresses=found, served=was.served), reason=reason)]


def check_served(
    study: EvaluationSpec, board: Board, found: Names, reason: str | None, page: ReplicateFile | None = None
) -> list[str]:
    """Refuse servers that call their model otherwise than before, or record it with the reason; notes that were made.

    The names of a model that had none so far are recorded. ``page`` is the replicate whose answers state the names.
    """
    was = recorded_servers(board) or Servers()
    # In an order that does not depend on which answer came first: after a crash the board is the same.
    new = {
        model: tuple(names)
        for model in sorted(found, key=lambda each: (each not in study.names, each))
        if (names := sorted({*_published(found[model])} - {*was.served.get(model, ())}))
    }
    if not new:
        return []
    changed = [model for model, names in new.items() if model in was.served or len(names) > 1]
    changes = [
        f"{quoted(model)} calls its model {_quoted(new[model])}"
        + (f" and no longer {_quoted(was.served[model])}" if model in was.served else "")
        for model in changed
    ]
    if changed and reason is None:
        aside = "to another folder, so that the replicate is run again as another attempt, which the board states"
        again = "" if page is None else f" and move {shown_path(page.path)} {aside}"
        raise _refused(study, changes, f"Restore the model{again}")
    merged = {model: (*was.served.get(model, ()), *new.get(model, ())) for model in {**was.served, **new}}
    if changed:
        text = f"The server of {', that of '.join(changes)}, {_since(board)}. The reason given: {reason}"
    else:
        named = ", ".join(f"{shown(model)} as {_quoted(names)}" for model, names in new.items())
        text = f"What servers call their models is recorded {_since(board)}: {named}."
    return [_noted(board, text, Servers(addresses=was.addresses, served=merged), reason=reason if changed else None)]


def served_on(page: ReplicateFile) -> dict[str, tuple[str, ...]]:
    """What the answers of a replicate state, by model."""
    found: dict[str, dict[str, None]] = {}
    for (model, _), done in page.done.items():
        found.setdefault(model, {}).update(dict.fromkeys(done.served))
    return {model: tuple(names) for model, names in found.items() if names}


def frozen_servers(addresses: Mapping[str, str], served: Names) -> Servers:
    """What the protocol of a new study records."""
    return Servers(addresses=addresses, served={model: _published(served[model]) for model in sorted(served)})


def _published(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(redacted(name, secret_values(os.environ)) for name in names)


def _noted(board: Board, text: str, servers: Servers, *, reason: str | None = None) -> str:
    board.note(_ABOUT, text, servers=plain(servers), **({} if reason is None else {"reason": reason}))
    return text


def _refused(study: EvaluationSpec, changes: Iterable[str], remedy: str) -> DesignError:
    return DesignError(
        f"{shown_path(study.path)}: the server of {', that of '.join(changes)}. What is measured is frozen with the "
        f"design. {remedy}, or pass ",
        Argument("server_changed", Blank("REASON")),
        " to go on: the board and its certificates then state the change and the reason",
    )


def _since(board: Board) -> str:
    epoch = board.state.epoch
    return f"since before replicate {epoch.pilots + epoch.replicates + 1} was complete"


def _address(address: str | None) -> str:
    return "the default" if address is None else shown(address, 200)


def _quoted(names: Iterable[str]) -> str:
    return " and ".join(quoted(name) for name in names)
