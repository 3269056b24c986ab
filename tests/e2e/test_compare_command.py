"""``bbedge compare`` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bbedge.baselines import METHODS

DEMO = Path(__file__).parents[2] / "demo" / "scores.csv"


def test_every_method_speaks_and_the_uncontrolled_are_marked(bbedge, tmp_path):
    outcome = bbedge("compare", DEMO, "--json", tmp_path / "c.json")
    assert outcome.code == 0, outcome.err
    lines = {line.split()[0]: line for line in outcome.out.splitlines() if line.strip()}
    for name, method in METHODS.items():
        warning = {"all looks": "yes, at all looks", "one look": "only if looked at once", "none": "NOT CONTROLLED"}
        expected = "not usable here" if name == "BEB-Holm" else warning[method.validity]
        assert expected in lines[name]
    assert "blocks of one size" in outcome.out
    document = json.loads((tmp_path / "c.json").read_text())
    by_name = {each["method"]: each for each in document["methods"]}
    assert by_name["BB-EDGE"]["edges"] == 16
    assert by_name["BB-EDGE-X"]["edges"] == 23
    assert by_name["EMR"]["pairs"] == 28
    assert by_name["BB-EDGE-X"]["alone"] == 0
    assert by_name["TLRCI"]["edges"] is None
    assert by_name["BEB-Holm"]["width"] is None


def test_chosen_methods_in_any_case(bbedge):
    outcome = bbedge("compare", DEMO, "--methods", "emr, T-HOLM", "--json", "-")
    assert [each["method"] for each in json.loads(outcome.out)["methods"]] == ["EMR", "t-Holm"]
    assert "CBTL" not in outcome.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--methods", "magic"], "unknown method 'magic'"),
        (["--alpha", "2"], "alpha = 2.0"),
        (["--tau", "1"], "tau = 1.0"),
    ],
)
def test_bad_options(bbedge, options, said):
    outcome = bbedge("compare", DEMO, *options)
    assert outcome.code == 2
    assert said in outcome.err
    assert "Traceback" not in outcome.err
