"""``bbedge evaluate`` as a new user meets it: wrong addresses, servers that fail, limits and dry runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from bbedge.board import Board
from servers.faulty_openai import Faulty, unused_port

SERVERS = Path(__file__).parents[1] / "servers"


@pytest.fixture
def faulty():
    with Faulty() as running:
        yield running


@pytest.fixture
def scripted():
    process = subprocess.Popen([sys.executable, SERVERS / "scripted_openai.py"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield process, f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    process.kill()
    process.wait()
    process.stdout.close()


def study_of(folder: Path, urls: dict[str, str], *, top: str = "", run: str = "", n: int = 6, more: str = "") -> Path:
    models = "".join(
        f'[[models]]\nname = "{name}"\nmodel = "openai-api/local/{name}"\nbase_url = "{url}"\n'
        for name, url in urls.items()
    )
    path = folder / "study.toml"
    path.write_text(
        f'budget = 4\n{top}\n{models}\n[benchmark]\ntask = "{SERVERS / "quiz.py"}@quiz"\nargs = {{ n = {n} }}\n'
        f"[run]\npause = 0.01\n{run}\n{more}\n",
        encoding="utf-8",
    )
    return path


def start(study: Path, *options: str) -> subprocess.Popen[str]:
    """The command, without any key in its environment."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_BASE_URL"))}
    return subprocess.Popen(
        [sys.executable, "-m", "bbedge", "evaluate", str(study), *options],
        env=environment | {"COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(study: Path, *options: str) -> tuple[int, str, str]:
    with start(study, *options) as process:
        out, err = process.communicate(timeout=600)
    return process.returncode, out, err


@pytest.mark.nightly
def test_a_wrong_port_is_named_at_once_and_can_be_corrected(tmp_path, scripted):
    _, url = scripted
    wrong = f"http://127.0.0.1:{unused_port()}/v1"
    study = study_of(tmp_path, {"m90": wrong, "m10": wrong})
    code, out, err = run(study)
    assert (code, out) == (2, "")
    assert f"m90 at {wrong}: no connection: Connection error (All connection attempts failed)" in err
    assert "check the address and the port in base_url" in err
    assert err.index("error: m90") < err.index("so no sample was run")
    assert err.count("m90 at ") == err.count("m10 at ") == 1
    assert run(study, "--quiet")[2].count("m90 at ") == 1
    assert not study.with_suffix(".bbedge").exists()
    # No key is set, and none is needed.
    study_of(tmp_path, {"m90": url, "m10": url})
    code, out, err = run(study)
    assert code in (0, 3), err
    assert "all answered (2 requests, 30 tokens)" in err
    assert "2 of these asked a short question before a start" in out


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("way", "text"),
    [("401", "key refused (HTTP 401)"), ("404", "not found (HTTP 404)"), ("html", "Welcome to the proxy")],
)
def test_a_server_that_refuses_is_named_before_anything_is_frozen(tmp_path, faulty, way, text):
    study = study_of(tmp_path, {"m90": faulty.url(way), "m10": faulty.url(way)})
    code, _, err = run(study, "--json")
    assert code == 2
    assert text in err
    assert ("the environment variable LOCAL_API_KEY to a key" in err) == (way == "401")
    assert "scripted" in err or way == "html"
    assert "Traceback" not in err
    assert not study.with_suffix(".bbedge").exists()


@pytest.mark.nightly
def test_errors_of_a_run_come_at_once_and_are_counted_at_the_end(tmp_path, faulty):
    urls = {"m90": faulty.url("500"), "m10": faulty.url("fine")}
    study = study_of(tmp_path, urls, n=2, run="retries = 0\nrequest_retries = 0")
    code, out, err = run(study, "--json")
    said = [json.loads(line) for line in out.splitlines()]
    kinds = [event["event"] for event in said]
    first = said[kinds.index("error-seen")]
    assert (first["model"], first["status"], first["endpoint"]) == ("m90", 500, urls["m90"])
    assert kinds.index("error-seen") < kinds.index("check-ended") < kinds.index("begun")
    assert code == 2
    assert re.search(r"Errors of this command:\n  3 x m90 at \S+: server error \(HTTP 500\)", err)


@pytest.mark.nightly
def test_a_server_that_dies_in_the_middle_is_named_and_the_study_goes_on(tmp_path, scripted):
    process, url = scripted
    faults = urllib.request.Request(url.replace("/v1", "/faults"), json.dumps({"delay": 0.2}).encode())
    urllib.request.urlopen(faults).close()
    study = study_of(tmp_path, {"m90": url, "m10": url}, n=6, run="retries = 0\nrequest_retries = 0\nconnections = 2")
    with start(study, "--json") as command:
        assert command.stdout is not None
        assert command.stderr is not None
        for line in command.stdout:
            if json.loads(line)["event"] == "sample-done":
                process.kill()
                break
        rest = [json.loads(line) for line in command.stdout]
        err = command.stderr.read()
    assert command.returncode == 2
    errors = [event for event in rest if event["event"] == "error-seen"]
    assert {event["kind"] for event in errors} <= {"no-connection", "connection-lost"}
    assert errors[0]["endpoint"] == url
    assert "run the same command again to continue" in err
    port = url.rpartition(":")[2].partition("/")[0]
    again = subprocess.Popen(
        [sys.executable, SERVERS / "scripted_openai.py", "--port", port], stdout=subprocess.PIPE, text=True
    )
    assert again.stdout is not None
    try:
        again.stdout.readline()
        code, _, err = run(study, "--replicates", "1")
        assert code == 0, err
    finally:
        again.kill()
        again.wait()
        again.stdout.close()


@pytest.mark.nightly
def test_another_server_is_refused_and_with_a_reason_recorded(bbedge, tmp_path, scripted):
    _, url = scripted
    other = subprocess.Popen([sys.executable, SERVERS / "scripted_openai.py"], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    try:
        moved = f"http://127.0.0.1:{int(other.stdout.readline())}/v1"
        study = study_of(tmp_path, {"m52": url, "m50": url}, n=6)
        assert run(study, "--replicates", "1")[0] == 0
        study_of(tmp_path, {"m52": moved, "m50": url}, n=6)
        code, _, err = run(study, "--replicates", "1")
        assert code == 2
        assert f"the server of 'm52' is {moved} and no longer {url}" in err
        assert "pass --server-changed REASON to go on" in err
        code, _, err = run(study, "--replicates", "1", "--server-changed", "the old machine is gone")
        assert code == 0, err
        stated = (
            f"{moved} and no longer {url}, since before replicate 2 was complete. The reason given: the old machine"
        )
        assert f"note on the board: The server of 'm52' is {stated}" in err
        shown = bbedge("board", "show", study.with_suffix(".bbedge"), "-v")
        assert "the old machine is gone" in " ".join(shown.out.split())
        with Board.open(study.with_suffix(".bbedge")) as board:
            board.verify()
        assert run(study, "--replicates", "1")[0] == 0
    finally:
        other.kill()
        other.wait()
        other.stdout.close()


@pytest.mark.nightly
def test_a_limit_on_cost_stops_with_its_own_code_and_can_be_raised(tmp_path, scripted):
    _, url = scripted
    prices = "[prices]\n" + "".join(
        f'"openai-api/local/{name}" = {{ input = 1000, output = 1000 }}\n' for name in ("m52", "m50")
    )
    urls = {"m52": url, "m50": url}
    study = study_of(tmp_path, urls, n=24, top="max_cost = 0.5", more=prices)  # a request costs 0.015
    code, out, err = run(study)
    assert code == 4, err
    assert "Stopped by a limit" in out
    assert re.search(r"max_cost = 0\.5 is reached: \$0\.\d\d spent\. To continue, raise it", out)
    assert "max_cost = 0.5 is reached" in err
    study_of(tmp_path, urls, n=24, top="max_cost = 50", more=prices)
    code, out, err = run(study, "--replicates", "1")
    assert code == 0, err
    board = Board.open(study.with_suffix(".bbedge"))
    assert board.state.epoch.replicates == 1
    board.close()


@pytest.mark.nightly
def test_a_dry_run_prints_requests_tokens_and_money(tmp_path, scripted):
    _, url = scripted
    prices = "[prices]\n" + "".join(
        f'"openai-api/local/{name}" = {{ input = 10, output = 20 }}\n' for name in ("m90", "m10")
    )
    study = study_of(tmp_path, {"m90": url, "m10": url}, n=40, more=prices)
    code, out, err = run(study, "--dry-run")
    assert code == 0, err
    rows = [line.split() for line in out.splitlines()]
    assert ["m90", "40", "600", "±", "0", "$0.01"] in rows
    assert ["at", "most", "4", "runs", "320", "4,800", "±", "0", "$0.06"] in rows
    assert "This dry run made 22 requests with 330 tokens" in out
    assert not study.with_suffix(".bbedge").exists()
    code, out, _ = run(study, "--dry-run", "--pilot", "0", "--json")
    forecast = json.loads(out.splitlines()[-1])
    assert (code, forecast["event"], forecast["whole_budget"]["requests"]) == (0, "forecast", 320)
    assert forecast["one_pass"]["tokens"] is None


def test_a_pilot_belongs_to_a_dry_run(bbedge, tmp_path):
    done = bbedge("evaluate", study_of(tmp_path, {"m90": "http://h", "m10": "http://h"}), "--pilot", 3)
    assert done.code == 2
    assert "--pilot is for --dry-run" in done.err


def test_a_harness_that_crashes_shows_the_end_of_its_output(tmp_path):
    (tmp_path / "items.csv").write_text("item\nq1\nq2\n")
    (tmp_path / "harness.py").write_text(
        "print('\\x1b[31mloading weights\\x1b[0m')\nraise SystemExit('no such model')\n"
    )
    study = tmp_path / "study.toml"
    study.write_text(
        f'engine = "command"\nbudget = 1\nmodels = ["a", "b"]\n'
        f'command = ["{sys.executable}", "harness.py", "{{seed}}", "{{out}}"]\n[benchmark]\nitems = "items.csv"\n'
        "[run]\nretries = 0\n"
    )
    code, _, err = run(study)
    assert code == 2
    assert "    | loading weights\n    | no such model\n" in err
    assert err.index("| no such model") < err.index("is not complete")
    assert "\x1b" not in err
