"""Takes out of the samples what they say about the machine: python strip.py SAMPLES TOOLS."""

from __future__ import annotations

import json
import sys
from pathlib import Path

here, tools = Path(sys.argv[1]), sys.argv[2]
# Hardware, hosts and installed packages; nothing that a reader of scores looks at.
DROPPED = {
    "outputPath",
    "pretty_env_info",
    "config_source",
    "git_hash",
    "command",
    "hf_repo",
    "nodeVersion",
    "platform",
    "arch",
    "base_url",
    "dataset_description",
    "perf_metrics",
}


def stripped(value: object) -> object:
    if isinstance(value, dict):
        return {key: stripped(part) for key, part in value.items() if key not in DROPPED}
    return [stripped(part) for part in value] if isinstance(value, list) else value


for path in sorted(here.rglob("*.json*")):
    if "making" in path.parts or "inspect" in path.parts:
        continue
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(stripped(json.loads(line))) + "\n" for line in text.splitlines()))
    else:
        path.write_text(json.dumps(stripped(json.loads(text)), indent=1) + "\n")
for path in sorted(here.rglob("*")):
    if path.is_file() and "making" not in path.parts and path.name != "make_samples.sh":
        content = path.read_bytes()
        assert str(here).encode() not in content, path
        assert tools.encode() not in content, path
        assert len(content) < 300_000, path
