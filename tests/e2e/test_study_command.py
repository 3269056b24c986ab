"""Every study, end to end, with few repetitions; Ray for real; what is written and shown."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bbedge.study.experiments import STUDIES

QUICK = ("same-model",)
"""One study of leaderboards; the others run at night."""


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.nightly) for name in STUDIES]
)
def test_every_study_runs_and_is_shown(bbedge, tmp_path, name):
    done = bbedge("study", "run", name, "--repetitions", "1", "--workers", "1", "--out", str(tmp_path))
    assert done.code == 0, done.err
    folder = tmp_path / name
    study = STUDIES[name]
    for setting in study.settings:
        assert setting.name in done.out
        assert f"### {setting.name}" in (folder / "README.md").read_text(encoding="utf-8")
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (folder / "figure.svg").read_text(encoding="utf-8")
    assert json.loads((folder / "run.json").read_text())["repetitions"] == 1
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert f"bbedge study run {name} --repetitions 1 --seed 1" in page
    assert study.title in (tmp_path / "README.md").read_text(encoding="utf-8")
    web = tmp_path / "study.html"
    shown = bbedge("study", "show", name, "--out", str(tmp_path), "--html", str(web))
    assert shown.code == 0
    assert study.settings[-1].name in shown.out
    assert "Wrote the page to" in shown.out
    assert web.read_text(encoding="ascii").startswith("<!doctype html>")
    assert study.title in web.read_text(encoding="ascii")


def small(out: Path, *more: str) -> list[str]:
    # Four chunks, so that two workers have several each.
    return ["study", "run", "same-model", "--repetitions", "40", "--out", str(out), *more]


@pytest.mark.nightly
def test_ray_gives_the_bytes_that_joblib_gives(bbedge, tmp_path):
    assert bbedge(*small(tmp_path / "one", "--workers", "1")).code == 0
    assert bbedge(*small(tmp_path / "two", "--workers", "2")).code == 0
    command = [sys.executable, "-m", "bbedge", *small(tmp_path / "ray", "--workers", "2", "--backend", "ray")]
    on_ray = subprocess.run(command, check=False, capture_output=True, text=True)
    assert on_ray.returncode == 0, on_ray.stderr
    contents = {(tmp_path / where / "same-model" / "results.csv").read_bytes() for where in ("one", "two", "ray")}
    assert len(contents) == 1
    for file in ("figure.svg", "figure.png", "README.md"):
        assert len({(tmp_path / where / "same-model" / file).read_bytes() for where in ("one", "ray")}) == 1, file


@pytest.mark.nightly
def test_a_killed_run_goes_on_where_it_was(bbedge, tmp_path):
    command = [sys.executable, "-m", "bbedge", *small(tmp_path / "cut", "--workers", "1")]
    chunks = tmp_path / "cut" / ".chunks"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True) as run:
        while run.poll() is None and len(list(chunks.rglob("*.npz"))) < 2:
            time.sleep(0.02)
        os.killpg(run.pid, signal.SIGKILL)
    kept = len(list(chunks.rglob("*.npz")))
    assert kept >= 2
    resumed = bbedge(*small(tmp_path / "cut", "--workers", "1"))
    assert resumed.code == 0, resumed.err
    assert bbedge(*small(tmp_path / "whole", "--workers", "1")).code == 0
    assert (tmp_path / "cut/same-model/results.csv").read_bytes() == (
        tmp_path / "whole/same-model/results.csv"
    ).read_bytes()


def test_real_runs_can_be_brought_to_the_same_model_study(bbedge, tmp_path):
    lines = ["model,item,replicate,score"]
    lines += [f"m,q{i},{r},{(i * 7 + r * 3) % 5 > 1:d}" for i in range(30) for r in range(6)]
    (tmp_path / "runs.csv").write_text("\n".join(lines))
    command = ("study", "run", "same-model", "--repetitions", "3", "--workers", "1", "--out", str(tmp_path / "out"))
    done = bbedge(*command, "--data", str(tmp_path / "runs.csv"))
    assert done.code == 0, done.err
    assert "real: runs" in done.out
    assert "--data runs.csv" in (tmp_path / "out/same-model/README.md").read_text(encoding="utf-8")


@pytest.mark.nightly
def test_the_curves_of_a_study_are_drawn_for_a_paper(bbedge, tmp_path):
    folder = Path(__file__).parents[2] / "studies" / "more-rivals"
    assert bbedge("figure", "power", folder, tmp_path / "x.pdf", tmp_path / "x.png").code == 0
    assert (tmp_path / "x.pdf").read_bytes().startswith(b"%PDF")
    missing = bbedge("figure", "power", tmp_path / "power", tmp_path / "x.pdf")
    assert missing.code == 2
    assert "bbedge study run power" in missing.err


def test_the_list_names_every_study_and_what_has_results(bbedge, tmp_path):
    listed = bbedge("study", "list", "--out", str(tmp_path))
    assert listed.code == 0
    assert all(name in listed.out for name in STUDIES)
    assert "repetitions" not in listed.out.replace("repetitions,", "")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("run", "pover"), "choose from power"),
        (("show", "power"), "bbedge study run power"),
        (("run", "power", "--backend", "dask"), "joblib or ray"),
        (("run", "power", "--address", "auto"), "--backend ray"),
        (("run", "power", "--data", "x.csv"), "leave out --data"),
        (("run", "same-model", "--data", "absent.csv"), "absent.csv"),
    ],
)
def test_mistakes_are_told_with_exit_code_2(bbedge, tmp_path, arguments, told):
    done = bbedge("study", *arguments, "--out", str(tmp_path))
    assert done.code == 2
    assert told in done.err
    assert "Traceback" not in done.err


def test_damaged_results_are_named(bbedge, tmp_path):
    folder = tmp_path / "power"
    folder.mkdir()
    (folder / "run.json").write_text("{")
    done = bbedge("study", "show", "power", "--out", str(tmp_path))
    assert done.code == 2
    assert "run.json" in done.err
    made = {"seed": 1, "repetitions": 2, "version": "0", "fingerprint": "x", "data": []}
    (folder / "run.json").write_text(json.dumps(made))
    (folder / "results.csv").write_text("nothing\n1\n")
    done = bbedge("study", "show", "power", "--out", str(tmp_path))
    assert done.code == 2
    assert "results.csv" in done.err
