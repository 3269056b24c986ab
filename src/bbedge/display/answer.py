"""The answer of a certificate in a few sentences, or the alarm if nothing shown is reliable: one wording for all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.numbers import comparable, has_partial, over
from bbedge.display.ranking import difference_interval, observed_difference
from bbedge.display.scope import (
    about_items,
    awaited,
    equal_pairs,
    equal_within,
    error_risk,
    first_run_progress,
    has_evidence,
    is_inside_first_run,
    next_look,
)
from bbedge.text import counted, shown

MOST_NAMED = 8
"""So many models that could be best are named; the table has the others."""

_MOST_CONTRADICTIONS = 5
_MEANING = (
    "Either this is one of the errors that alpha allows, or an assumption does not hold (dependent blocks, copied "
    "runs, a design changed after the scores were seen), or labels were swapped between runs. Do not rely on anything "
    "shown here until you know which. Check that all runs use the same name for the same model and the same item, that "
    "every run was made separately, and what bbedge diagnose says of the scores."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """What a reader must know before anything else: why nothing shown is reliable."""

    word: str
    """What it is called, in capitals."""
    what: str
    """What was found."""
    meaning: str
    """What it means, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateAnswer:
    """What a reader wants to know first."""

    first: str
    """Which model is best, or how many could be; of two models, their difference and where the true one lies."""
    contenders: str = ""
    """Which models could be best, and what an open comparison still needs; may be empty."""
    equal: str = ""
    """How many pairs are about equal; empty if the design does not ask."""
    new_items: str = ""
    """The answer for new items of the same kind, beside that for these items; empty if there is one answer."""
    risk: str = ""
    """The risk that anything shown is wrong; empty as long as nothing was measured."""

    @property
    def rest(self) -> str:
        """What follows the first sentence; may be empty."""
        return " ".join(filter(None, (self.contenders, self.equal, self.new_items, self.risk)))

    def __str__(self) -> str:
        return f"{self.first} {self.rest}".rstrip()


def alarm(certificate: Certificate) -> Alarm | None:
    """What is wrong with a certificate as a whole, of which it may be a view; ``None`` if nothing is."""
    whole = certificate.headline or certificate
    if whole.flaw is not None:
        return Alarm(
            word="ALTERED CERTIFICATE",
            what=f"{shown(whole.flaw, None)}.",
            meaning="Nothing shown here is reliable: it is not what was certified. Get the certificate from its source "
            "again, or check it against its scores with bbedge verify.",
        )
    if not whole.is_contradicted:
        return None
    found = [text for each in (whole, *whole.views) for text in _contradictions(each)]
    if not found:  # of a view that was taken out of its certificate
        found = ["another view of the same design contradicts itself"]
    left_out = len(found) - _MOST_CONTRADICTIONS
    more = f"; {counted(left_out, 'more contradiction')}" if left_out > 0 else ""
    return Alarm(word="CONTRADICTION", what=f"{'; '.join(found[:_MOST_CONTRADICTIONS])}{more}.", meaning=_MEANING)


def _contradictions(certificate: Certificate) -> Iterator[str]:
    """What contradicts itself in a view."""
    content, units, most = certificate.content, certificate.units, _MOST_CONTRADICTIONS
    label = dict(zip(certificate.names, certificate.labels, strict=True))
    where = f" (view {shown(certificate.name)})" if certificate.name else ""
    for group in content.contradictions:
        names = [label[name] for name in group]
        if len(names) == 2:
            yield f"{names[0]} and {names[1]} are each certified better than the other{where}"
        else:
            some = ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")
            yield f"each of these models is certified better than the others: {some}{where}"
    for each in content.crossed_intervals or ():
        first, *second = (label[name] for name in each.names)
        of, sign = (f"the difference {first} minus {second[0]}", "+") if second else (f"the mean of {first}", "")
        ends = f"at least {units.at_least(each.lower, sign)} and at most {units.at_most(each.upper, sign)}"
        yield f"the bounds of {of} exclude each other, {ends}{where}"


