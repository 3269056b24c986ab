"""``bbedge compare`` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bbedge.baselines import METHODS

EDITIONS = {"BB-EDGE": 1, "BB-EDGE-X": 2}
DEMO = Path(__file__).parents[2] / "demo" / "scores.csv"


@pytest.fixture
def uneven(tmp_path) -> Path:
    """Four models, far apart and near, on blocks of one, two and three items."""
    rng = np.random.default_rng(3)
    blocks = [block for block in range(45) for _ in range(1 + block % 3)]
    rows = ["model,item,block,replicate,score"]
    for model, mean in (("a", 0.9), ("b", 0.6), ("c", 0.55), ("d", 0.2)):
        for replicate in (1, 2, 3):
            rows += [
                f"{model},q{item},b{block},{replicate},{int(rng.random() < mean)}" for item, block in enumerate(blocks)
            ]
    path = tmp_path / "uneven.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_every_method_speaks_and_the_uncontrolled_are_marked(bbedge, tmp_path, uneven):
    outcome = bbedge("compare", uneven, "--json", tmp_path / "c.json")
    assert outcome.code == 0, outcome.err
    lines = {line.split()[0]: line for line in outcome.out.splitlines() if line.strip()}
    for name, method in METHODS.items():
        warning = {"all looks": "yes, for all looks", "one look": "for a single look only", "none": "NOT CONTROLLED"}
        expected = "not usable here" if name == "BEB-Holm" else warning[method.validity]
        assert expected in lines[name]
    assert "blocks of one size" in outcome.out
    document = json.loads((tmp_path / "c.json").read_text())
    by_name = {each["method"]: each for each in document["methods"]}
    assert by_name["EMR"]["pairs"] == 6
    assert 1 <= by_name["BB-EDGE"]["edges"] <= by_name["BB-EDGE-X"]["edges"] < 6
    assert by_name["BB-EDGE-X"]["alone"] == by_name["BB-EDGE-X"]["standing_alone"] == 0
    assert {name: each["edition"] for name, each in by_name.items() if each["edition"]} == EDITIONS
    assert f"BB-EDGE-X: edition {EDITIONS['BB-EDGE-X']}" in outcome.out
    assert by_name["TLRCI"]["edges"] is None
    assert by_name["BEB-Holm"]["width"] is None


def test_the_demo_is_compared_with_the_methods_that_certify_it(bbedge, tmp_path):
    outcome = bbedge("compare", DEMO, "--json", tmp_path / "c.json")
    assert outcome.code == 0, outcome.err
    assert "not usable here" not in outcome.out
    by_name = {each["method"]: each for each in json.loads((tmp_path / "c.json").read_text())["methods"]}
    for name, method in (("BB-EDGE", "bb-edge"), ("BB-EDGE-X", "bb-edge-x")):
        assert bbedge("certify", DEMO, "--method", method, "--json", tmp_path / "d.json").code == 0
        assert by_name[name]["edges"] == len(json.loads((tmp_path / "d.json").read_text())["edges"]) > 0


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
