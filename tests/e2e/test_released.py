"""What people get who have no checkout: the wheel, the image made from it, and the first minute."""

import json
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import bbedge as bbedge_package

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "demo" / "scores.csv"
CONTAINERFILE = (ROOT / "Containerfile").read_text(encoding="utf-8")
STEPS = [line.split(" ", 1) for line in CONTAINERFILE.splitlines() if line and not line.startswith("#")]


def built(folder: Path, project: Path = ROOT) -> Path:
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        folder,
        project,
    ]
    subprocess.run(build, check=True)
    (wheel,) = folder.glob("bbedge-*.whl")
    return wheel


def test_the_demo_writes_its_scores_and_shows_what_certify_shows(bbedge, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    shown = bbedge("demo")
    assert shown.code == 0, shown.err
    assert Path("demo", "scores.csv").read_bytes() == DEMO.read_bytes()
    certified = bbedge("certify", "demo/scores.csv").out
    assert "9 of 15 pairs certified" in certified
    first, rest = shown.out.split("\n", 1)
    assert first == "$ bbedge certify demo/scores.csv"
    assert rest.startswith(certified)
    commands = re.findall(r"^  bbedge (.+)$", rest, re.MULTILINE)
    assert len(commands) >= 3
    for command in commands:
        assert bbedge(*command.split()).code == 0, command
    assert bbedge("demo").code == 0  # the file is there already


def test_the_demo_takes_no_file_s_place(bbedge, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    mine = tmp_path / "own" / "scores.csv"
    mine.parent.mkdir()
    mine.write_text("model,item,score\n", encoding="utf-8")
    refused = bbedge("demo", "own")
    assert (refused.code, mine.read_text(encoding="utf-8")) == (2, "model,item,score\n")
    assert "own/scores.csv: is not the demo data and is kept" in refused.err
    assert "bbedge demo FOLDER" in refused.err
    (tmp_path / "file").write_text("")
    refused = bbedge("demo", "file")
    assert (refused.code, "file" in refused.err) == (2, True)


def test_the_demo_scores_in_python_are_those_of_the_file():
    made, read = bbedge_package.demo_scores(), bbedge_package.read_scores(DEMO)
    assert (made.models, made.items, made.replicates) == (read.models, read.items, read.replicates)
    assert (made.values == read.values).all()


def test_the_package_s_links_lead_to_the_one_address(tmp_path):
    for name in ("README.md", "LICENSE", "src/bbedge/_version.py", "docs/generate/package.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert project.count('\nrepository = "') == 1
    given = re.sub('\nrepository = "[^"]*"', '\nrepository = "https://code.example/team/bbedge/"', project)
    (tmp_path / "pyproject.toml").write_text(given, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "metadata"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    metadata = json.loads(done.stdout)
    at = "https://code.example/team/bbedge/"
    urls = metadata["urls"]
    assert urls["Source"] == at.rstrip("/")
    assert {"Documentation", "Changelog", "Issues"} <= set(urls)
    readme = metadata["readme"]["text"] if isinstance(metadata["readme"], dict) else metadata["readme"]
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)#]+)[^)]*\)", readme)
    own = [(picture, link) for picture, link in links if link.startswith(at)]
    assert all(link.startswith(("https://", "http://")) for _, link in links)
    assert len(own) > 15
    for picture, link in [*own, *(("", each) for name, each in urls.items() if name not in ("Source", "Issues"))]:
        kind, branch, path = link.removeprefix(at).split("/", 2)
        assert (kind, branch) == ("raw" if picture else "blob", "main"), link
        assert (ROOT / path).exists(), link


def test_the_image_has_no_root_and_is_made_from_what_make_build_leaves():
    named = dict(STEPS)
    assert re.fullmatch(r"\d+:\d+", named["USER"])
    assert not named["USER"].startswith("0")
    assert [step for step, _ in STEPS].index("USER") > [step for step, _ in STEPS].index("RUN")
    assert json.loads(named["ENTRYPOINT"]) == ["bbedge"]
    sources = named["COPY"].split()[:-1]
    kept = (ROOT / ".containerignore").read_text(encoding="utf-8").split("\n")
    assert {f"!{source}" for source in sources} <= set(kept)
    assert "*" in kept
    assert "--wheel-dir dist" in (ROOT / "Makefile").read_text(encoding="utf-8").split("\nbuild:")[1].split("\n\n")[0]


@pytest.mark.nightly
def test_the_wheel_works_in_an_empty_environment(tmp_path):
    """The command that the image runs, in an empty environment: demo, page, picture and notebook."""
    wheel = built(tmp_path / "dist")
    home = tmp_path / "environment"
    venv.create(home, with_pip=True)
    install = dict(STEPS)["RUN"].replace("/opt/bbedge/constraints.txt", str(ROOT / "constraints.txt"))
    install = install.replace("/opt/bbedge", str(wheel.parent))
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    variables |= {"PATH": f"{home / 'bin'}:{os.environ['PATH']}", "MPLCONFIGDIR": str(tmp_path), "COLUMNS": "120"}
    work = tmp_path / "work"
    work.mkdir()

    def run(*words: str, shell: bool = False) -> str:
        done = subprocess.run(
            words[0] if shell else words,
            cwd=work,
            env=variables,
            shell=shell,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    run(install, shell=True)
    assert "9 of 15 pairs certified" in run("bbedge", "demo")
    run("bbedge", "certify", "demo/scores.csv", "--html", "page.html", "--json", "certificate.json")
    assert "verified" in run("bbedge", "verify", "certificate.json", "demo/scores.csv")
    run("bbedge", "figure", "ranks", "certificate.json", "ranks.png")
    assert (work / "ranks.png").stat().st_size > 5_000
    cells = json.loads((ROOT / "docs" / "tutorial" / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    (work / "notebook.py").write_text("\n".join(code), encoding="utf-8")
    assert "top two: ('three-shot', 'five-shot')" in run("python", "notebook.py")
    assert str(home) in run("python", "-c", "import bbedge; print(bbedge.__file__)")
