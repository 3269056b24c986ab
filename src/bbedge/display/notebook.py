"""The leaderboard as a small table for notebooks: text alone, no files, nothing but escaped names and numbers."""

from __future__ import annotations

from html import escape

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.units import rank
from bbedge.display.scope import missing, titled, view_lines

MOST_ROWS = 50
"""The number of models that are shown."""

_CELL = "padding:2px 10px;text-align:{};border:0"
_LEFT, _RIGHT = _CELL.format("left"), _CELL.format("right")
_BAR = "position:relative;width:160px;height:10px;background:rgba(128,128,128,.25)"
_SPAN = "position:absolute;left:{:.4g}%;width:{:.4g}%;height:10px;background:#2b83ba"


def leaderboard_html(certificate: Certificate) -> str:
    """The certificate as HTML with its style inside, so that it looks the same wherever a notebook is shown."""
    design, ranks, size = certificate.content.design, certificate.ranks, len(certificate.names)
    if not certificate.replicates:
        return f"<div><p><b>{escape(design.method)}</b>: {size:,} models, no complete replicate yet</p></div>"
    tiers = {model: t for t, members in enumerate(ranks.tiers, start=1) for model in members}
    rows = []
    for i, (best, worst) in enumerate(ranks.rank_intervals[:MOST_ROWS]):
        span = _SPAN.format(100 * (best - 1) / size, 100 * (worst - best + 1) / size)
        rows.append(
            f'<tr><td style="{_RIGHT}"><b>{rank((best, worst))}</b></td>'
            f'<td style="{_LEFT}"><div style="{_BAR}"><div style="{span}"></div></div></td>'
            f'<td style="{_LEFT}"><bdi>{escape(certificate.labels[i])}</bdi></td>'
            f'<td style="{_RIGHT}">{certificate.units.score(certificate.means[i])}</td>'
            f'<td style="{_RIGHT}">{size - worst}</td>'
            f'<td style="{_RIGHT}">{best - 1}</td>'
            f'<td style="{_RIGHT}">{tiers[i]}</td></tr>'
        )
    heads = {"rank": _RIGHT, f"1 to {size}": _LEFT, "model": _LEFT}
    heads |= dict.fromkeys(("mean", "beats", "loses to", "tier"), _RIGHT)
    head = "".join(f'<th style="{style}">{text}</th>' for text, style in heads.items())
    return (
        f"<div><p><b>{escape(titled(certificate, design.method))}</b>: {ranks.n_resolved:,} of {ranks.n_pairs:,} pairs "
        f"certified after {certificate.replicates:,} replicates, alpha {design.alpha:g}{_warning(certificate)}</p>"
        f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
        f"{f'<p>{size - MOST_ROWS:,} more models</p>' if size > MOST_ROWS else ''}"
        f"{_views(certificate)}{_missing(certificate)}</div>"
    )


def _views(certificate: Certificate) -> str:
    """The other views, a line each."""
    lines = [
        f"<li><bdi>{escape(line.name)}</bdi>: {escape(line.certified)} certified, "
        f"leader so far <bdi>{escape(line.leader)}</bdi></li>"
        for line in view_lines(certificate)
    ]
    if not lines:
        return ""
    more = f"<li>{len(lines) - MOST_ROWS:,} more views</li>" if len(lines) > MOST_ROWS else ""
    return f"<p>Other views, under the same alpha:</p><ul>{''.join(lines[:MOST_ROWS])}{more}</ul>"


def _missing(certificate: Certificate) -> str:
    words = missing(certificate)
    return f"<p>{escape(words)}</p>" if words else ""


def _warning(certificate: Certificate) -> str:
    if not certificate.content.contradictions:
        return ""
    return ". <b>CONTRADICTION</b>: models are certified better than each other; do not rely on this until you know why"
