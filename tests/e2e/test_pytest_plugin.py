"""The pytest plugin, found by its entry point, in sessions of their own, with and without xdist."""

from __future__ import annotations

import csv
import hashlib
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

# Sessions in this process forget what they imported first, and NumPy cannot be imported twice.
import bbedge.integrations.pytest_session  # noqa: F401

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
SUITE = """
import random
import pytest

@pytest.mark.gate(runs=3, not_worse_by=0.05)
def test_answers(gate):
    for item in range({items}):
        gate.score(f"q{{item}}", random.Random(f"{{item}} {{gate.run}} {seed}").random() < {share})
"""
ALWAYS = pytest.mark.parametrize(
    "workers", [pytest.param([], id="alone"), pytest.param(["-n", "2"], id="xdist", marks=pytest.mark.nightly)]
)


@pytest.fixture
def session(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    """Runs pytest in a process that finds the plugin as an installed package would offer it."""
    entries = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    metadata = pytester.path / "installed" / "bbedge_plugin-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: bbedge-plugin\nVersion: 1\n", encoding="utf-8")
    lines = [f"{name} = {target}" for name, target in entries["pytest11"].items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines]) + "\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(metadata.parent)]))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.delenv("PYTEST_PLUGINS", raising=False)

    monkeypatch.syspath_prepend(metadata.parent)

    def run(source: str, *args: object) -> pytest.RunResult:
        # Another name each time: Python caches modules by the second in which they were written.
        name = f"test_{hashlib.sha256(source.encode()).hexdigest()[:8]}"
        (pytester.path / "tests" / name).mkdir(exist_ok=True, parents=True)
        path = pytester.path / "tests" / name / "test_system.py"
        path.write_text(source, encoding="utf-8")
        # A process of its own takes seconds to import; those with workers have one each.
        start = pytester.runpytest_subprocess if "-n" in args else pytester.runpytest_inprocess
        return start("-p", "no:cacheprovider", "-W", "error", f"--rootdir={path.parent}", *map(str, args), path)

    return run


def suite(share: float, *, seed: str, items: int = 150) -> str:
    return SUITE.format(share=share, seed=seed, items=items)


@ALWAYS
@pytest.mark.parametrize(
    ("share", "verdict", "code"),
    [(0.8, "*Ship: this session is not worse*", 0), (0.2, "*Stop: this session is worse*", 1)],
)
def test_the_session_is_compared_with_the_stored_baseline(session, workers, share, verdict, code):
    stored = session(suite(0.5, seed="old"), "--gate-store", "old.csv")
    assert stored.ret == 0
    stored.stdout.fnmatch_lines(["*Stored 3 runs of 150 items in *old.csv*"])
    outcome = session(suite(share, seed="new"), "--gate-baseline", "old.csv", *workers)
    outcome.assert_outcomes(passed=3)
    outcome.stdout.fnmatch_lines([verdict, "*verdict*tier*candidate*claim*"])
    assert outcome.ret == code


@pytest.mark.every_push("the plugin in the workers of xdist")
def test_workers_store_the_same_bytes_as_one_process(session, pytester):
    session(suite(0.5, seed="old"), "--gate-store", "alone.csv")
    session(suite(0.5, seed="old"), "--gate-store", "workers.csv", "-n", "2")
    assert (pytester.path / "alone.csv").read_bytes() == (pytester.path / "workers.csv").read_bytes()


REUSE = [
    "*Each verdict against these stored runs is valid by itself if the system that it is about was not tuned on them.*"
    "only while no system depends on earlier verdicts against these runs.*"
]


def test_what_a_stored_baseline_means_for_later_uses_is_said_where_it_is_stored_and_used(session):
    session(suite(0.5, seed="old"), "--gate-store", "old.csv").stdout.fnmatch_lines(REUSE)
    outcome = session(suite(0.9, seed="new"), "--gate-baseline", "old.csv")
    outcome.stdout.fnmatch_lines([f"Compared with *old.csv. {REUSE[0].removeprefix('*')}"])


def without_claim(source: str) -> str:
    return source.replace(", not_worse_by=0.05", "")


