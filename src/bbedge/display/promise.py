"""What a certificate guarantees and what it measures, in the same words for every display."""

from __future__ import annotations

from msgspec import UNSET

from bbedge.certificate.certificate import Certificate


def level(certificate: Certificate) -> str:
    """The probability that what is shown is true."""
    board = certificate.content.board
    alpha = board.design.alpha if board else certificate.content.design.alpha
    return f"{100 * (1 - alpha):.6g} %"


def risk(certificate: Certificate) -> str:
    """The risk that what is shown is wrong, in one sentence."""
    board = certificate.content.board
    percent = f"{100 * (board.design.alpha if board else certificate.content.design.alpha):.6g} %"
    if certificate.content.design.is_joint:
        return f"At most {percent} risk that anything here is wrong."
    return f"At most {percent} risk that any certified comparison is wrong, and {percent} that any margin is."


def promise(certificate: Certificate) -> str:
    """What is guaranteed, for all pairs, all looks and all views together."""
    if (certificate.headline or certificate).flaw is not None:
        return "Nothing is guaranteed: this is not the certificate that was written."
    if certificate.is_contradicted:
        return (
            f"Everything shown is true with probability at least {level(certificate)} if the assumptions hold; the "
            "contradiction shows that something here is false."
        )
    probability, step = f"With probability at least {level(certificate)}", f"{certificate.step:.4g}"
    often = f"however often you look{_together(certificate)}"
    if certificate.content.design.is_joint:
        above = f"(certified: above {step})" if certificate.step else "of this benchmark"
        return f"{probability}, everything shown here is true {above}, {often}."
    certified = f"differences exceed {step}" if certificate.step else "comparisons are true"
    return f"{probability} each, all certified {certified} and all margins hold, {often}."


def shares(certificate: Certificate) -> str:
    """How alpha is shared between certificates, margins and intervals of means, and between views."""
    design = certificate.content.design
    comparisons, margins = f"{100 * design.certificate_share:.4g} %", f"{100 * (design.margin_share or 0.0):.4g} %"
    if design.mean_share:
        means = f"{100 * design.mean_share:.4g} %"
        words = (
            f"Comparisons use {comparisons} of alpha, margins {margins} and intervals of means {means}, so all hold "
            "together."
        )
    elif design.is_joint:
        words = f"Comparisons use {comparisons} of alpha and margins {margins}, so both hold together."
    else:
        words = "Comparisons use all of alpha, and margins use it once more: both hold together at twice alpha."
    if not has_views(certificate):
        return words
    whole = certificate.headline or certificate
    of_alpha = f"{100 * (design.share or 1.0):.4g} % of that"
    if not certificate.name:
        return f"{words} The headline has {of_alpha}, and the other views have the rest."
    return f"{words} This view has {of_alpha}{', and the other views have the rest' if whole.views else ''}."


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


def measure(certificate: Certificate) -> str:
    """What has to reach the threshold of a look: evidence, or the wealth of staggered e-Holm."""
    return "log evidence" if certificate.content.log_w is UNSET else "log wealth"
