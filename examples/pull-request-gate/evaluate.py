"""Run the support bot of main and that of the pull request on all tickets: the stand-in for your evaluation.

python evaluate.py CHANGE RUNS FOLDER

CHANGE is what the pull request did: shorter-prompt or cheaper-model. A file is written for every run of both systems.
"""

import csv
import random
import sys
from pathlib import Path

SKILL = {"main": 0.78, "shorter-prompt": 0.82, "cheaper-model": 0.60}
# Two questions from each of 200 customers. Questions of one customer may depend on each other: they are a block.
TICKETS = [(f"customer-{number:03}-{part}", f"customer-{number:03}") for number in range(200) for part in ("a", "b")]


def solved(system: str, ticket: str, customer: str, run: int) -> int:
    """1 if the bot solved the ticket, else 0. Some customers ask harder questions."""
    hardness = random.Random(customer).uniform(-0.18, 0.18)
    return int(random.Random(f"{system} {ticket} {run}").random() < SKILL[system] - hardness)


def main(change: str, runs: int, folder: Path) -> None:
    """Write the runs. The names of the two systems are those of the policy, whatever the change was."""
    folder.mkdir(parents=True, exist_ok=True)
    for run in range(1, runs + 1):
        with (folder / f"run-{run}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("model", "item", "block", "replicate", "score"))
            for name, system in (("main", "main"), ("pull-request", change)):
                writer.writerows((name, *ticket, run, solved(system, *ticket, run)) for ticket in TICKETS)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
