"""A key that comes twice in a JSON object: which value is meant cannot be known, so none is taken."""

import json

import pytest

from bbedge.errors import FormatError
from bbedge.readers import read_scores
from log_makers import inspect_log, inspect_sample, lm_eval_run

ROWS = [{"model": model, "item": f"q{item}", "score": item % 2} for model in "ab" for item in range(1500)]
LINES = [json.dumps(row) for row in ROWS]


def refusal(path, **options):
    with pytest.raises(FormatError) as caught:
        read_scores(path, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    "row",
    [
        '{"model": "b", "item": "q500", "score": 1, "score": 0}',
        '{"model": "b", "item": "q500", "score": null, "score": 0}',
        '{"model": "b", "item": "q500", "score": 0, "score": null}',
        '{"model": "b", "model": "a", "item": "q500", "score": 0}',
        '{"model": "b", "item": "q500", "item": "q500", "score": 0}',
        '{"model": "b", "item": "q500", "score": 0, "sc\\u006fre": 1}',
        '{"model": "b", "item": "q500", "score": 0, "\\u0073core": 1}',
    ],
)
def test_a_repeated_key_far_down_a_table(tmp_path, row):
    path = tmp_path / "a.jsonl"
    lines = list(LINES)
    lines[2000] = row
    path.write_text("\n".join(lines) + "\n")
    message = refusal(path)
    assert f"{path}:2001: key" in message
    assert "appears more than once; remove one of them" in message


def test_it_is_found_where_another_row_lacks_the_key(tmp_path):
    path = tmp_path / "a.jsonl"
    lines = list(LINES)
    lines[1200] = json.dumps({"model": "a", "item": "q1200"})
    lines[2000] = '{"model": "b", "item": "q500", "score": 1, "score": 0}'
    path.write_text("\n".join(lines) + "\n")
    assert f"{path}:2001: key 'score'" in refusal(path)


def test_it_is_found_in_a_wide_table(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [json.dumps({"model": f"m{number}", **{f"q{item}": 1 for item in range(12)}}) for number in range(1500)]
    rows[1400] = rows[1400].replace('"q3"', '"q2"')
    path.write_text("\n".join(rows) + "\n")
    assert f"{path}:1401: key 'q2'" in refusal(path)


def test_a_key_inside_another_value_is_no_repetition(tmp_path):
    path = tmp_path / "a.jsonl"
    more = {"meta": {"score": 3, "model": "x"}, "prompt": 'Say "score" and \\u0041 or \u00e9'}
    path.write_text("\n".join(json.dumps(row | more) for row in ROWS) + "\n")
    assert read_scores(path).values.shape == (1, 2, 1500)


def test_other_spellings_of_odd_keys(tmp_path):
    path = tmp_path / "a.jsonl"
    lines = [json.dumps({"model": row["model"], "item": row["item"], "s/\u00e9": row["score"]}) for row in ROWS]
    columns = {"score": "s/\u00e9"}
    path.write_text("\n".join(lines) + "\n")
    assert read_scores(path, column=columns).values.shape == (1, 2, 1500)
    for other in ('"s\\/\\u00e9"', '"s/\u00e9"'):
        again = [*lines[:2000], f"{lines[2000][:-1]}, {other}: 1}}", *lines[2001:]]
        path.write_text("\n".join(again) + "\n", encoding="utf-8")
        assert f"{path}:2001: key" in refusal(path, column=columns)


def test_lines_of_a_log(tmp_path):
    path = lm_eval_run(tmp_path)
    first, second = path.read_text().splitlines()
    path.write_text(f'{first}\n{second[:-1]}, "acc": 0.0}}\n')
    assert f"{path}:2: key 'acc' appears more than once" in refusal(path, least_models=1)


def test_a_summary_beside_a_log(tmp_path):
    path = lm_eval_run(tmp_path)
    results = next(tmp_path.glob("results_*"))
    results.write_text(results.read_text()[:-1] + ', "model_name": "other"}')
    assert f"{results}: key 'model_name' appears more than once" in refusal(path, least_models=1)


def test_a_log_in_a_folder_is_refused_and_not_passed_over(tmp_path):
    path = lm_eval_run(tmp_path / "a")
    lm_eval_run(tmp_path / "b", model="other")
    path.write_text('{"doc_id": 0, ' + path.read_text()[1:])
    assert f"{path}:1: key 'doc_id' appears more than once" in refusal(tmp_path)


def document(samples, *, more=""):
    about = '"version": 2, "status": "success", "eval": {"model": "m", "task": "t"}'
    return "{" + about + ',\n"samples": [\n' + ",\n".join(samples) + "]" + more + "}"


def test_samples_of_a_document(tmp_path):
    path = tmp_path / "log.json"
    good = [json.dumps(inspect_sample(name)) for name in ("q1", "q2", "q3")]
    path.write_text(document(good))
    assert len(read_scores(path, least_models=1).items) == 3
    path.write_text(document([*good[:2], good[2].replace('"id": "q3"', '"id": "q3", "id": "q4"')]))
    assert f"{path}:5: key 'id' appears more than once" in refusal(path, least_models=1)
    path.write_text(document([*good[:2], good[2].replace('"match":', '"match": {"value": "I"}, "match":')]))
    assert f"{path}:5: key 'match' appears more than once" in refusal(path, least_models=1)


def test_a_document_with_two_lists_of_samples(tmp_path):
    path = tmp_path / "log.json"
    good = [json.dumps(inspect_sample(name)) for name in ("q1", "q2")]
    path.write_text(document(good, more=',\n"samples": []'))
    assert f"{path}:5: key 'samples' appears more than once" in refusal(path, least_models=1)


def test_a_member_of_an_archive(tmp_path):
    import zipfile

    path = inspect_log(tmp_path / "a.eval")
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name).decode() for name in archive.namelist()}
    members["header.json"] = members["header.json"].replace('"model":', '"model": "other", "model":')
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    assert f"{path}: header.json:1: key 'model' appears more than once" in refusal(path, least_models=1)
