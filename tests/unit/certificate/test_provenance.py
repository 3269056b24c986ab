"""What a certificate says of where it comes from, and the digest that protects it."""

from __future__ import annotations

import copy
import hashlib
import json
from dataclasses import replace

import jsonschema
import pytest
from msgspec import UNSET

import bbedge
from bbedge.certificate.derive import provenance
from bbedge.certificate.document import certificate, to_json
from bbedge.certificate.provenance import digest, verify_command
from bbedge.core.scores import SourceFile
from bbedge.errors import DomainError, FormatError
from bbedge.records.certificate import SourceRecord
from bbedge.records.notes import Note
from bbedge.verify.differences import compare_files
from unit.certificate.documents import certified, checked, drawn, schema, suite

SCORES = drawn([0.9, 0.5, 0.3])
MADE = bbedge.certify(SCORES).certificate()
TIME = "2026-01-31T12:00:00Z"


def test_panels_alone_have_no_provenance():
    assert "provenance" not in json.loads(to_json(certificate(certified(SCORES))))
    made = certificate(certified(SCORES))
    facts = provenance(made)
    assert (facts.time, facts.scores, facts.sources, facts.digest) == (UNSET,) * 4
    assert verify_command(made) == "bbedge verify certificate.json SCORES..."


@pytest.mark.parametrize("target", ["new-items", "both"])
def test_a_note_about_a_shared_seed_stays_with_claims_about_new_items(target):
    note = Note(kind="seed", text="All items of a run share one seed ('7').")
    made = bbedge.certify(replace(SCORES, notes=(note,)), target=target).certificate()
    assert json.loads(made.to_json(time=TIME))["notes"] == [{"kind": "seed", "text": note.text, "subject": []}]


def test_scores_of_python_have_a_hash_and_no_files():
    content = json.loads(MADE.to_json(time=TIME))
    assert list(content)[-1] == "provenance"
    assert list(content["provenance"]) == ["version", "design", "scores", "digest", "time"]
    assert content["provenance"]["design"] == content["design"]["hash"]
    assert content["provenance"]["scores"] == SCORES.origin.scores
    jsonschema.validate(content, schema())


def test_the_rest_of_the_document_is_as_without_provenance():
    whole = json.loads(MADE.to_json())
    del whole["provenance"]
    assert whole == json.loads(to_json(certificate(bbedge.core.leaderboard.run(SCORES.design(), SCORES.panels()))))


def test_the_digest_is_of_canonical_json_without_the_time():
    content = json.loads(MADE.to_json(time=TIME))
    assert json.loads(MADE.to_json())["provenance"]["digest"] == content["provenance"]["digest"]
    plain = {"b": [1.5, 2.0, -0.0, 1e300, None, "é"], "a": {"y": True, "x": 3}}
    text = '{"a":{"x":3,"y":true},"b":[1.5,2,0,1e+300,null,"\\u00e9"]}'
    assert digest(plain) == hashlib.sha256(text.encode()).hexdigest()
    assert digest(plain | {"provenance": {"digest": "x", "time": "y"}}) == digest(plain | {"provenance": {}})
    assert digest(plain | {"provenance": {"scores": "x"}}) != digest(plain | {"provenance": {}})


@pytest.mark.parametrize("time", ["yesterday", "2026-01-31", "2026-01-31T12:00:00+01:00", "2026-01-31T12:00:00Z\n"])
def test_a_time_is_in_utc(time):
    with pytest.raises(DomainError, match="is not a time in UTC"):
        MADE.to_json(time=time)


def test_a_certificate_that_was_read_keeps_its_digest_and_time():
    content = json.loads(MADE.to_json(time=TIME))
    read = checked(content)
    assert read.sealed("2030-01-01T00:00:00Z") is read
    assert read.to_json(time="2030-01-01T00:00:00Z") == MADE.to_json(time=TIME)
    assert provenance(read.content).time == TIME


def test_a_view_is_sealed_with_the_whole():
    labels = ["x", "y"] * 40
    views = {name: [float(label == name) for label in labels] for name in ("x", "y")}
    whole = bbedge.certify(SCORES, views=views).certificate()
    view = whole.view("y").sealed(TIME)
    assert view.name == "y"
    assert view.to_json() == whole.to_json(time=TIME)
    assert view.content.provenance.digest == whole.sealed().content.provenance.digest
    assert "provenance" not in json.loads(suite(("a", "b")).to_json())


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("version", "9.9", "provenance.version is 9.9, and"),
        ("design", "0" * 64, "provenance.design is 0+, and"),
        ("head", "0" * 64, "provenance.head is 0+, and None"),
        ("digest", "short", "'digest' = 'short' is not a text of the form"),
        ("time", "noon", "'time' = 'noon' is not a text of the form"),
        ("sources", [{"name": "a", "sha256": "0" * 64}], r"'bytes' is missing in 'provenance.sources\[0\]'"),
    ],
)
def test_a_provenance_that_cannot_be_is_refused(key, value, what):
    content = copy.deepcopy(MADE.document)
    content["provenance"][key] = value
    with pytest.raises(FormatError, match=what):
        checked(content)


def record(name: str, content: str) -> SourceRecord:
    return SourceRecord(name=name, bytes=len(content), sha256=hashlib.sha256(content.encode()).hexdigest())


def file(name: str, content: str) -> SourceFile:
    return SourceFile(name=name, bytes=len(content), sha256=hashlib.sha256(content.encode()).hexdigest())


def test_files_are_known_by_their_bytes_and_then_by_their_names():
    stated = [record("a.csv", "1"), record("x/b.csv", "2"), record("c.csv", "3"), record("d.csv", "3")]
    given = [file("z/a2.csv", "1"), file("b.csv", "2"), file("c.csv", "3"), file("e.csv", "3")]
    assert compare_files(stated, given) == ("the same 4 files, byte for byte", ())
    text, found = compare_files(stated, [file("y/b.csv", "9"), file("new.csv", "8"), file("c.csv", "3")])
    assert [(each.place, each.kind, each.stated, each.computed) for each in found] == [
        ("provenance.sources['x/b.csv']", "changed", record("", "2").sha256, file("", "9").sha256),
        ("provenance.sources['a.csv']", "only-stated", record("", "1").sha256, None),
        ("provenance.sources['d.csv']", "only-stated", record("", "3").sha256, None),
        ("provenance.sources['new.csv']", "only-computed", None, file("", "8").sha256),
    ]
    assert text == (
        "1 file changed: 'x/b.csv', 2 files missing: 'a.csv', 'd.csv', 1 file not named in the certificate: 'new.csv'"
    )


def test_the_command_names_few_files_and_quotes_them():
    content = copy.deepcopy(MADE.document)
    for names, command in (
        (["my scores.csv"], "bbedge verify certificate.json 'my scores.csv'"),
        (["a.csv", "b.csv", "c.csv"], "bbedge verify certificate.json a.csv b.csv c.csv"),
        ([f"{i}.csv" for i in range(4)], "bbedge verify certificate.json SCORES..."),
    ):
        content["provenance"]["sources"] = [{"name": name, "bytes": 1, "sha256": "0" * 64} for name in names]
        assert verify_command(checked(content).content) == command
