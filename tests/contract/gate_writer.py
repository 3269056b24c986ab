"""A process that records uses at a gate's ledger until it is killed: ``gate_writer.py LEDGER``, a line for each use."""

from __future__ import annotations

import json
import os
import sys
from itertools import count

from bbedge.gate import record
from gate_ledgers import SHARED, made


def main() -> None:
    say("ready")
    for number in count():
        label = f"{os.getpid()}-{number // 2}"  # twice each: a second look with one run more
        done = record(sys.argv[1], SHARED, made(number // 2, runs=1 + number % 2, items=24), label=label)
        say(json.dumps({"label": label, "use": done.use.number, "level": done.use.level, "head": done.head}))


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
