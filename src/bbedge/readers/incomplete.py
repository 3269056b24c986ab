"""What to do about missing scores: a policy, read from text in this one place.

A policy never depends on scores, only on which of them are there and on what logs say about those that are not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

from bbedge.errors import Argument, DomainError
from bbedge.text import quoted

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
        words: list[str] = [self.drop] if self.drop else []
        if self.stopped:
            words.append("stopped")
        if self.default != "refuse":
            words.append(self.default)
        words += [f"{kind}={treatment}" for kind, treatment in self.kinds]
        return ",".join(words) or "refuse"

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
