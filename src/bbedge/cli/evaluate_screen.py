"""Progress of a study: a live screen on a terminal, one line per replicate elsewhere."""

from __future__ import annotations

import time
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bbedge.evaluate.events import (
    Begun,
    Dropped,
    Ended,
    Event,
    Looked,
    Noted,
    ReplicateBegun,
    SampleDone,
    SampleFailed,
    SampleMissing,
    Waiting,
)
from bbedge.text import counted, display_names, shown

if TYPE_CHECKING:
    from bbedge.evaluate.spec import EvaluationSpec
    from bbedge.evaluate.usage import Spent

_BAR = 24
_MOST_MODELS = 16
_MOST_OPEN = 4
_WINDOW = 20.0  # seconds over which speed is measured


def saving_lines(spent: Spent, study: EvaluationSpec) -> list[str]:
    """Usage next to the full budget: exact for samples, projected from past usage for the rest."""
    lines = [f"Replicates  {spent.replicates:,} of at most {spent.budget:,}"]
    if spent.unknown:
        lines.append(f"            usage of {spent.unknown:,} of them is not known: usage.jsonl does not list them")
    if study.engine == "command":  # a sample is the whole benchmark there, and a call is counted by its items
        lines.append(f"Item runs   {_against(spent.used.calls, spent.full.calls, 'instead of')}")
    else:
        lines.append(f"Samples     {_against(spent.samples, spent.full_samples, 'of at most')}")
        if spent.used.calls:
            lines.append(f"Requests    {_against(spent.used.calls, spent.full.calls)}")
    if spent.lost:
        lines.append(
            f"            {spent.lost:,} of these were in flight at an interruption and ran again"
            + ("; their tokens are not counted" if spent.used.total_tokens else "")
        )
    if spent.used.total_tokens:
        lines.append(f"Tokens      {_against(spent.used.total_tokens, spent.full.total_tokens)}")
    if spent.cost is not None:
        full = spent.full_cost or 0.0
        lines.append(f"Cost        {_against(spent.cost, full, currency=study.currency)}")
    return lines


def _against(used: float, full: float, words: str = "instead of about", *, currency: str = "") -> str:
    form = ",.2f" if currency else ",.0f"
    text = f"{currency}{used:{form}}"
    return f"{text} {words} {currency}{full:{form}} ({1 - used / full:.0%} saved)" if full > used else text


