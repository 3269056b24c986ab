"""A team's own harness: ``harness.py MODEL SEED ITEMS OUT``. The model's name has its probability; the seed decides."""

import csv
import hashlib
import sys
import time
from pathlib import Path

model, seed, items, out = sys.argv[1:]
if model.startswith("broken"):
    sys.stderr.write("no such model\n")
    sys.exit(7)
time.sleep(0.05)
chance = int("".join(c for c in model if c.isdigit())) / 100
with Path(out).open("w", encoding="utf-8", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(["model", "item", "score"])
    for item in Path(items).read_text(encoding="utf-8").split():
        draw = int(hashlib.sha256(f"{model}|{seed}|{item}".encode()).hexdigest()[:12], 16) / 16**12
        rows.writerow([model, item, int(draw < chance)])
