"""Write every frozen output again: ``make goldens``. Review the difference with git."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from golden.freezing import arithmetic, frozen_path, run_case, write_frozen
from golden.frozen_cases import CASES
from golden.refusals import REFUSALS, TABLE, prepare, refused


def main() -> None:
    """Run all cases and refused calls, and write what they give."""
    for old in frozen_path("").parent.glob("*.json"):
        old.unlink()
    write_frozen(frozen_path("arithmetic"), arithmetic())
    for name, script in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            write_frozen(frozen_path(name), run_case(script, Path(folder).resolve()))
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder).resolve())
        lines = [refused(line, Path(folder).resolve()) for line in REFUSALS]
    TABLE.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