@ALWAYS
def test_an_open_claim_is_undecided_and_the_session_does_not_pass(session, workers):
    session(suite(0.5, seed="old", items=10), "--gate-store", "old.csv")
    outcome = session(suite(0.5, seed="new", items=10), "--gate-baseline", "old.csv", *workers)
    outcome.assert_outcomes(passed=3)
    outcome.stdout.fnmatch_lines(
        ["Undecided: 1 blocking claim is not decided yet*", "OPEN*", "Open: *more runs, or * items instead of 10 in 3*"]
    )
    outcome.stdout.fnmatch_lines(["The session fails because of the gate: exit status 13."])
    assert outcome.ret == 13


@pytest.mark.parametrize(
    ("rule", "first", "code"),
    [
        ("", "Undecided: *", 13),
        ('open = "error"\n', "Undecided: *", 13),
        ('open = "fail"\n', 'Undecided, stopped by the policy (open = "fail"): *', 1),
        ('open = "pass"\n', 'Undecided, shipped by the policy (open = "pass"): *', 0),
    ],
)
def test_the_policy_says_what_an_open_claim_means(session, pytester, rule, first, code):
    session(suite(0.5, seed="old", items=10), "--gate-store", "old.csv")
    policy = f'candidate = "new"\nbaseline = "old"\n{rule}[[claims]]\nnot_worse_by = 0.05\n'
    (pytester.path / "policy.toml").write_text(policy, encoding="utf-8")
    source = without_claim(suite(0.5, seed="new", items=10))
    outcome = session(source, "--gate-baseline", "old.csv", "--gate-policy", "policy.toml")
    outcome.stdout.fnmatch_lines([first.replace("[", "[[]")])
    assert outcome.ret == code


def swapping(first: float, later: float, *, seed: str) -> str:
    """A system that becomes another one half-way."""
    source = suite(0.0, seed=seed, items=400).replace("runs=3", "runs=6")
    return source.replace("< 0.0)", f"< ({first} if gate.run <= 3 else {later}))")


def test_systems_that_change_places_are_a_contradiction(session):
    session(swapping(0.4, 0.7, seed="old"), "--gate-store", "old.csv")
    outcome = session(swapping(0.7, 0.4, seed="new"), "--gate-baseline", "old.csv")
    outcome.assert_outcomes(passed=6)
    outcome.stdout.fnmatch_lines(
        [
            "CONTRADICTION: no verdict, because the runs contradict each other*",
            "Either an assumption does not hold, or the labels of the systems were swapped *",
            "CONTRADICTION*block*",
            "Contradiction: this session, not worse by more than 0.05: difference above *",
            "The session fails because of the gate: exit status 15.",
        ]
    )
    assert outcome.ret == 15


def test_a_contradiction_of_a_policy_that_ships_open_claims_is_no_release_either(session, pytester):
    session(swapping(0.4, 0.7, seed="old"), "--gate-store", "old.csv")
    policy = 'candidate = "new"\nbaseline = "old"\nopen = "pass"\n[[claims]]\nnot_worse_by = 0.05\ntier = "info"\n'
    (pytester.path / "policy.toml").write_text(policy, encoding="utf-8")
    source = without_claim(swapping(0.7, 0.4, seed="new"))
    outcome = session(source, "--gate-baseline", "old.csv", "--gate-policy", "policy.toml")
    outcome.stdout.fnmatch_lines(["CONTRADICTION: *"])
    assert outcome.ret == 15


def test_a_session_in_which_a_test_failed_keeps_its_exit_status(session):
    failing = "\ndef test_other(): assert False\n"
    session(suite(0.5, seed="old", items=10), "--gate-store", "old.csv")
    outcome = session(suite(0.5, seed="new", items=10) + failing, "--gate-baseline", "old.csv")
    outcome.stdout.fnmatch_lines(["Undecided: *"])
    outcome.stdout.no_fnmatch_line("*because of the gate*")
    assert outcome.ret == pytest.ExitCode.TESTS_FAILED


def test_a_failed_claim_that_only_warns_leaves_the_exit_status(session):
    old, new = (suite(share, seed=str(share)).replace("=0.05", "=0.05, tier='warn'") for share in (0.9, 0.2))
    session(old, "--gate-store", "old.csv")
    outcome = session(new, "--gate-baseline", "old.csv")
    outcome.stdout.fnmatch_lines(["FAIL*warn*"])
    assert outcome.ret == 0


