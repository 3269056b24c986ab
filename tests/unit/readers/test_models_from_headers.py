"""Models that the headers of logs name apart."""

import pytest

from bbedge.errors import DataError
from bbedge.readers import read_scores
from bbedge.readers.survey import survey
from bbedge.records.reading import Reading
from log_makers import inspect_log, inspect_sample, lm_eval_run
from older_logs import first_promptfoo


def read(*sources, **choices):
    return read_scores(*sources, least_models=1, **choices)


@pytest.fixture
def logs(tmp_path):
    for prompt in ("old", "new"):
        for run in (1, 2):
            inspect_log(
                tmp_path / f"{prompt}{run}.eval",
                task_args={"prompt": prompt, "seed": run},
                metadata={"system": {"name": f"{prompt} system"}},
                created=f"2026-01-0{run}",
            )
    return tmp_path


@pytest.mark.parametrize(
    ("field", "models"),
    [
        ("task_args.prompt", ("new", "old")),
        ("eval.task_args.prompt", ("new", "old")),
        ("metadata.system.name", ("new system", "old system")),
        ("model+task_args.prompt", ("m | new", "m | old")),
    ],
)
def test_a_field_of_the_header_names_the_model(logs, field, models):
    scores = read(logs, model_from=field)
    assert (scores.models, scores.values.shape) == (models, (2, 2, 2))


def test_a_field_of_the_samples_names_the_model(tmp_path):
    samples = [inspect_sample(f"q{n}", epoch=e, metadata={"arm": "xy"[e - 1]}) for n in (1, 2) for e in (1, 2)]
    scores = read(inspect_log(tmp_path / "a.eval", samples=samples), model_from="metadata.arm")
    assert (scores.models, scores.values.shape) == (("x", "y"), (1, 2, 2))


@pytest.mark.parametrize("field", ["system_instruction", "run.system_instruction", "config.metadata.arm"])
def test_headers_of_other_tools_name_models_too(tmp_path, field):
    for said in ("short", "long"):
        about = {"system_instruction": said, "configs": {"t": {"metadata": {"arm": said}}}}
        lm_eval_run(tmp_path / said, **about, date=said)
    assert read(tmp_path, model_from=field).models == ("long", "short")


def test_promptfoo_prompts_name_models(tmp_path):
    rows = [("a", prompt, {"v": v}, 1) for prompt in ("x", "y") for v in "12"]
    assert read(first_promptfoo(tmp_path / "out.json", rows=rows), model_from="prompt").models == ("x", "y")


def test_names_that_are_given_go_before(logs):
    assert read(logs, model_from="task_args.prompt", model_name=("old=before",)).models == ("before", "new")


def test_a_field_that_is_not_there_is_refused_with_those_that_are(logs):
    with pytest.raises(DataError, match=r"model_from='task_args\.x'; the header has 'model', .*'task_args\.prompt'"):
        read(logs, model_from="task_args.x")


def test_a_field_may_not_give_one_name_to_two_models(logs):
    inspect_log(logs / "other.eval", model="n", task_args={"prompt": "old"})
    with pytest.raises(DataError, match=r"gives the name 'old' to 'm', 'n'; .*model_from='model\+task_args\.prompt'"):
        read(logs, model_from="task_args.prompt")


def test_arguments_that_differ_are_found(logs):
    found = survey([str(logs)])
    assert [(each.model, each.field, each.values) for each in found.differing] == [
        ("m", "task_args.prompt", ("new", "old")),
        ("m", "metadata.system.name", ("new system", "old system")),
    ]
    assert survey([str(logs)], Reading.of({"model_from": "task_args.prompt"})).differing == ()


def test_arguments_that_differ_between_models_only_are_none(tmp_path):
    for model in "ab":
        inspect_log(tmp_path / f"{model}.eval", model=model, task_args={"prompt": model})
    assert survey([str(tmp_path)]).differing == ()
