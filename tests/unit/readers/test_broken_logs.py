"""Logs that are broken, cut off, of other versions or hostile: refused with the file and the place, never a crash."""

import json
import struct
import zipfile
from dataclasses import replace

import pytest

from bbedge.errors import DataError, FormatError
from bbedge.readers import read_scores
from bbedge.readers.logs.fields import value_at
from log_makers import inspect_log, inspect_sample, lm_eval_row, lm_eval_run
from older_logs import first_openai_evals, helm_run


def read(*sources, **choices):
    return read_scores(*sources, least_models=1, **choices)


def refusal(*sources, **choices):
    with pytest.raises(DataError) as caught:
        read(*sources, **choices)
    return str(caught.value)


def test_an_archive_that_was_cut_off(tmp_path):
    path = inspect_log(tmp_path / "a.eval")
    path.write_bytes(path.read_bytes()[:-30])
    assert f"{path}: not a complete zip archive" in refusal(path)
    assert "a.eval: not a complete zip archive" in refusal(tmp_path)


def test_a_run_of_inspect_that_has_not_ended(tmp_path):
    path = tmp_path / "a.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("_journal/start.json", "{}")
    assert "no header.json in the archive: the run has not ended" in refusal(path)


def test_an_archive_without_summaries_is_read_from_its_samples(tmp_path):
    path = inspect_log(tmp_path / "a.eval")
    old = tmp_path / "old.eval"
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(old, "w") as other:
        other.writestr("header.json", archive.read("header.json"))
        for sample in json.loads(archive.read("summaries.json")):
            other.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
    assert read(old).items == ("t/q1", "t/q2")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_members_may_be_packed_in_any_way(tmp_path, method):
    assert read(inspect_log(tmp_path / "a.eval", method=method)).values.shape == (1, 1, 2)


def test_a_member_that_is_encrypted_is_refused(tmp_path):
    path = inspect_log(tmp_path / "a.eval", method=zipfile.ZIP_STORED)
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = content.find(signature)
        while at >= 0:
            struct.pack_into("<H", content, at + offset, 1)
            at = content.find(signature, at + 4)
    path.write_bytes(content)
    assert "a.eval: not a complete zip archive" in refusal(path)


def test_logs_of_versions_without_hashes_and_metric_names_are_read(tmp_path):
    rows = [lm_eval_row(n) for n in (0, 1)]
    old = [{key: value for key, value in row.items() if key not in ("doc_hash", "metrics", "filter")} for row in rows]
    scores = read(lm_eval_run(tmp_path, rows=old))
    assert len(set(scores.items)) == 2


def test_a_summary_alone_is_refused_with_what_is_missing(tmp_path):
    lm_eval_run(tmp_path)
    results = next(tmp_path.glob("results_*"))
    assert f"{results}: a summary of lm-evaluation-harness, without samples" in refusal(results)


def test_events_without_a_specification_are_refused(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"run_id": "r", "event_id": 0, "sample_id": "s.1", "type": "match", "data": {"correct": true}}\n')
    assert "a.jsonl:1: no spec in the first line" in refusal(path)


def test_hostile_names_stay_text(tmp_path):
    evil = "<script>alert(1)</script>\x1b[31m[bold]\u202e=cmd()"
    samples = [inspect_sample(evil), inspect_sample("../../etc/passwd")]
    path = inspect_log(tmp_path / "a.eval", model=evil, samples=samples)
    scores = read(path)
    assert scores.models == (evil,)
    assert f"t/{evil}" in scores.items
    message = refusal(inspect_log(tmp_path / "b.eval", model=evil, samples=[inspect_sample(evil, value=7)]))
    assert "\x1b" not in message


def test_names_that_are_not_unicode_are_refused(tmp_path):
    path = inspect_log(tmp_path / "a.eval", samples=[inspect_sample("q\ud800")])
    assert "a.eval: sample 1: the item 't/q\\ud800' holds an unpaired surrogate" in refusal(path)


@pytest.mark.parametrize(
    "content",
    [
        '{"version": 2, "status": "success", "eval": 7, "samples": []}',
        '{"version": 2, "status": "success", "eval": {"model": ""}}',
        '{"version": 2, "status": "success", "eval": {"model": "m"}, "samples": 7}',
        '{"version": 2, "status": "success", "eval": {"model": "m"}, "samples": [7]}',
        '{"version": 2, "status": "success", "eval": {"model": "m"}, "samples": [{"id": 1}',
        '{"version": 2, "status": "success", "eval": {"model": "m"}, "samples": [{"id": 1}]} 7',
        '{"version": 2, "status": "success", "eval": {"model": "m", "packages": []}, "plan": [], "samples": [{}]}',
    ],
)
def test_parts_of_another_type_are_refused(tmp_path, content):
    path = tmp_path / "a.json"
    path.write_text(content)
    assert "a.json: " in refusal(path)


def test_a_bug_is_not_hidden(tmp_path, monkeypatch):
    def broken(*_):
        raise RuntimeError("a bug")

    path = inspect_log(tmp_path / "a.eval")
    monkeypatch.setattr("bbedge.readers.tools.inspect_ai._run", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        read(path)
    monkeypatch.undo()
    monkeypatch.setattr("bbedge.readers.tools.inspect_ai._scores", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        read(path)


def test_two_readers_that_claim_one_file_are_told_apart_by_the_user(tmp_path, monkeypatch):
    from bbedge.readers.tools import readers

    claiming = replace(readers()["helm"], has_samples=lambda _: True)
    monkeypatch.setitem(readers()._loaded, "helm", claiming)
    path = inspect_log(tmp_path / "a.eval")
    with pytest.raises(FormatError, match=r"could be a log of 'Inspect AI', 'HELM'; .*format='inspect'"):
        read(path)
    assert read(path, format="inspect").models == ("m",)


def test_a_sample_of_inspect_with_an_empty_name_is_refused(tmp_path):
    path = inspect_log(tmp_path / "a.eval", samples=[inspect_sample("q1"), inspect_sample("")])
    with pytest.raises(FormatError, match=r"a\.eval: sample 2: no id; expected a sample of Inspect AI"):
        read(path)


def test_a_row_of_helm_with_an_empty_name_is_refused(tmp_path):
    path = helm_run(tmp_path, [("", "test", 1.0)])
    with pytest.raises(FormatError, match=r"stats\.json: sample 1: no instance_id; expected a row of HELM"):
        read(path)


def test_an_event_of_openai_evals_with_an_empty_name_is_refused(tmp_path):
    path = first_openai_evals(tmp_path / "a.jsonl")
    path.write_text(path.read_text().replace('"quiz.dev.1"', '""'))
    with pytest.raises(FormatError, match=r"a\.jsonl:5: no sample_id; expected an event of OpenAI evals"):
        read(path)


@pytest.mark.parametrize("name", ["deepeval", "mlflow", "tau2-bench", "terminal-bench"])
def test_a_document_that_is_no_object_is_called_so(name, tmp_path):
    path = tmp_path / "a.json"
    path.write_text("[1]")
    with pytest.raises(FormatError, match=r"a\.json: begins with '\[', so that it is no JSON object; expected an obj"):
        read(path, format=name, model_name=("m",))


def test_a_path_ends_at_a_null():
    assert value_at({"a.b": {"c": None}, "a": {"b.c": 5}}, "a.b.c") is None
    assert value_at({"a.b": {"d": 1}, "a": {"b.c": 5}}, "a.b.c") == 5
