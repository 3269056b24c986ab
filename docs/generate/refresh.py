"""Write again what the documentation takes from the program: the output of commands, and the generated reference.

python docs/generate/refresh.py             # all pages
python docs/generate/refresh.py PAGE...     # some
python docs/generate/refresh.py --check     # write nothing, and fail if a page is not up to date
"""

from __future__ import annotations

import argparse
import difflib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import commands
import demo_picture
import gallery_tables
import gate_tables
import interval_pictures
import pages
import schema

DOCS = Path(__file__).parents[1]
GENERATED: dict[str, Callable[[], str]] = {
    "certificate.schema.json": schema.text,
    "demo.svg": demo_picture.picture,
    "gallery.md": gallery_tables.page,
    "gate.md": gate_tables.page,
    "reference/commands.md": commands.page,
    "reference/schema.md": schema.page,
    **interval_pictures.PICTURES,
}
RUN = ("tutorial", "howto", "concepts", "reference")
"""Folders whose pages run, besides the pages named here."""
RUN_PAGES = ("faq.md", "gallery.md", "index.md")


def every_page() -> list[Path]:
    """The pages that are generated or run, in order."""
    found = [path for folder in RUN for path in sorted((DOCS / folder).glob("*.md"))]
    named = [DOCS / name for name in (*RUN_PAGES, *GENERATED)]
    return list(dict.fromkeys([*found, *named, *gallery_tables.READMES]))


def fresh(path: Path) -> str:
    """The page as it should be."""
    if readme := gallery_tables.READMES.get(path):
        return readme()
    make = GENERATED.get(path.relative_to(DOCS).as_posix()) if path.is_relative_to(DOCS) else None
    text = make() if make else path.read_text(encoding="utf-8")
    if make and path.name not in RUN_PAGES:
        return text
    with tempfile.TemporaryDirectory() as folder:
        return pages.rerun(text, Path(folder))


def main() -> int:
    """Write pages that changed, or compare them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("page", nargs="*", type=Path)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with code 1 if a page would change")
    asked = parser.parse_args()
    stale = 0
    for path in [page.resolve() for page in asked.page] or every_page():
        try:
            new = fresh(path)
        except pages.PageError as error:
            sys.stderr.write(f"{path}: {error}\n")
            return 2
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if new == old:
            continue
        stale += 1
        if asked.check:
            lines = difflib.unified_diff(old.splitlines(True), new.splitlines(True), str(path), "as it should be")
            sys.stderr.writelines(lines)
        else:
            path.write_text(new, encoding="utf-8")
            sys.stdout.write(f"{path}\n")
    if asked.check and stale:
        sys.stderr.write("run `make docs-outputs`, then look at the changes\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
