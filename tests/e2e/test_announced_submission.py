"""A model whose runs were announced is handed in as a submission: every command of its way, from the outside."""

from __future__ import annotations

import csv
import json
import random

import pytest

from bbedge.records.events import ModelAdded

MODELS, RUNS, ITEMS = {"heron": 0.6, "wren": 0.4}, 6, 120


def table(path, models, runs):
    with path.open("w", encoding="utf-8") as file:
        file.write("model,item,replicate,score\n")
        for run in runs:
            for model, skill in models.items():
                for item in range(ITEMS):
                    right = random.Random(f"{model} {item} {run}").random() < skill
                    file.write(f"{model},q{item},{run},{int(right)}\n")
    return path


@pytest.fixture
def done(bbedge, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.csv").write_text("item\n" + "".join(f"q{item}\n" for item in range(ITEMS)))
    (tmp_path / "design.toml").write_text('alpha = 0.2\nincomplete = "worst-case"\n')

    def run(*words, code=0):
        found = bbedge(*words)
        assert found.code == code, (words, found.out, found.err)
        return found.out + found.err

    run("board", "init", "b.db", "--design", "design.toml", "--items", "items.csv", "--models", ",".join(MODELS))
    run("board", "add", "b.db", table(tmp_path / "ours.csv", MODELS, range(1, RUNS + 1)))
    run("board", "announce", "b.db", "kestrel", "--runs", RUNS)
    return run


def packed(done, folder, runs):
    theirs = table(folder / "theirs.csv", {"kestrel": 0.99}, runs)
    done("submit", "pack", "kestrel.zip", theirs, "--who", "Kestrel team", "--with-logs")


@pytest.mark.nightly
def test_all_announced_runs(done, tmp_path):
    packed(done, tmp_path, range(1, RUNS + 1))
    said = done("submit", "check", "kestrel.zip", "--board", "b.db", "--markdown", "verdict.md")
    assert "kestrel: 6 of 6 announced runs. Their order is drawn when they are added" in said
    assert "new  kestrel" not in said + (tmp_path / "verdict.md").read_text()
    said = done("board", "add", "b.db", "--submission", "kestrel.zip")
    assert "Added kestrel (logs kept), handed in by Kestrel team." in said
    assert "new  kestrel > heron" in said
    assert "is on the board already" in done("board", "add", "b.db", "--submission", "kestrel.zip")
    done("board", "verify", "b.db")


@pytest.mark.nightly
def test_withheld_runs(done, tmp_path):
    """Refused while they may still come, then counted as missing; published, and verified from what is published."""
    packed(done, tmp_path, range(1, 5))
    refused = done("submit", "check", "kestrel.zip", "--board", "b.db", code=3)
    assert "4 of 6 announced runs of 'kestrel' are given; deliver the others, or close" in " ".join(refused.split())
    assert "4 of 6" in done("board", "add", "b.db", "--submission", "kestrel.zip", code=2)
    done("board", "close-announcement", "b.db", "kestrel")
    assert "4 of 6 announced runs" in done("submit", "check", "kestrel.zip", "--board", "b.db")
    done("board", "add", "b.db", "--submission", "kestrel.zip")
    done("board", "verify", "b.db")
    assert "kestrel: 6 announced, 4 delivered" in done("board", "show", "b.db")
    done("publish", "b.db", "site")
    with (tmp_path / "site" / "rows.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["model"] == "kestrel"]
    assert [(row["what"], row["why"].split("submission ")[0]) for row in rows] == [
        ("announced", "6 runs announced before they are made"),
        ("announcement closed", "what is not delivered with the model counts as missing"),
        ("added", "added with 4 of 6 announced runs; 2 were not delivered"),
        ("trust stated", "logs kept, by Kestrel team, "),
    ]
    document = json.loads((tmp_path / "site" / "certificate.json").read_text())
    (announced,) = document["board"]["announcements"]
    assert (announced["announced"], announced["delivered"]) == (6, 4)
    assert document["board"]["trust"][0]["by"] == "Kestrel team"
    assert "verified" in done("verify", "site/index.html", "site/board.jsonl").lower()
    done("board", "verify", "site/board.jsonl", "--heads", "site/heads.jsonl")
    text = (tmp_path / "site" / "board.jsonl").read_text()
    events = [json.loads(line) for line in text.splitlines() if '"payload"' in line]
    (payload,) = (json.loads(each["payload"]) for each in events if each["kind"] == ModelAdded.kind)
    assert sorted(payload["gaps"]) == [0, 0, 0, 0, ITEMS, ITEMS]
