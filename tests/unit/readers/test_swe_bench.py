"""SWE-bench: a failure is claimed only where the logs show that an instance was tested to the end."""

import pytest

from bbedge.errors import DataError, FormatError
from bbedge.readers import read_scores
from bbedge.readers.survey import survey
from bbedge.readers.tools import recognised
from bbedge.records.reading import Reading
from shape_makers import MODELS, QUESTIONS, SHAPES, instance, swe_bench_system, write_document


def read(*sources, **options):
    return read_scores(*sources, least_models=1, **options)


def ids(*numbers):
    return [instance(number) for number in numbers]


def test_predictions_beside_the_list_say_what_was_attempted(tmp_path):
    SHAPES["swe-bench"].files(tmp_path)
    scores = read(tmp_path, item_column=["instance.repository"])
    assert scores.models == tuple(f"2026_{model}" for model in MODELS)
    assert scores.items == tuple(sorted(instance(n) for n in QUESTIONS))
    assert scores.values[0].mean(axis=1).tolist() == [0.75, 0.5]
    assert set(scores.columns["instance.repository"]) == {"django__django", "sympy__sympy"}
    assert not any(note.kind == "files" for note in scores.notes)


def test_a_list_of_resolved_instances_alone_is_refused(tmp_path):
    path = swe_bench_system(tmp_path, "a", resolved=[1, 2], predicted=None)
    with pytest.raises(FormatError, match=r"results\.json: lists the 2 instances that were resolved, but not all that"):
        read(path)


@pytest.mark.parametrize("name", ["resolved.json", "gpt_Resolved_ids.json"])
def test_a_list_without_a_key_is_of_resolved_instances_if_the_file_is_called_so(tmp_path, name):
    path = write_document(tmp_path / name, ids(1, 3))
    with pytest.raises(FormatError, match=r"lists the 2 instances that were resolved, but not all that were attempted"):
        read(path, model_name="gpt")
    everything = tmp_path / "all.csv"
    everything.write_text("item\n" + "".join(f"{each}\n" for each in ids(1, 2, 3)))
    scores = read(path, model_name="gpt", items=everything)
    assert dict(zip(scores.items, scores.values[0, 0].tolist(), strict=True)) == dict(
        zip(ids(1, 2, 3), (1.0, 0.0, 1.0), strict=True)
    )
    write_document(path, ids(1, 1))
    with pytest.raises(FormatError, match="more than once"):
        read(path, model_name="gpt", items=everything)


@pytest.mark.parametrize("name", ["unresolved.json", "not_resolved.json", "instances.json"])
def test_a_list_of_other_instances_is_no_list_of_resolved_ones(tmp_path, name):
    path = write_document(tmp_path / name, ids(1, 3))
    with pytest.raises(FormatError, match="neither its name nor its content is known"):
        read(path, model_name="gpt")


@pytest.mark.parametrize("missing", ["no_logs", "no_generation"])
def test_predictions_do_not_replace_the_lists_of_what_broke(missing, tmp_path):
    path = swe_bench_system(tmp_path, "a", resolved=[1, 2], **{missing: None})
    with pytest.raises(FormatError, match="not all that were attempted"):
        read(path)


@pytest.mark.parametrize(
    ("folder", "names", "missing"),
    [
        ("trajs", [f"{instance(n)}.traj" for n in QUESTIONS], {}),
        ("logs", [instance(n) for n in QUESTIONS], {}),
        ("logs", [instance(n) for n in QUESTIONS], {"no_logs": None}),
        ("logs", [f"{instance(n)}.system.eval.log" for n in QUESTIONS], {}),
    ],
)
def test_folders_of_instances_say_what_was_attempted(folder, names, missing, tmp_path):
    path = swe_bench_system(tmp_path, "a", resolved=[1, 2], predicted=None, **missing)
    for name in names:
        (path.parent.parent / folder / name).mkdir(parents=True)
    scores = read(path)
    assert (len(scores.items), scores.values.sum()) == (8, 2.0)
    assert any(f"the 8 instances that were attempted are those in the folder {folder}" in n.text for n in scores.notes)


def test_trajectories_do_not_show_that_an_instance_was_tested(tmp_path):
    path = swe_bench_system(tmp_path, "a", resolved=[1], predicted=None, no_logs=None)
    (path.parent.parent / "trajs" / instance(1)).mkdir(parents=True)
    with pytest.raises(FormatError, match="not all that were attempted"):
        read(path)


def test_a_folder_that_lacks_a_resolved_instance_is_not_the_whole_list(tmp_path):
    path = swe_bench_system(tmp_path, "a", resolved=[1, 2], predicted=None)
    (path.parent.parent / "logs" / instance(1)).mkdir(parents=True)
    with pytest.raises(FormatError, match="not all that were attempted"):
        read(path)


