"""The answer of a certificate in a few sentences, the same words for every display."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.numbers import comparable, has_partial, over
from bbedge.display.alarm import alarm
from bbedge.display.ranking import between, observed
from bbedge.display.scope import has_evidence, is_inside_first_run, progress, risk
from bbedge.records.certificate import Prospect
from bbedge.text import counted

MOST_NAMED = 8
"""So many models that could be best are named; the table has the others."""

_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a reader wants to know first."""

    answer: str
    """Who leads, and whom it is certified to beat."""
    contenders: str
    """Which models could be best, or what an open comparison still needs; may be empty."""
    risk: str
    """The risk that anything shown is wrong; empty as long as nothing was measured."""

    @property
    def rest(self) -> str:
        """What follows the answer; may be empty."""
        return " ".join(part for part in (self.contenders, self.risk) if part)

    def __str__(self) -> str:
        return f"{self.answer} {self.rest}".rstrip()


def verdict(certificate: Certificate) -> Verdict:
    """The answer of a certificate.

    Only what the displayed graph certifies is stated as certain; means are called what was seen so far.
    """
    wrong = alarm(certificate)
    if wrong is not None:
        return Verdict(answer=wrong.answer, contenders=wrong.meaning, risk="")
    if not has_evidence(certificate):
        return Verdict(answer="Nothing is certified yet: there is no complete run.", contenders="", risk="")
    if is_inside_first_run(certificate) and not certificate.ranks.n_resolved:
        return Verdict(answer="Nothing is certified yet.", contenders=_so_far(certificate), risk="")
    if certificate.pilot_replicates is not None:
        pilot = f"A pilot of {counted(certificate.pilot_replicates, 'run')}, not part of the evidence, chose them."
        contenders = f"{pilot} {_so_far(certificate)}".rstrip()
        return Verdict(answer=_candidate(certificate), contenders=contenders, risk=risk(certificate))
    if not certificate.ranks.n_resolved:
        return Verdict(answer=_seen(certificate), contenders=_needed(certificate), risk=risk(certificate))
    if len(certificate.names) == 2:
        return Verdict(answer=f"{_beaten(certificate)}.", contenders=_so_far(certificate), risk=risk(certificate))
    contenders = " ".join(words for words in (_contenders(certificate), _so_far(certificate)) if words)
    return Verdict(answer=_leader(certificate), contenders=contenders, risk=risk(certificate))


def _so_far(certificate: Certificate) -> str:
    """How far the first run has come, while it is not complete."""
    return f"The first run is not complete: {progress(certificate)}." if is_inside_first_run(certificate) else ""


def in_words(number: int) -> str:
    """A small number as a word.

    >>> in_words(5), in_words(1234)
    ('five', '1,234')
    """
    return _WORDS[number] if number < len(_WORDS) else f"{number:,}"


def _leader(certificate: Certificate) -> str:
    """Of a leaderboard on which something is certified."""
    leader, others, beats = certificate.labels[0], len(certificate.names) - 1, int(certificate.ranks.n_worse[0])
    above = f" by more than {certificate.step:.4g}" if certificate.step else ""
    if beats == others:
        every = "both" if others == 2 else f"all {in_words(others)}"
        return f"{leader} is best: it beats {every} other models{above}."
    # Without means that can be compared, models that could be best are in no order.
    ordered = not is_inside_first_run(certificate) and not has_partial(certificate, _possible_best(certificate))
    if beats and not ordered:
        return f"{leader} beats {beats:,} of {counted(others, 'other model')}{above}."
    if beats:
        return f"{leader} leads: it beats {beats:,} of {counted(others, 'other model')}{above}."
    decided = f"{certificate.ranks.n_resolved:,} of {counted(certificate.n_pairs, 'comparison')}"
    verb = "is" if certificate.ranks.n_resolved == 1 else "are"
    if not ordered:
        return f"No model is certified best yet; {decided} {verb} certified."
    return (
        f"{leader} has the highest mean of the models that could be best, but beats none{above}; "
        f"{decided} {verb} certified."
    )


def _possible_best(certificate: Certificate) -> list[int]:
    return [int(i) for i in np.flatnonzero(certificate.ranks.n_better == 0)]


def _contenders(certificate: Certificate) -> str:
    count = int(np.count_nonzero(certificate.ranks.n_better == 0))
    if count == 1:
        return ""
    # With a margin tau, a model may be certified worse, but not by more than tau: then it is no worse than this.
    best = f"best or within {certificate.step:.4g} of the best" if certificate.step else "best"
    if count == len(certificate.names):
        return f"All {in_words(count)} models could be {best}."
    named = ", ".join(certificate.labels[: min(count, MOST_NAMED)])
    more = f" and {count - MOST_NAMED:,} more" if count > MOST_NAMED else ""
    return f"{in_words(count).capitalize()} models could be {best}: {named}{more}."


