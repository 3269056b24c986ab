"""How to cite the paper of the method, and this program: the one place that says so.

``bbedge cite`` prints it, ``bbedge compare`` refers to it, and a test compares ``CITATION.cff`` with it. Only what is
known is stated: a year, a venue or an address that is not known is left out, in every form.
"""

from __future__ import annotations

from dataclasses import dataclass

from bbedge._version import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A work to cite."""

    key: str
    """Its name in BibTeX."""
    authors: tuple[str, ...]
    """``Family, Given`` each; a name without a comma, such as that of a group, is used as it is."""
    title: str
    """Its title."""
    year: int | None = None
    """When it appeared, if known."""
    venue: str | None = None
    """Where it appeared, with volume and pages, if known."""

    @property
    def names(self) -> tuple[str, ...]:
        """The authors as they are spoken: given name first."""
        return tuple(" ".join(reversed(name.split(", "))) for name in self.authors)

    @property
    def short(self) -> str:
        """Family names and the year: ``Hartog and Lei (2025)``."""
        families = [name.split(", ")[0] for name in self.authors]
        who = f"{families[0]} et al." if len(families) > 2 else " and ".join(families)
        return who if self.year is None else f"{who} ({self.year})"

    @property
    def text(self) -> str:
        """The whole reference in one line."""
        who = ", ".join(self.names) + ("" if self.year is None else f" ({self.year})")
        return f"{who}. {self.title}." + ("" if self.venue is None else f" {self.venue}.")


PAPER = Reference(
    key="bb-edge",
    authors=("Gao, Hongfu", "Zhang, Songxin", "Xie, Zejian", "Jing, Bingyi", "Zhou, Wang", "Liu, Yiming"),
    title="Anytime-Valid LLM Leaderboards via Benchmark-weighted and Block-Factorized e-Processes",
    year=2026,
)
"""The paper of the method, with the year of the manuscript. Where it appears is not known to us."""

CONTACT = ("wangzhou@nus.edu.sg", "liuyiming@jnu.edu.cn")
"""The addresses for correspondence that the paper states; it has no web address that is known to us."""

SOFTWARE = Reference(
    key="bbedge",
    authors=("The bbedge authors",),
    title="bbedge: anytime-valid LLM leaderboards",
    year=2026,
    venue=f"Software, version {__version__}",
)
"""This program."""


_CORRESPONDENCE = f"Correspondence: {', '.join(CONTACT)}"


def as_text() -> str:
    """How to cite both, to read."""
    return (
        f"The method:\n  {PAPER.text} {_CORRESPONDENCE}.\n\nThis program:\n  {SOFTWARE.text}\n\n"
        "Please cite both, and state the version: results may differ between versions.\n"
    )


def as_bibtex() -> str:
    """How to cite both, as entries for BibTeX and BibLaTeX."""
    paper = _entry(PAPER, " and ".join(PAPER.authors), _CORRESPONDENCE)
    return f"{paper}\n{_entry(SOFTWARE, f'{{{SOFTWARE.authors[0]}}}', SOFTWARE.venue or '')}"


def _entry(work: Reference, author: str, note: str) -> str:
    # Braces keep capitals, and the mathematical e is in italics.
    title = work.title.replace("LLM", "{LLM}").replace(" e-", " {$e$}-")
    fields = {"author": author, "title": title, "year": work.year, "note": note}
    # Of a kind that every style knows: BibTeX has none for software.
    return f"@misc{{{work.key},\n" + "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items()) + "}\n"
