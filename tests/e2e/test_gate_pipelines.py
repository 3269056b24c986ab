"""The pipelines in docs/gate.md do what the page says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.gate_scores import POLICY, write_scores

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8").partition("## In pipelines\n")[2]


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


CHECK, COMMENT, GITLAB = (yaml.load(text, Loader=yaml.BaseLoader) for text in blocks("yaml"))


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    (job,) = workflow["jobs"].values()
    found: list[dict[str, Any]] = job["steps"]
    return found


def test_the_workflows_are_pinned_and_interpolate_nothing_into_a_shell():
    for step in [*steps(CHECK), *steps(COMMENT)]:
        assert "${{" not in step.get("run", "")
        assert "${{" not in step.get("with", {}).get("script", "")
        uses = step.get("uses", "OWNER/bbedge@COMMIT")
        assert uses == "OWNER/bbedge@COMMIT" or re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", uses)


def test_the_check_has_no_rights_and_the_comment_runs_no_code_of_the_fork():
    assert CHECK["on"] == "pull_request"
    assert CHECK["permissions"] == {"contents": "read"}
    assert COMMENT["permissions"] == {}
    assert COMMENT["on"]["workflow_run"]["workflows"] == [CHECK["name"]]
    assert not any("checkout" in step.get("uses", "") or "run" in step for step in steps(COMMENT))


def test_the_inputs_are_those_of_the_action():
    (step,) = (step for step in steps(CHECK) if step.get("uses") == "OWNER/bbedge@COMMIT")
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    assert set(step["with"]) <= set(action["inputs"])
    rows = set(re.findall(r"^\| `([\w-]+)` \|", PAGE, re.MULTILINE))
    assert rows == {*action["inputs"], *action["outputs"]}
    (upload,) = (step for step in steps(CHECK) if "upload-artifact" in step.get("uses", ""))
    assert upload["with"]["path"] == action["inputs"]["comment-file"]["default"]
    (download, comment) = steps(COMMENT)
    assert download["with"]["name"] == upload["with"]["name"]
    assert comment["env"]["BODY_FILE"].endswith("/" + upload["with"]["path"])


STAGE = """
const calls = [];
const given = JSON.parse(process.env.GIVEN);
const core = { setFailed: (text) => calls.push(['failed', text]), notice: (text) => calls.push(['notice', text]) };
const context = { repo: { owner: 'us', repo: 'tool' }, payload: given.payload };
const github = {
  paginate: async (_, where) => { calls.push(['list', where]); return given.comments; },
  rest: {
    pulls: { list: async (where) => { calls.push(['pulls', where]); return { data: given.pulls }; } },
    issues: {
      listComments: null,
      createComment: async (what) => calls.push(['create', what]),
      updateComment: async (what) => calls.push(['update', what]),
    },
  },
};
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;
const script = require('fs').readFileSync(process.env.SCRIPT, 'utf8');
new AsyncFunction('require', 'github', 'context', 'core', script)(require, github, context, core)
  .then(() => console.log(JSON.stringify(calls)));
