"""The HTML page is complete in itself, and foreign content in it is text."""

import re
from html.parser import HTMLParser

import numpy as np

from sklearn_nag._main_job.page import page

from .test_comparison import a_table, made


class Reader(HTMLParser):
    """A parser that records open tags, and attributes."""

    def __init__(self):
        super().__init__()
        self.open, self.attributes = [], []

    def handle_starttag(self, tag, attrs):
        """Record a tag and its attributes."""
        self.attributes += attrs
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        """Close the last open tag, which must be this one."""
        assert self.open.pop() == tag


def test_a_page_is_whole_and_loads_nothing(rng):
    found = made(ours=np.full(10, 0.5), shares=np.linspace(0.7, 0.8, 10))
    table = a_table(rng)
    table.notes.append("  '<script>alert(1)</script>': 2 words & more")
    object.__setattr__(found, "table", table)
    html = page(found, b"PNG")
    reader = Reader()
    reader.feed(html)
    assert reader.open == []
    sources = [value for name, value in reader.attributes if name in ("src", "href")]
    assert sources == ["data:image/png;base64,UE5H"]
    assert not re.search(r"https?:|url\(|@import", html)
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert 'name="viewport"' in html
    assert "Use ours with default parameters" in html
    assert "<img" not in page(found)


def test_the_bold_row_the_verdict_and_the_lines_of_python_agree(rng):
    """If no learner is significantly better, the closest learner of this package is in bold."""
    far = np.linspace(-0.5, 0.5, 10)
    for sgd, nearest in (
        (0.6, "other, at -40.0 % log loss"),
        (0.2, "sgd, at -60.0 % .*, and the best of this package is other"),
    ):
        found = made(ours=0.6 + far, other=0.3 + far, sgd=sgd - far, shares=np.full(10, 0.5))
        found.outcomes[1].learner.estimator.set_params(eta0=0.125)
        object.__setattr__(found, "table", a_table(rng))
        html = page(found)
        assert re.search(f"No learner is significantly better .*The closest is {nearest}", html)
        assert re.findall('<tr class="best"><td>(.*?)</td>', html) == ["other"]
        assert "In bold: other, the learner of this package that the Python code below uses." in html
        assert "eta0=0.125" in html
