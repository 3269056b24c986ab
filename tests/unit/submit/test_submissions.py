"""Submissions: what is packed is what is read back, and what was changed afterwards is refused."""

import json
import zipfile
from hashlib import sha256

import pytest

from bbedge.errors import BbedgeError, FormatError
from bbedge.records.reading import Reading
from bbedge.records.submission import RECORD, TABLE
from bbedge.submit.archive import opened, pack
from bbedge.submit.check import check

ROWS = [(model, item, run) for run in (1, 2) for model in ("plover", "wren") for item in ("q1", "q2", "q3")]


@pytest.fixture
def scores(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{model},{item},{run},{int((model == 'wren') + run > len(item) - 1)}" for model, item, run in ROWS]
    (tmp_path / "runs").mkdir()
    for run in (1, 2):
        own = [line for line in lines if line.split(",")[2] == str(run)]
        text = "\n".join(["model,item,replicate,score", *own])
        (tmp_path / "runs" / f"run-{run}.csv").write_text(f"{text}\n", encoding="utf-8")
    return tmp_path / "runs"


@pytest.fixture
def submission(scores, tmp_path):
    path = tmp_path / "s.zip"
    pack(["runs"], path, Reading(), who="Team A", protocol="temperature 0", keep_files=True)
    return path


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def written(path, found, *, infos=()):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in found.items():
            archive.writestr(name, data)
        for info, data in infos:
            archive.writestr(info, data)
    return path


def restated(found, **changes):
    """The members with other statements in the record."""
    record = json.loads(found[RECORD]) | changes
    return found | {RECORD: json.dumps(record).encode()}


def failing(verdict):
    return {each.what: each.text for each in verdict.checks if each.status == "fails"}


def test_what_is_packed_is_stated_and_read_back(submission, scores):
    with opened(submission) as (stated, folder):
        assert (stated.who, stated.protocol, stated.scores.items, stated.scores.runs) == (
            "Team A",
            "temperature 0",
            3,
            2,
        )
        assert [each.name for each in stated.files] == ["runs/run-1.csv", "runs/run-2.csv"]
        assert stated.sources == ("runs",)
        for each in stated.files:
            original = scores.parent / each.name
            assert (folder / "logs" / each.name).read_bytes() == original.read_bytes()
            assert each.sha256 == sha256(original.read_bytes()).hexdigest()
        rows = (folder / TABLE).read_text(encoding="utf-8").splitlines()
        by_hand = {model: [] for model in ("plover", "wren")}
        for row in rows[1:]:
            model, *_, score = row.replace('"', "").split(",")
            by_hand[model].append(float(score))
        assert {each.model: each.mean for each in stated.scores.models} == pytest.approx(
            {model: sum(of) / len(of) for model, of in by_hand.items()}
        )
        assert len(rows) == 1 + len(ROWS)


def test_the_same_scores_give_the_same_bytes(submission, tmp_path):
    again = tmp_path / "again.zip"
    pack(["runs"], again, Reading(), who="Team A", protocol="temperature 0", keep_files=True)
    assert again.read_bytes() == submission.read_bytes()


def test_a_whole_submission_passes_and_its_logs_count(submission, tmp_path):
    verdict = check(submission)
    assert verdict.accepted
    assert verdict.trust == "logs-kept"
    assert {each.what: each.status for each in verdict.checks} == {
        "archive": "holds",
        "scores": "holds",
        "files": "holds",
        "board": "not-checked",
    }
    plain = tmp_path / "plain.zip"
    pack(["runs"], plain, Reading(), who="Team A")
    assert check(plain).trust == "self-reported"


def test_a_table_whose_own_hash_was_adapted_is_not_what_its_logs_say(submission, tmp_path):
    found = members(submission)
    better = found[TABLE].replace(b",0.0\n", b",1.0\n")
    assert better != found[TABLE]
    record = json.loads(found[RECORD])
    record["table"] |= {"sha256": sha256(better).hexdigest(), "bytes": len(better)}
    record["scores"]["models"] = [each | {"mean": 1.0} for each in record["scores"]["models"]]
    forged = written(tmp_path / "f.zip", restated(found | {TABLE: better}, **record))
    verdict = check(forged)
    assert not verdict.accepted
    assert verdict.trust is None
    assert set(failing(verdict)) == {"files"}


def test_a_mean_that_does_not_follow_is_refused(submission, tmp_path):
    found = members(submission)
    scores = json.loads(found[RECORD])["scores"]
    scores["models"][0]["mean"] += 0.01
    assert "other models" in failing(check(written(tmp_path / "f.zip", restated(found, scores=scores))))["scores"]


@pytest.mark.parametrize(
    ("forge", "says"),
    [
        (lambda found: found | {TABLE: found[TABLE].replace(b"0.0", b"1.0", 1)}, "differs"),
        (lambda found: found | {TABLE: found[TABLE] + b"\n"}, "bytes"),
        (lambda found: found | {"more.txt": b""}, "not listed"),
        (lambda found: found | {"logs/../../up.csv": b""}, "not listed"),
        (lambda found: {name: data for name, data in found.items() if name != TABLE}, "not in it"),
        (lambda found: {name: data for name, data in found.items() if name != RECORD}, "no submission.json"),
        (lambda found: found | {RECORD: b"{"}, "no JSON"),
        (lambda found: found | {RECORD: b"[]"}, "states no version"),
        (lambda found: restated(found, version=2), "version 2"),
        (lambda found: restated(found, surprise=1), "unknown key"),
        (lambda found: restated(found, who=""), "'who'"),
        (lambda found: restated(found, table=json.loads(found[RECORD])["table"] | {"name": "t.csv"}), "t.csv"),
        (lambda found: restated(found, scores=json.loads(found[RECORD])["scores"] | {"items": 4}), "other items"),
        (lambda found: restated(found, scores=json.loads(found[RECORD])["scores"] | {"runs": 1}), "other runs"),
    ],
)
def test_what_is_not_what_the_record_lists_is_refused(forge, says, submission, tmp_path):
    verdict = check(written(tmp_path / "f.zip", forge(members(submission))))
    assert not verdict.accepted
    assert says in " ".join(failing(verdict).values())


@pytest.mark.parametrize(
    "name", ["../up.csv", "/etc/x.csv", "a/../../x.csv", "a\\b.csv", "c:x.csv", "a//b.csv", "./a.csv"]
)
def test_names_that_lead_elsewhere_are_refused(name, submission, tmp_path):
    found = members(submission)
    record = json.loads(found[RECORD])
    (first, *others) = record["files"]
    forged = restated(found, files=[first | {"name": name}, *others]) | {f"logs/{name}": found["logs/runs/run-1.csv"]}
    del forged["logs/runs/run-1.csv"]
    with (
        pytest.raises(FormatError, match=r"not the name of a file below a folder|not a submission"),
        opened(written(tmp_path / "f.zip", forged)),
    ):
        pass
    assert not (tmp_path / "up.csv").exists()


def test_links_are_not_followed(submission, tmp_path):
    found = members(submission)
    target = found.pop("logs/runs/run-1.csv")
    link = zipfile.ZipInfo("logs/runs/run-1.csv")
    link.external_attr = 0o120777 << 16
    with pytest.raises(FormatError, match="a link"), opened(written(tmp_path / "f.zip", found, infos=[(link, target)])):
        pass


def test_an_archive_that_unpacks_to_too_much_is_refused_before_it_is_unpacked(submission, tmp_path, monkeypatch):
    monkeypatch.setattr("bbedge.readers.limits.RATIO", 1)
    from bbedge.readers.limits import Limits, limited

    with limited(Limits(unpacked_bytes=10)), pytest.raises(BbedgeError, match="unpack to more"), opened(submission):
        pass


@pytest.mark.parametrize("data", [b"", b"PK", b"model,item,score\n"])
def test_other_files_are_no_submissions(data, tmp_path):
    (tmp_path / "x.zip").write_bytes(data)
    assert "not a submission" in failing(check(tmp_path / "x.zip"))["archive"]


def test_a_submission_that_was_cut_short_is_refused(submission, tmp_path):
    whole = submission.read_bytes()
    for length in range(0, len(whole), 97):
        (tmp_path / "cut.zip").write_bytes(whole[:length])
        assert not check(tmp_path / "cut.zip").accepted


def test_files_that_would_have_one_name_are_refused(scores, tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "run.csv").write_text("model,item,replicate,score\na,q1,1,1\n", encoding="utf-8")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "other").mkdir()
    (tmp_path / "here" / "other" / "run.csv").write_text("model,item,replicate,score\nb,q1,1,1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(FormatError, match=r"would both be called 'other/run\.csv'"):
        pack(["other/run.csv", "../other/run.csv"], tmp_path / "x.zip", Reading(), who="A")
