"""When, where and with what something was measured, and tables that are written with this."""

import csv
import datetime
import importlib.metadata
import platform
import subprocess
from contextlib import suppress
from pathlib import Path


def versions():
    """Return the versions of the packages that matter, if they are installed."""
    found = {}
    for name in ("numpy", "scikit-learn", "numba"):
        with suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def commit():
    """Return the commit of this copy, if git knows it."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    with suppress(OSError, subprocess.CalledProcessError):
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
        return done.stdout.strip()
    return "unknown"


def provenance():
    """Return when, where and with what something is measured."""
    packages = ", ".join(map(" ".join, versions().items()))
    return f"{datetime.date.today():%d %B %Y}, Python {platform.python_version()}, {packages}, {processor()}"


def write_table(path, lines, said=None):
    """Write lines of cells to a CSV file, and what is ``said`` of it, by default `provenance`, to a text file next to
    it.
    """
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)
    path.with_suffix(".txt").write_text(f"{said or provenance() + '.'}\n", encoding="utf-8")


def record(path, ratios):
    """Append ratios by name of the work to a CSV file: a line each, with commit, date, processor and versions."""
    where = commit(), datetime.date.today(), processor(), " ".join(map("=".join, versions().items()))
    new = not path.exists()
    with open(path, "a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(["commit", "date", "processor", "versions", "work", "ratio"])
        for work, ratio in ratios.items():
            writer.writerow([*where, work, f"{ratio:.4g}"])


def processor():
    """Return the name of the processor, if Linux tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
