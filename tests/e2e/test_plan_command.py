import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_a_plan_from_assumptions_is_a_table_and_a_document(bbedge, tmp_path):
    what = ("--models", "10", "--items", "200", "--block-size", "2", "--difference", "0.05")
    prices = ("--tokens", "100", "--price", "2")
    shown = bbedge("plan", *what, *prices, "--json", tmp_path / "plan.json", "--figure", tmp_path / "plan.png")
    assert shown.code == 0, shown.err
    document = json.loads((tmp_path / "plan.json").read_text())
    assert [way["name"] for way in document["ways"]] == ["bb-edge-x", "if items were blocks", "one block", "bb-edge"]
    assert (document["models"], document["items"], document["blocks"]) == (10, 200, 100)
    extended = document["ways"][0]
    for entry in extended["smallest_difference"]:
        assert f"{entry['difference']:.4f}" in shown.out
    replicates = extended["replicates_needed"][0]["replicates"]
    queries = replicates * 10 * 200
    assert f"{queries:,}" in shown.out
    assert f"{queries * 100:,}" in shown.out
    assert f"{queries * 100 / 1e6 * 2:,.2f}" in shown.out
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")


def test_a_pilot_brings_its_own_models_and_items(bbedge):
    shown = bbedge("plan", ROOT / "demo" / "scores.csv")
    assert shown.code == 0, shown.err
    assert "6 models · 72 items in 24 blocks" in shown.out
    assert "From the pilot's" in shown.out


def test_a_list_of_items_with_blocks_can_be_planned_for(bbedge, tmp_path):
    (tmp_path / "items.csv").write_text("item,block\n" + "".join(f"q{i},d{i // 3}\n" for i in range(30)))
    shown = bbedge("plan", "--items", tmp_path / "items.csv", "--json", "-")
    assert shown.code == 0, shown.err
    assert json.loads(shown.out)["blocks"] == 10


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "--items"),
        (("--items", "10", "--difference", "much"), "not a list of numbers"),
        (("--items", "10", "--power", "1"), "power"),
        (("--items", "10", "--price", "1"), "--tokens"),
        (("--items", "10", "--mean", "1.5"), "not possible"),
        (("--items", "absent.csv"), "absent.csv"),
        ((str(ROOT / "demo" / "scores.csv"), "--models", "4"), "leave out --models"),
    ],
)
def test_mistakes_are_told_with_exit_code_2(bbedge, arguments, told):
    done = bbedge("plan", *arguments)
    assert done.code == 2
    assert told in done.err
