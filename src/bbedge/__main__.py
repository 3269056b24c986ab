"""``python -m bbedge`` is the command ``bbedge``."""

from bbedge.cli import main

if __name__ == "__main__":
    main()
