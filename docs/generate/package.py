"""What the package says where there is no checkout: links of its README and of its project page need an address."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)(\[[^\]]*\])\((?![a-z]+:|#)([^)]+)\)")
_PAGES = {
    "Documentation": "blob/main/docs/index.md",
    "Gallery": "blob/main/docs/gallery.md",
    "Changelog": "blob/main/CHANGELOG.md",
    "Issues": "issues",
}


class PackageMetadata(MetadataHookInterface):
    """Hands the README and the project's addresses to the build."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add both, with links that start at ``repository`` in pyproject.toml; without it links stay as they are."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        repository = self.config["repository"].rstrip("/")
        metadata["readme"] = {"content-type": "text/markdown", "text": linked_from(text, repository)}
        if repository:
            pages = {name: f"{repository}/{page}" for name, page in _PAGES.items()}
            metadata["urls"] = {"Source": repository, **pages}


def linked_from(text: str, repository: str) -> str:
    """A text whose relative links lead to a repository: pictures to the file itself, others to its page."""
    if not repository:
        return text
    return _LINK.sub(
        lambda found: f"{found[1]}{found[2]}({repository}/{'raw' if found[1] else 'blob'}/main/{found[3]})", text
    )
