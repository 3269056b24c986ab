"""The pytest plugin: tests that score a system several times, and a gate over all of their scores at the end.

Does nothing unless a test uses the ``gate`` fixture or an option asks for it. pytest imports this module at every
start, so it imports NumPy and the rest of bbedge only when a session needs them.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bbedge.errors import BbedgeError, DataError, DomainError
from bbedge.text import harmless, listed, quoted

if TYPE_CHECKING:
    from bbedge.integrations.pytest_session import GateSession

CLAIMS = ("not_worse_by", "better_by", "at_least", "equal_within")
"""The claims that a marker may make."""
_RECORDER = pytest.StashKey["ScoreRecorder"]()
_PLUGIN = "bbedge_gate_session"
_SENT = "bbedge_gate"  # the attribute of a report that carries scores from an xdist worker to the controller
_RUN_ID = "gate-run-{}"
_LEAST_WIDTH = 110  # of the table of verdicts
_BEYOND = 10  # is added to an exit code of the gate that is no failure of a test: pytest's own statuses end at 5
_MARKER = (
    "gate(runs=1, not_worse_by=None, better_by=None, at_least=None, equal_within=None, tier='block'): run the test "
    "several times; each run is a replicate of the scores that it records with the gate fixture, about which the "
    "session decides the claim"
)


@dataclass(slots=True, kw_only=True)
class ScoreRecorder:
    """What one run of one test records: the ``gate`` fixture."""

    test: str
    """The test, without parameters."""
    case: str
    """The test with its parameters."""
    run: int
    """The index of the run, from 1."""
    claim: dict[str, object] | None
    """The claim of its marker."""
    _scores: dict[str, tuple[str, float]] = field(default_factory=dict, init=False)

    def score(self, item: str, value: float, *, block: str | None = None) -> None:
        """Record the score of an item in this run: a number from 0 to 1, or whether it is right.

        Items with one ``block`` may depend on each other, such as the turns of a dialogue; others must not.
        """
        if not isinstance(item, str) or not item:
            raise DomainError(f"the item {item!r} is not a name")
        if block is not None and (not isinstance(block, str) or not block):
            raise DomainError(f"the block {block!r} of item {quoted(item)} is not a name")
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not 0.0 <= number <= 1.0:
            raise DomainError(f"item {quoted(item)}: score {value!r} is not a number from 0 to 1; scale it first")
        name = f"{self.case}::{item}"
        if name in self._scores:
            raise DataError(f"item {quoted(item)} was scored twice in one run; the runs of a test are its repetitions")
        self._scores[name] = (name if block is None else f"{self.test}::{block}", number)

    def to_values(self) -> dict[str, Any]:
        """Plain values that travel between processes."""
        scores = [[item, block, number] for item, (block, number) in self._scores.items()]
        return {"test": self.test, "run": self.run, "claim": self.claim, "scores": scores}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the gate."""
    group = parser.getgroup("gate", "gate (bbedge)")
    group.addoption("--gate-policy", metavar="FILE", help="The policy with the claims; markers then have none.")
    group.addoption("--gate-baseline", metavar="FILE", help="Compare with the scores that --gate-store wrote there.")
    group.addoption("--gate-store", metavar="FILE", help="Write the scores of this session, to be a baseline later.")
    group.addoption("--gate-runs", metavar="N", type=int, help="Run every test with a gate marker N times.")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and read policy and baseline before anything runs."""
    config.addinivalue_line("markers", _MARKER)
    if hasattr(config, "workerinput") or config.option.collectonly:
        return
    runs = config.getoption("gate_runs")
    if runs is not None and runs < 1:
        raise pytest.UsageError(f"--gate-runs {runs} is not a number of runs; choose 1 or more")
    given = {name: config.getoption(f"gate_{name}") for name in ("policy", "baseline", "store")}
    paths = {name: None if path is None else Path(config.invocation_params.dir, path) for name, path in given.items()}
    session = _Session()
    if any(paths.values()):
        from bbedge.integrations.pytest_session import GateSession

        try:
            session.gate = GateSession(**paths)
        except BbedgeError as error:
            raise pytest.UsageError(harmless(str(error))) from None
    config.pluginmanager.register(session, _PLUGIN)


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Repeat a test that has the marker and the fixture; last, so that the run ends the name of a test."""
    marker = metafunc.definition.get_closest_marker("gate")
    if marker is None or "gate" not in metafunc.fixturenames:
        return
    runs = metafunc.config.getoption("gate_runs") or marker.kwargs.get("runs", 1)
    if type(runs) is not int or runs < 1:
        pytest.fail(f"the gate marker has runs={runs!r}; give a whole number of 1 or more", pytrace=False)
    if runs > 1:
        numbers = range(1, runs + 1)
        metafunc.parametrize("gate", numbers, indirect=True, ids=[_RUN_ID.format(number) for number in numbers])


