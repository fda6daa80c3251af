"""Write the Python of each page of the documentation, and of the README, to a file that type checkers can read.

    python tests/typing/examples.py FOLDER

The file of a page has the examples after ``>>>`` and the blocks of Python, in the order of the page. Lines keep their
numbers, so a checker's messages name lines of the page. A block with a caption is a file of its own, not an example,
and is left out.
"""

import doctest
import re
import sys
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^\.\. code-block:: python\n((?:[ \t]*\n|[ \t]+.*\n)+)|^```python\n((?:.*\n)*?)```", re.MULTILINE)


def python_of(page: str) -> str:
    """Return the Python of a page, each line at the number that it has there."""
    lines = [""] * (page.count("\n") + 1)
    for example in doctest.DocTestParser().get_examples(page):
        put(lines, example.lineno, example.source)
    for block in BLOCK.finditer(page):
        group = 1 if block[1] is not None else 2
        if not re.match(r"\s*(:|>>>)", block[group]):
            put(lines, page.count("\n", 0, block.start(group)), dedent(block[group]))
    return "\n".join(lines) + "\n"


def put(lines: list[str], start: int, source: str) -> None:
    """Put lines of source at their line numbers."""
    for number, line in enumerate(source.rstrip("\n").split("\n"), start):
        lines[number] = line


def main(folder: str) -> None:
    """Write a file for each page that has any Python."""
    for path in [ROOT / "README.md", *sorted(ROOT.glob("docs/*.rst"))]:
        source = python_of(path.read_text(encoding="utf-8"))
        if source.strip():
            (Path(folder) / f"page_{path.stem.lower()}.py").write_text(source, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
