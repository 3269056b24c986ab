"""Write every frozen output again: ``make goldens``. Review the difference with git.

``python -m golden.freeze CASE...`` in ``tests`` writes these cases alone.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from golden.freezing import arithmetic, frozen_path, run_case, write_frozen
from golden.frozen_cases import CASES
from golden.refusals import REFUSALS, TABLE, prepare, refused


def main(only: list[str]) -> None:
    """Run cases and refused calls, and write what they give."""
    for name in only or CASES:
        with tempfile.TemporaryDirectory() as folder:
            write_frozen(frozen_path(name), run_case(CASES[name], Path(folder).resolve()))
    if only:
        return
    write_frozen(frozen_path("arithmetic"), arithmetic())
    for kept in frozen_path("").parent.glob("*.json"):
        if kept.stem not in {*CASES, "arithmetic"}:
            kept.unlink()
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder).resolve())
        lines = [refused(line, Path(folder).resolve()) for line in REFUSALS]
    TABLE.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
