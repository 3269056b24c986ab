"""``study.toml``, key by key. What follows from several keys is decided in :mod:`bbedge.evaluate.specification`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, field
from msgspec.structs import force_setattr

from bbedge.records.values import LARGEST, Ordinal, Seed, Stored, Strict, Text

EngineName = Literal["inspect", "command", "lm_eval"]
OnError = Literal["wait", "zero", "worst-case"]
Drop = Literal["settled", "unneeded", "never"]
Copies = Literal["refuse", "allow"]
Amount = Annotated[float, Meta(ge=0, le=LARGEST)]
Positive = Annotated[float, Meta(gt=0, le=LARGEST)]

FEWSHOT_SEED = 1234
"""The default of lm-evaluation-harness. Few-shot examples belong to the benchmark, so replicates share this seed."""


class StudyModel(Strict, frozen=True, kw_only=True):
    """A model of the study."""

    model: Text
    """What the engine gets: an Inspect model string, the ``{model}`` of a command, or a model type of lm_eval."""
    name: Text = ""
    """Its name on the board; by default, what the engine gets."""
    base_url: Text | None = None
    """Where its server is, if that is not the provider's default."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Generation options: temperature, max_tokens and so on."""
    args: Mapping[str, Any] = field(default_factory=dict)
    """Options of the provider."""

    def __post_init__(self) -> None:
        if not self.name:
            force_setattr(self, "name", self.model)


class InspectBenchmark(Strict, frozen=True, kw_only=True):
    """``[benchmark]`` of a study that Inspect runs."""

    task: Text
    """The Inspect task, as written: an installed name, or FILE.py@TASK with a path from the study's folder."""
    args: Mapping[str, Any] = field(default_factory=dict)
    """Its arguments."""
    scorer: Text | None = None
    """Which of the task's scores counts, where it has several."""
    limit: Ordinal | None = None
    """Only the first so many samples."""
    roles: Mapping[str, Text] = field(default_factory=dict)
    """Other models that the task uses by role: a grader, a simulated user."""
    judge_repeats: Ordinal = 1
    """How often each answer is judged; the mean is the score."""


class CommandBenchmark(Strict, frozen=True, kw_only=True):
    """``[benchmark]`` of a study that a command runs."""

    items: Text
    """The list of items: a path from the study's folder."""


class LmEvalArguments(Strict, frozen=True, kw_only=True, omit_defaults=True):
    """Other settings of lm-evaluation-harness, by the name of its option."""

    trust_remote_code: bool | None = None
    confirm_run_unsafe_code: bool | None = None
    fewshot_as_multiturn: bool | None = None
    apply_chat_template: bool | Text | None = None
    """Whether to use a template, or its name."""
    system_instruction: Text | None = None
    device: Text | None = None
    batch_size: int | Text | None = None
    """A number, or for instance ``auto``."""
    max_batch_size: int | Text | None = None
    gen_kwargs: Mapping[str, Any] | None = None
    """Generation arguments of every model; its ``config`` replaces them."""
    metadata: Mapping[str, Any] | None = None


class LmEvalBenchmark(Strict, frozen=True, kw_only=True):
    """``[benchmark]`` of a study that lm-evaluation-harness runs."""

    task: Text | Annotated[tuple[Text, ...], Meta(min_length=1)]
    """Tasks and groups, by the names that the tool knows."""
    include_path: Text | None = None
    """A folder with more tasks, as written: a path from the study's folder."""
    python: Text | None = None
    """The Python that has the tool installed; ``None`` is the one that runs this."""
    metric: Text | None = None
    """The metric that is the score, where tasks have several."""
    filter: Text | None = None
    """The filter that counts, where tasks have several."""
    block: Text | None = None
    """The field of the samples that names the block of a document; without it every document is a block."""
    num_fewshot: Stored | None = None
    """Examples before every question; ``None`` leaves it to the task."""
    fewshot_seed: Seed = FEWSHOT_SEED
    """What draws the examples, in every replicate."""
    limit: Ordinal | None = None
    """Only the first so many documents of each task."""
    args: LmEvalArguments = field(default_factory=LmEvalArguments)

    @property
    def tasks(self) -> tuple[str, ...]:
        """Tasks and groups, one or several."""
        return (self.task,) if isinstance(self.task, str) else self.task


class Price(Strict, frozen=True, kw_only=True):
    """What a model costs, in the study's currency for a million tokens."""

    input: Amount
    """A million tokens of prompt."""
    output: Amount
    """A million tokens of answer."""