@pytest.mark.parametrize(
    ("name", "kind"), [("no_generation", "unknown"), ("no_logs", "infrastructure")], ids=["no patch", "no log"]
)
def test_what_broke_is_missing_and_not_a_failure(name, kind, tmp_path):
    path = swe_bench_system(tmp_path, "a", resolved=[1, 2], **{name: ids(3)})
    with pytest.raises(DataError, match="1 of 8 cells"):
        read(path)
    assert read(path, incomplete=f"{kind}=zero").values.sum() == 2.0


def test_an_instance_that_was_not_attempted_is_missing(tmp_path):
    swe_bench_system(tmp_path, "a", resolved=[1], predicted=[1, 2, 3])
    swe_bench_system(tmp_path, "b", resolved=[1], predicted=[1, 2, 3, 4])
    with pytest.raises(DataError, match="1 of 8 cells"):
        read(tmp_path)


def test_lists_of_the_first_harness_name_all_instances(tmp_path):
    found = {
        "no_generation": ids(1),
        "generated": ids(2, 3, 4, 5, 6),
        "with_logs": ids(2, 3, 4, 5),
        "install_fail": ids(5),
        "no_apply": ids(4),
        "applied": ids(2, 3),
        "resolved": ids(2),
    }
    path = write_document(tmp_path / "sys" / "results" / "results.json", found)
    scores = read(path, incomplete="unknown=zero,infrastructure=worst-case")
    assert scores.models == ("sys",)
    assert scores.gaps is not None
    expected = {1: 0.0, 2: 1.0, 3: 0.0, 4: 0.0}
    for number, score in expected.items():
        assert scores.values[0, 0, scores.items.index(instance(number))] == score
    with pytest.raises(DataError, match="3 of 6 cells"):
        read(path)


def report(**more):
    lists = {"submitted_ids": ids(1, 2, 3, 4), "resolved_ids": ids(1), "unresolved_ids": ids(2), "error_ids": ids(3)}
    lists |= {"empty_patch_ids": ids(4), "incomplete_ids": [], "completed_ids": ids(1, 2), "schema_version": 2}
    return lists | {"resolved_instances": 1, "unresolved_instances": 1} | more


def test_a_report_of_the_harness(tmp_path):
    path = write_document(tmp_path / "m.run.json", report())
    with pytest.raises(FormatError, match="does not name its model"):
        read(path)
    named = {"model_name": ("m",)}
    with pytest.raises(DataError, match="2 of 4 cells"):
        read(path, **named)
    scores = read(path, **named, incomplete="unknown=zero")
    assert scores.items == tuple(sorted(ids(1, 2, 3, 4)))
    assert scores.values[0, 0].tolist() == [1.0, 0.0, 0.0, 0.0]


def test_an_instance_without_an_outcome_in_a_report_is_missing(tmp_path):
    path = write_document(tmp_path / "m.json", report(submitted_ids=ids(1, 2, 3, 4, 5)))
    with pytest.raises(DataError, match="3 of 5 cells"):
        read(path, model_name=("m",))


@pytest.mark.parametrize(
    ("lists", "said"),
    [
        ({"resolved_ids": ids(1, 2)}, "in unresolved_ids and among the resolved"),
        ({"resolved_instances": 2}, "resolved_ids has 1 instances, but the report counts 2"),
        ({"resolved_ids": ids(1, 1)}, "more than once"),
        ({"error_ids": [7]}, "error_ids is no list of instances"),
        ({"error_ids": "x"}, "error_ids is no list of instances"),
        ({"resolved_ids": None}, "no list of the instances that were resolved"),
    ],
)
def test_lists_that_contradict_each_other_are_refused(lists, said, tmp_path):
    path = write_document(tmp_path / "m.json", report(**lists))
    with pytest.raises(FormatError, match=said) as caught:
        read(path, model_name=("m",))
    assert "m.json" in str(caught.value)


def test_folders_where_the_program_was_started_say_nothing(tmp_path, monkeypatch):
    started = tmp_path / "started"
    for name in ids(1, 2, 3):
        (started / name).mkdir(parents=True)
    monkeypatch.chdir(started)
    lists = {"resolved_ids": ids(1), "completed_ids": ids(1), "submitted_ids": ids(1, 2), "unresolved_ids": None}
    path = write_document(tmp_path / "m.json", report(**lists))
    with pytest.raises(FormatError, match="not all that were attempted"):
        read(path, model_name=("m",), format="swe-bench")


def test_an_instance_that_was_resolved_without_a_prediction_is_refused(tmp_path):
    path = swe_bench_system(tmp_path, "a", resolved=[1, 7], predicted=[1, 2])
    with pytest.raises(FormatError, match=r"resolved without a prediction in all_preds\.jsonl; use files of one run"):
        read(path)


