"""The readers of logs: those of this package and those that other packages add."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

from bbedge.errors import DomainError, FormatError
from bbedge.readers.choices import Choice
from bbedge.readers.logs.contract import Glimpse, Log, Reader, Recognition, Sample
from bbedge.text import listed, quoted, shown_path

GROUP = "bbedge.readers"
"""The group of entry points under which other packages add readers."""


@cache
def readers() -> Mapping[str, Reader]:
    """All readers by name. A reader of another package may not take the name of one of ours."""
    from importlib.metadata import entry_points

    from bbedge.readers.logs.helm import Helm
    from bbedge.readers.logs.inspect_ai import InspectAi
    from bbedge.readers.logs.lighteval import Lighteval
    from bbedge.readers.logs.lm_eval import LmEval
    from bbedge.readers.logs.openai_evals import OpenAiEvals
    from bbedge.readers.logs.promptfoo import Promptfoo

    ours: list[Reader] = [LmEval(), InspectAi(), Helm(), Lighteval(), Promptfoo(), OpenAiEvals()]
    ours += _of_agents_and_suites()
    ours += _of_runs_and_judgments()
    found = {reader.name: reader for reader in ours}
    for point in entry_points(group=GROUP):
        loaded = point.load()
        reader: Reader = loaded() if isinstance(loaded, type) else loaded
        if reader.name in found or reader.name in ("table", "wide"):
            raise DomainError(
                f"entry point {quoted(point.name)} of {GROUP}: a reader named {quoted(reader.name)} exists already; "
                "rename it"
            )
        found[reader.name] = reader
    return found


def _of_agents_and_suites() -> list[Reader]:
    """The readers of agent benchmarks, and of frameworks that run suites."""
    from bbedge.readers.logs.evalplus import EvalPlus
    from bbedge.readers.logs.evalscope import EvalScope
    from bbedge.readers.logs.every_eval_ever import EveryEvalEver
    from bbedge.readers.logs.harbor import Harbor
    from bbedge.readers.logs.nemo_evaluator import NemoEvaluator
    from bbedge.readers.logs.tau2_bench import Tau2Bench
    from bbedge.readers.logs.tau_bench import TauBench
    from bbedge.readers.logs.terminal_bench import TerminalBench
    from bbedge.readers.logs.verifiers import Verifiers

    agents: list[Reader] = [TauBench(), Tau2Bench(), TerminalBench(), Harbor()]
    return [*agents, NemoEvaluator(), EveryEvalEver(), EvalPlus(), EvalScope(), Verifiers()]


def _of_runs_and_judgments() -> list[Reader]:
    """The readers of test runs, of tables of results, and of judgments."""
    from bbedge.readers.logs.alpaca_eval import AlpacaEval
    from bbedge.readers.logs.arena_hard import ArenaHard
    from bbedge.readers.logs.deepeval import DeepEval
    from bbedge.readers.logs.livebench import LiveBench
    from bbedge.readers.logs.mlflow import MlFlow
    from bbedge.readers.logs.mt_bench import MtBench
    from bbedge.readers.logs.openai_api import OpenAiApi
    from bbedge.readers.logs.swe_bench import SweBench

    return [DeepEval(), MlFlow(), OpenAiApi(), SweBench(), LiveBench(), ArenaHard(), MtBench(), AlpacaEval()]


def recognised(path: str) -> tuple[Reader | None, Recognition]:
    """The reader of a file, and whether the file has samples or stands beside one that has."""
    glimpse = Glimpse.of(path)
    answers = [(reader, reader.recognises(glimpse)) for reader in readers().values()]
    certain = [reader for reader, answer in answers if answer == "samples"]
    if len(certain) > 1:
        raise FormatError(
            f"{shown_path(path)}: could be a log of {listed(reader.title for reader in certain)}; say which with ",
            Choice("format", certain[0].name),
        )
    if certain:
        return certain[0], "samples"
    beside = [reader for reader, answer in answers if answer == "beside"]
    return (beside[0], "beside") if beside else (None, "no")


def open_log(reader: Reader, path: str) -> Log:
    """Open a log. What is nested so deeply that Python cannot follow is refused, wherever the reader meets it."""

    def refusal() -> FormatError:
        return FormatError(f"{shown_path(path)}: nested too deeply; expected a log of {reader.title}")

    try:
        log = reader.open(path)
    except RecursionError:
        raise refusal() from None

    def samples() -> Iterator[Sample]:
        try:
            yield from log.samples()
        except RecursionError:
            raise refusal() from None

    return replace(log, samples=samples)