class Execution(Strict, frozen=True, kw_only=True):
    """``[run]``: how the work is done. None of it changes what is measured, so all of it may change between calls."""

    retries: Stored = 3
    """How often failed samples are tried again before the study stops."""
    pause: Amount = 5.0
    """Seconds before the first of these tries; the next ones wait twice as long each, up to a minute."""
    connections: Ordinal | None = None
    """Requests to one model at a time; ``None`` leaves it to the engine."""
    timeout: Annotated[float, Meta(ge=0.01)] | None = None
    """Seconds after which a request, or a command, has failed."""
    request_retries: Stored = 5
    """How often the engine sends a failed request again before the sample fails."""
    workers: Ordinal = 1
    """Commands at a time."""
    copies: Copies = "refuse"
    """What to do about a replicate that repeats an earlier one answer by answer."""
    preflight: bool = True
    """Whether every model is asked a short question before the first sample."""


class SpendingLimits(Strict, frozen=True, kw_only=True):
    """The most that may be spent; ``None`` is no limit."""

    max_cost: Positive | None = None
    """Money, in the currency of the prices, by all calls of the command together."""
    max_tokens: Annotated[int, Meta(ge=1, le=2**63 - 1)] | None = None
    """Tokens, in and out, by all calls of the command together."""
    max_hours: Positive | None = None
    """Hours that one call of the command may take."""

    @property
    def exist(self) -> bool:
        """Whether there is any limit."""
        return any(limit is not None for limit in (self.max_cost, self.max_tokens, self.max_hours))


class StudyFile(SpendingLimits, frozen=True, kw_only=True):
    """The whole file. Tables whose keys depend on other keys are read when those are known."""

    models: tuple[Text | StudyModel, ...]
    """The models; a text stands for a table with ``model`` alone."""
    budget: Ordinal
    """The most replicates that are run."""
    question: Text = "all-pairs"
    """What is to be known."""
    view: Text | None = None
    """The view that the question is about."""
    board: Text | None = None
    """Where results land: a file or a database URL."""
    folder: Text | None = None
    """Where the journal and the logs are."""
    engine: EngineName = "inspect"
    """Who runs the models."""
    drop: Drop = "settled"
    """Which models stop."""
    on_error: OnError = "wait"
    """Whether a sample that keeps failing stops the study, scores zero, or is missing in the worst case."""
    seed: Seed = 0
    """Makes this study another than one with the same design."""
    design: Mapping[str, Any] = field(default_factory=dict)
    """The design of a new board."""
    headline: Mapping[str, Any] | None = None
    """A table of the design, which may also stand here."""
    views: Mapping[str, Any] | None = None
    """Likewise."""
    checkpoints: bool | tuple[float, ...] | Mapping[str, Any] | None = None
    """Looks inside the first run: none, the default ones, their fractions, or a table of the design."""
    benchmark: Mapping[str, Any] = field(default_factory=dict)
    """One of :data:`BENCHMARKS`."""
    command: Annotated[tuple[str, ...], Meta(min_length=1)] | None = None
    """The command, argument by argument."""
    out: Text | None = None
    """The name of the file, or folder, that the command writes."""
    prices: Mapping[str, Any] = field(default_factory=dict)
    """``currency``, and a :class:`Price` for each engine model string."""
    run: Execution = field(default_factory=Execution)

    @property
    def names(self) -> tuple[str, ...]:
        """The models' names on the board."""
        return tuple(each if isinstance(each, str) else each.name for each in self.models)

    @property
    def gaps(self) -> Literal["refuse", "worst-case"]:
        """What is done about a score that is missing for good."""
        return "worst-case" if self.on_error == "worst-case" else "refuse"

    @property
    def written(self) -> str:
        """The name of the file, or folder, that the command writes."""
        return self.out or "scores.csv"


Names = Mapping[str, tuple[str, ...]]
"""What servers call their models, by the model's name on the board."""


class Servers(Strict, frozen=True, kw_only=True):
    """What the board records of the servers of a study."""

    addresses: Mapping[str, str] = field(default_factory=dict)
    """By what asks there: a model, the role of a judge, or an environment variable that programs read."""
    served: Names = field(default_factory=dict)
    """All names that the server of each model has given its model, of those whose answers state one."""


Benchmark = InspectBenchmark | CommandBenchmark | LmEvalBenchmark
BENCHMARKS: Mapping[EngineName, type[Benchmark]] = {
    "inspect": InspectBenchmark,
    "command": CommandBenchmark,
    "lm_eval": LmEvalBenchmark,
}
"""What ``[benchmark]`` has, by engine."""
