"""The questions of new users of six kinds, and the places on the site that answer them."""

import csv
import itertools
import re
from pathlib import Path

from sklearn.linear_model import SGDClassifier, SGDRegressor

from sklearn_nag import NAGClassifier, NAGRegressor

DOCS = Path(__file__).parents[1] / "docs"


def sections(page):
    """Titles on a page: lines that are underlined with a line at least as long."""
    lines = (DOCS / f"{page}.rst").read_text(encoding="utf-8").splitlines()
    return {
        title
        for title, line in itertools.pairwise(lines)
        if title and re.fullmatch(r"(=+|-+|~+)", line) and len(line) >= len(title)
    }


def test_questions_have_places_that_exist():
    with (DOCS / "_questions.csv").open(encoding="utf-8") as file:
        questions = list(csv.DictReader(file))
    assert len(questions) == len({line["question"] for line in questions}) == 53
    wrong = [line["question"] for line in questions if line["section"] not in sections(line["page"])]
    assert not wrong


def test_every_script_that_a_page_names_is_in_the_table_of_scripts():
    named = re.compile(r"benchmarks\.(\w+)")
    pages = {page.stem: page.read_text(encoding="utf-8") for page in DOCS.glob("*.rst")}
    table = pages.pop("reproduce").partition("How long they take")[0]
    known = set(re.findall(r"``(?:python -m benchmarks\.)?(\w+)[^`]*``", table))
    missing = {page: [name for name in named.findall(text) if name not in known] for page, text in pages.items()}
    assert not {page: names for page, names in missing.items() if names}


def test_parameters_that_scikit_learn_has_not_are_listed():
    said = (DOCS / "differences.rst").read_text(encoding="utf-8").partition("New are")[2].partition("(:doc:`user")[0]
    pairs = (NAGClassifier, SGDClassifier), (NAGRegressor, SGDRegressor)
    new = [name for own, peer in pairs for name in {*own().get_params()} - {*peer().get_params()}]
    assert {*re.findall(r"``(\w+)``", said)} == {*new}


def figures(name, row, *columns):
    """Numbers from one row of a table of results, found by its first cell."""
    with (DOCS / "results" / f"{name}.csv").open(encoding="utf-8") as file:
        lines = {next(iter(line.values())): line for line in csv.DictReader(file)}
    return [float(lines[row][column]) for column in columns]


def said():
    """Pages, and lines that their tables must contain, with the current numbers of the tables of results."""
    california = figures("beyond_lines", "California housing", "mixed", "boosted", "lines", "fit")
    bikes = figures("beyond_lines", "bike sharing", "mixed", "boosted", "lines", "fit")
    (auto,), (plain,), (forest,), (same,) = (
        figures("drift", learner, "electricity")
        for learner in ("half_life='auto'", "half_life=None", "River, adaptive random forest", "no change")
    )
    (alma,) = figures("published", "ALMA", "accuracy")
    reuters, spam, trec = (
        figures("text_accuracy", data, "one pass", "LogisticRegression, best C", "SGD fit")
        for data in ("Reuters", "SMS spam, tf-idf", "TREC questions")
    )
    mixed = "{0:.2f} in one pass, {3:.2f} with `fit` | boosted trees {1:.2f}, linear model {2:.2f}"
    text = "{0:.3f} in one pass | `LogisticRegression` with tuned `C` {1:.3f}, `SGDClassifier` {2:.3f}"
    task, peers = "Electricity, in time order, accuracy", "River's adaptive random forest {:.2f}, previous label {:.2f}"
    both = [
        "California housing, R² | `NAGCellsRegressor` " + mixed.format(*california),
        "Bike sharing, R² | `NAGCellsRegressor` " + mixed.format(*bikes),
        "Reuters text, accuracy | " + text.format(*reuters),
        "Short messages, tf-idf, accuracy | " + text.format(*spam),
        "Short questions, counts, accuracy | " + text.format(*trec),
    ]
    own, others = f'{task} | `half_life="auto"` {auto:.2f}', peers.format(forest, same)
    yield "../README.md", [*both, f"{own} | {others}", f"River's own benchmark page is [{alma:.2f}]"]
    lines = [*both, f"{own}, without a half-life {plain:.2f} | {others}", f"River's own benchmark page is {alma:.2f} ("]
    yield "index.rst", [line.replace("0.", ".").replace("`", "``").replace(" | ", " - ") for line in lines]


def test_first_pages_have_the_figures_of_the_tables():
    missing = {}
    for page, sentences in said():
        text = " ".join((DOCS / page).read_text(encoding="utf-8").split())
        missing[page] = [sentence for sentence in sentences if sentence not in text]
    assert missing == {"../README.md": [], "index.rst": []}
