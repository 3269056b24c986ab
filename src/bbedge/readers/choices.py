"""What a file cannot say and its reader does not guess, the policy for missing scores included."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Literal, Self, get_args

from bbedge.errors import Argument, DomainError, FormatError, Part
from bbedge.records.reading import Reading
from bbedge.text import listed, quoted, shown_path

OTHER_BLOCKS: tuple[Part, ...] = (Argument("blocks", "item"), " or ", Argument("blocks", "one"))
"""The blocks that need no column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What could be meant."""

    argument: Argument
    """What to pass if it is."""
    examples: tuple[str, ...] = ()
    """Some of its values."""
    reasons: tuple[str, ...] = ()
    """What speaks for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Something that files do not say, and that nobody but their owner knows."""

    question: str
    """What has to be decided."""
    candidates: tuple[Candidate, ...]
    """The possible answers."""


class OpenChoiceError(FormatError):
    """Files that cannot be read until something is chosen."""

    proposal: tuple[Argument, ...] = ()
    """Arguments that are certainly meant, or of a log an example; made without looking at scores."""
    by_columns: bool = False
    """Whether the columns of tables may answer it."""
    decision: Decision | None = None
    """What has to be decided, where nothing is certain."""

    @classmethod
    def proposing(cls, proposal: Sequence[Argument], *parts: Part) -> Self:
        """The error with what to choose."""
        error = cls(*parts)
        error.proposal = tuple(proposal)
        return error

    @classmethod
    def asking(cls, question: str, answers: Iterable[Candidate], *parts: Part) -> Self:
        """The error with what has to be decided."""
        error = cls(*parts)
        error.decision = Decision(question=question, candidates=tuple(answers))
        return error


class NeedlessColumnError(DomainError):
    """A column was named for logs, which are read without."""


class ChoiceNeededError(OpenChoiceError):
    """Files hold several metrics or filters, and none was chosen."""


Range = tuple[float, float]
"""Two ends of a scale of scores."""
Named = Literal["model", "replicate"]
"""What the path of a file, or a field of a log, can name."""
NAMED: tuple[Named, ...] = get_args(Named)
ABOVE = "path:([^/]+)/[^/]+/[^/]+$"
"""The folder that the folder of a file is in, as what may name the one or the other."""
_ENDINGS = re.compile(r"(\.(csv|tsv|tab|jsonl|ndjson|json|parquet|pq|eval|xlsx|xlsm|zip))?(\.gz)?$", re.IGNORECASE)
"""The endings of a file's name that are not part of the name of a model."""


def without_ending(name: str) -> str:
    """The name of a file without what says of which kind it is.

    >>> without_ending("gpt-3.5.csv.gz")
    'gpt-3.5'
    """
    return _ENDINGS.sub("", name)


@dataclass(frozen=True, slots=True, kw_only=True)
class NameSource:
    """Where the name of a model or of a replicate is found, if not in a column or where a log has it.

    >>> NameSource.parse("path:runs/([^/]+)/", role="model").in_path("logs/runs/gpt/a.jsonl", "model")
    'gpt'
    >>> NameSource.parse("task_args.prompt", role="model")
    NameSource(kind='field', text='task_args.prompt')
    """

    kind: Literal["file", "folder", "path", "seed", "field"]
    """The name of the file or of its folder, a part of the path, the seed of a log's run, or a field of a log."""
    text: str = ""
    """The regular expression of ``path``, or the name of the ``field``."""

    @classmethod
    def parse(cls, given: str, *, role: Named) -> NameSource:
        """The origin that a text such as ``folder`` or ``path:REGEX`` names; ``role`` is what it names."""
        if given in ("file", "folder"):
            return cls(kind="file" if given == "file" else "folder")
        if given.startswith("path:"):
            _check_one_group(given, role)
            return cls(kind="path", text=given[5:])
        if role == "replicate" and given == "seed":
            return cls(kind="seed")
        # A replicate's field is always one of the samples', inside an object: another word is misspelt.
        if given.strip() and (role == "model" or "." in given):
            return cls(kind="field", text=given)
        fixed, example = {
            "model": ("file, folder", "a field of the log's header such as task_args.prompt"),
            "replicate": ("folder, file, seed", "a field of the samples such as metadata.run"),
        }[role]
        raise DomainError(
            Argument(f"{role}_from"),
            f" {quoted(given)} is not known; choose {fixed}, path:REGEX with one group, or {example}",
        )

    @property
    def is_of_path(self) -> bool:
        """Whether the path of a file says it, so that it works for every kind of file."""
        return self.kind in ("file", "folder", "path")

    def in_path(self, path: str, role: Named) -> str | None:
        """The part of a path that is the name; None if there is none, or if the path does not say it."""
        if self.kind == "file":
            return without_ending(PurePath(path).name) if role == "model" else PurePath(path).name
        if self.kind == "folder":
            return PurePath(os.path.abspath(path)).parent.name or None  # noqa: PTH100 - links keep their names
        match = re.search(self.text, PurePath(path).as_posix()) if self.kind == "path" else None
        return (match.group(1) or None) if match else None