def test_without_a_baseline_nothing_runs(session, pytester):
    outcome = session(suite(0.5, seed="new") + "\nopen('ran', 'w')\n", "--gate-baseline", "old.csv")
    outcome.stderr.fnmatch_lines(["*there is no baseline *old.csv; run the tests *--gate-store*"])
    assert outcome.ret == pytest.ExitCode.USAGE_ERROR
    assert not (pytester.path / "ran").exists()


def test_every_test_is_a_view(session):
    source = suite(0.5, seed="old") + suite(0.5, seed="other").replace("test_answers", "test_safety")
    session(source, "--gate-store", "old.csv")
    worse = suite(0.9, seed="new") + suite(0.2, seed="newer").replace("test_answers", "test_safety")
    outcome = session(worse, "--gate-baseline", "old.csv")
    outcome.stdout.fnmatch_lines(["PASS*", "*test_answers*", "FAIL*", "*test_safety*"])
    assert outcome.ret == 1


def test_parameters_are_items_and_runs_are_replicates(session, pytester):
    source = """
import pytest

@pytest.mark.gate(runs=2, at_least=0.5)
@pytest.mark.parametrize("city", ["a-b", "c"])
class TestCities:
    @pytest.mark.parametrize("size", [1, 2])
    def test_it(self, gate, city, size):
        gate.score("whole", 1.0, block=city)
        gate.score("part", 0.25)
"""
    session(source, "--gate-store", "old.csv").assert_outcomes(passed=8)
    with (pytester.path / "old.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    test = "test_system.py::TestCities::test_it"
    assert {row["item"] for row in rows} == {
        f"{test}[{size}-{city}]::{part}" for size in (1, 2) for city in ("a-b", "c") for part in ("whole", "part")
    }
    assert {row["test"] for row in rows} == {test}
    assert {row["block"] for row in rows if row["item"].endswith("whole")} == {f"{test}::a-b", f"{test}::c"}
    assert all(row["block"] == row["item"] for row in rows if row["item"].endswith("part"))
    assert sorted(row["replicate"] for row in rows) == ["1"] * 8 + ["2"] * 8


def test_a_floor_needs_no_baseline(session, pytester):
    policy = 'candidate = "new"\n[[claims]]\nat_least = 0.6\n'
    (pytester.path / "policy.toml").write_text(policy, encoding="utf-8")
    source = suite(0.9, seed="new").replace(", not_worse_by=0.05", "")
    outcome = session(source, "--gate-policy", "policy.toml")
    outcome.stdout.fnmatch_lines(["*Ship: new scores at least 0.6*"])
    assert outcome.ret == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("    for item", "    if gate.run == 2: raise RuntimeError\n    for item"),
            "*No verdict: *no score of *run 2*",
        ),
        (("range(150)", "range(149)"), "*No verdict: this session has no *q149*"),
        (("range(150)", "range(151)"), "*No verdict: *old.csv has no *q150*"),
        (("runs=3", "runs=2"), "*No verdict: this session has 2 runs and *old.csv 3 runs*--gate-runs 3*"),
        ((", not_worse_by=0.05", ""), "*No verdict: no claim*"),
        (("not_worse_by=0.05", "not_worse_by=-1"), "*No verdict: the markers, claim 1: *below 0*"),
        (("gate.score(", "(lambda *_: None)("), "*No verdict: no test recorded a score*"),
    ],
)
def test_what_has_no_verdict_does_not_pass(session, change, message):
    session(suite(0.5, seed="old"), "--gate-store", "old.csv")
    source = suite(0.9, seed="new")
    assert change[0] in source
    outcome = session(source.replace(*change), "--gate-baseline", "old.csv")
    outcome.stdout.fnmatch_lines([message])
    assert outcome.ret == 1


