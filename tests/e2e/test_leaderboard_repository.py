"""The example of a repository that takes submissions: local clones of a bare repository stand for the server.

Its scripts are those that the workflows run. Here they meet a submission, two merges at once, branches that bring more
than a submission, a forged one, and a rewritten history.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest
import yaml

EXAMPLE = Path(__file__).parents[2] / "examples" / "leaderboard-repository"
ME = {
    f"GIT_{who}_{what}": f"me{at}" for who in ("AUTHOR", "COMMITTER") for what, at in (("NAME", ""), ("EMAIL", "@x.y"))
}


def environment() -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, **ME, "PATH": path, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


def call(folder: Path, *words: object, code: int = 0) -> str:
    done = subprocess.run(
        [str(word) for word in words], cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


class Server:
    """A bare repository with the board of the example, and clones of it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.place = folder, folder / "server.git"
        call(folder, sys.executable, EXAMPLE / "make_data.py", "data")
        call(folder, "git", "init", "--quiet", "--bare", "--initial-branch=main", self.place)
        main = self.clone("main")
        shutil.copytree(EXAMPLE / "repository", main, dirs_exist_ok=True)
        board = folder / "board"
        models = "heron,plover,wren"
        call(
            main,
            "bbedge",
            "board",
            "init",
            board,
            "--design",
            "design.toml",
            "--items",
            "../data/items.csv",
            "--models",
            models,
        )
        call(main, "bbedge", "board", "add", board, "../data/run-1.csv", "../data/run-2.csv")
        call(main, "bbedge", "publish", board, "docs")
        self.commit(main, "Start the board", "main")

    def clone(self, name: str) -> Path:
        call(self.folder, "git", "clone", "--quiet", self.place, name)
        return self.folder / name

    def commit(self, clone: Path, message: str, branch: str) -> None:
        call(clone, "git", "add", "--all")
        call(clone, "git", "commit", "--quiet", "--message", message)
        call(clone, "git", "push", "--quiet", "origin", f"HEAD:{branch}")

    def submitted(self, model: str) -> Path:
        """A clone with a branch that adds the submission of a model, and the branch on the server."""
        clone = self.clone(f"of-{model}")
        call(clone, "git", "switch", "--quiet", "--create", model)
        (clone / "submissions").mkdir()
        scores = f"../data/{model}"
        call(
            clone,
            "bbedge",
            "submit",
            "pack",
            f"submissions/{model}.zip",
            scores,
            "--who",
            f"{model} team",
            "--with-logs",
        )
        self.commit(clone, f"Submit {model}", model)
        return clone

    def checked(self, branch: str, code: int = 0) -> str:
        """The verdict on a branch, by the script of main."""
        main = self.folder / "main"
        call(main, "git", "fetch", "--quiet", "origin")
        call(main, "sh", "check.sh", "origin/main", f"origin/{branch}", "../verdict.md", code=code)
        return (self.folder / "verdict.md").read_text(encoding="utf-8")

    def merge(self, *branches: str) -> None:
        main = self.folder / "main"
        call(main, "git", "fetch", "--quiet", "origin")
        call(main, "git", "reset", "--quiet", "--hard", "origin/main")
        for branch in branches:
            call(main, "git", "merge", "--quiet", "--no-ff", "--message", f"Merge {branch}", f"origin/{branch}")
        call(main, "git", "push", "--quiet", "origin", "HEAD:main")

    def board(self) -> list[dict]:
        """The events of the board that is published now."""
        text = call(self.place, "git", "show", "main:docs/board.jsonl")
        return [json.loads(line) for line in text.splitlines() if '"payload"' in line]

    def models(self) -> list[str]:
        return [json.loads(event["payload"])["model"] for event in self.board() if event["kind"] == "add-model"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return Server(tmp_path_factory.mktemp("server"))


@pytest.fixture
def server(made, tmp_path):
    """A copy of its own of the server that was started once."""
    shutil.copytree(made.folder, tmp_path / "all", symlinks=True)
    server = object.__new__(Server)
    server.folder, server.place = tmp_path / "all", tmp_path / "all" / "server.git"
    call(server.folder / "main", "git", "remote", "set-url", "origin", server.place)
    return server


@pytest.mark.nightly
def test_a_submission_is_checked_merged_and_published(server):
    server.submitted("kestrel")
    verdict = server.checked("kestrel")
    assert "passes every check" in verdict
    assert "logs kept" in verdict
    assert "kestrel \\> wren" in verdict or "kestrel &gt; wren" in verdict
    server.merge("kestrel")
    runner = server.clone("runner")
    call(runner, "sh", "append.sh")
    assert server.models() == ["kestrel"]
    published = server.clone("reader")
    assert "kestrel" in (published / "docs" / "index.html").read_text(encoding="ascii")
    call(published, "bbedge", "verify", "docs/certificate.json", "docs/board.jsonl")
    before = call(server.place, "git", "rev-parse", "main")
    call(runner, "sh", "append.sh")  # nothing is new: nothing is committed
    assert call(server.place, "git", "rev-parse", "main") == before


@pytest.mark.nightly
def test_two_merges_at_once_are_both_published(server):
    for model in ("kestrel", "osprey"):
        server.submitted(model)
    server.merge("kestrel", "osprey")
    runners = [
        subprocess.Popen(["sh", "append.sh"], cwd=server.clone(name), env=environment(), stdout=subprocess.DEVNULL)
        for name in ("one", "two")
    ]
    assert [runner.wait(600) for runner in runners] == [0, 0]
    assert server.models() == ["kestrel", "osprey"]
    last = server.clone("last")
    call(last, "bbedge", "board", "import", "docs/board.jsonl", "../again")
    call(last, "bbedge", "board", "verify", "../again", "--heads", "docs")


@pytest.mark.nightly
def test_a_merge_while_another_one_is_appended_waits_for_its_turn(server):
    server.submitted("kestrel")
    server.merge("kestrel")
    slow = server.clone("slow")
    # Between its fetch and its push, another runner pushes: the first push of the slow one is refused.
    hook = slow / ".git" / "hooks" / "pre-push"
    hook.write_text('#!/bin/sh\nrm -f "$0"\ncd ../fast && sh append.sh >/dev/null\n', encoding="ascii")
    hook.chmod(0o755)
    server.clone("fast")
    call(slow, "sh", "append.sh")
    assert server.models() == ["kestrel"]
    log = call(server.place, "git", "log", "--format=%s", "main")
    assert log.count("Publish the board") == 1


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda clone: (clone / "check.sh").write_text("exit 0\n"), "change nothing else"),
        (lambda clone: (clone / "docs" / "board.jsonl").write_text("{}\n"), "change nothing else"),
        (lambda clone: (clone / "submissions" / "second.zip").write_bytes(b"PK"), "change nothing else"),
        (lambda clone: (clone / "submissions/kestrel.zip").rename(clone / "kestrel.zip"), "must be called"),
        (lambda clone: (clone / "submissions/kestrel.zip").rename(clone / "submissions/a b.zip"), "must be called"),
        (lambda clone: (clone / "submissions/kestrel.zip").chmod(0o755), "plain file"),
    ],
)
def test_a_branch_that_brings_more_than_a_submission_is_refused(server, change, says):
    clone = server.submitted("kestrel")
    change(clone)
    call(clone, "git", "add", "--all")
    call(clone, "git", "commit", "--quiet", "--amend", "--no-edit")
    call(clone, "git", "push", "--quiet", "--force", "origin", "HEAD:kestrel")
    assert says in server.checked("kestrel", code=3)


