"""The graph for other programs, and the badge: right, well-formed, and safe from names."""

from __future__ import annotations

import csv
import io
import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.document import certificate, to_json
from bbedge.certificate.exports import to_csv, to_dot, to_graphml, to_mermaid
from bbedge.display.compact import badge
from bbedge.errors import DomainError
from unit.certificate.documents import circular, document

NAMES = ['say "hi"\\', "<b>&", "a]; x -->", "\u202enosj\x1b", "\u6a21\u578b"]
CONTENT = document([0.95, 0.7, 0.5, 0.45, 0.05], names=NAMES)
CERTIFICATE = Certificate.of(CONTENT)
REDUCED = {(int(a), int(b)) for a, b in np.argwhere(CERTIFICATE.graph.reduction)}


def test_dot():
    text = to_dot(CERTIFICATE)
    assert text.isascii()
    assert {(int(a), int(b)) for a, b in re.findall(r"m(\d+) -> m(\d+);", text)} == REDUCED
    # A label is one quoted text: nothing in it ends it early.
    for line in re.findall(r"^  m\d+ \[label=(.*)\];$", text, re.MULTILINE):
        assert re.fullmatch(r'"(?:[^"\\]|\\.)*"', line)
    assert 'say \\"hi\\"\\\\ (rank' in text


def test_mermaid():
    text = to_mermaid(CERTIFICATE)
    assert {(int(a), int(b)) for a, b in re.findall(r"^  m(\d+) --> m(\d+)$", text, re.MULTILINE)} == REDUCED
    labels = re.findall(r'^  m\d+\["(.*)"\]$', text, re.MULTILINE)
    assert len(labels) == 5
    assert all(re.fullmatch(r"(?:[A-Za-z0-9 _.:()-]|#\d+;)*", label) for label in labels)


def test_graphml():
    root = ElementTree.fromstring(to_graphml(CERTIFICATE))
    space = "{http://graphml.graphdrawing.org/xmlns}"
    names = {node.get("id"): node.find(f"{space}data[@key='name']").text for node in root.iter(f"{space}node")}
    assert "<b>&" in names.values()
    edges = [(names[edge.get("source")], names[edge.get("target")]) for edge in root.iter(f"{space}edge")]
    assert len(edges) == len(CONTENT["edges"])
    evidence = [float(edge.find(f"{space}data[@key='log_e']").text) for edge in root.iter(f"{space}edge")]
    assert evidence == [edge["log_e"] for edge in CONTENT["edges"]]


def test_csv():
    rows = list(csv.DictReader(io.StringIO(to_csv(CERTIFICATE))))
    read = [(row["winner"].encode().decode("unicode_escape"), float(row["margin"])) for row in rows]
    assert read == [(edge["winner"], edge["margin"]) for edge in CONTENT["edges"]]
    assert sum(int(row["reduced"]) for row in rows) == len(REDUCED)


RUN_BY_SPREADSHEETS = ["=cmd|'/c calc'!A1", "+1", "-2+3", "@SUM(A1)", " =1", "\t=1", "\r=1", "\n@x", "\u00a0=1", "\tx"]


def test_no_spreadsheet_runs_a_name_of_an_export():
    names = [*RUN_BY_SPREADSHEETS, "plain", "a=b"]
    certificate = Certificate.of(document(list(np.linspace(0.98, 0.02, len(names))), names=names, replicates=4))
    rows = list(csv.DictReader(io.StringIO(to_csv(certificate))))
    assert {name for row in rows for name in (row["winner"], row["loser"])} >= {"plain", "a=b", "'=cmd|'/c calc'!A1"}
    harmless = re.compile(r"[A-Za-z'\\]")
    for row in rows:
        assert harmless.match(row["winner"])
        assert harmless.match(row["loser"])
        assert not any(row[key].startswith("'") for key in ("log_e", "margin", "first_certified", "reduced"))
    changed = {f"'{name}".encode("unicode_escape").decode("ascii") for name in RUN_BY_SPREADSHEETS}
    assert {row["winner"] for row in rows} - {"plain", "a=b"} <= changed


def test_a_badge_says_the_interval():
    best, worst = CONTENT["models"][1]["rank_interval"]
    text = badge(CERTIFICATE, CONTENT["models"][1]["name"], label="ours")
    root = ElementTree.fromstring(text)
    words = "".join(root.itertext()).split("\n")
    shown = f"#{best}" if best == worst else f"#{best}-{worst}"
    assert f"certified {shown} of 5" in " ".join(words)
    assert "ours" in words


@pytest.mark.parametrize("name", NAMES)
def test_a_badge_of_any_name_is_well_formed(name):
    text = badge(CERTIFICATE, name)
    assert text.isascii()
    ElementTree.fromstring(text)
    assert "\u202e" not in ElementTree.fromstring(text).get("aria-label")


def test_a_badge_of_nobody():
    with pytest.raises(DomainError, match="'nobody' is not a model"):
        badge(CERTIFICATE, "nobody")


def test_a_badge_claims_nothing_where_nothing_is_certified():
    equal = Certificate.of(document([0.5, 0.5, 0.5]))
    assert equal.ranks.rank_intervals[0] == (1, 3)
    assert "no rank certified yet</text>" in badge(equal, equal.names[0])
    assert "certified #" not in badge(equal, equal.names[0])


def test_a_badge_claims_nothing_where_the_certificate_contradicts_itself():
    contradicting = Certificate.of(json.loads(to_json(certificate(circular()))))
    text = badge(contradicting, "d")
    assert "contradiction</text>" in text
    assert "certified #" not in text
    assert "<title>d: contradiction. CONTRADICTION: " in text
