"""Progress of a study: a live screen on a terminal, one line per look elsewhere."""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bbedge.evaluate.engine import RequestWaits, StillSilent
from bbedge.evaluate.events import (
    Begun,
    CheckBegun,
    CheckEnded,
    Dropped,
    Ended,
    ErrorSeen,
    Event,
    LimitReached,
    Looked,
    Noted,
    PilotBegun,
    ReplicateBegun,
    RequestsRepeated,
    SampleDone,
    SampleFailed,
    SampleMissing,
    Waiting,
)
from bbedge.evaluate.failures import advice, described
from bbedge.evaluate.usage import Reached
from bbedge.text import counted, display_names, shown

if TYPE_CHECKING:
    from bbedge.evaluate.specification import EvaluationSpec
    from bbedge.evaluate.usage import FirstRunSaving, Spent

_BAR = 24
_MOST_MODELS = 16
_MOST_OPEN = 4
_WINDOW = 20.0  # seconds over which speed is measured


def saving_lines(spent: Spent, study: EvaluationSpec) -> list[str]:
    """Usage next to the full budget: exact for samples, projected from past usage for the rest."""
    lines = [f"Replicates  {spent.replicates:,} of at most {spent.budget:,}"]
    if spent.unknown:
        lines.append(f"            usage of {spent.unknown:,} of them is not known: usage.jsonl does not list them")
    if study.file.engine == "command":  # a sample is the whole benchmark there, and a call is counted by its items
        lines.append(f"Item runs   {_against(spent.used.calls, spent.full.calls, 'instead of')}")
    else:
        what = "Runs        " if study.file.engine == "lm_eval" else "Samples     "
        lines.append(f"{what}{_against(spent.samples, spent.full_samples, 'of at most')}")
        if spent.used.calls:
            lines.append(f"Requests    {_against(spent.used.calls, spent.full.calls)}")
    lines += [f"            {part}" for part in _parts(spent)]
    if spent.used.total_tokens:
        lines.append(f"Tokens      {_against(spent.used.total_tokens, spent.full.total_tokens)}")
    if spent.cost is not None:
        full = spent.full_cost or 0.0
        lines.append(f"Cost        {_against(spent.cost, full, currency=study.currency)}")
    return lines


def first_run_lines(saving: FirstRunSaving, study: EvaluationSpec) -> list[str]:
    """What looks inside the first run saved: exact for item runs, projected from each model's mean for the rest."""
    if saving.items == saving.full_items:
        return ["First run  complete: the looks inside it saved nothing"]
    saved = 1 - saving.items / saving.full_items
    lines = [
        f"First run  {saving.items:,} of {saving.full_items:,} item runs; the looks inside it saved {saved:.0%} of it"
    ]
    if study.file.engine != "command":
        lines.append(f"            requests {_against(saving.used.calls, saving.full.calls)}")
    if saving.used.total_tokens:
        lines.append(f"            tokens {_against(saving.used.total_tokens, saving.full.total_tokens)}")
    if saving.cost is not None and saving.full_cost is not None:
        lines.append(f"            cost {_against(saving.cost, saving.full_cost, currency=study.currency)}")
    return lines


def _parts(spent: Spent) -> list[str]:
    """What the requests were for, where not all of them were useful."""
    if spent.useful == spent.used.calls:
        return []
    parts = [f"{spent.useful:,} of these were useful"]
    if spent.lost:
        parts.append(
            f"{spent.lost:,} of these were in flight at an interruption and ran again, answered or not"
            + ("; their tokens are not counted" if spent.used.total_tokens else "")
        )
    if spent.failed:
        parts.append(f"{spent.failed:,} of these were for attempts at samples that failed")
    if spent.checks:
        parts.append(f"{spent.checks:,} of these asked a short question before a start")
    if spent.pilot:
        parts.append(f"{spent.pilot:,} of these were for the pilot of a dry run")
    return parts