@pytest.mark.nightly
def test_a_link_in_the_place_of_a_submission_is_refused(server):
    clone = server.submitted("kestrel")
    target = clone / "submissions" / "kestrel.zip"
    target.unlink()
    target.symlink_to("/etc/passwd")
    call(clone, "git", "commit", "--quiet", "--all", "--amend", "--no-edit")
    call(clone, "git", "push", "--quiet", "--force", "origin", "HEAD:kestrel")
    assert "plain file" in server.checked("kestrel", code=3)


@pytest.mark.nightly
def test_a_forged_submission_is_refused_before_and_after_a_merge(server):
    clone = server.submitted("kestrel")
    path = clone / "submissions" / "kestrel.zip"
    with zipfile.ZipFile(path) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    # Every answer right, with the hash and the mean that belong to it: the kept logs say otherwise.
    better = re.sub(rb",0\.0\n", b",1.0\n", found["scores.csv"])
    record = json.loads(found["submission.json"])
    record["table"] |= {"sha256": sha256(better).hexdigest(), "bytes": len(better)}
    record["scores"]["models"][0]["mean"] = 1.0
    found |= {"scores.csv": better, "submission.json": json.dumps(record).encode()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in found.items():
            archive.writestr(name, data)
    call(clone, "git", "commit", "--quiet", "--all", "--amend", "--no-edit")
    call(clone, "git", "push", "--quiet", "--force", "origin", "HEAD:kestrel")
    verdict = server.checked("kestrel", code=3)
    assert "is refused: files" in verdict
    assert "the files, read again, give other scores than the table" in verdict
    server.merge("kestrel")  # by mistake
    runner = server.clone("runner")
    assert "not on the board: submissions/kestrel.zip" in call(runner, "sh", "append.sh", code=3)
    assert server.models() == []


@pytest.mark.nightly
def test_a_rewritten_history_is_found_by_who_has_an_earlier_clone(server):
    server.submitted("kestrel")
    server.merge("kestrel")
    call(server.clone("runner"), "sh", "append.sh")
    reader = server.clone("reader")
    # Somebody with access makes the board anew, without the submission, and publishes that instead.
    forger = server.clone("forger")
    new = server.folder / "new"
    models = "heron,plover,wren"
    call(
        forger,
        "bbedge",
        "board",
        "init",
        new,
        "--design",
        "design.toml",
        "--items",
        "../data/items.csv",
        "--models",
        models,
    )
    call(forger, "bbedge", "board", "add", new, "../data/run-1.csv", "../data/run-2.csv")
    call(forger, "bbedge", "board", "retire", new, "wren")
    call(forger, "git", "rm", "-r", "--quiet", "docs", "submissions")
    call(forger, "bbedge", "publish", new, "docs")
    server.commit(forger, "Publish the board", "main")
    kept = server.folder / "kept.jsonl"
    shutil.copy(reader / "docs" / "heads.jsonl", kept)
    call(reader, "git", "pull", "--quiet", "--ff-only")
    call(reader, "bbedge", "board", "import", "docs/board.jsonl", "../theirs")
    said = call(reader, "bbedge", "board", "verify", "../theirs", "--heads", kept, code=8)
    assert "rewritten" in said


@pytest.mark.parametrize("name", ["check", "append"])
def test_workflows_run_the_scripts_and_give_a_pull_request_no_power(name):
    folder = EXAMPLE / "repository"
    text = (folder / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    (job,) = workflow["jobs"].values()
    scripts = [step["run"] for step in job["steps"] if "run" in step]
    assert any(f"sh {name}.sh" in script for script in scripts)
    assert (folder / f"{name}.sh").exists()
    uses = [step["uses"] for step in job["steps"] if "uses" in step]
    assert all(re.search(r"@[0-9a-f]{40}$", each) for each in uses)
    # Names of branches and titles are foreign text: none is put into a script.
    assert not any("${{" in script for script in scripts)
    if name == "check":
        assert workflow["permissions"] == {"contents": "read"}
        assert "secrets." not in text
        (checkout,) = (step["with"] for step in job["steps"] if "checkout" in step.get("uses", ""))
        assert checkout["ref"] == "${{ github.event.pull_request.base.sha }}"
        assert checkout["persist-credentials"] is False
        assert workflow[True] == "pull_request_target"
    else:
        assert workflow["concurrency"] == {"group": "board"}