def test_answers_from_a_cache_are_noticed(session):
    session(suite(0.5, seed="old"), "--gate-store", "old.csv")
    cached = suite(0.9, seed="new").replace(" {gate.run} ", " ")
    outcome = session(cached, "--gate-baseline", "old.csv")
    outcome.stdout.fnmatch_lines(["'this session' has the same scores in every run; is there a cache?"])
    session(cached, "--gate-store", "cached.csv")
    outcome = session(cached, "--gate-baseline", "cached.csv")
    outcome.stdout.fnmatch_lines(["No verdict: *same score for every model on every item*Turn off the cache*"])
    assert outcome.ret == 1


def test_about_new_items_repeated_answers_are_no_reason_to_stop(session, pytester):
    policy = pytester.path / "policy.toml"
    text = 'candidate = "this session"\ntarget = "new-items"\n[[claims]]\nat_least = 0.5\n'
    policy.write_text(text, encoding="utf-8")
    cached = without_claim(suite(0.9, seed="new").replace(" {gate.run} ", " "))
    outcome = session(cached, "--gate-policy", policy)
    outcome.stdout.fnmatch_lines(["Ship: this session scores at least 0.5*new items of the same kind; 3 runs."])
    assert outcome.ret == 0


def test_a_marker_may_claim_that_systems_are_about_equal(session):
    session(suite(0.5, seed="old"), "--gate-store", "old.csv")
    equal = suite(0.5, seed="new").replace("not_worse_by=0.05", "equal_within=0.4")
    outcome = session(equal, "--gate-baseline", "old.csv")
    outcome.stdout.fnmatch_lines(["Ship: this session and baseline are equal within 0.4*"])


def test_scores_that_are_refused_fail_their_test(session):
    outcome = session(
        """
import pytest

def test_range(gate): gate.score("q", 3)
def test_text(gate): gate.score("q", "good")
def test_nan(gate): gate.score("q", float("nan"))
def test_twice(gate):
    gate.score("q", 1)
    gate.score("q", 1)
@pytest.mark.gate(not_worse=0.1)
def test_marker(gate): gate.score("q", 1)
"""
    )
    outcome.assert_outcomes(failed=4, errors=1)
    outcome.stdout.fnmatch_lines(["*'not_worse'; it knows runs, tier, not_worse_by*"])


def test_incomplete_scores_are_not_stored(session, pytester):
    source = suite(0.5, seed="old").replace("    for item", "    if gate.run == 2: raise RuntimeError\n    for item")
    outcome = session(source, "--gate-store", "old.csv")
    assert outcome.ret == 1
    assert not (pytester.path / "old.csv").exists()


def test_runs_can_be_set_for_all_tests(session):
    session(suite(0.5, seed="old"), "--gate-store", "old.csv", "--gate-runs", "5").assert_outcomes(passed=5)


def test_a_damaged_baseline_is_refused(session, pytester):
    session(suite(0.5, seed="old"), "--gate-store", "old.csv")
    path = pytester.path / "old.csv"
    whole = path.read_text(encoding="utf-8").splitlines(keepends=True)
    for text, message in (
        ("".join(whole[:-1]), "*no score of *q99 (run 3)*"),
        ("".join([*whole, whole[-1]]), "*two scores in run 3*"),
        ("a,b\n1,2\n", "*not a file that --gate-store wrote*"),
        (whole[0] + whole[1].rsplit(",", 1)[0] + ",7\n", "*old.csv:2: expected*score from 0 to 1*"),
    ):
        path.write_text(text, encoding="utf-8")
        outcome = session(suite(0.9, seed="new"), "--gate-baseline", "old.csv")
        outcome.stderr.fnmatch_lines([message])
        assert outcome.ret == pytest.ExitCode.USAGE_ERROR


def test_other_sessions_are_as_they_were(session):
    outcome = session("def test_it(): assert True\n")
    outcome.assert_outcomes(passed=1)
    outcome.stdout.no_fnmatch_line("*gate*")
    outcome = session("def test_it(gate): gate.score('q', 1)\n")
    outcome.stdout.fnmatch_lines(["*1 scores recorded; compare them with --gate-baseline FILE.*"])
    assert outcome.ret == 0


def test_the_start_of_pytest_does_not_wait_for_the_rest_of_bbedge():
    code = (
        "import bbedge.integrations.pytest_plugin, sys\n"
        "print(*({'numpy', 'polars', 'rich', 'scipy', 'typer'} & set(sys.modules)))"
    )
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
