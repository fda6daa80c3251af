"""When, where and with what something was measured."""

import datetime
import importlib.metadata
import platform
from pathlib import Path


def provenance():
    """When, where and with what."""
    packages = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "scikit-learn", "numba"))
    return f"{datetime.date.today():%d %B %Y}, Python {platform.python_version()}, {packages}, {processor()}"


def processor():
    """Name of the processor, where Linux tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
