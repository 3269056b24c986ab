"""Gates about what answers take: not worse in quality, and cheaper."""

from __future__ import annotations

import json

import pytest

from log_makers import inspect_log, inspect_sample

POLICY = """
candidate = "new"
baseline = "old"
metric = "match"
views = "metric"
[metric_ranges]
tokens = [1000, 0]
[[claims]]
not_worse_by = 0.1
[[claims]]
view = "tokens"
cheaper_by = {part}
"""


@pytest.fixture
def logs(tmp_path):
    for run in (1, 2):
        for model, tokens in (("new", 400), ("old", 600)):
            samples = [
                inspect_sample(
                    f"q{i}",
                    value="I" if i == 7 * run else "C",
                    model_usage={"m": {"total_tokens": tokens + (i + run) % 5}},
                )
                for i in range(120)
            ]
            path = tmp_path / "logs" / f"{model}{run}.eval"
            inspect_log(path, model=model, samples=samples, eval_id=f"{model}{run}", created=f"2026-01-0{run}T00:00:00")
    return tmp_path / "logs"


@pytest.mark.parametrize(("part", "verdict", "code"), [(0.1, "PASS", 0), (0.6, "FAIL", 1), (0.333, "OPEN", 3)])
def test_cheaper_by_is_a_part_of_what_the_baseline_takes(bbedge, tmp_path, logs, part, verdict, code):
    rules, out = tmp_path / "policy.toml", tmp_path / "out.json"
    rules.write_text(POLICY.format(part=part))
    outcome = bbedge("gate", rules, logs, "--json", out)
    assert outcome.code == code, outcome.err
    quality, cost = json.loads(out.read_text())["claims"]
    assert (quality["verdict"], quality["view"]) == ("PASS", "headline")
    assert (cost["verdict"], cost["view"]) == (verdict, "tokens")


def test_options_that_contradict_the_policy_are_refused(bbedge, tmp_path, logs):
    rules = tmp_path / "policy.toml"
    rules.write_text(POLICY.format(part=0.1))
    for option, words in ((("--metric", "tokens"), "drop one"), (("--metric-range", "tokens=500:0"), "leave out")):
        outcome = bbedge("gate", rules, logs, *option)
        assert outcome.code == 2
        assert words in outcome.err


def test_a_log_without_the_metric_is_refused(bbedge, tmp_path):
    for model in ("new", "old"):
        inspect_log(tmp_path / "logs" / f"{model}.eval", model=model)
    rules = tmp_path / "policy.toml"
    rules.write_text(POLICY.format(part=0.1))
    outcome = bbedge("gate", rules, tmp_path / "logs")
    assert outcome.code == 2
    assert "no score is of the metric 'tokens'" in outcome.err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("tokens = [1000, 0]", "tokens = [1000, 10]"), "whose best value is 0"),
        (("tokens = [1000, 0]", "tokens = [0, 1000]"), "less is better"),
        (("tokens = [1000, 0]", "cost = [1000, 0]"), "no score is of the metric 'cost'"),
        (("tokens = [1000, 0]", "tokens = [0, 0]"), "the range of 'tokens' is 0 to 0; give two different values"),
        (("tokens = [1000, 0]", "tokens = 1000"), "worst and best value of 'tokens': 'the whole' = 1000 is not a pair"),
        (('view = "tokens"\n', ""), "whose best value is 0"),
    ],
)
def test_ranges_that_give_a_claim_no_meaning_are_refused(bbedge, tmp_path, logs, change, words):
    rules = tmp_path / "policy.toml"
    rules.write_text(POLICY.format(part=0.1).replace(*change))
    outcome = bbedge("gate", rules, logs)
    assert outcome.code == 2
    assert words in outcome.err


def test_a_range_of_the_command_line_counts_too(bbedge, tmp_path, logs):
    rules = tmp_path / "policy.toml"
    rules.write_text(POLICY.format(part=0.1).replace("[metric_ranges]\ntokens = [1000, 0]\n", ""))
    assert bbedge("gate", rules, logs).code == 2
    assert bbedge("gate", rules, logs, "--metric-range", "tokens=1000:0").code == 0