def answer(certificate: Certificate) -> CertificateAnswer:
    """The answer of a certificate.

    Only what the displayed graph certifies is stated as certain; means are called what was seen so far.
    """
    wrong, other = alarm(certificate), certificate.on_new_items
    if wrong is not None:
        return CertificateAnswer(first=f"{wrong.word}: {wrong.what}", contenders=wrong.meaning)
    first, contenders = _found(certificate)
    # Inside the first run, nothing may have been measured yet that could be wrong.
    has_claims = has_evidence(certificate) and (certificate.replicates or certificate.ranks.n_resolved)
    return CertificateAnswer(
        first=_on(certificate, first),
        contenders=contenders,
        equal=_equal(certificate),
        new_items=_on_new_items(certificate, other) if other and certificate.replicates else "",
        risk=error_risk(certificate) if has_claims else "",
    )


def _on_new_items(certificate: Certificate, other: Certificate) -> str:
    """The answer for new items; that it is the same one if it names the same models for the same reasons."""
    found = [
        (*_found(each), _equal(each), {each.names[i] for i in np.flatnonzero(each.ranks.n_better == 0)})
        for each in (certificate, other)
    ]
    if found[0] == found[1]:
        return f"On {about_items(other)}, the answer is the same."
    return _on(other, " ".join(filter(None, found[1][:3])))


def _equal(certificate: Certificate) -> str:
    """How many pairs are about equal; of two models the sentence about their difference says it."""
    return equal_pairs(certificate) if len(certificate.names) > 2 else ""


def _on(certificate: Certificate, sentence: str) -> str:
    """A sentence that says which items it is about."""
    if not sentence.startswith(tuple(certificate.labels)):
        sentence = sentence[:1].lower() + sentence[1:]
    return f"On {about_items(certificate)}, {sentence}"


def _found(certificate: Certificate) -> tuple[str, str]:
    """How many models could be best, and what else there is to say of them; of two models, their difference."""
    if not has_evidence(certificate):
        return f"Nothing is certified yet: {awaited(certificate)}.", ""
    inside = first_run_progress(certificate)
    so_far = f"The first run is not complete: {inside}." if inside else ""
    if certificate.pilot_replicates is not None:
        pilot = f"A pilot of {counted(certificate.pilot_replicates, 'run')}, not part of the evidence, chose them."
        return _candidate(certificate), f"{pilot} {so_far}".rstrip()
    two = len(certificate.names) == 2
    if certificate.ranks.n_resolved:
        first, rest = (_beaten(certificate), "") if two else (_could_be_best(certificate), _contenders(certificate))
    elif inside:
        first, rest = "Nothing is certified yet.", ""
    elif two:
        first, rest = _seen(certificate), _needed(certificate)
    else:
        first, rest = _could_be_best(certificate), f"{_seen(certificate)} {_needed(certificate)}"
    return first, f"{rest} {so_far}".strip()


def _could_be_best(certificate: Certificate) -> str:
    """Of three models or more: the best one, or how many could be best and which of these has the highest mean."""
    names, possible = certificate.names, np.flatnonzero(certificate.ranks.n_better == 0).tolist()
    if len(possible) == 1:
        others = "both" if len(names) == 3 else f"all {len(names) - 1:,}"
        above = f" by more than {certificate.step:.4g}" if certificate.step else ""
        return f"{certificate.labels[possible[0]]} is best: it beats {others} others{above}."
    many = f"All {len(names):,}" if len(possible) == len(names) else f"{len(possible):,} of {len(names):,}"
    # With a margin tau, a model may be certified worse, but not by more than tau: then it is no worse than this.
    best = f"best or within {certificate.step:.4g} of the best" if certificate.step else "best"
    return f"{many} models could be {best}{_highest(certificate, possible)}."


def _highest(certificate: Certificate, possible: list[int]) -> str:
    """Which of the models that could be best has the highest mean; empty where their means cannot be compared."""
    known = {i: mean for i in comparable(certificate) if (mean := certificate.means[i]) is not None}
    if is_inside_first_run(certificate) or not known.keys() >= set(possible):
        return ""
    top = max(known[i] for i in possible)
    first, *tied = [certificate.labels[i] for i in possible if known[i] == top]
    among = "of these, " if top < max(known.values()) else ""
    if not tied:
        return f"; {among}{first} has the highest mean"
    return f"; {among}{first} and {tied[0] if len(tied) == 1 else f'{len(tied):,} more'} have the highest mean"


