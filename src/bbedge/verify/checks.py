"""A certificate as it was given, the checks that need no scores, and what single checks show together.

No command reads a certificate in another way, so that none is read unchecked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from bbedge._version import __version__
from bbedge.certificate.certificate import Certificate, Shown
from bbedge.certificate.document import plain, read_document
from bbedge.certificate.parts import Parts
from bbedge.certificate.provenance import inside_page, is_changed
from bbedge.errors import FormatError
from bbedge.records.certificate import Document
from bbedge.records.codec import parse_json
from bbedge.text import listed, shown_path
from bbedge.text import shown as shown_text
from bbedge.verify.consistency import check_consistency, check_views
from bbedge.verify.differences import Difference, unknown_keys

_ENOUGH = 1024  # bytes that tell a page from JSON
MOST_BYTES = 1 << 28
"""A certificate of 500 models, the most that list their pairs, has about 50 million."""

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
    status: Status
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


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenCertificate:
    """A certificate as it was given: what was typed, and everything that the file says."""

    content: Mapping[str, Any]
    """Plain values, keys that this version does not know included."""
    document: Document
    """The same, typed."""
    source: str
    """What it is called in messages."""
    in_page: bool = False
    """Whether it was taken out of a page."""

    @classmethod
    def read(cls, given: str | os.PathLike[str] | Mapping[str, Any] | Certificate) -> GivenCertificate:
        """Read a file or plain values; what is no certificate is refused."""
        if isinstance(given, Certificate | Mapping):
            content, source, in_page = given.document if isinstance(given, Certificate) else given, "certificate", False
        else:
            source = shown_path(given)
            content, in_page = _content_of_file(Path(given), source)
        return cls(content=content, document=read_document(content, source=source), source=source, in_page=in_page)


def _content_of_file(path: Path, name: str) -> tuple[dict[str, Any], bool]:
    """A certificate file as plain values, and whether it is a page that contains a certificate."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise FormatError(f"{name}: not a certificate: larger than {MOST_BYTES:,} bytes")
        text = path.read_bytes()
    except OSError as error:
        raise FormatError(f"{name}: cannot be read ({error.strerror})") from error
    if text[:_ENOUGH].lstrip().startswith(b"<"):
        return inside_page(text.decode("utf-8", errors="replace"), source=name, most_bytes=MOST_BYTES), True
    content = parse_json(text, source=name, what="a certificate")
    if not isinstance(content, dict):
        raise FormatError(f"{name}: not a certificate; expected what bbedge certify --json writes")
    return content, False


def read_certificate(path: str | os.PathLike[str], *, shown: Shown = "all", force: bool = False) -> Certificate:
    """Read a certificate file, as ``bbedge certify --json`` writes it, or the one inside a page.

    A file that contradicts itself, or whose content is not that of its digest, is refused; ``force`` reads it all the
    same, and every display then says so first. :func:`bbedge.verify_certificate` checks the numbers against the scores.

    It shows everything that stands; ``shown="current"`` shows the last look.
    """
    given, flaw = GivenCertificate.read(path), None
    parts = Parts.of(given.document, source=given.source)
    try:
        if is_changed(given.content, given.document):
            raise FormatError(
                f"{given.source}: the certificate does not match its digest. Do not rely on it; write it again with "
                "bbedge certify --json or bbedge board show --json"
            )
        check_consistency(parts)
    except FormatError as error:
        if not force:
            raise
        check_views(parts)
        flaw = str(error).removeprefix(f"{given.source}: ")
    return Certificate.of(given.document, shown=shown, source=given.source, flaw=flaw)


_DIGEST_CHECKS: dict[bool | None, Check] = {
    None: Check(
        kind="digest",
        status="unknown",
        text="it carries no digest, so that changes which contradict nothing else cannot be seen",
    ),
    False: Check(kind="digest", status="ok", text="it matches its digest"),
    True: Check(kind="digest", status="differs", text="it does not match its digest"),
}


def own_checks(given: GivenCertificate) -> Iterator[Check]:
    """What a certificate can be checked for by itself."""
    # What is not known would not be read, and so could not be checked.
    if unknown := list(unknown_keys(given.content, plain(given.document))):
        yield Check(kind="schema", status="differs", text=f"it has unknown keys: {listed(unknown)}")
    else:
        yield Check(kind="schema", status="ok", text="it is readable")
    yield _DIGEST_CHECKS[is_changed(given.content, given.document)]
    if (version := given.document.bbedge) != __version__:
        text = f"bbedge {shown_text(version)} wrote it, and this is bbedge {__version__}, which cannot compute it again"
        yield Check(kind="version", status="unknown", text=text)
        return
    yield Check(kind="version", status="ok", text=f"this version, {__version__}, wrote it")
    try:
        check_consistency(Parts.of(given.document, source=given.source))
        yield Check(kind="consistency", status="ok", text="it does not contradict itself")
    except FormatError as error:
        text = str(error).removeprefix(f"{given.source}: ").removesuffix(".")
        yield Check(kind="consistency", status="differs", text=text)
    if given.in_page:
        text = "the certificate inside the page was checked, not what the page shows beside it"
        yield Check(kind="page", status="unknown", text=text)