@pytest.fixture
def gate(request: pytest.FixtureRequest) -> ScoreRecorder:
    """Records scores of this run of the test: ``gate.score(item, value)``."""
    run = getattr(request, "param", 1)
    test = f"{request.node.parent.nodeid}::{request.node.originalname}"
    claim = _claim(request.node.get_closest_marker("gate"))
    recorder = ScoreRecorder(test=test, case=_without_run(request.node, test, run), run=run, claim=claim)
    request.node.stash[_RECORDER] = recorder
    return recorder


def _without_run(node: pytest.Function, test: str, run: int) -> str:
    """The name of the test with its parameters, the same in all runs."""
    given = str(node.callspec.id) if hasattr(node, "callspec") else ""
    parameters = given.removesuffix(_RUN_ID.format(run)).removesuffix("-")
    return f"{test}[{parameters}]" if parameters else test


def _claim(marker: pytest.Mark | None) -> dict[str, object] | None:
    """The claim of a marker, as a table of a policy would have it."""
    if marker is None:
        return None
    known = ("runs", "tier", *CLAIMS)
    wrong = [name for name in marker.kwargs if name not in known]
    if wrong or marker.args:
        given = listed(wrong) if wrong else "arguments without a name"
        pytest.fail(f"the gate marker has {given}; it knows {', '.join(known)}", pytrace=False)
    if not any(name in marker.kwargs for name in CLAIMS):
        if "tier" in marker.kwargs:
            pytest.fail(f"the gate marker has a tier and no claim; add one of {', '.join(CLAIMS)}", pytrace=False)
        return None
    return {name: value for name, value in marker.kwargs.items() if name != "runs"}


# The old kind of wrapper: pytest 7 would not start with the new one, not even sessions without a gate.
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Attach the scores to the last report of a test, which xdist sends to the controller."""
    report = (yield).get_result()
    if report.when == "teardown" and _RECORDER in item.stash:
        setattr(report, _SENT, item.stash[_RECORDER].to_values())
        del item.stash[_RECORDER]


class _Session:
    """Collects scores where the reports of all workers arrive, and shows the verdict."""

    def __init__(self) -> None:
        self.gate: GateSession | None = None
        self._recorded: list[dict[str, Any]] = []
        self._lines: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in the scores of a test."""
        if hasattr(report, _SENT):
            self._recorded.append(getattr(report, _SENT))

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Decide; what does not ship changes the exit status of a session in which no test failed."""
        if self.gate is None:
            return
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED):
            self._lines = ["No verdict: the session did not end as planned. Nothing was stored."]
            return
        try:
            width = max(shutil.get_terminal_size().columns, _LEAST_WIDTH)
            self._lines, code = self.gate.finish(self._recorded, width=width)
        except BbedgeError as error:
            self._lines, code = [harmless(f"No verdict: {error}")], int(pytest.ExitCode.TESTS_FAILED)
        if code and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = code if code == pytest.ExitCode.TESTS_FAILED else _BEYOND + code
            self._lines.append(f"The session fails because of the gate: exit status {int(session.exitstatus)}.")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the verdict and its table."""
        count = sum(len(values["scores"]) for values in self._recorded)
        if self.gate is None and count:
            self._lines = [f"{count} scores recorded; compare them with --gate-baseline FILE."]
        if self._lines:
            terminalreporter.section("gate")
            for line in self._lines:
                terminalreporter.write_line(line)
