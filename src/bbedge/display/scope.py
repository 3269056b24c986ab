"""What is measured, and what is promised: in the same words in every display."""

from __future__ import annotations

from msgspec import UNSET

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.numbers import has_partial, n_items, rank
from bbedge.text import counted, display_names, shown

MOST_NAMED = 5
"""Models whose missing scores are listed one by one."""
VIEW_HEADS = ("view", "share of alpha", "items", "certified", "leader so far")
"""What :func:`view_rows` says of each view."""

_EQUAL = 1e-9


def is_inside_first_run(certificate: Certificate) -> bool:
    """Whether a part of the first run is in the evidence, and the run is not complete."""
    return bool(first_run_progress(certificate))


def has_evidence(certificate: Certificate) -> bool:
    """Whether there is anything to conclude from: a complete run, or a part of the first."""
    return bool(certificate.replicates) or is_inside_first_run(certificate)


def run_count(certificate: Certificate) -> str:
    """How many runs are in the evidence, or how far the first one has come."""
    inside = first_run_progress(certificate)
    return f"first run: {inside}" if inside else counted(certificate.replicates, "run")


def first_run_progress(certificate: Certificate) -> str:
    """How far the first run has come; empty unless a part of it is in the evidence, and it is not complete."""
    first = certificate.content.first_pass
    if not first or not first.checkpoint or first.complete:
        return ""
    done = 100 * first.blocks / first.of_blocks
    return f"{done:.3g} % of blocks, checkpoint {first.checkpoint} of {first.checkpoints}"


def item_count(certificate: Certificate) -> str:
    """The items that the means are of, their blocks, and whether some of them weigh more than others."""
    content, design = certificate.content, certificate.content.design
    count, weights = n_items(certificate), design.weights
    words = counted(count, "item")
    if count < content.items:
        words = f"{count:,} of {counted(content.items, 'item')}"
    if design.blocks.count < count:
        words += f" in {counted(design.blocks.count, 'block')}"
    is_weighted = weights is not UNSET and weights.largest * weights.items > 1.0 + _EQUAL
    return f"{words}, weighted" if is_weighted else words


def missing_scores(certificate: Certificate) -> str:
    """How many scores are missing, of which models, and what that costs; empty if none is."""
    gaps = certificate.content.gaps
    if not gaps:
        return ""
    by_count = sorted(gaps.models, key=lambda name: (-gaps.models[name], name))
    labels = dict(zip(certificate.names, certificate.labels, strict=True))
    named = [f"{labels[name]}: {gaps.models[name]:,}" for name in by_count[:MOST_NAMED]]
    if len(by_count) > MOST_NAMED:
        named.append(f"{counted(len(by_count) - MOST_NAMED, 'more model')}")
    is_worst_case = certificate.content.design.gaps == "worst-case"
    rule = "; each counts against whichever model it could help" if is_worst_case else ""
    verb = "is" if gaps.cells == 1 else "are"
    words = f"{counted(gaps.cells, 'score')} {verb} missing ({', '.join(named)}){rule}."
    if gaps.resolved_if_means is None:
        return words
    pairs, certified = counted(gaps.resolved_if_means, "pair"), certificate.ranks.n_resolved
    instead = f", not {certified:,}" if gaps.resolved_if_means != certified else ", as many as now"
    return (
        f"{words} If the missing scores had been their models' means, {pairs} would be certified{instead}: a hint, "
        "not a claim."
    )


def view_rows(certificate: Certificate) -> list[tuple[str, ...]]:
    """The other views of a certificate, each with what ``VIEW_HEADS`` names."""
    names = display_names(str(view.name) for view in certificate.views)
    return [
        (name, view_share(view), f"{n_items(view):,}", certified_pairs(view), view_leader(view))
        for view, name in zip(certificate.views, names, strict=True)
    ]


def view_share(certificate: Certificate) -> str:
    """The part of alpha that a view has."""
    return f"{100 * (certificate.content.design.share or 1.0):.3g} %"


def certified_pairs(certificate: Certificate) -> str:
    """How many pairs are certified."""
    return f"{certificate.ranks.n_resolved:,} of {counted(certificate.n_pairs, 'pair')}"


