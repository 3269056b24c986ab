"""A harness with a helper: ``gated.py MODEL SEED ITEMS OUT``. While a file called gate is there, neither ends.

Writes the numbers of both processes to ``pids-SEED`` in the folder of the study.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

model, seed, items, out = sys.argv[1:]
helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
note = Path(f"pids-{seed}.new")
note.write_text(f"{os.getpid()} {helper.pid}", encoding="utf-8")
note.rename(note.with_suffix(""))
while Path("gate").exists():
    time.sleep(0.01)
with Path(out).open("a", encoding="utf-8") as file:
    file.write("model,item,score\n")
    for item in Path(items).read_text(encoding="utf-8").split():
        file.write(f"{model},{item},{(int(seed) + len(item) + len(model)) % 2}\n")
helper.kill()
helper.wait()
