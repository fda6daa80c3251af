"""Print what the changelog says of a version; fail where a tag is not that of the package's version.

python .ci/release_notes.py v1.0.0
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def version():
    """The version of the package, which is said in one file."""
    text = (ROOT / "sklearn_nag" / "__init__.py").read_text(encoding="utf-8")
    return re.search(r'__version__ = "(.+)"', text)[1]


def notes(of):
    """The section of the changelog about a version."""
    sections = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    for section in sections[1:]:
        title, _, body = section.partition("\n")
        if title.split()[0] == of:
            return body.strip()
    raise SystemExit(f"CHANGELOG.md has no section about {of}")


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] != f"v{version()}":
        raise SystemExit(f"the tag {sys.argv[1]} is not that of the version, v{version()}")
    print(notes(version()))
