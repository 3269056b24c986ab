"""``bbedge evaluate`` as a process, with a scripted server and a team's own harness, undisturbed and disturbed."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from bbedge.board import Board
from bbedge.verify.ledger import verify

SERVERS = Path(__file__).parents[1] / "servers"
CHECK = "Reply with the word ok."
MODELS = {"strong": "m95", "middle": "m35", "weak": "m05"}


@dataclass(frozen=True)
class Server:
    process: subprocess.Popen
    port: int

    def asked(self) -> dict[str, int]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/") as answer:
            return json.load(answer)["answered"]

    def faults(self, **faults: float) -> None:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/faults", json.dumps(faults).encode())
        urllib.request.urlopen(request).close()


def serve(*switches: str) -> Server:
    process = subprocess.Popen(
        [sys.executable, SERVERS / "scripted_openai.py", *switches], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return Server(process=process, port=int(process.stdout.readline()))


@pytest.fixture
def server():
    running = serve()
    yield running
    running.process.kill()
    running.process.wait()
    running.process.stdout.close()


def inspect_study(folder: Path, *, task: str = "quiz", more: str = "", run: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    models = "".join(
        f'[[models]]\nname = "{name}"\nmodel = "openai-api/scripted/{model}"\n' for name, model in MODELS.items()
    )
    (folder / "study.toml").write_text(
        f'budget = 30\n{more}\n{models}\n[benchmark]\ntask = "{SERVERS / "quiz.py"}@{task}"\n'
        f'roles = {{ grader = "openai-api/scripted/m100" }}\n[run]\npause = 0.01\n{run}\n',
        encoding="utf-8",
    )
    return folder / "study.toml"


def command_study(folder: Path, *, models: str = '["h90", "h55", "h15"]', more: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "items.csv").write_text("item,block\n" + "".join(f"q{i},b{i // 2}\n" for i in range(12)))
    (folder / "study.toml").write_text(
        f'engine = "command"\nbudget = 30\nmodels = {models}\n{more}\n'
        f'command = ["{sys.executable}", "{SERVERS / "harness.py"}", "{{model}}", "{{seed}}", "{{items}}", "{{out}}"]\n'
        '[benchmark]\nitems = "items.csv"\n[run]\npause = 0.1\ncopies = "allow"\n',
        encoding="utf-8",
    )
    return folder / "study.toml"


def command(study: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "bbedge", "evaluate", str(study), *options]


def environment(server: Server | None) -> dict[str, str]:
    if server is None:
        return dict(os.environ)
    url = f"http://127.0.0.1:{server.port}/v1"
    return os.environ | {"SCRIPTED_BASE_URL": url, "SCRIPTED_API_KEY": "none", "COLUMNS": "120"}


def run(study: Path, server: Server | None = None, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(study, *options), env=environment(server), capture_output=True, text=True, timeout=900, check=False
    )


def contents(study: Path) -> list[tuple[str, dict]]:
    """What the board says, without times and hashes; all of it verified."""
    board = Board.open(study.with_suffix(".bbedge"))
    verify(board.store)
    board.close()
    return [
        (event.kind, {k: v for k, v in json.loads(event.payload).items() if k != "cache"}) for event in board.events
    ]


def events(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.every_push("one study against a server")
def test_the_truth_is_certified_early(server, tmp_path):
    quiet = inspect_study(tmp_path / "quiet")
    done = run(quiet, server)
    assert done.returncode == 0, done.stderr
    assert "Answered  all-pairs: 3 of 3 pairs certified" in done.stdout
    assert "decided, not run again" in done.stderr
    assert "saved)" in done.stdout
    board = Board.open(quiet.with_suffix(".bbedge"))
    assert board.leaderboard().graph.rank_intervals == ((1, 1), (2, 2), (3, 3))
    assert board.state.epoch.replicates < 30
    assert board.state.retired
    board.close()
    asked = server.asked()
    assert set(asked.values()) == {1}
    seeds = [int(text.split("|")[1]) for text in asked]
    assert len(set(seeds)) == len(seeds) > 60


@pytest.mark.nightly
def test_faults_change_nothing(server, tmp_path):
    quiet = inspect_study(tmp_path / "quiet")
    assert run(quiet, server).returncode == 0

    # The same again from a server that fails in every way it knows; a request that hangs is given up after a while.
    server.faults(error=0.2, limit=0.05, garbage=0.05, hang=0.02)
    loud = inspect_study(tmp_path / "loud", run="timeout = 4\nrequest_retries = 0\nretries = 20")
    done = run(loud, server)
    assert done.returncode == 0, done.stderr
    assert contents(loud) == contents(quiet)

    # And a server that is lost: nothing is lost with it.
    server.faults(error=1.0, limit=0.0, garbage=0.0, hang=0.0)
    lost = inspect_study(tmp_path / "lost", run="retries = 0\nrequest_retries = 0")
    done = run(lost, server, "--quiet")
    assert done.returncode == 2
    assert "replicate 1 is not complete: 36 samples failed 1 times" in done.stderr
    assert "run the same command again" in done.stderr
    assert not done.stdout


@pytest.mark.nightly
def test_it_survives_being_killed_with_the_server(server, tmp_path):
    whole = inspect_study(tmp_path / "whole", more='question = "best"')
    assert run(whole, server, "--quiet").returncode == 0
    before = server.asked()
    study = inspect_study(tmp_path / "killed", more='question = "best"')
    server.faults(delay=0.05)
    spent = killed_runs(study, server, after=(0, 30), seed=1)
    assert contents(study) == contents(whole)
    # Both studies ask the same. What the killed one asked more than once is counted; a request that was announced
    # when the kill came may not have reached the server.
    asked = server.asked()
    assert asked.keys() == before.keys()
    answered = sum(asked.values()) - sum(before.values())
    assert spent["queries"] >= answered > len(before)
    assert spent["check_queries"] == 3 * 4  # at every start, three models and a judge
    assert spent["useful_queries"] == spent["samples"] == len(before) - 4
    assert spent["queries"] == spent["useful_queries"] + spent["lost_queries"] + spent["check_queries"]
    assert spent["full_queries"] == spent["full_samples"] == 30 * 3 * 12


@pytest.mark.nightly
def test_it_survives_being_killed_with_a_harness(tmp_path):
    whole = command_study(tmp_path / "whole")
    assert run(whole, None, "--quiet").returncode == 0
    study = command_study(tmp_path / "killed")
    killed_runs(study, None, after=(0, 1, 2, 3, 1), seed=2)
    assert contents(study) == contents(whole)


def gated_study(folder: Path) -> Path:
    """A study whose calls do not end before the file called gate is removed."""
    study = command_study(folder, models='["a", "b"]')
    (folder / "gate").touch()
    study.write_text(study.read_text().replace("harness.py", "gated.py").replace("budget = 30", "budget = 1"))
    return study


def started(folder: Path) -> list[int]:
    """The numbers of the processes of the one call that runs."""
    for _ in range(6000):
        found = [path for path in folder.glob("pids-*") if path.suffix != ".new"]
        if found:
            pids = [int(pid) for pid in found[0].read_text().split()]
            found[0].unlink()
            return pids
        time.sleep(0.005)
    pytest.fail("the harness did not start")


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_what_a_killed_runner_leaves_does_not_reach_the_next_one(tmp_path):
    whole = gated_study(tmp_path / "whole")
    (whole.parent / "gate").unlink()
    assert run(whole).returncode == 3
    study = gated_study(tmp_path / "killed")
    with subprocess.Popen(command(study, "--quiet")) as first:
        survivors = started(study.parent)
        first.kill()
    assert all(map(is_running, survivors))
    with subprocess.Popen(command(study, "--json"), stdout=subprocess.PIPE, text=True) as second:
        assert second.stdout is not None
        started(study.parent)
        alive = [pid for pid in survivors if is_running(pid)]
        (study.parent / "gate").unlink()
        said = events(second.stdout.read())
    assert alive == []
    assert second.returncode == 3
    assert contents(study) == contents(whole)
    attempts = sorted((study.parent / "study.run" / "replicate-00001" / "model-001").iterdir())
    assert [path.name for path in attempts] == ["attempt-00001", "attempt-00002"]
    assert [(path / "scores.csv").exists() for path in attempts] == [False, True]
    # 12 items of the call that was in flight were run for nothing.
    spent = said[-1]["spent"]
    assert (spent["queries"], spent["lost_queries"], spent["full_queries"]) == (36, 12, 24)


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_the_call_with_its_helpers(tmp_path, number):
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("these tests were started so that they ignore the signal, and so is what they start")
    study = gated_study(tmp_path)
    with subprocess.Popen(command(study, "--quiet"), stderr=subprocess.PIPE, text=True) as process:
        pids = started(tmp_path)
        process.send_signal(number)
        assert process.stderr is not None
        said = process.stderr.read()
    assert process.returncode == 130
    assert "Samples that were in flight will run again" in said
    assert not any(map(is_running, pids))


def test_a_program_that_changes_is_refused(bbedge, tmp_path, monkeypatch):
    study = command_study(tmp_path)
    harness = tmp_path / "harness.py"
    harness.write_text((SERVERS / "harness.py").read_text())
    study.write_text(study.read_text().replace(str(SERVERS / "harness.py"), "harness.py"))
    assert bbedge("evaluate", study, "--replicates", 1).code == 0
    original = harness.read_text()
    harness.write_text(original + "# changed\n")
    done = bbedge("evaluate", study)
    assert done.code == 2
    assert "study.toml: 'harness.py' changed after the study had begun" in done.err
    harness.write_text(original)
    (tmp_path / "{seed}").write_text("a word of the command that is a file only now")
    assert bbedge("evaluate", study, "--replicates", 1).code == 0


def test_a_program_that_changes_while_the_study_runs_is_refused(bbedge, tmp_path):
    study = command_study(tmp_path)
    harness = tmp_path / "harness.py"
    # It changes itself, as an edit in the meantime would.
    harness.write_text((SERVERS / "harness.py").read_text() + "\nopen(__file__, 'a').write('#')\n")
    study.write_text(study.read_text().replace(str(SERVERS / "harness.py"), "harness.py"))
    done = bbedge("evaluate", study)
    assert done.code == 2
    assert "'harness.py' changed while the study ran" in done.err


@pytest.mark.parametrize(
    "content", [b"[" * 100_000 + b"\n", b"3\n", b"\0\n", b'{"version": 1, "sum": []}\n', b"\xff\n"]
)
@pytest.mark.parametrize("name", ["usage.jsonl", "replicate-00002.jsonl"])
def test_a_damaged_journal_is_named_and_has_an_exit_code(bbedge, tmp_path, name, content):
    study = command_study(tmp_path)
    assert bbedge("evaluate", study, "--replicates", 1).code == 0
    (tmp_path / "study.run" / name).write_bytes(content)
    done = bbedge("evaluate", study)
    assert done.code == 2
    assert f"{name}:1: the line is damaged" in done.err or f"{name}:1: the checksum does not fit" in done.err


def test_the_password_of_a_board_is_not_shown(tmp_path):
    from dataclasses import replace

    from rich.console import Console

    from bbedge.cli.evaluate import _show
    from bbedge.evaluate.runner import evaluate
    from bbedge.study.synthetic import SyntheticBenchmark
    from fake_engine import FakeEngine, fake_study

    far = SyntheticBenchmark(means=(0.9, 0.1), n_items=20, offset=0.0)
    study = fake_study(tmp_path, far)
    ended = evaluate(study, FakeEngine(far), sleep=lambda _: None)
    out = io.StringIO()
    secret = replace(study, board="postgresql://ann:hunter2@host/db?password=hunter2")
    _show(Console(file=out, width=200), secret, ended)
    assert "board postgresql://ann:***@host/db?password=***" in out.getvalue()
    assert "hunter2" not in out.getvalue()


def killed_runs(study: Path, server: Server | None, *, after: tuple[int, ...], seed: int) -> dict:
    """Run and kill a moment after so many samples, again and again, and at last run to the end; what that has spent.

    No sample is finished twice.
    """
    rng = random.Random(seed)
    finished: Counter = Counter()
    for samples in (*after, None):
        lines: list[str] = []
        with subprocess.Popen(
            command(study, "--json"), env=environment(server), stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line)
                if samples is not None and sum('"sample-done"' in each for each in lines) > samples:
                    time.sleep(rng.uniform(0.0, 0.2))
                    process.send_signal(signal.SIGKILL)
                    break
            rest = process.stdout.read()
        told = "".join(lines) + rest[: rest.rfind("\n") + 1]
        done = [event for event in events(told) if event["event"] == "sample-done"]
        finished.update((event["replicate"], event["model"], event["sample"]) for event in done)
    assert process.returncode == 0
    assert len(finished) > sum(after)
    assert set(finished.values()) == {1}
    spent = events(told)[-1]["spent"]
    assert spent["samples"] >= len(finished)  # one may be journaled when the kill comes before its line
    return spent


@pytest.mark.every_push("a killed and repeated run shows on every display")
def test_a_run_that_is_killed_and_drawn_again_shows_everywhere(bbedge, tmp_path):
    study = command_study(tmp_path / "study", more="checkpoints = false")
    study.write_text(study.read_text().replace("budget = 30", "budget = 1"))
    with subprocess.Popen(command(study, "--json"), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        next(line for line in process.stdout if '"sample-done"' in line)
        process.send_signal(signal.SIGKILL)
    shutil.rmtree(study.with_suffix(".run"))
    assert bbedge("evaluate", study, "--quiet").code == 3
    told = [(kind, said) for kind, said in contents(study) if kind.startswith("attempt")]
    assert [(kind, said["attempt"], said.get("outcome")) for kind, said in told] == [
        ("attempt", 1, None),
        ("attempt-ended", 1, "abandoned"),
        ("attempt", 2, None),
        ("attempt-ended", 2, "finished"),
    ]
    board, page, certificate = (study.with_suffix(ending) for ending in (".bbedge", ".html", ".json"))
    shown = bbedge("board", "show", board, "--json", certificate, "--html", page)
    assert json.loads(certificate.read_text())["board"]["attempts"] == {"begun": 2, "runs": 1, "abandoned": 1}
    for text in (shown.out, page.read_text(encoding="utf-8")):
        assert "2 attempts for 1 run: 1 was abandoned" in " ".join(text.split())
    assert bbedge("verify", certificate, board).code == 0
    assert told[1][1]["reason"] == "journal-missing"


@pytest.mark.nightly
def test_ctrl_c_keeps_what_is_done(server, tmp_path):
    server.faults(delay=0.3)
    study = inspect_study(tmp_path, run="connections = 2")
    with subprocess.Popen(
        command(study, "--json"), env=environment(server), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            if json.loads(line)["event"] == "sample-done":
                break
        process.send_signal(signal.SIGTERM)
        rest, said = process.stdout.read(), process.stderr.read()
    assert process.returncode == 130
    assert "To continue, run" in said
    assert "Traceback" not in said
    done = 1 + sum(event["event"] == "sample-done" for event in events(rest))
    (page,) = (tmp_path / "study.run").glob("replicate-00001.jsonl")
    assert page.read_text().count('"scores"') == done


@pytest.mark.nightly
def test_dialogues_have_parts_and_judges_have_seeds(server, tmp_path):
    study = inspect_study(tmp_path, task="dialogues")
    done = run(study, server, "--json", "--replicates", "1")
    assert done.returncode == 0, done.stderr
    assert [event["event"] for event in events(done.stdout)][-1] == "ended"
    board = Board.open(study.with_suffix(".bbedge"))
    assert board.state.epoch.items == tuple(f"{i}/{part}" for i in (1, 2, 3) for part in ("one", "two"))
    assert board.state.epoch.blocks == ("1", "1", "2", "2", "3", "3")
    board.close()
    asked = {text: times for text, times in server.asked().items() if CHECK not in text}
    assert len(server.asked()) == len(asked) + 4
    judge = [text for text in asked if text.startswith("m100|")]
    assert sum(asked[text] for text in judge) == 3 * 3 * 2
    assert sum(asked.values()) == 3 * 3 * 4
    seeds = [text.split("|")[1] for text in asked]
    assert "None" not in seeds
    assert len(set(seeds)) == 36


def test_a_command_runs_and_says_what_it_cannot_promise(bbedge, tmp_path):
    study = command_study(tmp_path, more='question = "h90 > h15"')
    done = bbedge("evaluate", study, "--json")
    assert done.code == 0
    said = events(done.out)
    assert said[-1]["answer"] == "yes: h90 > h15"
    assert any(event["event"] == "noted" and "rests on the program" in event["text"] for event in said)
    assert "rests on the program" in bbedge("board", "show", study.with_suffix(".bbedge")).out
    assert "note" in bbedge("board", "log", study.with_suffix(".bbedge")).out
    again = bbedge("evaluate", study)
    assert again.code == 0
    assert "Answered  h90 > h15: yes: h90 > h15" in again.out
    assert bbedge("board", "verify", study.with_suffix(".bbedge")).code == 0


@pytest.mark.nightly
def test_a_study_with_a_larger_budget_goes_on_under_the_design_that_its_board_froze(bbedge, tmp_path):
    """The program answers by its seeds, so that equal boards show equal seeds."""
    begun, whole = (command_study(tmp_path / name) for name in ("begun", "whole"))
    for study in (begun, whole):
        study.write_text(study.read_text() + "[design]\n")
    assert bbedge("evaluate", begun, "--replicates", 2).code == 0
    begun.write_text(begun.read_text().replace("budget = 30", "budget = 40"))
    done, expected = bbedge("evaluate", begun), bbedge("evaluate", whole)
    assert (done.code, expected.code) == (0, 0)
    assert [words for words in contents(begun) if words[0] != "note"] == [
        words for words in contents(whole) if words[0] != "note"
    ]
    board = Board.open(begun.with_suffix(".bbedge"))
    assert board.design.planned == 30
    assert board.design.hash[:16] in done.out
    begun.write_text(begun.read_text() + "planned = 7\n")
    refused = bbedge("evaluate", begun)
    assert refused.code == 2
    assert "its frozen design" in refused.err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('["h90", "h55", "h15"]', '["h90", "broken"]'), "the command ended with exit code 7"),
        (("harness.py", "nowhere.py"), "log.txt"),
        (('"{items}"', '"/dev/null"'), "scores.csv"),
        (('"{out}"', '"/dev/full", "{out}"'), "exit code"),
        (("pause = 0.1", "pause = 0.1\ntimeout = 0.01"), "took longer than 0.01 seconds"),
    ],
)
def test_a_command_that_fails_is_named_with_its_log(bbedge, tmp_path, change, message):
    study = command_study(tmp_path)
    study.write_text(study.read_text().replace(*change).replace("[run]", "[run]\nretries = 0"))
    done = bbedge("evaluate", study)
    assert done.code == 2
    assert message in done.err
    assert "log.txt" in done.err
    assert "is not complete" in done.err


def test_a_program_that_is_not_there_stops_before_the_design_is_frozen(bbedge, tmp_path):
    study = command_study(tmp_path)
    study.write_text(study.read_text().replace(sys.executable, "no-such-program"))
    done = bbedge("evaluate", study)
    assert done.code == 2
    assert "there is no program no-such-program" in done.err
    assert not study.with_suffix(".bbedge").exists()


def test_a_budget_that_is_spent_has_an_exit_code(bbedge, tmp_path):
    study = command_study(tmp_path, models='["h50", "g50"]')
    study.write_text(study.read_text().replace("budget = 30", "budget = 2"))
    done = bbedge("evaluate", study, "--no-drop")
    assert done.code == 3
    assert "Not answered: the budget is spent" in done.out


def test_without_the_extra_it_says_what_to_install(bbedge, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    monkeypatch.delitem(sys.modules, "bbedge.evaluate.engines.inspect", raising=False)
    done = bbedge("evaluate", inspect_study(tmp_path))
    assert done.code == 2
    assert "pip install inspect_ai openai" in done.err


def test_the_command_line_starts_without_the_engine():
    code = (
        "import sys; from bbedge.cli import make_app; make_app(); "
        "print([m for m in ('inspect_ai', 'numpy', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "inspect_ai" not in done.stdout
    assert "numpy" not in done.stdout


def test_the_screen_shows_what_happens(tmp_path):
    """As a person sees it, frame by frame."""
    from rich.console import Console

    from bbedge.cli.evaluate_screen import Screen
    from bbedge.evaluate.runner import evaluate
    from bbedge.study.synthetic import SyntheticBenchmark
    from fake_engine import FakeEngine, fake_study

    far = SyntheticBenchmark(means=(0.9, 0.5, 0.1), n_items=20, offset=0.0)
    study = fake_study(tmp_path, far)
    console = Console(file=io.StringIO(), width=100, force_terminal=False)
    screen, frames = Screen(console, study), []

    def watch(event):
        screen(event)
        with console.capture() as frame:
            console.print(screen.render())
        frames.append(frame.get())

    flaky = FakeEngine(far, fails=lambda r, model, sample, attempt: attempt == 1 and r == 2 and sample == far.blocks[0])
    evaluate(study, flaky, watch=watch, sleep=lambda _: None)
    shown = "\n".join(frames)
    assert "replicate 2 of at most 20" in shown
    assert "1 failed" in shown
    assert "before retrying failed samples · 3 errors, 0 s of waiting" in shown
    assert "requests/s" in shown
    assert "tokens/s" in shown
    assert "left in this replicate" in shown
    assert "decided, not run" in shown
    assert "open: " in shown