def test_the_counts_per_repository_are_compared(tmp_path):
    path = swe_bench_system(tmp_path, "a", resolved=[1, 2])
    summary = path.parent / "resolved_by_repo.json"
    write_document(summary, {"django/django": {"resolved": 1, "total": 4}, "sympy/sympy": {"resolved": 1, "total": 4}})
    assert not read(path).notes
    write_document(summary, {"django/django": {"resolved": 2, "total": 500}})
    assert any("8 instances attempted, and resolved_by_repo.json counts 500" in note.text for note in read(path).notes)
    write_document(summary, {"django/django": {"resolved": 3, "total": 8}})
    with pytest.raises(
        FormatError, match=r"results\.json: 2 instances resolved, but resolved_by_repo\.json .* counts 3"
    ):
        read(path)


def test_predictions_without_an_instance_are_refused(tmp_path):
    path = swe_bench_system(tmp_path, "a", resolved=[1])
    (path.parent.parent / "all_preds.jsonl").write_text('{"model_patch": "diff"}\n')
    with pytest.raises(FormatError, match=r"all_preds\.jsonl:1: no instance_id"):
        read(path)


def test_details_per_instance(tmp_path):
    details = {instance(n): {"cost": 0.5, "api_calls": 3, "resolved": n < 4} for n in QUESTIONS}
    path = write_document(tmp_path / "bash-only" / "2026_mini" / "per_instance_details.json", details)
    scores = read(path)
    assert (scores.models, scores.values.sum()) == (("2026_mini",), 3.0)
    details[instance(2)] = {"cost": 0.5}
    write_document(path, details)
    with pytest.raises(FormatError, match=rf"per_instance_details\.json: .*no result for '{instance(2)}'"):
        read(path)


def test_the_folder_names_the_system_because_two_may_share_a_name(tmp_path):
    for name in ("2025_x", "2026_x"):
        path = swe_bench_system(tmp_path, name, resolved=[1])
        (path.parent.parent / "metadata.yaml").write_text("name: X\n")
    scores = read(tmp_path)
    assert scores.models == ("2025_x", "2026_x")
    assert scores.replicates == ("1",)


def test_reports_that_do_not_name_their_instance_are_of_that_of_their_folder(tmp_path):
    for number, resolved in ((1, True), (2, False), (3, True)):
        content = {"patch_is_None": False, "patch_exists": True, "resolved": resolved, "tests_status": {}}
        write_document(tmp_path / "gpt" / "logs" / instance(number) / "report.json", content)
    nothing = {"patch_is_None": True, "patch_exists": False, "resolved": False}
    write_document(tmp_path / "gpt" / "logs" / instance(4) / "report.json", nothing)
    with pytest.raises(DataError, match="1 of 4 cells"):
        read(tmp_path)
    scores = read(tmp_path, incomplete="zero")
    assert scores.models == ("gpt",)
    found = dict(zip(scores.items, scores.values[0, 0].tolist(), strict=True))
    assert found == {instance(1): 1.0, instance(2): 0.0, instance(3): 1.0, instance(4): 0.0}
    other = write_document(tmp_path / "x" / "report.json", {"patch_exists": True, "resolved": True})
    assert recognised(str(other))[1] == "no"


def test_what_lies_in_the_folder_of_a_system_stands_beside(tmp_path):
    path = swe_bench_system(tmp_path, "a", resolved=[1])
    system = path.parent.parent
    report = write_document(system / "logs" / instance(1) / "report.json", {instance(1): {"resolved": True}})
    repositories = write_document(system / "results" / "resolved_by_repo.json", {"django": {"resolved": 1, "total": 4}})
    for beside in (report, repositories, system / "metadata.yaml", system / "all_preds.jsonl"):
        assert recognised(str(beside))[1] == "beside", beside
    table = system / "logs" / "scores.csv"
    table.write_text("model,item,score\na,q,1\n")
    assert recognised(str(table))[1] == "no"
    # The results of another tool make no folder of SWE-bench.
    write_document(path, {"results": {}})
    for other in (report, repositories, system / "metadata.yaml"):
        assert recognised(str(other))[1] == "no", other


def test_a_survey_takes_the_list_of_all_instances(tmp_path):
    for name, resolved in (("a", [1]), ("b", [1, 2])):
        write_document(tmp_path / "in" / f"{name}.json", {"resolved": [instance(number) for number in resolved]})
    (tmp_path / "items.csv").write_text("item\n" + "".join(f"{instance(number)}\n" for number in (1, 2, 3)))
    with pytest.raises(FormatError, match="declare all items with items=FILE"):
        survey([str(tmp_path / "in")])
    found = survey([str(tmp_path / "in")], Reading(items=str(tmp_path / "items.csv"), model_from="file"))
    assert found.scores.models == ("a", "b")
    assert sorted(found.scores.values[0].sum(axis=1).tolist()) == [1.0, 2.0]
