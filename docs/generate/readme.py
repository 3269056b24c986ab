"""The README of the package: outside a checkout its links and pictures need the address of the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)(\[[^\]]*\])\((?![a-z]+:|#)([^)]+)\)")


class PackageReadme(MetadataHookInterface):
    """Hands the README to the build."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the README, with links from ``base`` in pyproject.toml."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": linked_from(text, self.config["base"])}


def linked_from(text: str, base: str) -> str:
    """A text whose relative links start at an address; ``{kind}`` in it is ``raw`` for pictures, ``blob`` for pages."""
    if not base:
        return text
    return _LINK.sub(
        lambda found: f"{found[1]}{found[2]}({base.format(kind='raw' if found[1] else 'blob')}{found[3]})", text
    )
