"""How to cite the paper and the program: one place, and the files that repeat it."""

import re
from pathlib import Path

import yaml

from bbedge import __version__
from bbedge.citation import CONTACT, PAPER, SOFTWARE, Reference, as_bibtex, as_text

ROOT = Path(__file__).parents[2]


def test_the_citation_file_says_the_same():
    content = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert content["cff-version"] == "1.2.0"
    assert content["title"] == SOFTWARE.title
    assert tuple(each["name"] for each in content["authors"]) == SOFTWARE.authors
    assert content["version"] == __version__
    (paper,) = content["references"]
    assert paper["title"] == PAPER.title
    assert tuple(f"{each['family-names']}, {each['given-names']}" for each in paper["authors"]) == PAPER.authors
    # Nothing that is not known: the fields of the citation file are the fields of the reference.
    assert set(paper) == {"type", "title", "authors", "year"}
    assert (paper["year"], PAPER.venue) == (PAPER.year, None)
    assert tuple(each["email"] for each in paper["authors"] if "email" in each) == CONTACT


def test_the_text_names_title_authors_and_version():
    text = as_text()
    assert PAPER.title in text
    assert all(name in text for name in PAPER.names)
    assert SOFTWARE.title in text
    assert __version__ in text


def test_bibtex_has_an_entry_for_each():
    entries = as_bibtex().strip().split("\n\n")
    assert [entry.splitlines()[0] for entry in entries] == ["@misc{bb-edge,", "@misc{bbedge,"]
    assert "author = {Gao, Hongfu and Zhang, Songxin and" in entries[0]
    assert "author = {{The bbedge authors}}" in entries[1]
    assert "note = {Correspondence: wangzhou@nus.edu.sg, liuyiming@jnu.edu.cn}" in entries[0]
    assert all(re.search(r"year = \{\d{4}\}", entry) for entry in entries)
    for entry in entries:
        assert entry.count("{") == entry.count("}")
        assert entry.endswith("\n}")


def test_short_forms():
    def short(*authors: str, year: int | None = None) -> str:
        return Reference(key="k", authors=authors, title="T", year=year).short

    assert short("Holm, Sture", year=1979) == "Holm (1979)"
    assert short("Hartog, Will", "Lei, Lihua", year=2025) == "Hartog and Lei (2025)"
    assert short("A, B", "C, D", "E, F") == "A et al."


def test_a_reference_leaves_out_what_is_not_known():
    known = Reference(key="k", authors=("Holm, Sture", "Student"), title="T", year=1979, venue="V")
    assert known.text == "Sture Holm, Student (1979). T. V."
    assert Reference(key="k", authors=("Holm, Sture",), title="T").text == "Sture Holm. T."