def _check_one_group(given: str, role: Named) -> None:
    try:
        groups = re.compile(given[5:]).groups
    except re.error as error:
        raise DomainError(Argument(f"{role}_from"), f" {quoted(given)}: not a regular expression ({error})") from None
    if groups != 1:
        raise DomainError(
            Argument(f"{role}_from"),
            f" {quoted(given)}: {groups} groups; put the part that names the {role}, and nothing else, in parentheses",
        )


def name_origin(reading: Reading, role: Named) -> NameSource | None:
    """What names the models or the replicates of files, if that was chosen."""
    given = reading.model_from if role == "model" else reading.replicate_from
    return None if given is None else NameSource.parse(given, role=role)


def field_naming_models(reading: Reading) -> str | None:
    """The field of logs that names the models, if one was chosen."""
    origin = name_origin(reading, "model")
    return origin.text if origin is not None and origin.kind == "field" else None


def replicates_are_seeds(reading: Reading) -> bool:
    """Whether what names replicates is called a seed: a label, which counts nothing."""
    origin = name_origin(reading, "replicate")
    if origin is None or origin.kind in ("file", "folder"):
        return False
    before = origin.text.partition("(")[0].rstrip("-_=. \\") if origin.kind == "path" else origin.text
    return origin.kind == "seed" or before.strip().casefold().endswith("seed")


def name_in_path(reading: Reading, path: str, role: Named) -> str | None:
    """The model or the replicate that the path of a file names; None unless its choice is about paths."""
    origin = name_origin(reading, role)
    if origin is None or not origin.is_of_path:
        return None
    found = origin.in_path(path, role)
    if not found:
        choice = f"{role}_from"
        raise FormatError(
            f"{shown_path(path)}: nothing there for ",
            Argument(choice, getattr(reading, choice)),
            f"; every file needs a {role}: correct the expression",
        )
    return found


def model_of_log(reading: Reading, path: str, model: str | None) -> str | None:
    """What to call the model of a file, of which a log says ``model``, or the field that ``model_from`` names.

    >>> model_of_log(Reading(model_name=("runs/small/*=small",)), "runs/small/a.eval", "openai/gpt")
    'small'
    """
    named = name_in_path(reading, path, "model") or model
    for given in reading.model_name:
        pattern, equals, name = given.partition("=")
        if not equals:
            return given
        if fits(pattern, path, model):
            return name
    return named


def check_model_names(reading: Reading, seen: Sequence[tuple[str, str | None]]) -> None:
    """Raise if a pattern fits none of the paths and models: it is a mistake."""
    for given in reading.model_name:
        pattern, equals, name = given.partition("=")
        if equals and not name:
            raise DomainError(Argument("model_name"), f" {quoted(given)} gives no name; write PATTERN=NAME")
        if equals and not any(fits(pattern, path, model) for path, model in seen):
            models = listed(dict.fromkeys(model for _, model in seen if model is not None))
            raise DomainError(
                Argument("model_name"),
                f" {quoted(given)}: no file and no model fits {quoted(pattern)}; the logs name {models or 'no model'}",
            )


def choice_for_logs(reading: Reading, *, metrics: bool = False) -> Argument | None:
    """A choice that only means something for logs, if one was made; ``metrics``: unless tables name metrics."""
    origins = {f"{role}_from": name_origin(reading, role) for role in reversed(NAMED)}
    names = (
        *(() if metrics else ("metric", "metric_range")),
        "filter",
        "subset",
        "model_name",
        *(name for name, origin in origins.items() if origin is not None and not origin.is_of_path),
        "without_metric",
    )
    return next((Argument(name) for name in names if getattr(reading, name)), None)


def skip_pattern(reading: Reading, path: str) -> str | None:
    """The pattern by which a file is left out, if there is one."""
    parts = PurePath(path).as_posix().split("/")
    folders = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
    paths = (PurePath(path).as_posix(), *(folder for folder in folders if folder))
    return next(
        (each for each in reading.skip if path == each or any(fits(each.rstrip("/"), it, None) for it in paths)), None
    )


def fits(pattern: str, path: str, model: str | None) -> bool:
    """Whether a pattern with ``*`` and ``?`` fits a path, or the end of it, or the name of the model."""
    whole = PurePath(path).as_posix()
    return fnmatchcase(whole, pattern) or fnmatchcase(whole, f"*/{pattern}") or fnmatchcase(model or "", pattern)


ErrorKind = Literal["unknown", "refusal", "infrastructure", "judge"]
"""Why a score is missing: the model refused or was filtered; a timeout, or an error of an API or of the harness; the
scorer or judge failed; or anything else, cells that do not appear at all included."""
ERROR_KINDS: tuple[ErrorKind, ...] = get_args(ErrorKind)

