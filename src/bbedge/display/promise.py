"""What a certificate guarantees and what it measures, in the same words for every display."""

from __future__ import annotations

from msgspec import UNSET

from bbedge.certificate.certificate import Certificate


def level(certificate: Certificate) -> str:
    """The probability that what is shown is true."""
    board = certificate.content.board
    alpha = board.design.alpha if board else certificate.content.design.alpha
    return f"{100 * (1 - alpha):.6g} %"


def promise(certificate: Certificate) -> str:
    """What is guaranteed, for all pairs and all looks together."""
    probability, step = f"With probability at least {level(certificate)}", f"{certificate.step:.4g}"
    if certificate.content.design.is_joint:
        above = f"(certified: above {step})" if certificate.step else "of this benchmark"
        return f"{probability}, everything shown here is true {above}, however often you look."
    certified = f"differences exceed {step}" if certificate.step else "comparisons are true"
    return f"{probability} each, all certified {certified} and all margins hold, however often you look."


def shares(certificate: Certificate) -> str:
    """How alpha is shared between certificates and margins."""
    design = certificate.content.design
    if not design.is_joint:
        return "Comparisons use all of alpha, and margins use it once more: both hold together at twice alpha."
    part = design.certificate_share
    return f"Comparisons use {100 * part:.4g} % of alpha and margins {100 * (1 - part):.4g} %, so both hold together."


def measure(certificate: Certificate) -> str:
    """What has to reach the threshold of a look: evidence, or the wealth of staggered e-Holm."""
    return "log evidence" if certificate.content.log_w is UNSET else "log wealth"
