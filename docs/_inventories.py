"""Inventories for intersphinx, made of the names that these pages use, so that the site builds without a network.

Each file of ``docs/inventories`` begins with the address of a site; each line below has a name, its kind, and the page
that is about it. Kinds are those of Python, or ``std:label`` for places that docstrings of other packages refer to.
"""

import tempfile
import zlib
from pathlib import Path


def intersphinx_mapping():
    """Addresses and inventories of other packages' sites, by package."""
    folder = Path(tempfile.mkdtemp(prefix="inventories-"))
    mapping = {}
    for source in sorted(Path(__file__).parent.glob("inventories/*.txt")):
        head, *lines = source.read_text(encoding="utf-8").splitlines()
        entries = "".join(_entry(*line.split()) for line in lines)
        header = f"# Sphinx inventory version 2\n# Project: {source.stem}\n# Version: \n"
        header += "# The remainder of this file is compressed using zlib.\n"
        path = folder / f"{source.stem}.inv"
        path.write_bytes(header.encode() + zlib.compress(entries.encode()))
        mapping[source.stem] = (head.removeprefix("# "), str(path))
    return mapping


def _entry(name, kind, page):
    return f"{name} {kind if ':' in kind else f'py:{kind}'} 1 {page} -\n"
