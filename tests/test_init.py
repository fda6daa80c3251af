import re
import sys
from pathlib import Path

import pytest

import sklearn_nag

API = (Path(__file__).parents[1] / "docs" / "api.rst").read_text(encoding="utf-8")
PARTS = {
    *re.findall(r"^\.\. currentmodule:: sklearn_nag\.(\w+)$", API, re.MULTILINE),
    *re.findall(r"^   (\w+)\.\w+$", API, re.MULTILINE),
}


@pytest.mark.parametrize("part", sorted(PARTS))
def test_parts_are_loaded_when_they_are_used(part, monkeypatch):
    monkeypatch.delattr(sklearn_nag, part, raising=False)  # as before the first use
    assert getattr(sklearn_nag, part) is sys.modules[f"sklearn_nag.{part}"]


def test_completion_shows_what_is_public():
    assert {*dir(sklearn_nag)} == {*sklearn_nag.__all__, *PARTS}
    with pytest.raises(AttributeError, match="module 'sklearn_nag' has no attribute 'stream'"):
        sklearn_nag.stream  # noqa: B018
