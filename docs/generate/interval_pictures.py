"""The pictures of docs/concepts/intervals.md, drawn from the certificate of the demo data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import bbedge
from bbedge.certificate.certificate import Certificate
from bbedge.display.ranking import difference_bounds

SCORES = Path(__file__).parents[2] / "demo" / "scores.csv"
WIDTH, ROW, TOP = 560, 34, 44  # narrow, so that a phone shows letters that can be read
INK, QUIET, LINE, TRACK, BLUE, GREEN, AMBER = (
    "#1f2733",
    "#6b7686",
    "#c9d1dc",
    "#eef1f5",
    "#2f6fdb",
    "#1d7f4e",
    "#8a5a00",
)
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
SHOWN_PAIRS = (
    ("three-shot", "instructed"),
    ("instructed", "plain-cut"),
    ("three-shot", "five-shot"),
    ("three-shot-warm", "instructed"),
)
OVERLAPPING = ("three-shot", "instructed")
"""Two models whose intervals of means overlap although one is certified better."""


@cache
def certificate(mean_share: float = 0.0) -> Certificate:
    """Six settings of one model."""
    return bbedge.certify(bbedge.read_scores(SCORES), mean_share=mean_share).certificate()


def ranks() -> str:
    """Possible ranks: a bar from the best to the worst one, and a dot at the rank of the mean."""
    made = certificate()
    count, best, worst = len(made.names), made.ranks.n_better, made.ranks.n_worse
    by_mean = sorted(range(count), key=lambda row: -made.means[row])
    place = _scale(0.5, count + 0.5, 145, 370)
    drawn = [_text(place(rank), 30, str(rank), QUIET, "middle") for rank in range(1, count + 1)]
    drawn.append(_text(16, 30, "rank", QUIET))
    for row, name in enumerate(made.names):
        y, low, high = _middle(row), 1 + int(best[row]), count - int(worst[row])
        drawn += [
            _text(16, y + 4, name),
            _bar(place(0.5), place(count + 0.5), y, TRACK),
            _bar(place(low - 0.5), place(high + 0.5), y, BLUE),
            f'<circle cx="{place(1 + by_mean.index(row))}" cy="{y}" r="4" fill="#fff"/>',
            _text(384, y + 4, f"{low}-{high}: {best[row]} better, {worst[row]} worse", QUIET),
        ]
    return _picture("Possible ranks of six settings", count, drawn)


def differences() -> str:
    """Intervals of differences, certified and open, with a line at zero."""
    made = certificate()
    place = _scale(-0.35, 0.6, 215, 470)
    zero, bottom = place(0), _height(len(SHOWN_PAIRS)) - 14
    drawn = [
        f'<line x1="{zero}" y1="36" x2="{zero}" y2="{bottom}" stroke="{INK}" stroke-width="1.5"/>',
        _text(16, 28, "difference of the means", QUIET),
        *(_text(place(at), 28, f"{at:+.1f}" if at else "0", QUIET, "middle") for at in (-0.2, 0, 0.2, 0.4)),
    ]
    for row, pair in enumerate(SHOWN_PAIRS):
        a, b = (made.names.index(name) for name in pair)
        ends, y = difference_bounds(made, a, b), _middle(row)
        assert ends is not None
        words, colour = ("certified", GREEN) if ends[0] >= 0 else ("open", AMBER)
        drawn += [
            _text(16, y + 4, f"{pair[0]} - {pair[1]}"),
            *_interval(place(ends[0]), place(ends[1]), y, colour),
            _dot(place(made.means[a] - made.means[b]), y),
            _text(WIDTH - 16, y + 4, words, colour, "end"),
        ]
    return _picture("Intervals of four differences", len(SHOWN_PAIRS), drawn)


def means() -> str:
    """Intervals of means; two of them overlap although their difference is certified."""
    made = certificate(mean_share=0.1)
    place, count = _scale(0.0, 1.0, 145, 535), len(made.names)
    assert made.mean_intervals is not None
    bounds = dict(zip(made.names, made.mean_intervals, strict=True))
    left, right = place(bounds[OVERLAPPING[0]][0]), place(bounds[OVERLAPPING[1]][1])
    drawn = [
        f'<rect x="{left:.1f}" y="38" width="{right - left:.1f}" height="{_height(count) - 52}" fill="#fdf0d5"/>',
        *(_text(place(at / 10), 30, f"{at / 10:.1f}", QUIET, "middle") for at in range(0, 11, 2)),
        _text(16, 30, "mean score", QUIET),
    ]
    for row, name in enumerate(made.names):
        y, (low, high) = _middle(row), bounds[name]
        drawn += [_text(16, y + 4, name), *_interval(place(low), place(high), y, BLUE), _dot(place(made.means[row]), y)]
    return _picture("Intervals of the means of six settings", count, drawn)


PICTURES: dict[str, Callable[[], str]] = {
    "concepts/intervals-ranks.svg": ranks,
    "concepts/intervals-differences.svg": differences,
    "concepts/intervals-means.svg": means,
}


def _scale(low: float, high: float, left: float, right: float) -> Callable[[float], float]:
    return lambda value: round(left + (value - low) / (high - low) * (right - left), 1)


def _middle(row: int) -> int:
    return TOP + row * ROW + ROW // 2


def _height(rows: int) -> int:
    return TOP + rows * ROW + 12


def _text(x: float, y: float, words: str, colour: str = INK, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" fill="{colour}" text-anchor="{anchor}">{words}</text>'


def _bar(left: float, right: float, y: int, colour: str) -> str:
    return f'<rect x="{left}" y="{y - 9}" width="{right - left:.1f}" height="18" rx="4" fill="{colour}"/>'


def _dot(x: float, y: int) -> str:
    return f'<circle cx="{x}" cy="{y}" r="4.5" fill="{INK}"/>'


def _interval(left: float, right: float, y: int, colour: str) -> Iterable[str]:
    yield f'<line x1="{left}" y1="{y}" x2="{right}" y2="{y}" stroke="{colour}" stroke-width="3"/>'
    for end in (left, right):
        yield f'<line x1="{end}" y1="{y - 6}" x2="{end}" y2="{y + 6}" stroke="{colour}" stroke-width="2"/>'


def _picture(title: str, rows: int, drawn: Iterable[str]) -> str:
    height = _height(rows)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            f'role="img" aria-labelledby="t" font-family="{FONT}" font-size="14">',
            f'<title id="t">{title}</title>',
            f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8" fill="#fff" stroke="{LINE}"/>',
            *drawn,
            "</svg>\n",
        ]
    )