def limit_text(reached: Reached, currency: str = "") -> str:
    """A limit that was reached, and by how much."""
    if reached.limit == "max_cost":
        return f"max_cost = {reached.allowed:g} is reached: {currency}{reached.used:,.2f} spent"
    if reached.limit == "max_tokens":
        return f"max_tokens = {reached.allowed:g} is reached: {reached.used:,.0f} tokens used"
    return f"max_hours = {reached.allowed:g} is reached: {reached.used:,.2f} hours in this command"


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
        if text := line(event):
            self._console.print(Text(text), highlight=False, soft_wrap=True)


def line(event: Event) -> str:
    """An event as a line of text; empty for a single sample."""
    match event:
        case Begun():
            done = f", {event.replicates} replicates done" if event.replicates else ""
            return (
                f"{event.question}: {len(event.models)} models, {event.items:,} items, at most {event.budget} "
                f"replicates{done}. Design {event.design_hash[:16]} is frozen in {event.board}"
            )
        case ReplicateBegun() if event.attempt > 1:
            return f"replicate {event.replicate}: attempt {event.attempt}, because no journal continues the one before"
        case Looked():
            return _look(event)
        case Dropped():
            return f"decided, not run again: {_few([shown(model, 30) for model in event.models], 8)}"
        case Noted():
            return f"note on the board: {event.text}"
        case ErrorSeen() if event.count <= 1:  # the first error of a kind at once; the others are counted
            advised = advice(event.problem)
            return f"error: {described(event.problem)}" + (f" ({advised})" if advised else "")
        case LimitReached():
            place = f"replicate {event.replicate}" if event.replicate else "the pilot"
            return f"{limit_text(event.reached)}; stopping in {place}, which can be continued"
        case RequestsRepeated():
            things = counted(event.requests, "request")
            return f"{things} had no sample in the journal at the interruption, answered or not; sending them again"
        case PilotBegun():
            return f"pilot: {counted(event.samples, 'sample')} for each of {counted(len(event.models), 'model')}"
        case CheckBegun():
            return f"asking {counted(len(event.models), 'model')} one short question each"
        case StillSilent():
            place = f" at {shown(event.endpoint, 200)}" if event.endpoint else ""
            return f"{shown(event.model)}{place}: no answer after {event.seconds:.0f} s, still waiting"
        case CheckEnded():
            cost = f"{counted(event.usage.calls, 'request')}, {counted(event.usage.total_tokens, 'token')}"
            if not event.failed:
                return f"all answered ({cost})"
            names = _few([shown(name, 30) for name in event.failed], 6)
            return f"{len(event.answered)} answered ({cost}); {names} did not, which may pass: the study goes on"
        case Waiting():
            return f"{counted(event.samples, 'sample')} failed; retry {event.attempt} in {event.seconds:.0f} s"
    return ""


def _look(event: Looked) -> str:
    edges = [f"{shown(a, 30)} > {shown(b, 30)}" for a, b in event.new_edges]
    for view, of_view in event.new_view_edges.items():
        edges += [f"{shown(a, 30)} > {shown(b, 30)} ({shown(view, 30)})" for a, b in of_view]
    place = f"replicate {event.replicate}"
    at = event.checkpoint
    if at is not None:
        place += (
            f", checkpoint {at.number} of {event.checkpoints} ({100 * at.fraction:.3g} % of blocks, "
            f"{counted(len(event.models), 'model')} running)"
        )
    return f"{place}: {event.answer.text}" + (f"; new: {_few(edges, 6)}" if edges else "")


def _few(texts: list[str], most: int) -> str:
    return ", ".join(texts[:most]) + (f" and {len(texts) - most:,} more" if len(texts) > most else "")


