"""A badge for a README: the certified rank of a model, as a small picture."""

from __future__ import annotations

from html import escape

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.units import rank
from bbedge.errors import DomainError
from bbedge.text import quoted, shown

_LETTER = 6.6  # average width at 11 px; the text is then stretched to exactly the room it was given
_HEIGHT, _PADDING = 20, 7


def badge(certificate: Certificate, model: str, *, label: str | None = None) -> str:
    """An SVG that says, for instance, ``certified #1-2 of 10``. ``label`` stands to the left of it.

    It says what the certificate says: a range of ranks, not a rank, unless that is certified; and that nothing is
    certified while every rank is possible. The badge of a view names the view.
    """
    if model not in certificate.names:
        raise DomainError(f"{quoted(model)} is not a model of this certificate")
    interval = certificate.ranks.rank_intervals[certificate.names.index(model)]
    left = shown(model if label is None else label, 40)
    decided = interval != (1, len(certificate.names)) and not certificate.is_contradicted
    if certificate.is_contradicted:
        right = "contradiction"
    else:
        right = f"certified #{rank(interval)} of {len(certificate.names)}" if decided else "no rank certified yet"
    if certificate.name:
        right += f" in {shown(certificate.name, 40)}"
    widths = [round(len(text) * _LETTER) + 2 * _PADDING if text else 0 for text in (left, right)]
    total = sum(widths)
    colour = "#00689d" if decided else "#5f6b76"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{_HEIGHT}" role="img" '
        f'aria-label="{escape(f"{left}: {right}" if left else right)}">',
        f"<title>{escape(f'{left}: {right}' if left else right)}</title>",
        f'<clipPath id="r"><rect width="{total}" height="{_HEIGHT}" rx="4"/></clipPath>',
        '<g clip-path="url(#r)">',
        f'<rect width="{widths[0]}" height="{_HEIGHT}" fill="#3b434b"/>',
        f'<rect x="{widths[0]}" width="{widths[1]}" height="{_HEIGHT}" fill="{colour}"/>',
        "</g>",
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">',
    ]
    start = 0
    for text, width in zip((left, right), widths, strict=True):
        if text:
            parts.append(
                f'<text x="{start + _PADDING}" y="14" textLength="{width - 2 * _PADDING}" '
                f'lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'
            )
        start += width
    return "\n".join([*parts, "</g>", "</svg>"]).encode("ascii", "xmlcharrefreplace").decode("ascii") + "\n"
