"""The readers of logs: those of this package and those that other packages add, and which one a file belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from bbedge.errors import DomainError, FormatError
from bbedge.readers.choices import Choice
from bbedge.readers.logs.contract import Glimpse, Reader, Recognition
from bbedge.text import listed, quoted, shown_path

GROUP = "bbedge.readers"
"""The group of entry points under which other packages add readers."""


@cache
def readers() -> Mapping[str, Reader]:
    """All readers by name. A reader of another package may not take the name of one of ours."""
    from importlib.metadata import entry_points

    found = {reader.name: reader for reader in _ours()}
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


def _ours() -> tuple[Reader, ...]:
    """The readers of this package, in the order in which messages list them; imported when logs are looked for."""
    from bbedge.readers.tools.deepeval import DeepEval
    from bbedge.readers.tools.evalplus import EvalPlus
    from bbedge.readers.tools.evalscope import EvalScope
    from bbedge.readers.tools.harbor import Harbor, TerminalBench
    from bbedge.readers.tools.helm import Helm
    from bbedge.readers.tools.inspect_ai import InspectAi
    from bbedge.readers.tools.judgments import ALPACA_EVAL, ARENA_HARD, LIVEBENCH, MT_BENCH
    from bbedge.readers.tools.lighteval import Lighteval
    from bbedge.readers.tools.lm_eval import LmEval
    from bbedge.readers.tools.openai import OpenAiApi, OpenAiEvals
    from bbedge.readers.tools.promptfoo import Promptfoo
    from bbedge.readers.tools.rows import EveryEvalEver, MlFlow, NemoEvaluator
    from bbedge.readers.tools.swe_bench import SweBench
    from bbedge.readers.tools.tau_bench import Tau2Bench, TauBench
    from bbedge.readers.tools.verifiers import Verifiers

    suites = (LmEval(), InspectAi(), Helm(), Lighteval(), Promptfoo(), OpenAiEvals())
    agents = (TauBench(), Tau2Bench(), TerminalBench(), Harbor())
    frameworks = (NemoEvaluator(), EveryEvalEver(), EvalPlus(), EvalScope(), Verifiers())
    results = (DeepEval(), MlFlow(), OpenAiApi(), SweBench())
    return (*suites, *agents, *frameworks, *results, LIVEBENCH, ARENA_HARD, MT_BENCH, ALPACA_EVAL)


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
