"""A gate's report and history: the sentence, the table, Markdown and JUnit."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple, get_args
from xml.etree import ElementTree

from rich.console import Group, RenderableType
from rich.text import Text

from bbedge.display.tables import escaped, markdown_line, numbers, text_table
from bbedge.records.gate import ClaimResult, GateHistory, GateReport, RecordedUse, Release, Verdict
from bbedge.records.policy import Policy
from bbedge.records.values import HEADLINE
from bbedge.text import counted, harmless, shown

_STYLES = {"PASS": "green", "FAIL": "bold red", "OPEN": "yellow", "CONTRADICTION": "bold red"}
_HEADS: dict[Release, str] = {
    "ship": "Ship",
    "stop": "Stop",
    "undecided": "Undecided",
    "contradiction": "CONTRADICTION",
}
_BY_POLICY = {
    "pass": 'Undecided, shipped by the policy (open = "pass")',
    "fail": 'Undecided, stopped by the policy (open = "fail")',
    "error": "Undecided",
}
CONFLICT = (
    "Either an assumption does not hold, or the labels of the systems were swapped between runs, or this is one of the "
    "errors that alpha allows. Check which system each run belongs to, and whether a system, its prompt or its judge "
    "changed between runs; then run both systems again."
)
"""What a contradiction means, and what to do."""
_COLUMNS = ("verdict", "tier", "candidate", "claim", "difference", "interval", "since run")
_MARKS = {"PASS": "✅ PASS", "FAIL": "❌ FAIL", "OPEN": "⏳ OPEN", "CONTRADICTION": "⚠️ CONTRADICTION"}
_AMOUNTS = {"not_worse_by": "margin", "better_by": "margin", "at_least": "floor", "equal_within": "margin"}
_MOST = 3  # claims that a sentence lists


class GateAnswer(NamedTuple):
    """What a report says, in the words of every display."""

    head: str
    """Whether to ship."""
    found: str
    """Why: what holds, what failed, or what is open."""
    about: str
    """The risk, and the runs."""

    def __str__(self) -> str:
        return f"{self.head}: {self.found}; {self.about}."


def answer(report: GateReport) -> GateAnswer:
    """Whether to ship, for instance what failed, or what holds at which risk."""
    blocks = [each for each in report.results if each.claim.tier == "block"]
    failed = [each for each in blocks if each.verdict == "FAIL"]
    head, part = _HEADS[report.release], report.fraction
    runs = counted(report.replicates, "run") if part is None else f"{percent(part)} of the first run"
    if report.contradictions:
        names = _listed(subject(each) for each in report.contradictions)
        return GateAnswer(head, f"no verdict, because the runs contradict each other ({names})", runs)
    about = f"at most {_risk(report.policy.alpha)} risk on {_where(report)}; {runs}"
    if failed:
        return GateAnswer(head, _listed(_against(report, each) for each in failed), about)
    if report.open_blocks:
        count, decided = len(report.open_blocks), len(blocks) - len(report.open_blocks)
        verb = "is" if count == 1 else "are"
        found = f"{counted(count, 'blocking claim')} {verb} not decided yet, {decided} passed"
        return GateAnswer(_BY_POLICY[report.policy.when_open], found, about)
    kinds = dict.fromkeys(map(_kind, blocks))
    same = ([each for each in blocks if _kind(each) == kind] for kind in kinds)
    return GateAnswer(head, _listed(_for(report, each) for each in same) or "no claim blocks", about)


def _risk(alpha: float) -> str:
    """An error level with three digits, rounded up: at most means at most.

    >>> _risk(0.05), _risk(0.00759909), _risk(0.00338123)
    ('5 %', '0.76 %', '0.339 %')
    """
    scale = 10.0 ** (2 - math.floor(math.log10(100.0 * alpha)))
    return f"{math.ceil(round(100.0 * alpha * scale, 6)) / scale:g} %"


def sentence(report: GateReport) -> str:
    """The answer in one sentence."""
    return str(answer(report))


def _where(report: GateReport) -> str:
    """What verdicts are true of."""
    return "new items of the same kind" if report.policy.target else "these items"


def certified(report: GateReport) -> str:
    """What verdicts mean."""
    return (
        f"PASS and FAIL are certified on {_where(report)} and hold together with all intervals, however often you "
        "look. OPEN is neither."
    )


def since(result: ClaimResult) -> str:
    """The run after which a claim was decided, and the part of it if that was inside the first one."""
    if result.since is None:
        return ""
    return str(result.since) if result.since_fraction is None else f"{result.since} ({percent(result.since_fraction)})"


def percent(part: float) -> str:
    """A part of a run."""
    return f"{100 * part:.2g} %"


def _kind(result: ClaimResult) -> tuple[object, ...]:
    return result.candidate, result.claim.kind, result.claim.amount


def _for(report: GateReport, same: list[ClaimResult]) -> str:
    """Claims of one kind that hold, with the number of views in which they do."""
    views = [each.claim.view for each in same if each.claim.view != HEADLINE]
    where = ""
    if views:
        where = f" in {shown(views[0])}" if len(views) == 1 else f" in each of {len(views)} views"
        where = f" overall and{where}" if len(same) > len(views) else where
    claim = same[0].claim
    name, base, amount = shown(same[0].candidate), shown(report.policy.baseline or ""), claim.amount
    by = f" by more than {amount:g}" if amount else ""
    words = {
        "not_worse_by": f"{name} is not worse than {base}{by}",
        "better_by": f"{name} is better than {base}{by}",
        "at_least": f"{name} scores at least {amount:g}",
        "cheaper_by": f"{name} is at least {100 * amount:g} % cheaper than {base}",
        "equal_within": f"{name} and {base} are equal within {amount:g}",
    }
    return words[claim.kind] + where


def _against(report: GateReport, result: ClaimResult) -> str:
    """The certified opposite of a claim, which is also true if the difference is exactly what the claim must exceed."""
    name, base, amount = shown(result.candidate), shown(report.policy.baseline or ""), result.claim.amount
    where = "" if result.claim.view == HEADLINE else f" in {shown(result.claim.view)}"
    words = {
        "not_worse_by": f"{name} is "
        + (f"worse than {base} by at least {amount:g}" if amount else f"not better than {base}"),
        "better_by": f"{name} is not better than {base}" + (f" by more than {amount:g}" if amount else ""),
        "at_least": f"{name} scores at most {amount:g}",
        "cheaper_by": f"{name} is not more than {100 * amount:g} % cheaper than {base}",
        "equal_within": f"{name} differs from {base} by at least {amount:g}",
    }
    return words[result.claim.kind] + where


def _listed(words: Iterable[str]) -> str:
    found = list(words)
    more = f", and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return "; ".join(found[:_MOST]) + more


def interval(result: ClaimResult) -> str:
    """The interval of a difference; none where the runs contradict each other."""
    is_none = result.verdict == "CONTRADICTION" or result.lower > result.upper
    return "none" if is_none else f"{result.lower:+.4f} to {result.upper:+.4f}"


def difference(result: ClaimResult) -> str:
    """The difference of the means, of the scores there are."""
    return "unknown" if result.difference is None else f"{result.difference:+.4f}"


def advice(report: GateReport, result: ClaimResult) -> str:
    """What would decide an open claim; empty if it is decided, or if runs contradict each other."""
    outlook, claim = result.outlook, result.claim
    if outlook is None or report.contradictions:
        return ""
    ways = []
    if outlook.more_runs is not None:
        ways.append(f"about {counted(outlook.more_runs, 'more run')}")
    if outlook.items is not None:
        ways.append(f"{outlook.items:,} items instead of {report.items:,} in {counted(report.replicates, 'run')}")
    if outlook.amount is not None:
        ways.append(f"a {_AMOUNTS[claim.kind]} of {outlook.amount:g} instead of {claim.amount:g}")
    if not ways:
        return "at this difference no number of runs or items is likely to decide it (a forecast)"
    return f"{', or '.join(ways)} would likely decide it (a forecast)"


def open_claims(report: GateReport) -> list[tuple[str, str]]:
    """Claims that something would likely decide, and what."""
    return [(subject(each), words) for each in report.results if (words := advice(report, each))]


def fixed_amounts(report: GateReport) -> list[str]:
    """That what claims ask for is not changed for these runs, where another amount would decide one."""
    found = [_AMOUNTS[each.claim.kind] for each in report.results if each.outlook and each.outlook.amount is not None]
    if not found or report.contradictions:
        return []
    return [f"For these runs, every {' and '.join(dict.fromkeys(found))} is fixed: choose another only for new ones."]


def coverage(report: GateReport) -> list[str]:
    """What verdicts are about, where that is not every run of these items, and when the next one is possible."""
    policy, found = report.policy, list[str]()
    if policy.target:
        found.append(
            "Verdicts and intervals are about new items of the same kind, of which these must be independent draws. "
            "Nothing may pass between blocks, and no system may have been chosen or tuned on these items."
        )
    if policy.of_runs:
        which = "smallest" if policy.of_runs.startswith("all") else "largest"
        found.append(f"A score is the {which} of {policy.runs_of_score} runs ({policy.of_runs}).")
    if not policy.looks_after_every_run and not report.contradictions:
        after = report.next_look
        none, some = "No look is left: further runs change no verdict.", "until then verdicts and intervals stay."
        found.append(none if after is None else f"The next look is after {counted(after, 'run')}; {some}")
    return found


def subject(result: ClaimResult) -> str:
    """The candidate, and what is claimed of it."""
    return f"{shown(result.candidate)}, {shown(str(result.claim), None)}"


def contradiction(result: ClaimResult) -> str:
    """What contradicts itself: the interval, and the difference run by run."""
    runs = ", ".join(f"{look.difference:+.4f}" for look in result.looks if look.difference is not None)
    return f"difference above {result.lower:+.4f} and below {result.upper:+.4f}; run by run: {runs}"


def _row(result: ClaimResult) -> tuple[str, ...]:
    """What tables say of a claim after its verdict."""
    claim = result.claim
    about = claim.tier, shown(result.candidate), shown(str(claim), None)
    return *about, difference(result), interval(result), since(result)


def render(report: GateReport) -> RenderableType:
    """What a terminal shows: the sentence, then a row for each claim."""
    table = text_table(
        [*_COLUMNS[:4], *numbers(*_COLUMNS[4:])],
        ((Text(each.verdict, style=_STYLES[each.verdict]), *_row(each)) for each in report.results),
    )
    lines: list[RenderableType] = [Text(sentence(report), style="bold")]
    if report.contradictions:
        lines.append(Text(CONFLICT, style="red"))
    lines += [Text(""), table]
    lines += [Text(f"Open: {about}: {words}.") for about, words in open_claims(report)]
    lines += map(Text, fixed_amounts(report))
    lines += [Text(f"Contradiction: {subject(each)}: {contradiction(each)}.", "red") for each in report.contradictions]
    lines += [Text(f"Note: {harmless(note)}") for note in report.notes]
    return Group(*lines, *map(Text, coverage(report)))


def markdown(report: GateReport, title: str = "Evaluation gate") -> str:
    """A summary for a pull request or a step of a pipeline."""
    rows = [markdown_line((_MARKS[each.verdict], *map(escaped, _row(each)))) for each in report.results]
    notes = [f"- {escaped(about)}: {words}" for about, words in open_claims(report)]
    notes += [f"- {words}" for words in fixed_amounts(report)]
    notes += [f"- {escaped(subject(each))}: {contradiction(each)}" for each in report.contradictions]
    notes += [f"- {escaped(note)}" for note in (*report.notes, *coverage(report))]
    lines = [
        f"## {escaped(title)}",
        "",
        f"**{escaped(sentence(report))}**",
        "",
        *([CONFLICT, ""] if report.contradictions else []),
        markdown_line(_COLUMNS),
        "|---|---|---|---|---:|---|---:|",
        *rows,
        "",
        *([*notes, ""] if notes else []),
        certified(report),
    ]
    return "\n".join(lines) + "\n"


def junit(report: GateReport, name: str = "bbedge gate") -> str:
    """JUnit XML: a test case for each claim.

    A blocking claim that failed is a failure, a contradiction an error, and an open blocking claim is what the policy
    says: skipped, a failure or an error.
    """
    when_open = report.policy.when_open
    suite = ElementTree.Element("testsuite", name=name, tests=str(len(report.results)))
    found = Counter[str]()
    for each in report.results:
        case = ElementTree.SubElement(
            suite, "testcase", classname=harmless(f"{name}.{each.candidate}"), name=harmless(str(each.claim))
        )
        words = harmless(f"{each.verdict}: difference {difference(each)}, interval {interval(each)}")
        blocks, verdict = each.claim.tier == "block", each.verdict
        kind = "skipped"
        if verdict == "CONTRADICTION":
            words, kind = harmless(f"CONTRADICTION: {contradiction(each)}. {CONFLICT}"), "error"
        elif blocks and (verdict == "FAIL" or (verdict == "OPEN" and when_open == "fail")):
            kind = "failure"
        elif blocks and verdict == "OPEN" and when_open == "error":
            kind = "error"
        elif verdict == "PASS":
            ElementTree.SubElement(case, "system-out").text = words
            continue
        ElementTree.SubElement(case, kind, message=words)
        found[kind] += 1
    for key, kind in (("failures", "failure"), ("skipped", "skipped"), ("errors", "error")):
        suite.set(key, str(found[kind]))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


HISTORY_COLUMNS = ("use", "date", "label", "release", "verdicts", "runs", "level")
"""What a history says of a use."""
_YEAR = 100  # merges, as an example
_HISTORY_STYLES = {"ship": "green", "stop": "bold red", "undecided": "yellow", "contradiction": "bold red"}


def over_a_year(policy: Policy, recorded: RecordedUse | None = None) -> str:
    """What alpha means for many uses of the gate."""
    alpha = f"{100 * policy.alpha:g} %"
    if policy.spending == "each-run":
        return (
            f"Each use of this gate has its own {alpha}: of {_YEAR} merges in a year, up to {_YEAR * policy.alpha:g} "
            'may have a wrong verdict on average. With spending = "ledger" in the policy, the risk that any of them '
            f"has one is at most {alpha}."
        )
    share = "" if recorded is None else f"This is use {recorded.use.number}, with {100 * recorded.use.level:.3g} %. "
    limit = "any number of uses" if policy.shares is None else counted(policy.shares, "use")
    return (
        f"{share}All uses in this ledger share {alpha}: the risk that any of them has a wrong verdict is at most "
        f"{alpha}, over {limit}."
    )


def place(recorded: RecordedUse) -> str:
    """Where a report is in its ledger, and the head to publish, by which a lost end of the ledger is found."""
    use = recorded.use
    called = f"use {use.number} ({shown(use.label)})"
    if recorded.is_known:
        return f"Recorded before, as {called} on {use.at[:10]}: nothing was spent. Head {recorded.head}"
    return f"Recorded as {called}. Head {recorded.head}"


def history_heading(ledger: GateHistory) -> str:
    """How often the gate was used, and what is left of its level."""
    heading = f"{counted(len(ledger.uses), 'use')} of the gate"
    if ledger.policy.spending == "ledger":
        heading += f", {100 * ledger.spent:.3g} % of {100 * ledger.policy.alpha:g} % spent"
        heading += f"; the next use has {100 * ledger.next_level:.3g} %" if ledger.next_level else "; nothing is left"
    return f"{heading}."


def history_rows(ledger: GateHistory) -> Iterator[tuple[str, ...]]:
    """A row for each use, as :data:`HISTORY_COLUMNS` names its cells."""
    for use in ledger.uses:
        known = ("running", "", "")
        if (report := use.report) is not None:
            runs = str(report.replicates) if report.fraction is None else percent(report.fraction)
            known = report.release, counts(report), runs
        yield str(use.number), use.at[:10], shown(use.label), *known, f"{100 * use.level:.3g} %"


def render_history(ledger: GateHistory) -> RenderableType:
    """What a terminal shows of a ledger: a row for each use."""
    rows = ([Text(cell, style=_HISTORY_STYLES.get(cell, "")) for cell in row] for row in history_rows(ledger))
    return Group(
        Text(history_heading(ledger), style="bold"),
        Text(""),
        text_table([*numbers(HISTORY_COLUMNS[0]), *HISTORY_COLUMNS[1:5], *numbers(*HISTORY_COLUMNS[5:])], rows),
        Text(over_a_year(ledger.policy)),
        Text(f"Head {ledger.head}"),
    )


def counts(report: GateReport) -> str:
    """How many claims have each verdict."""
    verdicts = [each.verdict for each in report.results]
    return ", ".join(f"{verdicts.count(word)} {word}" for word in get_args(Verdict) if word in verdicts)
