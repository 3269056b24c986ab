"""The ratchet: what `weight.toml` beside this file allows, and no more."""

import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from weighing import measure, walked_files

LIMITS = tomllib.loads(Path(__file__).with_name("weight.toml").read_text(encoding="utf-8"))
STEP = 100
"""Statements are counted in hundreds, so that not every change has to write a number."""


def test_the_package_is_no_heavier_than_stated():
    found = measure()
    found["statements"] = -(-found["statements"] // STEP) * STEP
    stated = LIMITS["package"]
    heavier = {name: f"{value} > {stated[name]}" for name, value in found.items() if value > stated[name]}
    assert not heavier, "find what the change repeats; only a new capability may raise statements and files"
    lighter = {name: value for name, value in found.items() if value < stated[name]}
    assert not lighter, "write the lower numbers into tests/unit/weight.toml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("walks"), np.random.default_rng(1)
    rows = [
        f"{model},q{item},{run},{int(rng.random() < chance)}"
        for run in (1, 2)
        for model, chance in (("a", 0.8), ("b", 0.5), ("c", 0.4))
        for item in range(40)
    ]
    (folder / "scores.csv").write_text("\n".join(["model,item,replicate,score", *rows]) + "\n")
    (folder / "policy.toml").write_text('candidate = "a"\nbaseline = "b"\n[[claims]]\nnot_worse_by = 0.02\n')
    for words in (
        "certify scores.csv --json c.json",
        "board init b.bbedge --from scores.csv",
        "board init b.bbedge --design b-design.toml --items b-items.csv --models @b-models.txt",
    ):
        subprocess.run([sys.executable, "-m", "bbedge", *words.split()], cwd=folder, check=True, capture_output=True)
    return folder


WALKS = {
    "certify_html": ("certify", "scores.csv", "--html", "page.html"),
    "board_add": ("board", "add", "b.bbedge", "scores.csv"),
    "gate": ("gate", "policy.toml", "scores.csv"),
    "gate_ledger": ("gate", "policy.toml", "scores.csv", "--ledger", "g.bbedge", "--label", "one"),
    "verify": ("verify", "c.json", "scores.csv"),
    "inspect_scores": ("inspect-scores", "scores.csv"),
}


@pytest.mark.every_push("every change states how far commands walk")
@pytest.mark.parametrize("name", WALKS)
def test_everyday_commands_walk_no_farther_than_stated(folder, name):
    found, stated = walked_files(folder, *WALKS[name]), LIMITS["walks"][name]
    assert found <= stated
    assert found == stated, f"write walks.{name} = {found} into tests/unit/weight.toml"