def _beaten(certificate: Certificate) -> str:
    """Of two models, one of which is certified better; it is the first in the order shown."""
    better, worse = certificate.labels
    lead = certificate.lead(0, 1) if certificate.known is not None else "> 0"
    sign, amount = lead.split(" ", 1)
    if float(amount) == 0.0:
        return f"{better} beats {worse}"
    word = "at least" if sign == "≥" else "more than"
    return f"{better} beats {worse} by {word} {amount}{_points(certificate, float(amount))}"


def _points(certificate: Certificate, amount: float) -> str:
    """The same in points of a hundred, where scores are between 0 and 1."""
    if certificate.score_range != (0.0, 1.0):
        return ""
    points = math.floor(amount * 1000.0 + 1e-9) / 10.0
    return f" ({points:g} points of 100)" if points else ""


def _seen(certificate: Certificate) -> str:
    """Of a leaderboard on which nothing is certified: what was seen, which is no claim."""
    nothing = f"No difference above {certificate.step:.4g}" if certificate.step else "Nothing"
    found = sorted(comparable(certificate), key=lambda i: -(certificate.means[i] or 0.0))
    runs = counted(certificate.replicates, "run")
    if len(found) < 2:
        why = ", because they are over different items" if has_partial(certificate) else ""
        return f"{nothing} is certified yet after {runs}, and the means cannot be compared{why}."
    first, second = found[:2]
    seen = observed(certificate, first, second)
    interval = between(certificate, first, second)
    names = certificate.labels[first], certificate.labels[second]
    if float(seen) == 0.0:
        words = f"{names[0]} and {names[1]} have the same mean after {runs}"
    else:
        words = f"{names[0]} is ahead of {names[1]} by {seen.lstrip('+')} after {runs}"
    where = f" (the true difference lies between {interval.replace(' to ', ' and ')})" if " to " in interval else ""
    return f"{nothing} is certified yet: {words}{where}{_not_compared(certificate)}."


def _not_compared(certificate: Certificate) -> str:
    """Which means are left out because they are over some of the items only; may be empty."""
    partial = [i for i in range(len(certificate.names)) if over(certificate, i)]
    if len(partial) == 1:
        label, items = certificate.labels[partial[0]], over(certificate, partial[0])
        return f"; the mean of {label} is over {items}, so it is not compared"
    return f"; {len(partial):,} means over some of the items are not compared" if partial else ""


def _needed(certificate: Certificate) -> str:
    """How many more runs the comparison that may be decided first is likely to need."""
    if _all_within_tau(certificate):
        return (
            f"The intervals show that no difference is above {certificate.step:.4g}, so more runs will not certify one."
        )
    likely = [each for each in certificate.content.outlook if each.more_replicates]
    if not likely:
        return "More runs are needed; there is no trend yet that says how many."
    prospect = min(likely, key=lambda each: each.more_replicates or ())
    return f"{_about(prospect)} likely needed{_of_which(certificate, prospect)}."


def _all_within_tau(certificate: Certificate) -> bool:
    """Whether the margins show that no model is better than another by more than tau."""
    if not certificate.step or certificate.known is None:
        return False
    margins = certificate.known.margins
    upper = -margins[~np.eye(len(margins), dtype=bool)]
    return bool(np.all(upper <= certificate.step))  # of a comparison that was not tested, NaN, nothing is known


def _about(prospect: Prospect) -> str:
    low, high = prospect.more_replicates or (1, 1)
    if low >= 1000:
        return "Thousands more runs are"
    if high == 1:
        return "About one more run is"
    return f"About {low:,} more runs are" if low == high else f"About {low:,} to {high:,} more runs are"


def _of_which(certificate: Certificate, prospect: Prospect) -> str:
    if len(certificate.names) == 2:
        return ""
    label = dict(zip(certificate.names, certificate.labels, strict=True))
    return f" for the first certificate, {label[prospect.ahead]} over {label[prospect.behind]}"


def _candidate(certificate: Certificate) -> str:
    """Of a set that a pilot chose."""
    done, total = certificate.n_edges, certificate.content.design.directions
    label = dict(zip(certificate.names, certificate.labels, strict=True))
    inside = [label[name] for name in certificate.candidate]
    if done == total:
        return f"{', '.join(inside)}: certified as the Top-{len(inside)} set."
    return (
        f"{', '.join(inside)}: not certified as the Top-{len(inside)} set yet; {done:,} of {total:,} comparisons with "
        "the other models are certified."
    )
