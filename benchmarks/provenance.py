"""When, where and with what something was measured; tables that are written with it."""

import csv
import datetime
import importlib.metadata
import platform
from pathlib import Path


def provenance():
    """When, where and with what."""
    packages = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "scikit-learn", "numba"))
    return f"{datetime.date.today():%d %B %Y}, Python {platform.python_version()}, {packages}, {processor()}"


def write_table(path, lines, said=None):
    """Write lines of cells to a CSV file, and beside it, as text, what is ``said`` of it: by default `provenance`."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)
    path.with_suffix(".txt").write_text(f"{said or provenance() + '.'}\n", encoding="utf-8")


def processor():
    """Name of the processor, where Linux tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