Treatment = Literal["refuse", "worst-case", "zero"]
"""What one missing score does: it stops the work, counts against whichever model it could help, or is a failure."""

Drop = Literal["drop-models", "drop-items", "drop-replicates"]
"""Every model, item or replicate with a missing score goes."""

_KINDS: dict[str, ErrorKind] = {kind: kind for kind in ERROR_KINDS}
_TREATMENTS: dict[str, Treatment] = {treatment: treatment for treatment in get_args(Treatment)}
_DROPS: dict[str, Drop] = {drop: drop for drop in get_args(Drop)}


@dataclass(frozen=True, slots=True, kw_only=True)
class IncompletePolicy:
    """How missing scores are treated.

    **Needs:** a choice that was made without looking at the scores. ``stopped`` also needs replicates that are numbered
    in the order in which they were run, and a decision to stop that was made from what had been seen by then.

    >>> str(IncompletePolicy.of("stopped, worst-case")), str(IncompletePolicy.of("refusal=zero"))
    ('stopped,worst-case', 'refusal=zero')
    """

    drop: Drop | None = None
    """What to drop, if anything; nothing else is said then."""
    stopped: bool = False
    """Whether a model whose later replicates are missing altogether was stopped."""
    default: Treatment = "refuse"
    """What a missing score does whose kind is not in ``kinds``."""
    kinds: tuple[tuple[ErrorKind, Treatment], ...] = ()
    """What missing scores of some kinds do."""

    @classmethod
    def of(cls, given: str | IncompletePolicy) -> IncompletePolicy:
        """A policy from its text: words and ``KIND=POLICY``, separated by commas."""
        if isinstance(given, IncompletePolicy):
            return given
        words = [word.strip() for word in given.split(",")]
        if len(words) == 1 and words[0] in _DROPS:
            return cls(drop=_DROPS[words[0]])
        stopped, plain, kinds = False, list[Treatment](), dict[ErrorKind, Treatment]()
        for word in words:
            name, equals, treatment = (part.strip() for part in word.partition("="))
            if equals:
                kind = _KINDS.get(name)
                if kind is None:
                    raise _refusal(given, f"no kind of error is named {quoted(name)}; name {_either(ERROR_KINDS)}")
                if kind in kinds:
                    raise _refusal(given, f"{kind} comes twice; name it once")
                kinds[kind] = _treatment(given, treatment, f" for {kind}")
            elif word in _DROPS:
                raise _refusal(given, f"{word} cannot be combined with other policies")
            elif word == "stopped" and not stopped:
                stopped = True
            elif word in ("stopped", *plain):
                raise _refusal(given, f"{word} comes twice; name it once")
            else:
                plain.append(_treatment(given, word, ""))
        if len(plain) > 1:
            raise _refusal(given, f"{plain[0]} and {plain[1]} contradict each other; keep one")
        ordered = tuple((kind, kinds[kind]) for kind in ERROR_KINDS if kind in kinds)
        return cls(stopped=stopped, default=plain[0] if plain else "refuse", kinds=ordered)

    def __str__(self) -> str:
        """The text of the policy."""
        words = (
            self.drop,
            "stopped" if self.stopped else None,
            self.default if self.default != "refuse" else None,
            *(f"{kind}={treatment}" for kind, treatment in self.kinds),
        )
        return ",".join(filter(None, words)) or "refuse"

    @property
    def refuses(self) -> bool:
        """Whether any missing score is refused."""
        treatments = (self.default, *(treatment for _, treatment in self.kinds))
        return not (self.drop or self.stopped) and all(treatment == "refuse" for treatment in treatments)

    def treatment(self, kind: ErrorKind) -> Treatment:
        """What a missing score of a kind does."""
        return dict(self.kinds).get(kind, self.default)

    def with_worst_case(self) -> IncompletePolicy:
        """The same, with ``worst-case`` for everything that it refuses."""
        kinds = tuple((kind, treatment) for kind, treatment in self.kinds if treatment != "refuse")
        return replace(self, default="worst-case" if self.default == "refuse" else self.default, kinds=kinds)


def _treatment(given: str, word: str, where: str) -> Treatment:
    if word not in _TREATMENTS:
        choices = f"; choose {_either(tuple(_TREATMENTS))}" if where else ""
        raise _refusal(given, f"{quoted(word)} is not a policy{where}{choices}")
    return _TREATMENTS[word]


def _either(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _refusal(given: str, problem: str) -> DomainError:
    return DomainError(
        Argument("incomplete", given),
        f": {problem}. Choose one of refuse, worst-case, stopped, zero, drop-models, drop-items, drop-replicates, or "
        "a list such as stopped,worst-case or infrastructure=worst-case,refusal=zero",
    )
