"""Promises about models that are saved, and about calls during other calls."""

from __future__ import annotations

import copy
import itertools
import pickle
import signal
import time
import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import sklearn_nag
from sklearn_nag.estimators._calls import turn_of

from .children import each_in_child
from .mishaps import as_many, dense_only, first_call, long_rows, new_model, plain_rows, told
from .promises import Broken, decision, described, image, promise

TRIALS = 40  # files for each case
REFUSALS = (ValueError, TypeError)
CORE = ("Columns", "Targets", "Mixture", "FixedRate", "State")  # compiled code gets their arrays


class Saved:
    """An object as in a pickle: the code of its class loads it, whatever was changed here."""

    def __init__(self, kind, state):
        self.kind, self.state = kind, state

    def __reduce__(self):
        return object.__new__, (self.kind,), self.state


class Entry(NamedTuple):
    """A value in a file: its name, its place in its container, and whether compiled code gets it."""

    name: str
    container: Any
    key: Any
    is_core: bool

    @property
    def value(self):
        return self.container[self.key]


def as_saved(thing, met=None):
    """Return ``thing`` with `Saved` in place of objects of the package; what is one object stays one."""
    met = {} if met is None else met
    if id(thing) in met:
        return met[id(thing)]
    if isinstance(thing, dict):
        return {key: as_saved(value, met) for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return getattr(type(thing), "_make", type(thing))(as_saved(value, met) for value in thing)
    if not type(thing).__module__.startswith("sklearn_nag"):
        return thing
    saved = met[id(thing)] = Saved(type(thing), None)
    met[saved] = thing  # it has to live as long as its id is in use
    saved.state = as_saved(dict(thing.__getstate__()), met)
    return saved


def entries(saved, name="model", met=None):
    """Yield all entries of what `as_saved` returned; a tuple cannot be changed, and is one entry."""
    met = set() if met is None else met
    if isinstance(saved, Saved) and saved not in met:
        met.add(saved)
        yield from _entries(saved.state, name, saved.kind.__name__ in CORE, met)
    elif isinstance(saved, dict | list):
        yield from _entries(saved, name, False, met)
    elif isinstance(saved, tuple):
        for i, value in enumerate(saved):
            yield from entries(value, f"{name}[{i}]", met)


def _entries(container, name, is_core, met):
    for key in container if isinstance(container, dict) else range(len(container)):
        own = f"{name}.{key}"
        yield Entry(own, container, key, is_core)
        yield from entries(container[key], own, met)


def _with(array, value):
    array = array.astype(np.float64) if array.dtype.kind in "iuf" else array.astype(object)
    array.flat[-1] = value
    return array


GONE = object()
OF_ARRAYS = {
    "cut to nothing": lambda a: a[:0],
    "cut to one": lambda a: a[:1],
    "cut in the last direction": lambda a: a[..., :-1],
    "grown": lambda a: np.concatenate([a, a]),
    "grown in the last direction": lambda a: np.concatenate([a, a], axis=-1),
    "of one more dimension": lambda a: a[None],
    "flat": lambda a: np.append(a.ravel(), a.ravel()[:1]),
    "of float32": lambda a: a.astype(np.float32) if a.dtype.kind in "iuf" else a.astype("S1"),
    "of complex numbers": lambda a: a.astype(complex) if a.dtype.kind in "iuf" else a.astype(object)[::-1],
    "of objects": lambda a: _with(a, "x") if a.dtype.kind not in "iuf" else np.append(a.astype(object).ravel(), "x"),
    "with a NaN": lambda a: _with(a, np.nan),
    "with an infinity": lambda a: _with(a, np.inf),
    "masked": lambda a: np.ma.masked_array(a, np.zeros(a.shape, bool)),
    "a list": lambda a: a.tolist(),
}
OF_NUMBERS = {
    f"{value!r}": lambda _, value=value: value
    for value in (-1, 0, 1, 3_000_000, 2**62, 10**30, 1.5, -0.5, 1e-300, 1e308, np.nan, np.inf, "3", True, [1])
}
OF_OTHERS = {
    f"{value!r}": lambda _, value=value: value for value in (0, -1, 2**40, 1.5, np.nan, "nonsense", (), [], {}, True)
}
OF_TUPLES = {
    "shorter": lambda t: t[:-1],
    "longer": lambda t: (*t, t[-1]) if t else (1.0,),
    "reversed": lambda t: t[::-1],
    "of others": lambda t: (*t[1:], "nonsense"),
    "a list": list,
}
OF_ALL = {"None": lambda _: None, "missing": lambda _: GONE}


def changes(value):
    """Return the changes that may be made to a value, by name."""
    if isinstance(value, np.ndarray):
        return OF_ARRAYS | OF_ALL if value.size else OF_ALL
    if isinstance(value, bool | np.bool_):
        return OF_OTHERS | OF_ALL
    if isinstance(value, int | float | np.number):
        return OF_NUMBERS | OF_ALL
    return (OF_TUPLES if isinstance(value, tuple) else {}) | OF_OTHERS | OF_ALL


def tampered(model, rng, n):
    """Yield pickles of a model with one entry changed, what was changed, and whether no model can be like that."""
    saved = as_saved(model)
    found = [entry for entry in entries(saved) if "_sklearn_version" not in entry.name]
    core = [entry for entry in found if entry.is_core]
    for _ in range(n):
        of_these = core if core and rng.random() < 0.6 else found
        entry = of_these[rng.integers(len(of_these))]
        kinds = changes(entry.value)
        kind = str(rng.choice(list(kinds)))
        before, after, all_entries = entry.value, kinds[kind](entry.value), entry.container.copy()
        if after is GONE:
            del entry.container[entry.key]
        else:
            entry.container[entry.key] = after
        same = isinstance(before, np.ndarray) and np.shape(after) == before.shape and type(after) is np.ndarray
        same = same and after.dtype == before.dtype and np.array_equal(after, before)
        hopeless = entry.is_core and isinstance(before, np.ndarray) and not same and not entry.name.endswith("G_before")
        yield pickle.dumps(saved), f"{entry.name} {kind}", hopeless
        entry.container.clear()
        (entry.container.update if isinstance(all_entries, dict) else entry.container.extend)(all_entries)


@promise("a saved model that was tampered with is refused, or can be used; it never crashes", every=4, shrinks=False)
def tampered_models_are_refused(case):
    sklearn_nag.set_config(kernel=case.kernel)
    rng = case.rng("tampered")
    X, y, classes = plain_rows(case, 12, 5)
    rows = sparse.csr_array(X * (rng.random(X.shape) < 0.5)) if case.is_sparse and not dense_only(case) else X
    model = new_model(case)
    try:
        told(model, rows, y, classes)
    except ValueError:
        return
    others = {"n_features_in_": 3_000_000, "classes_": np.arange(50), "_n_outputs": 50}
    others = {name: value for name, value in others.items() if hasattr(model, name)}
    changed = [copy.deepcopy(model) for _ in others]
    for one, (name, value) in zip(changed, others.items()):
        setattr(one, name, value)
    files, few = list(tampered(model, rng, TRIALS)), slice(0, 3)  # rows to use loaded models with
    found = each_in_child(partial(_tried, rows[few], y[few], classes), [*files, *changed], seconds=120.0)
    for (_, what, _), wrong, _ in itertools.islice(found, len(files)):
        if wrong:
            raise Broken(
                f"{what}: {wrong}",
                *long_rows(12, 5, classes),
                f"model.{first_call(classes)}",
                f"# change what a pickle of it says: {what}",
                "model = pickle.loads(changed)",
                "model.predict(X), model.partial_fit(X, y)",
            )
    for (name, value), (_, outcome, _) in zip(others.items(), found):
        if outcome != "refused":
            raise Broken(f"model.{name} = {value!r:.40}, and then: {outcome or 'accepted'}", "model.predict(X)")


def _tried(X, y, classes, thing):
    """Return what is wrong with a file, or what happens when a model is used."""
    return (_loaded if isinstance(thing, tuple) else _used)(X, y, classes, thing)


def _loaded(X, y, classes, file):
    """Return what goes wrong if a file is loaded and its model is used; None if nothing does."""
    content, _, hopeless = file
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = pickle.loads(content)
        except REFUSALS:
            return None
        except Exception as error:
            return f"loading it raises {described(error)}"
    if hopeless:
        return "it is loaded"
    wrong = _used(X, y, classes, model)
    return None if wrong == "refused" else wrong


def _used(X, y, classes, model):
    """Use a model; return "refused" if it raises an error as it should, None if nothing is wrong, or what is wrong."""
    refused = None
    n_features = getattr(model, "n_features_in_", X.shape[1])
    tables = [X]
    if isinstance(n_features, int) and n_features > X.shape[1]:
        tables.append(sparse.csr_array((X.shape[0], min(n_features, 4_000_000))))
    uses = (decision, lambda model, X: told(model, X, y, classes), lambda model, X: model.predict(X))
    for rows, use in itertools.product(tables, uses):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                use(model, rows)
            if rows is not X:
                return "it takes rows of columns that it has no weights for"
        except REFUSALS:
            refused = "refused"
        except Exception as error:
            return f"it is loaded, and then raises {described(error)}"
    return refused


# -- calls within calls


def learns_long(case):
    """Return rows, targets and classes for a call that takes a while, a model that has learnt, and the method."""
    sklearn_nag.set_config(kernel=case.kernel)
    rng = case.rng("within")
    n = as_many(case, 200, 30_000 // (1 + 20 * (case.parameters.get("invariance") == "full")))
    X, y, classes = plain_rows(case, n, 5)
    rows = sparse.csr_array(X) if case.is_sparse and not dense_only(case) else X
    model = new_model(case)
    first = slice(0, 50)
    told(model, rows[first], y[first], classes)
    return rows, y, classes, model, str(rng.choice(["partial_fit", "partial_fit", "fit"]))


@promise("a model does not learn within its own calls", every=20, shrinks=False)
def models_are_not_entered_again(case):
    try:
        X, y, classes, model, method = learns_long(case)
        twin = copy.deepcopy(model)
        told(twin, X, y, classes, method)
    except ValueError:  # a rule that diverges on these rows
        return
    expected, rng, wrong, refused = image(twin), case.rng("again"), [], []
    other = np.ones((5, 9))
    by_signal = rng.random() < 0.5
    again = str(rng.choice(["partial_fit", "fit"]))

    def enter(*_):
        for rows in (other, X[:5]):
            try:
                told(model, rows, y[:5], classes, again)
                wrong.append(f"{again} is accepted")
            except RuntimeError:
                refused.append(again)
            except Exception as error:
                wrong.append(f"{again} raises {described(error)}")

    def read(*_):
        try:
            if decision(pickle.loads(pickle.dumps(model)), X[:5]).tobytes() != decision(model, X[:5]).tobytes():
                wrong.append("a copy is another model")
        except Exception as error:
            wrong.append(f"reading raises {described(error)}")

    def enter_and_read(*_):
        if turn_of(model).changing.locked():  # otherwise the signal came before or after the call
            enter()
            read()

    lines = (
        *long_rows(*X.shape, classes),
        f"model.{first_call(classes)}",
        *(
            (
                f"signal.signal(signal.SIGALRM, lambda *_: model.{again}(X[:5], y[:5]))",
                "signal.setitimer(0, 1e-3, 1e-3)",
            )
            if by_signal
            else (f"with sklearn_nag.report_progress(lambda now: model.{again}(X[:5], y[:5])):",)
        ),
        f"{'' if by_signal else '    '}model.{method}(X, y)",
    )
    if by_signal:
        _interrupted(partial(told, model, X, y, classes, method), enter_and_read, 2e-3)
    else:
        with sklearn_nag.report_progress(enter_and_read):
            told(model, X, y, classes, method)
    if wrong:
        raise Broken(f"within {method}: {wrong[0]}", *lines)
    if image(model) != expected:
        raise Broken(f"{method}, entered again, leaves another model", *lines)
    if not by_signal and not refused:
        raise Broken(f"within {method}, {again} was not refused", *lines)


def _interrupted(call, handler, every):
    """Make a call during which a signal handler runs every ``every`` seconds."""
    inside = [False]

    def handle(*_):
        if inside[0]:
            inside[0] = False  # a signal that arrives meanwhile is ignored
            handler()
            inside[0] = True

    before = signal.signal(signal.SIGALRM, handle)
    inside[0] = True
    signal.setitimer(signal.ITIMER_REAL, every, every)
    try:
        call()
        inside[0] = False
    finally:
        inside[0] = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@promise("a signal handler saves the model before or after the call, and that goes on", every=15, shrinks=False)
def handlers_save_whole_models(case):
    try:
        X, y, classes, model, method = learns_long(case)
        before = pickle.dumps(model)
        twin = copy.deepcopy(model)
        start = time.perf_counter()
        told(twin, X, y, classes, method)
    except ValueError:  # a rule that diverges on these rows
        return
    seconds = time.perf_counter() - start
    whole = [pickle.loads(file) for file in (before, pickle.dumps(twin))]
    decisions = {decision(one, X[:5]).tobytes() for one in whole}
    saved, wrong = [], []

    def save(*_):
        if len(saved) < 50:
            try:
                saved.append(pickle.dumps(model))
                if decision(model, X[:5]).tobytes() not in decisions:
                    wrong.append("predictions are those of another model")
            except Exception as error:
                wrong.append(f"saving raises {described(error)}")

    every = max(float(case.rng("every").uniform(0.01, 0.3)) * seconds, 1e-4)
    lines = (
        *long_rows(*X.shape, classes),
        f"model.{first_call(classes)}",
        "signal.signal(signal.SIGALRM, lambda *_: saved.append(pickle.dumps(model)))",
        f"signal.setitimer(signal.ITIMER_REAL, {every:.3g}, {every:.3g})",
        f"model.{method}(X, y)",
    )
    _interrupted(partial(told, model, X, y, classes, method), save, every)
    if wrong:
        raise Broken(f"a handler during {method}: {wrong[0]}", *lines)
    loaded = [pickle.loads(file) for file in dict.fromkeys(saved)]
    same = [next((one for one in whole if image(one) == image(other)), None) for other in loaded]
    if None in same:
        raise Broken(f"what a handler saves during {method} is neither the model before nor after it", *lines)
    for pair in itertools.islice(zip(loaded, same), 1):
        for one in pair:
            told(one, X[:20], y[:20], classes)
        if image(pair[0]) != image(pair[1]):
            raise Broken(f"what a handler saves during {method} goes on in another way", *lines)
    if image(model) != image(twin):
        raise Broken(f"a handler that saves changes what {method} learns", *lines)
