"""Compare two prompts run by run, and stop as soon as the answer is certain.

python compare.py [PAGE.html]
"""

import random
import sys
from pathlib import Path

import numpy as np

import bbedge

PROMPTS = {
    "terse": "Reply with the amount and nothing else.",
    "quote-first": "Copy the line that states the amount. Then reply with the amount.",
}
# Three questions about each of 30 invoices. Questions about one invoice may depend on each other: they are a block.
ITEMS = [f"invoice-{number:02}/{field}" for number in range(30) for field in ("net", "tax", "total")]
BLOCKS = [item.split("/")[0] for item in ITEMS]
BUDGET = 12  # runs of both prompts that we can afford


def score(prompt: str, item: str, run: int) -> float:
    """1 if the answer is right, else 0. Replace this by a call to your model and to your scorer.

    The stand-in knows that some invoices are harder than others, and that to quote helps.
    """
    ease = random.Random(item.split("/")[0]).uniform(0.35, 0.95)
    helped = 0.13 if prompt == "quote-first" else 0.0
    return float(random.Random(f"{prompt} {item} {run}").random() < min(ease + helped, 0.98))


def main() -> None:
    """Run, look, stop, report."""
    # Everything that could be chosen to fit the scores is fixed here, before the first run.
    design = bbedge.Design.make(list(PROMPTS), ITEMS, blocks=BLOCKS, alpha=0.05, method="bb-edge-x", planned=BUDGET)
    certifier = bbedge.Certifier(design)
    for run in range(1, BUDGET + 1):
        panel = np.array([[score(prompt, item, run) for item in ITEMS] for prompt in PROMPTS])
        look = certifier.update(panel)
        seen = ", ".join(f"{prompt} {mean:.3f}" for prompt, mean in zip(PROMPTS, panel.mean(axis=1), strict=True))
        print(f"run {run:2}: {seen}{'   certified' if look.edges.any() else ''}")
        if look.edges.any():
            break
    certificate = certifier.leaderboard().certificate()
    print(f"\nStopped after {run} of at most {BUDGET} runs. {certificate.answer}")
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(certificate.to_html(title="Two prompts"), encoding="utf-8")


if __name__ == "__main__":
    main()
