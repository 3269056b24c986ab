"""What verification found: single checks, and what they show together."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from bbedge._version import __version__
from bbedge.verify.differences import Difference

Status = Literal["ok", "differs", "unknown"]
"""Checked and right; checked and not the same; or not possible to check."""
CheckKind = Literal[
    "schema",
    "digest",
    "version",
    "consistency",
    "page",
    "files",
    "reading",
    "ledger",
    "scores",
    "design",
    "results",
    "notes",
]
"""Typed and readable; matches its digest; written by this version; free of contradictions; the page that it is inside
of; from the same files; read with the same options; from a board whose events follow from its scores; from the same
scores; under the same design; what follows from them; what it notes."""
Outcome = Literal["verified", "consistent", "differs", "other-version"]
"""Everything follows from scores or a board, computed again; the certificate agrees with itself, and nothing was
computed; something differs; or another version of bbedge wrote it, which alone can compute it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was checked."""

    kind: CheckKind
    """What was checked."""
    status: Status
    """Whether it is right."""
    text: str
    """A sentence about it, without its beginning and end."""
    differences: tuple[Difference, ...] = ()
    """What differs, field by field; of very many the first."""
    count: int = 0
    """The number of all differences."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Verification:
    """What was checked of a certificate, in order."""

    checks: tuple[Check, ...]
    """Every check that could be made."""
    version: str
    """The version of bbedge that wrote the certificate."""

    def __repr__(self) -> str:
        return f"Verification({self.summary})"

    @property
    def outcome(self) -> Outcome:
        """What the checks show together."""
        if any(check.status == "differs" for check in self.checks):
            return "differs"
        if self.version != __version__:
            return "other-version"
        return "verified" if any(check.kind == "results" for check in self.checks) else "consistent"

    @property
    def verified(self) -> bool:
        """Whether everything was computed again and follows."""
        return self.outcome == "verified"

    @property
    def summary(self) -> str:
        """The answer in one sentence."""
        has = {check.kind: check for check in self.checks}
        digest = "matches its digest" if has["digest"].status == "ok" else "carries no digest"
        open_ = [check.kind for check in self.checks if check.status == "unknown" and check.kind != "digest"]
        rest = f" Not checked: {', '.join(open_)}." if open_ else ""
        if self.outcome == "differs":
            wrong = {check.kind: check.text for check in self.checks if check.status == "differs"}
            if wrong.keys() & {"scores", "design"}:
                wrong.pop("results", None)  # which then cannot be the same
            return f"does not match: {'; '.join(wrong.values())}."
        if self.outcome == "other-version":
            return (
                f"not verified: {has['version'].text}. Install the version that wrote the certificate, and run the "
                "command again."
            )
        if self.outcome == "consistent":
            return (
                f"consistent: the certificate {digest} and agrees with itself. This does not show that it is true: "
                f"nothing was computed again, because no scores were given.{rest}"
            )
        of_board = "ledger" in has and has["ledger"].status != "unknown"
        follows = f"everything that it concludes follows from the {'board' if of_board else 'scores'}"
        return f"verified: the certificate {digest}, and {follows}.{rest}"

    @property
    def content(self) -> dict[str, Any]:
        """The result as plain values, for programs."""
        return {
            "outcome": self.outcome,
            "verified": self.verified,
            "summary": self.summary,
            "certificate_version": self.version,
            "version": __version__,
            "checks": [asdict(check) for check in self.checks],
        }
