"""Public docstrings pass numpydoc's validation, with the checks chosen in setup.cfg."""

import configparser
import inspect
from pathlib import Path

import pytest

import sklearn_nag
from sklearn_nag import dask, datasets, distributed, io, model_selection, preprocessing, regret, streams

validate = pytest.importorskip("numpydoc.validate", reason="numpydoc comes with the extra docs").validate

CONFIG = Path(__file__).parents[1] / "setup.cfg"


def public_objects():
    for module, name in [
        (owner, name)
        for owner in (sklearn_nag, datasets, io, model_selection, preprocessing, regret, streams, distributed, dask)
        for name in owner.__all__
    ]:
        thing, place = getattr(module, name), module.__name__
        if inspect.isclass(thing):
            yield f"{place}.{name}"
            for member, value in inspect.getmembers(thing):
                if hasattr(BaseException, member):
                    continue
                defined = value.fget if isinstance(value, property) else value
                own = (getattr(defined, "__module__", None) or "sklearn_nag").startswith("sklearn_nag")
                if not member.startswith("_") and own and not member.endswith("_request"):
                    yield f"{place}.{name}.{member}"
        elif callable(thing):
            yield f"{place}.{name}"


def test_docstrings():
    config = configparser.ConfigParser()
    config.read(CONFIG)
    left_out = config["tool:numpydoc_validation"]["checks"].replace("\n", "").split(",")[1:]
    names = list(public_objects())
    assert len(names) > 400
    errors = [
        f"{name}: {code}: {text}" for name in names for code, text in validate(name)["errors"] if code not in left_out
    ]
    assert not errors