def _contenders(certificate: Certificate) -> str:
    """The models that could be best, where they are several and not all; and whether they are about equal."""
    could = certificate.ranks.n_better == 0
    count = int(np.count_nonzero(could))
    group = None if certificate.equal is None else certificate.equal[could][:, could]
    is_equal = group is not None and np.count_nonzero(group) == count * (count - 1)
    alike = f"They are {equal_within(certificate)}." if is_equal else ""
    if count in (1, len(certificate.names)):
        return alike if count > 1 else ""
    named = ", ".join(certificate.labels[: min(count, MOST_NAMED)])
    more = f" and {count - MOST_NAMED:,} more" if count > MOST_NAMED else ""
    return f"Could be best: {named}{more}. {alike}".rstrip()


def _beaten(certificate: Certificate) -> str:
    """Of two models, one of which is certified better; it is the first in the order shown."""
    better, worse = certificate.labels
    seen = observed_difference(certificate, 0, 1)
    observed = "" if seen == "-" else f"the means differ by {seen.lstrip('+')}"
    known = ", and ".join(filter(None, (observed, _true_difference(certificate, 0, 1))))
    also = f"; they are also {equal_within(certificate)}" if _are_equal(certificate, 0, 1) else ""
    return f"{better} beats {worse}{f'; {known}' if known else ''}{also}."


def _true_difference(certificate: Certificate, a: int, b: int) -> str:
    """Where the difference of two true means lies; empty where nothing is known of it."""
    interval = difference_interval(certificate, a, b)
    if " to " in interval:
        return f"the true difference lies between {interval.replace(' to ', ' and ')}"
    return f"the true difference is {interval}" if interval.startswith("at ") else ""


def _seen(certificate: Certificate) -> str:
    """Of a leaderboard on which nothing is certified: what was seen, which is no claim."""
    two = len(certificate.names) == 2
    found = sorted(comparable(certificate), key=lambda i: -(certificate.means[i] or 0.0))
    runs = counted(certificate.replicates, "run")
    nothing = "Nothing is certified yet"
    if certificate.step:
        nothing = f"No difference above {certificate.step:.4g} is certified yet"
    elif two:
        nothing = "Either model could be best"
    if len(found) < 2:
        why = ", because they are over different items" if has_partial(certificate) else ""
        return f"{nothing} after {runs}, and the means cannot be compared{why}."
    first, second = found[:2]
    seen, where = observed_difference(certificate, first, second), _true_difference(certificate, first, second)
    names = certificate.labels[first], certificate.labels[second]
    if two and where and _are_equal(certificate, first, second):
        return f"{names[0]} and {names[1]} are {equal_within(certificate)}; {where}."
    if float(seen) == 0.0:
        words = f"{names[0]} and {names[1]} have the same mean after {runs}"
    else:
        words = f"{names[0]} is ahead of {names[1]} by {seen.lstrip('+')} after {runs}"
    return f"{nothing}; {words}{f', and {where}' if where else ''}{_not_compared(certificate)}."


def _are_equal(certificate: Certificate, a: int, b: int) -> bool:
    return certificate.equal is not None and bool(certificate.equal[a, b])


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
    if len(certificate.names) == 2 and _are_equal(certificate, 0, 1):
        return "Neither is certified better."
    if certificate.is_about_new_items:  # the runs so far do not say what more runs would show about other items
        return next_look(certificate)
    likely = [(each.more_replicates, each) for each in certificate.content.outlook if each.more_replicates]
    if not likely:
        return "More runs are needed; there is no trend yet that says how many."
    (low, high), prospect = min(likely, key=itemgetter(0))
    about = f"About {low:,} more runs are" if low == high else f"About {low:,} to {high:,} more runs are"
    if low >= 1000:
        about = "Thousands more runs are"
    elif high == 1:
        about = "About one more run is"
    if len(certificate.names) == 2:
        return f"{about} likely needed."
    label = dict(zip(certificate.names, certificate.labels, strict=True))
    first = f"{label[prospect.ahead]} over {label[prospect.behind]}"
    return f"{about} likely needed for the first certificate, {first}."


def _all_within_tau(certificate: Certificate) -> bool:
    """Whether the margins show that no model is better than another by more than tau."""
    if not certificate.step or certificate.all_pairs is None:
        return False
    margins = certificate.all_pairs.margins
    upper = -margins[~np.eye(len(margins), dtype=bool)]
    return bool(np.all(upper <= certificate.step))  # of a comparison that was not tested, NaN, nothing is known


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