class Lines:
    """Prints a line per event that matters, for logs."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def __call__(self, event: Event) -> None:
        """Print the event, unless it is about a single sample."""
        text = line(event)
        if text:
            self._console.print(Text(text), highlight=False, soft_wrap=True)


def line(event: Event) -> str:
    """An event as a line of text; empty for a single sample."""
    if isinstance(event, Begun):
        done = f", {event.replicates} replicates done" if event.replicates else ""
        return (
            f"{event.question}: {len(event.models)} models, {event.items:,} items, at most {event.budget} replicates"
            f"{done}. Design {event.design_hash[:16]} is frozen in {event.board}"
        )
    if isinstance(event, Looked):
        edges = [f"{shown(a, 30)} > {shown(b, 30)}" for a, b in event.new_edges]
        for view, of_view in event.new_view_edges.items():
            edges += [f"{shown(a, 30)} > {shown(b, 30)} ({shown(view, 30)})" for a, b in of_view]
        return f"replicate {event.replicate}: {event.answer.text}" + (f"; new: {_few(edges, 6)}" if edges else "")
    if isinstance(event, Dropped):
        return f"decided, not run again: {_few([shown(model, 30) for model in event.models], 8)}"
    if isinstance(event, Noted):
        return f"note on the board: {event.text}"
    if isinstance(event, Waiting):
        return f"{counted(event.samples, 'sample')} failed; retry {event.attempt} in {event.seconds:.0f} s"
    return ""


def _few(texts: list[str], most: int) -> str:
    return ", ".join(texts[:most]) + (f" and {len(texts) - most:,} more" if len(texts) > most else "")


class Screen:
    """The live screen: progress per model, speed, time left, leaderboard and open pairs."""

    def __init__(self, console: Console, study: EvaluationSpec) -> None:
        self._console, self._study = console, study
        self._begun: Begun | None = None
        self._replicate: ReplicateBegun | None = None
        self._looked: Looked | None = None
        self._waiting: Waiting | None = None
        self._dropped: list[str] = []
        self._done: dict[str, int] = {}
        self._failed: dict[str, int] = {}
        self._recent: deque[tuple[float, int]] = deque()
        self._since = time.monotonic()
        self._finished = 0
        self._tokens = self._calls = 0
        self._error = ""
        self._live = Live(
            console=console,
            get_renderable=self.render,
            refresh_per_second=4,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Screen:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def __call__(self, event: Event) -> None:
        """Update the screen; lines that should stay on the terminal are printed above it."""
        if isinstance(event, Begun):
            self._begun = event
        elif isinstance(event, ReplicateBegun):
            self._replicate, self._waiting = event, None
            self._done, self._failed = dict(event.done), {}
        elif isinstance(event, SampleDone):
            self._waiting = None
            self._done[event.model] = self._done.get(event.model, 0) + 1
            self._recent.append((time.monotonic(), event.usage.total_tokens))
            self._finished += 1
            self._tokens += event.usage.total_tokens
            self._calls += event.usage.calls
        elif isinstance(event, SampleMissing):
            self._done[event.model] = self._done.get(event.model, 0) + 1
        elif isinstance(event, SampleFailed):
            self._failed[event.model] = self._failed.get(event.model, 0) + 1
            self._error = event.error
        elif isinstance(event, Waiting):
            self._waiting, self._failed = event, {}
        elif isinstance(event, Looked):
            self._looked = event
        elif isinstance(event, Dropped):
            self._dropped += event.models
        text = line(event)
        if text and not isinstance(event, Ended):
            self._console.print(Text(text, style="dim"), highlight=False)
            self._error = "" if isinstance(event, Looked) else self._error

    def render(self) -> RenderableType:
        """The current screen."""
        if self._begun is None or self._replicate is None:
            return Text("preparing the benchmark and the models …", style="dim")
        parts: list[RenderableType] = [Text(), self._heading(), self._models(), self._speed()]
        if self._error:
            parts.append(Text(f"last failure  {shown(self._error, 100)}", style="yellow"))
        if self._looked is not None:
            parts += [Padding(self._board(self._looked), (1, 0, 0, 0)), self._open(self._looked)]
        return Group(*parts)

    def _heading(self) -> Text:
        begun, now = self._begun, self._replicate
        if begun is None or now is None:
            return Text()
        pilot = " (pilot)" if now.pilot else ""
        return Text.assemble(
            (shown(self._study.path.name, 40), "bold"),
            f"  {shown(begun.question, 60)}  ",
            (f"replicate {now.replicate}{pilot} of at most {begun.budget}", "bold cyan"),
        )

    def _models(self) -> Table:
        now = self._replicate
        table = Table.grid(padding=(0, 2))
        if now is None:
            return table
        names = dict(zip(now.models, display_names(now.models, width=30), strict=True))
        behind = sorted(now.models, key=lambda model: self._done.get(model, 0) >= now.samples)
        for model in behind[:_MOST_MODELS]:
            done = self._done.get(model, 0)
            filled = round(_BAR * done / now.samples)
            failed = self._failed.get(model, 0)
            table.add_row(
                Text(names[model]),
                Text("█" * filled, style="cyan") + Text("·" * (_BAR - filled), style="dim"),
                Text(f"{done:,}/{now.samples:,}", justify="right"),
                Text(f"{failed:,} failed" if failed else "", style="yellow"),
            )
        if len(now.models) > _MOST_MODELS:
            table.add_row(Text(f"and {len(now.models) - _MOST_MODELS} more models", style="dim"))
        if self._dropped:
            table.add_row(Text(f"decided, not run: {_few([shown(m, 30) for m in self._dropped], 4)}", style="green"))
        return table

    def _speed(self) -> Text:
        now, begun = self._replicate, self._begun
        if self._waiting is not None:
            return Text(f"waiting {self._waiting.seconds:.0f} s before retrying failed samples", style="yellow")
        if now is None or begun is None or not self._finished:
            return Text("waiting for the first answers", style="dim")
        moment = time.monotonic()
        while self._recent and moment - self._recent[0][0] > _WINDOW:
            self._recent.popleft()
        window = max(min(_WINDOW, moment - self._since), 1.0)
        tokens = sum(count for _, count in self._recent) / window
        rate = self._finished / max(moment - self._since, 1e-3)
        here = sum(now.samples - self._done.get(model, 0) for model in now.models)
        later = (begun.budget - now.replicate) * len(now.models) * now.samples
        parts = [f"{self._calls:,} {'item runs' if self._study.engine == 'command' else 'requests'} by this command"]
        if self._tokens:
            parts += [f"{self._tokens:,} tokens", f"{tokens:,.0f} tokens/s"]
        parts += [f"{_time(here / rate)} left in this replicate", f"at most {_time((here + later) / rate)} in total"]
        return Text(" · ".join(parts), style="dim")

    def _board(self, looked: Looked) -> Table:
        board = self._study.question.seen_in(looked.leaderboard)
        names = display_names(board.design.models, width=30)
        table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for column in ("rank", "model", "mean"):
            table.add_column(column, justify="left" if column == "model" else "right", no_wrap=True)
        low, high = board.design.score_range
        order = sorted(range(len(names)), key=lambda i: (sum(board.standing.rank_intervals[i]), -float(board.means[i])))
        for i in order[:_MOST_MODELS]:
            best, worst = board.standing.rank_intervals[i]
            table.add_row(
                Text(str(best) if best == worst else f"{best}-{worst}", style="bold"),
                Text(names[i]),
                Text(f"{low + float(board.means[i]) * (high - low):.3f}"),
            )
        return table

    def _open(self, looked: Looked) -> Text:
        answer = looked.answer
        if not answer.open_pairs:
            return Text(answer.text, style="green")
        texts = [f"{shown(a, 24)} ? {shown(b, 24)}" for a, b in answer.open_pairs[:_MOST_OPEN]]
        more = answer.n_open - len(texts)
        pairs = ", ".join(texts) + (f" and {more:,} more" if more else "")
        return Text.assemble((answer.text, "bold"), f"; open: {pairs}")


def _time(seconds: float) -> str:
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"
