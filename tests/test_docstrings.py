"""Public docstrings are what numpydoc calls valid, by the checks named in setup.cfg."""

import configparser
import inspect
from pathlib import Path

import pytest

import sklearn_nag
import sklearn_nag.datasets

validate = pytest.importorskip("numpydoc.validate", reason="numpydoc comes with the extra docs").validate

CONFIG = Path(__file__).parents[1] / "setup.cfg"


def public_objects():
    for module in (sklearn_nag, sklearn_nag.datasets):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing):
                yield f"{module.__name__}.{name}"
                for member, value in inspect.getmembers(thing):
                    own = (getattr(value, "__module__", None) or "sklearn_nag").startswith("sklearn_nag")
                    if not member.startswith("_") and own and not member.endswith("_request"):
                        yield f"{module.__name__}.{name}.{member}"
            elif callable(thing):
                yield f"{module.__name__}.{name}"


@pytest.mark.parametrize("name", list(public_objects()))
def test_docstring(name):
    config = configparser.ConfigParser()
    config.read(CONFIG)
    left_out = config["tool:numpydoc_validation"]["checks"].replace("\n", "").split(",")[1:]
    errors = [f"{code}: {text}" for code, text in validate(name)["errors"] if code not in left_out]
    assert not errors