def view_leader(certificate: Certificate) -> str:
    """The first model with its possible ranks; empty before the first replicate, and beside an alarm."""
    ranks = certificate.ranks
    if not has_evidence(certificate) or certificate.is_contradicted:
        return ""
    # Of several models that could be best, their means choose the first one, if they can be compared.
    by_mean = has_partial(certificate, [i for i, better in enumerate(ranks.n_better) if not better])
    if by_mean and 1 not in ranks.cuts:
        return "means over different items"
    return f"{certificate.labels[0]}, rank {rank(ranks.rank_intervals[0])}"


def title_with_view(certificate: Certificate, text: str) -> str:
    """A title that names the view, if it is not the headline's."""
    return f"{shown(certificate.name)}: {text}" if certificate.name else text


def error_level(certificate: Certificate) -> float:
    """The largest probability of an error: of a board, that of all its claims together."""
    board = certificate.content.board
    return board.design.alpha if board else certificate.content.design.alpha


def confidence_level(certificate: Certificate) -> str:
    """The probability that what is shown is true."""
    return f"{100 * (1 - error_level(certificate)):.6g} %"


def error_risk(certificate: Certificate) -> str:
    """The risk that what is shown is wrong, in one sentence."""
    percent = f"{100 * error_level(certificate):.6g} %"
    if certificate.content.design.is_joint:
        return f"At most {percent} risk that anything here is wrong."
    return f"At most {percent} risk that any certified comparison is wrong, and {percent} that any margin is."


def promise(certificate: Certificate) -> str:
    """What is guaranteed, for all pairs, all looks and all views together."""
    if (certificate.headline or certificate).flaw is not None:
        return "Nothing is guaranteed: this is not the certificate that was written."
    if certificate.is_contradicted:
        return (
            f"Everything shown is true with probability at least {confidence_level(certificate)} if the assumptions "
            "hold; the contradiction shows that something here is false."
        )
    probability, step = f"With probability at least {confidence_level(certificate)}", f"{certificate.step:.4g}"
    often = f"however often you look{_together(certificate)}"
    if certificate.content.design.is_joint:
        above = f"(certified: above {step})" if certificate.step else "of this benchmark"
        return f"{probability}, everything shown here is true {above}, {often}."
    certified = f"differences exceed {step}" if certificate.step else "comparisons are true"
    return f"{probability} each, all certified {certified} and all margins hold, {often}."


def alpha_shares(certificate: Certificate) -> str:
    """How alpha is shared between certificates, margins and intervals of means, and between views."""
    design = certificate.content.design
    comparisons, margins = f"{100 * design.certificate_share:.4g} %", f"{100 * (design.margin_share or 0.0):.4g} %"
    words = "Comparisons use all of alpha, and margins use it once more: both hold together at twice alpha."
    if design.mean_share:
        words = (
            f"Comparisons use {comparisons} of alpha, margins {margins} and intervals of means "
            f"{100 * design.mean_share:.4g} %, so all hold together."
        )
    elif design.is_joint:
        words = f"Comparisons use {comparisons} of alpha and margins {margins}, so both hold together."
    if not has_views(certificate):
        return words
    subject = "This view" if certificate.name else "The headline"
    rest = ", and the other views have the rest" if (certificate.headline or certificate).views else ""
    return f"{words} {subject} has {100 * (design.share or 1.0):.4g} % of that{rest}."


def has_views(certificate: Certificate) -> bool:
    """Whether several views share alpha."""
    return bool(certificate.name or certificate.views)


def _together(certificate: Certificate) -> str:
    if not has_views(certificate):
        return ""
    others = len((certificate.headline or certificate).views)
    if not others:
        return " and together with all other views of the design"
    return f", in the headline and {'the other view' if others == 1 else f'all {others} other views'} together"


def evidence_measure(certificate: Certificate) -> str:
    """What has to reach the threshold of a look: evidence, or the wealth of staggered e-Holm."""
    return "log evidence" if certificate.content.log_w is UNSET else "log wealth"
