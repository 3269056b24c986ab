"""Where and when the figures were seen."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import scipy
from threadpoolctl import threadpool_info

from bbedge import __version__


def describe() -> dict[str, str]:
    """Processor, memory, versions, load and date."""
    blas = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "processor": f"{_processor()}, {_cores()} cores",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "load before": ", ".join(f"{load:.2f}" for load in os.getloadavg()) + " (1, 5 and 15 minutes)",
        "versions": f"bbedge {__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"SciPy {scipy.__version__}",
        "BLAS": "; ".join(
            f"{pool['internal_api']} {pool['version']}, {pool.get('architecture', 'unknown')} kernels, "
            f"{pool['num_threads']} threads"
            for pool in blas
        )
        or "unknown",
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