"""


def node() -> str:
    import playwright

    bundled = Path(playwright.__file__).parent / "driver" / "node"
    found = shutil.which("node") or (str(bundled) if bundled.exists() else None)
    if found is None:
        pytest.skip("there is no Node.js to run the script with")
    return found


def commented(tmp_path: Path, text: str, *, owner: str, comments: list[Any] = [], sha: str = "abc") -> list[Any]:  # noqa: B006
    """Run the script of the comment workflow, and say what it asks of GitHub."""
    body, script = tmp_path / "body.md", tmp_path / "script.js"
    body.write_text(text, encoding="utf-8")
    script.write_text(steps(COMMENT)[1]["with"]["script"], encoding="utf-8")
    head = {"full_name": f"{owner}/tool", "owner": {"login": owner}}
    given = {
        "payload": {
            "workflow_run": {"head_repository": head, "head_branch": "change", "head_sha": "abc"},
            "repository": {"full_name": "us/tool"},
        },
        "comments": comments,
        "pulls": [{"number": 7, "head": {"sha": sha}}],
    }
    env = {"PATH": os.environ["PATH"], "BODY_FILE": str(body), "SCRIPT": str(script), "GIVEN": json.dumps(given)}
    done = subprocess.run([node(), "-e", STAGE], env=env, capture_output=True, text=True, check=True)
    calls: list[Any] = json.loads(done.stdout)
    return calls


def test_the_comment_of_a_branch_is_markdown(tmp_path):
    *_, (kind, what) = commented(tmp_path, "## Evaluation gate\n", owner="us")
    assert kind == "create"
    assert what == {
        "owner": "us", "repo": "tool", "issue_number": 7, "body": "<!-- bbedge gate -->\n## Evaluation gate\n",
    }  # fmt: skip


def test_the_comment_of_a_fork_is_plain_text(tmp_path):
    attack = "@everyone ![x](https://example.org/x.png)\n```\n````\n<img src=x>"
    (pulls, where), _, (kind, what) = commented(tmp_path, attack, owner="them")
    assert (pulls, where["head"], kind) == ("pulls", "them:change", "create")
    _, _, _, fence, *inside, end, last = what["body"].split("\n")
    assert fence == "`````text"
    assert (end, last) == ("`````", "")
    assert "\n".join(inside) == attack


def test_an_older_comment_is_updated_and_only_its_own(tmp_path):
    others = [
        {"id": 1, "user": {"login": "them"}, "body": "<!-- bbedge gate -->\nmine"},
        {"id": 2, "user": {"login": "github-actions[bot]"}, "body": "<!-- bbedge gate -->\nold"},
    ]
    *_, (kind, what) = commented(tmp_path, "new", owner="us", comments=others)
    assert (kind, what["comment_id"]) == ("update", 2)
    *_, (kind, _) = commented(tmp_path, "new", owner="us", comments=others[:1])
    assert kind == "create"


def test_what_is_no_comment_of_this_commit_is_not_written(tmp_path):
    assert [kind for kind, _ in commented(tmp_path, "x" * 50_001, owner="them")] == ["failed"]
    assert [kind for kind, _ in commented(tmp_path, "text", owner="them", sha="later")] == ["pulls", "notice"]


@pytest.mark.parametrize(("new", "code"), [(0.9, 0), (0.1, 1)])
def test_the_commands_of_gitlab_and_jenkins_run(tmp_path, new, code):
    (jenkins,) = re.findall(r"script: '(bbedge gate .*?)'", "".join(blocks("groovy")))
    (gitlab,) = GITLAB["gate"]["script"]
    assert jenkins == gitlab
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    (tmp_path / "runs").mkdir()
    write_scores(tmp_path / "runs" / "scores.csv", new, 0.5)
    command = gitlab.replace("bbedge", f"{sys.executable} -c 'from bbedge.cli import main; main()'", 1)
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert (tmp_path / GITLAB["gate"]["artifacts"]["reports"]["junit"]).exists()
    assert (tmp_path / GITLAB["gate"]["artifacts"]["paths"][0]).exists()


@pytest.mark.nightly
def test_the_test_of_the_page_runs(tmp_path):
    suite, task = blocks("python")
    (tmp_path / "test_assistant.py").write_text(suite, encoding="utf-8")
    (tmp_path / "assistant.py").write_text("def answer(question): return 'Paris, Oslo, Tokyo'\n", encoding="utf-8")
    commands = [line.partition("#")[0].split()[1:] for line in blocks("sh")[0].splitlines()]
    plugin = "from bbedge.integrations import pytest_plugin as plugin; import pytest, sys"
    start = f"{plugin}; sys.exit(pytest.main(sys.argv[1:], [plugin]))"
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(tmp_path)])}
    for arguments, status in zip(commands, (0, 13), strict=True):  # three questions decide nothing
        run = [sys.executable, "-c", start, *arguments, "-p", "no:cacheprovider", "-p", "no:bbedge"]
        done = subprocess.run(run, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        assert "5 passed" in done.stdout
    compile(task, "quiz.py", "exec")
    assert "BBEDGE_GATE_POLICY=" in blocks("sh")[1]
