"""What a study says about lm-evaluation-harness, as frozen values, and the words of its command line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.evaluate.table import Table
from bbedge.text import quoted

FEWSHOT_SEED = 1234
"""The tool's own default. Few-shot examples belong to the benchmark, so replicates share this seed."""
# Of Python's and NumPy's random numbers, the tool's own defaults. Tasks make documents and order choices with them, so
# they belong to the benchmark like the examples; models in the same process draw with torch, which has the run's seed.
_TASK_SEEDS = "0,1234"
_OURS = {
    "seed": "every run has a seed of its own",
    "use_cache": "caches are off, or replicates would not be fresh",
    "cache_requests": "caches are off, or replicates would not be fresh",
    "predict_only": "without scores there is nothing to compare",
    "output_path": "the runner chooses it",
    "log_samples": "samples are always written",
}
_FLAGS = ("trust_remote_code", "confirm_run_unsafe_code")
_VALUES = ("system_instruction", "batch_size", "max_batch_size", "device")


@dataclass(frozen=True, slots=True, kw_only=True)
class LmEvalSettings:
    """The benchmark of a study that lm-evaluation-harness runs."""

    tasks: tuple[str, ...]
    """Tasks and groups, by the names that the tool knows."""
    include_path: str | None = None
    """A folder with more tasks, as written: a path from the study's folder."""
    python: str | None = None
    """The Python that has the tool installed; ``None`` is the one that runs this."""
    metric: str | None = None
    """The metric that is the score, where tasks have several."""
    filter: str | None = None
    """The filter that counts, where tasks have several."""
    block: str | None = None
    """The field of the samples that names the block of a document; without it every document is a block."""
    num_fewshot: int | None = None
    """Examples before every question; ``None`` leaves it to the task."""
    fewshot_seed: int = FEWSHOT_SEED
    """What draws the examples, in every replicate."""
    limit: int | None = None
    """Only the first so many documents of each task."""
    args: Mapping[str, Any] = field(default_factory=dict)
    """Other settings of the tool, by the name of its option."""

    @classmethod
    def of(cls, table: Table) -> LmEvalSettings:
        """Take the settings out of ``[benchmark]``."""
        given = table.mapping("args")
        for key, why in _OURS.items():
            if key in given:
                raise FormatError(f"{table.at('args')}: {key} may not be set; {why}")
        _check_args(Table(given, f"{table.at('args')}"))
        return cls(
            tasks=table.texts("task"),
            include_path=table.text("include_path", "") or None,
            python=table.text("python", "") or None,
            metric=table.text("metric", "") or None,
            filter=table.text("filter", "") or None,
            block=table.text("block", "") or None,
            num_fewshot=table.whole("num_fewshot", least=0) if table.has("num_fewshot") else None,
            fewshot_seed=table.whole("fewshot_seed", FEWSHOT_SEED, least=0),
            limit=table.whole("limit", least=1) if table.has("limit") else None,
            args=given,
        )

    @property
    def content(self) -> dict[str, Any]:
        """What is measured, as plain values; where the tool is installed is not part of it."""
        return {
            "tasks": list(self.tasks),
            "include_path": self.include_path,
            "metric": self.metric,
            "filter": self.filter,
            "block": self.block,
            "num_fewshot": self.num_fewshot,
            "fewshot_seed": self.fewshot_seed,
            "limit": self.limit,
            "args": dict(self.args),
        }

    def words(self, *, home: Path, out: Path, seed: int) -> list[str]:
        """The words of the command line that list and run have in common."""
        words = ["--tasks", ",".join(self.tasks), "--output_path", str(out), "--log_samples"]
        words += ["--seed", f"{_TASK_SEEDS},{seed},{self.fewshot_seed}"]
        if self.include_path is not None:
            words += ["--include_path", str(home / self.include_path)]
        if self.num_fewshot is not None:
            words += ["--num_fewshot", str(self.num_fewshot)]
        if self.limit is not None:
            words += ["--limit", str(self.limit)]
        for flag in _FLAGS:
            if self.args.get(flag):
                words.append(f"--{flag}")
        if "metadata" in self.args:
            words += ["--metadata", json.dumps(self.args["metadata"])]
        return words

    def prompt_words(self, model: str) -> list[str]:
        """The words about prompts and batches, which depend on the type of the model."""
        words = []
        for name in _VALUES:
            if name in self.args:
                words += [f"--{name}", str(self.args[name])]
        template = self.args.get("apply_chat_template", model.endswith("chat-completions"))
        if template:
            words += ["--apply_chat_template", *([template] if isinstance(template, str) else [])]
        if "fewshot_as_multiturn" in self.args:
            words += ["--fewshot_as_multiturn", *([] if self.args["fewshot_as_multiturn"] else ["false"])]
        return words

    def generation(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The generation arguments of a model: those of the benchmark, replaced by its own."""
        return {**self.args.get("gen_kwargs", {}), **config}


def _check_args(args: Table) -> None:
    """Refuse settings of the tool that are not known, or of another type."""
    for flag in (*_FLAGS, "fewshot_as_multiturn"):
        args.boolean(flag)
    template = args.take("apply_chat_template")
    if not isinstance(template, bool | str | None):
        raise FormatError(f"{args.at('apply_chat_template')}: give true, false or the name of a template")
    if args.has("system_instruction"):
        args.text("system_instruction")
    if args.has("device"):
        args.text("device")
    for name in ("batch_size", "max_batch_size"):
        size = args.take(name)
        if not isinstance(size, int | str | None) or isinstance(size, bool):
            raise FormatError(f"{args.at(name)} = {quoted(str(size))}; give a whole number, or a string such as auto")
    for name in ("gen_kwargs", "metadata"):
        if "seed" in args.mapping(name):
            raise FormatError(f"{args.at(name)}: seed may not be set; every run has a seed of its own")
    args.finish()
