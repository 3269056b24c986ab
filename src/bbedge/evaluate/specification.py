"""What a study is: ``study.toml`` as frozen values. Unknown keys and wrong types are refused by name."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from msgspec import UNSET, structs

from bbedge.board.design import BoardDesign
from bbedge.credentials import find_credentials, find_in_words
from bbedge.errors import DesignError, FormatError
from bbedge.evaluate.engines.process import file_hashes, program_files
from bbedge.evaluate.question import Question, gate_question, parse_question
from bbedge.files import read_text
from bbedge.records.codec import convert, parse_toml, plain
from bbedge.records.policy import Policy
from bbedge.records.study import (
    BENCHMARKS,
    Benchmark,
    InspectBenchmark,
    LmEvalBenchmark,
    Price,
    StudyFile,
    StudyModel,
)
from bbedge.records.values import changed
from bbedge.text import listed, quoted, shown, shown_path

_SETTINGS_OF_THE_RUNNER = {
    "seed": "every run has a seed of its own",
    "use_cache": "caches are off, or replicates would not be fresh",
    "cache_requests": "caches are off, or replicates would not be fresh",
    "predict_only": "without scores there is nothing to compare",
    "output_path": "the runner chooses it",
    "log_samples": "samples are always written",
}
"""Options of lm-evaluation-harness that are not for a study to choose, with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSpec:
    """A study file, and what follows from its keys together. Make one with :meth:`read`."""

    path: Path
    """Where the file is."""
    file: StudyFile
    """What it says."""
    board: str
    """Where results land: a file or a database URL."""
    folder: Path
    """Where the journal and the logs are."""
    question: Question
    """What is to be known."""
    design: BoardDesign
    """The design of a new board; a board that exists keeps its own (:meth:`changes_of`). Where the study does not state
    checkpoints, the benchmark decides whether a new board has any (:mod:`bbedge.evaluate.study_board`)."""
    models: tuple[StudyModel, ...]
    benchmark: Benchmark
    """``[benchmark]``, as its engine has it."""
    programs: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the files among the words of the command, by word."""
    prices: Mapping[str, Price] = field(default_factory=dict)
    """Prices by engine model string."""
    currency: str = "$"
    """What prices are in."""
    left_out: tuple[str, ...] = ()
    """The keys of the design that a board decides if the study does not state them."""

    @classmethod
    def read(cls, path: Path, *, engine: str | None = None, drop: str | None = None) -> EvaluationSpec:
        """Read a study file; ``engine`` and ``drop`` replace what the file says."""
        chosen = {key: value for key, value in (("engine", engine), ("drop", drop)) if value is not None}
        return cls.from_values(parse_toml(read_text(path), source=shown_path(path)) | chosen, path=path)

    @classmethod
    def from_values(cls, values: Mapping[str, Any], *, path: Path) -> EvaluationSpec:
        """A study from plain values; relative paths start at the folder of ``path``."""
        source, home = shown_path(path), path.resolve().parent
        _refuse_credentials(values, source=source)
        file = convert(values, StudyFile, source=source)
        models = models_from_toml(file, source=source)
        board = file.board or path.stem + ".bbedge"
        spec = cls(
            path=path,
            file=file,
            board=board if "://" in board else str(home / board),
            folder=home / (file.folder or path.stem + ".run"),
            models=models,
            **_question_and_design(file, source=source),
            benchmark=_benchmark(file, source=f"{source}: [benchmark]"),
            programs=_programs(file, home, source=source),
            prices={
                model: convert(price, Price, source=f"{source}: [prices] {quoted(model)}")
                for model, price in file.prices.items()
                if model != "currency"
            },
            currency=convert(file.prices.get("currency", "$"), str, source=f"{source}: [prices] currency"),
        )
        _check_limits(spec, source=f"{source}: max_cost")
        question, design = spec.question, spec.design
        if file.engine == "inspect" and design.score_range != (0.0, 1.0):
            raise DesignError(f"{source}: [design]: scores of an Inspect task are from 0 to 1; leave score_range out")
        if design.family == "pilot-top-k" and (question.kind != "top-k" or question.k != design.k):
            raise DesignError(
                f"{source}: question: a design with family pilot-top-k and k = {design.k} can only answer "
                f"top-{design.k}; it tests nothing else"
            )
        if design.family == "pilot-top-k" and question.view is not None:
            raise DesignError(f"{source}: view: a pilot chooses by the headline; leave out view, or the pilot")
        return spec

    def gated(self, policy: Policy) -> EvaluationSpec:
        """The same study, run until the gate of a policy is decided, within the policy's budget if it has one."""
        if self.design.family != "all":
            raise DesignError(f"{shown_path(self.path)}: a gate needs all runs; leave out the pilot of the design")
        budget = self.file.budget if policy.budget is None else policy.budget
        # Runs after the last look would change no verdict.
        looks = policy.options.schedule or range(policy.runs_of_score, budget + 1, policy.runs_of_score)
        last = max((look for look in looks if look <= budget), default=None)
        if last is None:
            raise DesignError(
                f"{shown_path(self.path)}: budget = {budget} ends before the first look of {policy.source}, after "
                f"{policy.next_look(0)} runs; raise it"
            )
        question = gate_question(policy, self.names)
        return replace(self, question=question, file=structs.replace(self.file, budget=last))

    def changes_of(self, frozen: BoardDesign) -> list[str]:
        """The keys of the design in which the study contradicts a board.

        What the study does not state and later versions or another budget would fill in otherwise is as on the board.
        """
        keys = (key for key in BoardDesign.__struct_fields__ if key not in self.left_out)
        return [key for key in keys if getattr(self.design, key) != getattr(frozen, key)]

    @property
    def reading(self) -> dict[str, Any]:
        """How the scores that a tool writes are read, as arguments of :func:`~bbedge.read_scores`."""
        return {"score_range": self.design.score_range, "incomplete": self.file.gaps}

    @property
    def names(self) -> tuple[str, ...]:
        """The models' names on the board."""
        return self.file.names

    @property
    def protocol(self) -> dict[str, Any]:
        """What is measured, and so must not change once the first replicate has begun."""
        file, benchmark = self.file, self.benchmark
        asked = benchmark if isinstance(benchmark, InspectBenchmark) else InspectBenchmark(task="")
        content = {
            "engine": file.engine,
            # Where its server is, is no part of it: see bbedge.evaluate.servers.
            "models": [
                {key: getattr(model, key) for key in ("name", "model", "config", "args")} for model in self.models
            ],
            "task": asked.task,
            "task_args": asked.args,
            "scorer": asked.scorer,
            "limit": asked.limit,
            "roles": asked.roles,
            "command": file.command or (),
            "out": file.written if file.command else None,
            "seed": file.seed,
            "on_error": file.on_error,
            **({"programs": self.programs} if file.command else {}),
            **({"judge_repeats": asked.judge_repeats} if asked.judge_repeats > 1 else {}),
        }
        if isinstance(benchmark, LmEvalBenchmark):  # where the tool is installed is not part of it
            measured = {key: value for key, value in plain(benchmark).items() if key not in ("task", "python")}
            content["lm_eval"] = measured | {"tasks": benchmark.tasks}
        protocol: dict[str, Any] = json.loads(json.dumps(content, default=str))
        return protocol

    @property
    def protocol_hash(self) -> str:
        """SHA-256 of the protocol, in hexadecimal."""
        return hash_of(self.protocol)


