"""The page of HTML: whole in itself, and what is foreign in it is text."""

import re
from html.parser import HTMLParser

import numpy as np

from sklearn_nag._main_job.page import page

from .test_comparison import a_table, made


class Reader(HTMLParser):
    """Notes tags that are open, and attributes."""

    def __init__(self):
        super().__init__()
        self.open, self.attributes = [], []

    def handle_starttag(self, tag, attrs):
        """Note a tag."""
        self.attributes += attrs
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        """Close the last tag, which must be this."""
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
    assert "Take ours with its defaults" in html
    assert "<img" not in page(found)
