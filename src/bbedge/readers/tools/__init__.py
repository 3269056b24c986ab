"""The readers of logs: those of this package and those that other packages add, and which one a file belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import PurePath

from bbedge.errors import Argument, DomainError, FormatError
from bbedge.readers.logs.contract import Glimpse, Reader, Recognition
from bbedge.readers.tables import PARQUET, SEPARATORS
from bbedge.text import listed, quoted, shown_path

GROUP = "bbedge.readers"
"""The group of entry points under which other packages add readers."""


# By name, where each is. Order matters: of several tools that have a file beside their logs, the first is named.
_OURS = {
    "lm-eval": "lm_eval.LM_EVAL",
    "inspect": "inspect_ai.INSPECT_AI",
    "helm": "suites.HELM",
    "lighteval": "lighteval.LIGHTEVAL",
    "promptfoo": "promptfoo.PROMPTFOO",
    "openai-evals": "openai.OPENAI_EVALS",
    "tau-bench": "trials.TAU_BENCH",
    "tau2-bench": "trials.TAU2_BENCH",
    "terminal-bench": "harbor.TERMINAL_BENCH",
    "harbor": "harbor.HARBOR",
    "nemo-evaluator": "rows.NEMO_EVALUATOR",
    "every-eval-ever": "rows.EVERY_EVAL_EVER",
    "evalplus": "graded.EVALPLUS",
    "evalscope": "suites.EVALSCOPE",
    "verifiers": "trials.VERIFIERS",
    "deepeval": "tested.DEEPEVAL",
    "mlflow": "rows.MLFLOW",
    "openai-api": "openai.OPENAI_API",
    "swe-bench": "swe_bench.SWE_BENCH",
    "livebench": "judgments.LIVEBENCH",
    "arena-hard": "judgments.ARENA_HARD",
    "mt-bench": "judgments.MT_BENCH",
    "alpaca-eval": "judgments.ALPACA_EVAL",
    "bfcl": "tested.BFCL",
    "livecodebench": "graded.LIVECODEBENCH",
    "cruxeval": "graded.CRUXEVAL",
    "opencompass": "graded.OPENCOMPASS",
    "mmlu-pro": "graded.MMLU_PRO",
    "zero-eval": "rows.ZERO_EVAL",
}
# Our tools that have files that are tables by their name and content: by what such a file begins with, and by its path.
_WITH_TABLES = {
    "lighteval": (b"PAR1", ""),
    "helm": (b"", r"(^|/)display_[^/]*$"),
    "harbor": (b"", r"(^|/)(agent|verifier)/[^/]*$"),
}
# Documents and archives, which may be the log of any tool whatever their name is.
_DOCUMENTS = (b"{", b"[", b"PK")


class _Readers(Mapping[str, Reader]):
    """Readers by name, of which ours are imported when they are asked for."""

    def __init__(self, added: Mapping[str, Reader]) -> None:
        self._loaded = dict(added)
        self._names = (*_OURS, *added)

    def __getitem__(self, name: str) -> Reader:
        if name not in self._loaded:
            module, _, reader = _OURS[name].partition(".")
            self._loaded[name] = getattr(import_module(f"bbedge.readers.tools.{module}"), reader)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@cache
def readers() -> Mapping[str, Reader]:
    """All readers by name. A reader of another package may not take the name of one of ours."""
    from importlib.metadata import entry_points

    added: dict[str, Reader] = {}
    for point in entry_points(group=GROUP):
        loaded = point.load()
        reader: Reader = loaded() if isinstance(loaded, type) else loaded
        if reader.name in (*_OURS, *added, "table", "wide"):
            raise DomainError(
                f"entry point {quoted(point.name)} of {GROUP}: a reader named {quoted(reader.name)} exists already; "
                "rename it"
            )
        added[reader.name] = reader
    return _Readers(added)


def _asked(glimpse: Glimpse) -> Iterator[Reader]:
    """The readers that may know a file: where it can only be a table, few of ours, and none of the others is loaded."""
    table = glimpse.path.lower().removesuffix(".gz").endswith((*SEPARATORS, *PARQUET)) and not (
        glimpse.head.lstrip().startswith(_DOCUMENTS)
    )
    path = PurePath(glimpse.path).as_posix()
    for name in readers():
        begin, pattern = _WITH_TABLES.get(name, (None, ""))
        known = begin is not None and glimpse.head.startswith(begin) and re.search(pattern, path)
        if known or not table or name not in _OURS:
            yield readers()[name]


def recognised(path: str) -> tuple[Reader | None, Recognition]:
    """The reader of a file, and whether the file has samples or stands beside one that has."""
    glimpse = Glimpse.of(path)
    answers = [(reader, reader.recognises(glimpse)) for reader in _asked(glimpse)]
    certain = [reader for reader, answer in answers if answer == "samples"]
    if len(certain) > 1:
        raise FormatError(
            f"{shown_path(path)}: could be a log of {listed(reader.title for reader in certain)}; say which with ",
            Argument("format", certain[0].name),
        )
    if certain:
        return certain[0], "samples"
    beside = [reader for reader, answer in answers if answer == "beside"]
    return (beside[0], "beside") if beside else (None, "no")