def hash_of(protocol: Mapping[str, Any]) -> str:
    """SHA-256 of a protocol, in hexadecimal."""
    return hashlib.sha256(json.dumps(protocol, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _refuse_credentials(values: Mapping[str, Any], *, source: str) -> None:
    """Refuse what looks like a credential before anything else is read, so that no message can repeat it.

    The board's place is the exception: it is never frozen, and shown without its password.
    """
    command = values.get("command", [])
    words = command.split() if isinstance(command, str) else map(str, command if isinstance(command, list) else [])
    for place in find_in_words(list(words)):
        raise FormatError(
            f"{source}: command: argument {place} looks like a key or a password. The command is frozen on the board, "
            "where others read it. Remove the argument and let the program read the key from an environment variable; "
            "the environment is passed on to it"
        )
    for setting in find_credentials({key: value for key, value in values.items() if key not in ("board", "command")}):
        raise FormatError(
            f"{source}: {shown(setting, None)} looks like a key or a password. Settings are frozen on the board, where "
            "others read them, and written to logs. Remove it, and set the environment variable that the provider "
            "reads, such as OPENAI_API_KEY, before you run the command"
        )


def models_from_toml(file: StudyFile, *, source: str) -> tuple[StudyModel, ...]:
    """The models of a study, of which every one has a name of its own."""
    twice = next((name for name, count in Counter(file.names).items() if count > 1), None)
    if twice is not None:
        raise FormatError(f"{source}: models: two models are called {quoted(twice)}; give each its own name")
    if len(file.models) < 2:
        raise FormatError(f"{source}: models: {len(file.models)} model given; a comparison needs at least 2")
    return tuple(StudyModel(model=each) if isinstance(each, str) else each for each in file.models)


def _design_values(file: StudyFile, *, source: str) -> dict[str, Any]:
    """What ``[design]`` says, with the tables about views, which may also stand beside it."""
    given, on_error = dict(file.design), file.on_error
    for name in ("headline", "views", "checkpoints"):
        beside = getattr(file, name)
        if beside is not None:
            if name in given:
                raise FormatError(f"{source}: [{name}]: it is also under [design]; keep one of them")
            given[name] = beside
    if on_error == "worst-case":
        given.setdefault("incomplete", on_error)
    elif given.get("incomplete", "refuse") != "refuse":
        raise DesignError(
            f"{source}: [design]: incomplete = {given['incomplete']!r} has no meaning with on_error = {on_error!r}; "
            'set on_error = "worst-case", or leave it out'
        )
    if on_error == "worst-case" and given["incomplete"] != on_error:
        raise DesignError(
            f"{source}: on_error: worst-case, but incomplete = {given['incomplete']!r} in the design; make them equal"
        )
    return given


def _question_and_design(file: StudyFile, *, source: str) -> dict[str, Any]:
    """What is to be known, and a design that can answer it."""
    question = parse_question(file.question, file.names, view=file.view, source=f"{source}: question")
    given = _design_values(file, source=source)
    left_out = () if "checkpoints" in given else ("checkpoints",)
    given.setdefault("method", "bb-edge-x")
    source = f"{source}: [design]"
    if "checkpoints" in given:
        given |= _checkpoints(given.pop("checkpoints"))
    if question.by is not None and given.setdefault("tau", question.by) != question.by:
        raise DesignError(
            f"{source}: tau = {given['tau']} but the question asks for a margin of {question.by:g}; make them equal"
        )
    design = BoardDesign.from_values(given, source=source)
    # Only of the stakes that depend on it. Pilots are part of the budget, but not evidence.
    if design.method == "bb-edge-x" and design.stakes in (UNSET, "fitted", "design") and "planned" not in given:
        design = changed(design, planned=max(1, file.budget - (design.pilot or 0)))
    last = file.budget - (design.pilot or 0)
    if last > 0 and last not in design.next_looks(last - 1).values():
        raise DesignError(
            f"{source}: there is no look after all {file.budget} runs of the budget, so that the last ones would be "
            "for nothing; change the budget, looks or of_runs"
        )
    left_out = (*(() if "planned" in given else ("planned",)), *left_out)
    return {"question": question, "design": design, "left_out": left_out}


def _checkpoints(value: object) -> dict[str, object]:
    """What a study says of looks inside the first run: none, the default ones, their fractions, or a table."""
    if value is False:
        return {}
    table = {} if value is True else {"fractions": value} if isinstance(value, list | tuple) else value
    return {"checkpoints": table}


def _benchmark(file: StudyFile, *, source: str) -> Benchmark:
    args = file.benchmark.get("args") if file.engine == "lm_eval" else None
    if isinstance(args, Mapping):
        for key in filter(args.__contains__, _SETTINGS_OF_THE_RUNNER):
            raise FormatError(f"{source}: args: {key} may not be set; {_SETTINGS_OF_THE_RUNNER[key]}")
        for name in ("gen_kwargs", "metadata"):
            if isinstance(args.get(name), Mapping) and "seed" in args[name]:
                why = _SETTINGS_OF_THE_RUNNER["seed"]
                raise FormatError(f"{source}: args: {name}: seed may not be set; {why}")
    return convert(file.benchmark, BENCHMARKS[file.engine], source=source)


def _programs(file: StudyFile, home: Path, *, source: str) -> dict[str, str]:
    """SHA-256 of the files that the command names, by word; refuses a command that cannot be called."""
    words = file.command
    if file.engine != "command":
        if words is not None or file.out is not None:
            raise FormatError(f"{source}: command and out are for engine = 'command'; leave them out, or set engine")
        return {}
    if words is None:
        raise FormatError(f"{source}: 'command' is missing; give a list of texts, as in docs/evaluate.md")
    if not any("{out}" in word for word in words):
        raise FormatError(f"{source}: command: no argument contains {{out}}, so no scores would be found")
    if not any("{seed}" in word for word in words):
        raise FormatError(
            f"{source}: command: no argument contains {{seed}}; without its own seed a replicate is not independent"
        )
    if Path(file.written).name != file.written:
        raise FormatError(f"{source}: out: {quoted(file.written)} is a path; give a name without folders")
    return file_hashes(program_files(words, home))


def _check_limits(spec: EvaluationSpec, *, source: str) -> None:
    """Refuse limits that could not be checked."""
    file = spec.file
    if file.engine == "command" and (file.max_cost is not None or file.max_tokens is not None):
        raise FormatError(f"{source}, max_tokens: a command reports no tokens; leave them out, or use max_hours")
    if file.max_cost is not None and isinstance(spec.benchmark, InspectBenchmark):  # others name models otherwise
        asked = dict.fromkeys((*(model.model for model in spec.models), *spec.benchmark.roles.values()))
        unknown = [model for model in asked if model not in spec.prices]
        if unknown:
            raise FormatError(f"{source}: there is no price for {listed(unknown)}; add it under [prices]")
