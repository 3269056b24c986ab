"""What a reader must know before anything else: that nothing shown is reliable. The same words for every display."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bbedge.certificate.certificate import Certificate
from bbedge.text import counted, shown

CONTRADICTION = "CONTRADICTION"
ALTERED = "ALTERED CERTIFICATE"
MEANING = (
    "Either this is one of the errors that alpha allows, or an assumption does not hold (dependent blocks, copied "
    "runs, a design changed after the scores were seen), or labels were swapped between runs. Do not rely on anything "
    "shown here until you know which."
)
CHECK = (
    "Check that all runs use the same name for the same model and the same item, that every run was made separately, "
    "and what bbedge diagnose says of the scores."
)
_MOST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """Why nothing shown is reliable."""

    word: str
    """What it is called, in capitals."""
    what: str
    """What was found."""
    meaning: str
    """What it means, and what to do."""

    @property
    def answer(self) -> str:
        """The first sentence, which begins with the word."""
        return f"{self.word}: {self.what}"


def alarm(certificate: Certificate) -> Alarm | None:
    """What is wrong with a certificate as a whole, of which it may be a view; ``None`` if nothing is."""
    whole = certificate.headline or certificate
    if whole.flaw is not None:
        return Alarm(
            word=ALTERED,
            what=f"{shown(whole.flaw, None)}.",
            meaning="Nothing shown here is reliable: it is not what was certified. Get the certificate from its source "
            "again, or check it against its scores with bbedge verify.",
        )
    if not whole.is_contradicted:
        return None
    found = [text for each in (whole, *whole.views) for text in _contradictions(each)]
    if not found:  # of a view that was taken out of its certificate
        found = ["another view of the same design contradicts itself"]
    more = f"; {counted(len(found) - _MOST, 'more contradiction')}" if len(found) > _MOST else ""
    return Alarm(word=CONTRADICTION, what=f"{'; '.join(found[:_MOST])}{more}.", meaning=f"{MEANING} {CHECK}")


def _contradictions(certificate: Certificate) -> Iterator[str]:
    """What contradicts itself in a view."""
    content, units = certificate.content, certificate.units
    label = dict(zip(certificate.names, certificate.labels, strict=True))
    where = f" (view {shown(certificate.name)})" if certificate.name else ""
    for group in content.contradictions:
        names = [label[name] for name in group]
        if len(names) == 2:
            yield f"{names[0]} and {names[1]} are each certified better than the other{where}"
        else:
            some = ", ".join(names[:_MOST]) + (f" and {len(names) - _MOST:,} more" if len(names) > _MOST else "")
            yield f"each of these models is certified better than the others: {some}{where}"
    for each in content.crossed_intervals or ():
        first, *second = (label[name] for name in each.names)
        of, sign = (f"the difference {first} minus {second[0]}", "+") if second else (f"the mean of {first}", "")
        ends = f"at least {units.at_least(each.lower, sign)} and at most {units.at_most(each.upper, sign)}"
        yield f"the bounds of {of} exclude each other, {ends}{where}"
