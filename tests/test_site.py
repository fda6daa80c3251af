"""The questions that new users of six kinds bring, and the places of the site that answer them."""

import csv
import itertools
import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def sections(page):
    """Titles of a page: lines that are underlined by a line as long or longer."""
    lines = (DOCS / f"{page}.rst").read_text(encoding="utf-8").splitlines()
    return {
        title
        for title, line in itertools.pairwise(lines)
        if title and re.fullmatch(r"(=+|-+|~+)", line) and len(line) >= len(title)
    }


def test_questions_have_places_that_exist():
    with (DOCS / "_questions.csv").open(encoding="utf-8") as file:
        questions = list(csv.DictReader(file))
    assert len(questions) == len({line["question"] for line in questions}) == 48
    wrong = [
        line["question"] for line in questions if line["page"] and line["section"] not in {"", *sections(line["page"])}
    ]
    assert not wrong
