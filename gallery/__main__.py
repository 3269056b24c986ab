"""Make the gallery again: certificates from the tables, what the READMEs say of them, and pages in build/gallery.

python -m gallery            # every board
python -m gallery NAME...    # some
"""

from __future__ import annotations

import sys

from gallery.boards import ROOT, TABLES, every_board


def main(names: list[str]) -> None:
    """Make the boards of these names, or all of them."""
    pages = ROOT / "build" / "gallery"
    pages.mkdir(parents=True, exist_ok=True)
    boards = every_board()
    if unknown := set(names) - {board.name for board in boards}:
        sys.exit(f"there is no board {', '.join(sorted(unknown))}; there are {', '.join(each.name for each in boards)}")
    for board in boards:
        if names and board.name not in names:
            continue
        if board.table is None:
            state = f"kept: its table is not here; name its folder in {TABLES}"
        else:
            state = "new" if board.certify() else "as it was"
        (board.folder / "README.md").write_text(board.readme(), encoding="utf-8")
        page = board.write_page(pages)
        print(f"{board.name}: certificate {state}; wrote {page.relative_to(ROOT)}, {page.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