class Screen:
    """The live screen: progress per model, speed, time left, leaderboard and open pairs."""

    def __init__(self, console: Console, study: EvaluationSpec) -> None:
        self._console, self._study = console, study
        self._begun: Begun | None = None
        self._pilot: PilotBegun | None = None
        self._replicate: ReplicateBegun | None = None
        self._looked: Looked | None = None
        self._waiting: Waiting | None = None
        self._dropped: list[str] = []
        self._done, self._failed = Counter[str](), Counter[str]()
        self._recent: deque[tuple[float, int, int]] = deque()
        self._since = time.monotonic()
        self._finished = 0
        self._tokens = self._calls = self._errors = 0
        self._waited = 0.0
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
        match event:
            case Begun():
                self._begun = event
            case PilotBegun():
                self._pilot = event
            case ReplicateBegun():
                self._replicate, self._waiting = event, None
                self._done, self._failed = Counter(dict(event.done)), Counter()
            case SampleDone():
                self._waiting = None
                self._done[event.model] += 1
                self._recent.append((time.monotonic(), event.usage.calls, event.usage.total_tokens))
                self._finished += 1
                self._tokens += event.usage.total_tokens
                self._calls += event.usage.calls
            case SampleMissing():
                self._done[event.model] += 1
            case SampleFailed():
                self._failed[event.model] += 1
                self._error = event.error
            case ErrorSeen():
                self._errors += 1
            case RequestWaits():
                self._waited += event.seconds
            case Waiting():
                self._waiting, self._failed = event, Counter()
                self._waited += event.seconds
            case Looked():
                self._looked = event
            case Dropped():
                self._dropped += event.models
                if self._replicate is not None:
                    self._replicate = replace(self._replicate, models=event.left)
        text = line(event)
        if text and not isinstance(event, Ended):
            style = "yellow" if isinstance(event, ErrorSeen | StillSilent | LimitReached) else "dim"
            self._console.print(Text(text, style=style), highlight=False)
            self._error = "" if isinstance(event, Looked) else self._error

    def render(self) -> RenderableType:
        """The current screen."""
        if self._pilot is not None:
            done = counted(self._finished, "sample")
            return Text(f"pilot: {done} finished, {counted(self._errors, 'error')}", style="dim")
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
        behind = sorted(now.models, key=lambda model: self._done[model] >= now.samples)
        for model in behind[:_MOST_MODELS]:
            done = self._done[model]
            filled = round(_BAR * done / now.samples)
            failed = self._failed[model]
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
        trouble = [f"{counted(self._errors, 'error')}, {self._waited:,.0f} s of waiting"] if self._errors else []
        if self._waiting is not None:
            waiting = f"waiting {self._waiting.seconds:.0f} s before retrying failed samples"
            return Text(" · ".join([waiting, *trouble]), style="yellow")
        if now is None or begun is None or not self._finished:
            return Text(" · ".join(["waiting for the first answers", *trouble]), style="yellow" if trouble else "dim")
        moment = time.monotonic()
        while self._recent and moment - self._recent[0][0] > _WINDOW:
            self._recent.popleft()
        window = max(min(_WINDOW, moment - self._since), 1.0)
        calls = sum(count for _, count, _ in self._recent) / window
        tokens = sum(count for _, _, count in self._recent) / window
        rate = self._finished / max(moment - self._since, 1e-3)
        here = sum(now.samples - self._done[model] for model in now.models)
        later = (begun.budget - now.replicate) * len(now.models) * now.samples
        things = "item runs" if self._study.file.engine == "command" else "requests"
        parts = [f"{self._calls:,} {things} by this command", f"{calls:,.1f} {things}/s", *trouble]
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
        items = len(board.design.layout.order)
        over = board.mean_items or (items,) * len(names)

        def place(i: int) -> tuple[int, bool, float]:
            # Means over some of the items are not comparable with the others.
            return sum(board.graph.rank_intervals[i]), over[i] < items, -float(board.means[i])

        for i in sorted(range(len(names)), key=place)[:_MOST_MODELS]:
            best, worst = board.graph.rank_intervals[i]
            mean = "-" if math.isnan(board.means[i]) else f"{low + float(board.means[i]) * (high - low):.3f}"
            table.add_row(
                Text(str(best) if best == worst else f"{best}-{worst}", style="bold"),
                Text(names[i]),
                Text(mean if mean == "-" or over[i] == items else f"{mean} ({over[i]:,} of {items:,} items)"),
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
