"""Draw the picture of docs/howto/target.md: how often a difference is certified, of these items and of new ones.

.venv/bin/python docs/generate/target_picture.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bbedge.core.design import Design
from bbedge.core.eholm import Procedure
from bbedge.core.evidence_set import EvidenceSet
from bbedge.display.plotting import COLOURS, DASHES, house_style, save_figure

PICTURE = Path(__file__).parents[1] / "howto" / "target.svg"
ITEMS, RUNS, REPETITIONS = 500, 10, 500
EFFECT = 0.4  # how much better or worse than on average a model is on an item
CLAIMS = {"on these items": "benchmark", "on new items": "new-items"}


def certified(difference: float, target: str) -> NDArray[np.float64]:
    """The share of repetitions, each with items of its own, in which one of two models is certified after each run."""
    rng = np.random.default_rng(30)
    own = rng.choice([-EFFECT, EFFECT], size=(REPETITIONS, ITEMS))
    chances = np.clip(0.5 + np.stack([own + difference / 2, -own - difference / 2], axis=1), 0.0, 1.0)
    design = Design.make(["a", "b"], [f"q{i}" for i in range(ITEMS)], target=target, planned=RUNS)
    evidence, procedure = EvidenceSet(design, batch=(REPETITIONS,)), Procedure(design, batch=(REPETITIONS,))
    found = []
    for run in range(1, RUNS + 1):
        evidence.update((rng.random(chances.shape) < chances).astype(float))
        edges = procedure.looks(evidence.views, run=run)[0].edges
        found.append(float(edges.any(axis=(1, 2)).mean()))
    return np.array(found)


def main() -> None:
    """Simulate and draw."""
    from matplotlib.figure import Figure

    titles = {
        0.0: "Two models that are equally good\nat this kind of question",
        0.1: "One model is better by 10 points",
    }
    runs = np.arange(1, RUNS + 1)
    with house_style():
        figure = Figure(figsize=(7.2, 2.9), layout="constrained")
        panels = figure.subplots(1, 2, sharey=True)
        for axes, (difference, title) in zip(panels, titles.items(), strict=True):
            for place, (name, target) in enumerate(CLAIMS.items()):
                share = 100 * certified(difference, target)
                sys.stdout.write(f"{difference} {name}: {share.round(1).tolist()}\n")
                axes.plot(runs, share, DASHES[place], marker="o", markersize=3, color=COLOURS[place], label=name)
            axes.set(xlabel=f"runs of the same {ITEMS} items", ylim=(-3, 103), xticks=runs)
            axes.set_title(title, loc="left")
        panels[0].set_ylabel("certified, % of repetitions")
        panels[0].legend(loc="upper left")
    save_figure(figure, PICTURE)
    sys.stdout.write(f"wrote {PICTURE}\n")


if __name__ == "__main__":
    main()
