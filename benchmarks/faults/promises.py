"""Promises that can be tried within one process; `mishaps` has those that need more."""

from __future__ import annotations

import copy
import functools
import pickle
import warnings
from dataclasses import dataclass, replace
from unittest import mock

import numpy as np
from scipy import sparse

import sklearn_nag
from sklearn_nag.constraints import Box, L2Ball, Simplex, WeightedL1Ball
from sklearn_nag.kernels.state import placed
from sklearn_nag.model_selection import progressive_validation

from .cases import (
    ALPHA,
    CLASSIFICATION,
    DENSE,
    IN_PARTS,
    LARGEST,
    LARGEST_ACCEPTED_WEIGHT,
    LARGEST_TARGET,
    LEAST_EPSILON,
    LEAST_TARGET,
    LOG_LINK,
    MOST_TARGET,
    REGRESSION,
    SPARSE,
    WIDEST_RANGE,
    as_python,
    as_the_loss_takes_them,
    drawn,
    literal,
    stored_code,
)

TOLERANCE = 1e-6  # between the kernels, relative to the largest prediction
TINY = np.finfo(np.float64).tiny
APART = 53  # distance of the case's columns from one another in wide rows
NUMBERS = (np.ndarray, np.generic, float, int, str, type(None))  # and all else that is compared bit for bit
BOUNDS = (".constraint", ".clip")  # parameters that may be infinite
FARTHEST_OFF = 0.03  # largest error of the coverage, on `restless` rows
ULPS = 1e-15  # size of the moves that show how much the last digits of the input matter
MOVES = 40  # number of these moves


class Broken(AssertionError):
    """A promise does not hold.

    Parameters
    ----------
    message : str
        How it is broken.
    *lines : str
        Lines of Python that show it, after those that define the case; by default the case's calls of ``partial_fit``.
    """

    def __init__(self, message, *lines):
        super().__init__(message)
        self.lines = lines


@dataclass(frozen=True)
class Promise:
    """A promise, and the function that tries it.

    Attributes
    ----------
    says : str
        The promise, as tables show it.
    holds : callable
        ``holds(case)`` raises `Broken` if the promise does not hold.
    every : int
        The promise is tried on one of ``every`` cases, because some promises take long.
    shrinks : bool
        Whether a case that breaks it can be made smaller: such a case breaks it each time, and soon.
    """

    says: str
    holds: callable
    every: int = 1
    shrinks: bool = True


PROMISES: dict[str, Promise] = {}


def promise(says, every=1, shrinks=True):
    """Return a decorator that adds a function of a case to the promises."""

    def register(holds):
        PROMISES[holds.__name__] = Promise(says, holds, every, shrinks)
        return holds

    return register


# -- models


def learn(case, model, rows, y, weight, method="partial_fit"):
    """Let ``model`` learn rows with the kernel of the case; return decision values from before each row."""
    options = {} if case.classes is None or method == "fit" else {"classes": case.classes}
    with sklearn_nag.config_context(kernel=case.kernel), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method == "fit":
            return model.set_params(max_iter=2, random_state=0).fit(rows, y, sample_weight=weight)
        if not hasattr(model, "_play"):
            model.partial_fit(rows, y, sample_weight=weight, **options)
            return None
        return model._play(rows, y, sample_weight=weight, **options)


def part(array, rows):
    return None if array is None else array[rows]


def learnt(case, X=None):
    """Return a model that has learnt the case in one call, and the decision values that it played."""
    model = case.model()
    return model, learn(case, model, case.rows(X), case.y, case.weight)


_of_case = {"case": None}  # results that `once` keeps, for one case at a time


def once(function):
    """Compute ``function(case)`` once for all promises on a case, which come in a row, and keep its result or error.

    No promise may change the result. After a child has died, the next one computes it again.
    """

    @functools.wraps(function)
    def kept(case):
        if _of_case["case"] is not case:
            _of_case.clear()
            _of_case["case"] = case
        if function not in _of_case:
            try:
                _of_case[function] = function(case), None
            except Exception as error:
                _of_case[function] = None, error
        made, error = _of_case[function]
        if error is not None:
            raise error
        return made

    return kept


@once
def taught(case):
    """Return what `learnt` returns, and the image of the model, once for all promises."""
    model, played = learnt(case)
    return model, played, image(model)


@once
def fitted(case):
    """Return a model that has learnt the case with ``fit``."""
    return learn(case, case.model(), case.rows(), case.y, case.weight, "fit")


@once
def taught_in_batches(case):
    """Return what `taught` returns, but learn batch by batch."""
    model = case.model()
    played = [
        learn(case, model, case.rows(case.X[rows]), case.y[rows], part(case.weight, rows)) for rows in case.batches
    ]
    return model, played, image(model)


def decide(case, model, rows=None):
    """Return decision values as a two-dimensional array."""
    with sklearn_nag.config_context(kernel=case.kernel):
        return decision(model, case.rows() if rows is None else rows)


def decision(model, rows):
    """Return decision values or probabilities, or else predictions (classes as ones and zeros), as a two-dimensional
    array.
    """
    for name in ("decision_function", "predict_proba"):
        if hasattr(model, name):
            values = getattr(model, name)(rows)
            break
    else:
        values = model.predict(rows)
        if hasattr(model, "classes_"):
            values = (values[:, None] == model.classes_).astype(float)
    return values.reshape(len(values), -1)


def arrays(thing, name="model", found=None):
    """Return names and values of all numbers of a model, as a list of pairs."""
    found = [] if found is None else found
    if isinstance(thing, NUMBERS):
        found.append((name, np.asarray(thing)))
    elif isinstance(thing, dict):
        for key, value in thing.items():
            if key not in ("cached", "_made", "rule"):
                arrays(value, f"{name}.{key}", found)
    elif isinstance(thing, list | tuple):
        for i, value in enumerate(thing):
            arrays(value, f"{name}.{i}", found)
    elif hasattr(thing, "__getstate__"):
        arrays(thing.__getstate__(), name, found)
    return found


def is_not_finite(name, array):
    """Return whether numbers of a model are NaN or infinite where they must not be; bounds may be infinite."""
    return array.dtype.kind == "f" and not any(word in name for word in BOUNDS) and not np.isfinite(array).all()


def image(model):
    """Return all that a model keeps, to be compared bit for bit."""
    return {name: (a.shape, a.tolist() if a.dtype.hasobject else a.tobytes()) for name, a in arrays(model)}


def expect_same(before, after, when):
    """Raise `Broken` if two images differ."""
    for name in {**before, **after}:
        if before.get(name) != after.get(name):
            raise Broken(f"{name} is not the same {when}")


def expect_equal(a, b, what):
    """Raise `Broken` if two arrays differ in any bit."""
    if a.shape != b.shape or a.tobytes() != b.tobytes():
        with np.errstate(all="ignore"):
            raise Broken(f"{what} differ: {np.abs(a - b).max() if a.shape == b.shape else (a.shape, b.shape)}")


def shown(case, method="partial_fit"):
    """Return the call of a method as Python."""
    weight = "" if case.weight is None else ", sample_weight=weight"
    if method == "fit":
        return f"model.set_params(max_iter=2, random_state=0).fit(X, y{weight})"
    return f"model.{case.call()}"


def described(error):
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


# -- promises


@promise("no NaN or infinity, in predictions or in the model")
def numbers_stay_finite(case):
    for method in ("partial_fit", "fit"):
        try:
            model = taught(case)[0] if method == "partial_fit" else fitted(case)
        except ValueError:
            continue
        for name, array in arrays(model):
            if "progressive" not in name and is_not_finite(name, array):
                raise Broken(f"{name} is not finite after {method}", shown(case, method))
        for name in ("coef_", "intercept_", "scale_", "mean_", "weights_"):
            if hasattr(model, name) and not np.isfinite(getattr(model, name)).all():
                raise Broken(f"{name} is not finite after {method}", shown(case, method), f"model.{name}")
        for rows in (case.rows(), extreme_rows(case)):
            if not np.isfinite(decide(case, model, rows)).all():
                raise Broken(
                    f"predictions are not finite after {method}", shown(case, method), f"model.predict({literal(rows)})"
                )
            if hasattr(model, "predict_proba") and not np.isfinite(model.predict_proba(rows)).all():
                line = "model.predict_proba(X)"
                raise Broken(f"probabilities are not finite after {method}", shown(case, method), line)


def extreme_rows(case):
    """Return dense rows of the largest and the smallest numbers."""
    return np.ascontiguousarray(np.resize([LARGEST, -LARGEST, 5e-324, 1.0], (2, case.X.shape[1])))


@promise("intervals and sets are in order, and hold what the model predicts")
def intervals_are_in_order(case):
    coverages = np.array([0.3, 0.5, 0.9, 0.95, 0.999])
    try:
        model = taught(case)[0]
    except ValueError:
        return
    if not hasattr(model, "predict_set" if case.classes is not None else "predict_interval"):
        return
    if case.classes is not None:
        sets = model.predict_set(case.rows(), coverages)
        if not (sets[:, :, 1:] >= sets[:, :, :-1]).all() or not sets.any(axis=1).all():
            raise Broken("sets are empty, or not nested", shown(case), f"model.predict_set(X, {literal(coverages)})")
        total = model.predict_proba(case.rows()).sum(axis=1)
        if not np.allclose(total, 1.0):
            raise Broken("probabilities do not sum to 1", shown(case), "model.predict_proba(X)")
        return
    for shows, rows in (("X", case.rows()), (literal(extreme_rows(case)), extreme_rows(case))):
        interval = model.predict_interval(rows, coverages)
        low, high = interval[..., 0, :], interval[..., 1, :]
        middle = model.predict(rows)[..., None]
        nested = (low[..., 1:] <= low[..., :-1]).all() and (high[..., 1:] >= high[..., :-1]).all()
        slack = 1e-12 * np.abs(middle)  # the next call may add up columns in another order
        if np.isnan(interval).any() or not nested or not ((low <= middle + slack) & (middle - slack <= high)).all():
            call = f"model.predict_interval({shows}, {literal(coverages)})"
            raise Broken("intervals are not in order", shown(case), call)


@promise("in the long run intervals and sets hold what was asked for, whatever the rows do", every=10, shrinks=False)
def coverage_holds(case):
    model, coverages = case.model(), np.array([0.5, 0.8, 0.9])
    classifies = case.classes is not None
    if not case.stable or not hasattr(model, "predict_set" if classifies else "predict_interval"):
        return
    if "clip" in model.get_params():  # with predictions at a bound, errors fall by any factor within a row
        model.set_params(clip=None)
    X, y = restless(case)
    try:
        with sklearn_nag.config_context(kernel=case.kernel), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = progressive_validation(model, X, y, classes=case.classes, coverage=coverages).coverage
    except ValueError:
        return
    off = coverages - got if classifies else np.abs(got - coverages)  # sets hold the most probable class anyway
    if not (off <= FARTHEST_OFF).all():
        raise Broken(
            f"intervals of {coverages.tolist()} held {got.round(4).tolist()}",
            f"X, y = promises.restless(cases.made(*{case.seed!r}))",
            f"progressive_validation(model, X, y, coverage={coverages.tolist()}).coverage",
        )


def restless(case, n=3000):
    """Return ``n`` rows and targets of a stream whose weights, units and noise change now and then."""
    rng, classifies = case.rng("restless"), case.classes is not None
    part = np.sort(rng.integers(0, 3, n))
    X = rng.normal(size=(n, 3)) * 10.0 ** rng.integers(-3, 4, 3)
    signal = (X / X.std(axis=0) * rng.normal(size=(3, 3))[part]).sum(axis=1)
    noisy = signal + 10.0 ** rng.integers(-1, 2, 3)[part] * rng.standard_t(3.0, n)
    if classifies:
        return X, case.classes[np.digitize(noisy, np.linspace(-1.0, 1.0, len(case.classes) - 1))]
    return X, as_the_loss_takes_them(noisy * 10.0 ** rng.integers(-2, 3, 3)[part], case.parameters)


@promise("copies with random weights depend neither on batches nor on being saved", every=4)
def copies_resume(case):
    whole, parts = (sklearn_nag.OnlineBootstrap(case.model(), n_models=2) for _ in range(2))
    try:
        learn(case, whole, case.rows(), case.y, case.weight)
        for rows in case.batches:
            learn(case, parts, case.rows(case.X[rows]), case.y[rows], part(case.weight, rows))
            parts = pickle.loads(pickle.dumps(parts))
    except ValueError:
        return
    expect_same(image(whole), image(parts), "in one call and in several, saved in between")
    before = image(parts)
    try:
        learn(case, parts, case.rows(), case.y, np.full(len(case.y), -1.0))
    except ValueError:
        expect_same(before, image(parts), "after it refused negative weights")
    else:
        raise Broken("negative weights are accepted")


@promise("within the bounds no call fails")
def nothing_fails(case):
    if not case.within_bounds:
        return
    for method in ("partial_fit", "fit"):
        named = case.weight is None or case.weight.any()
        if method == "fit" and (not named or (case.classes is not None and len(np.unique(case.y)) < 2)):
            continue
        try:
            taught(case) if method == "partial_fit" else fitted(case)
        except Exception as error:
            raise Broken(f"{method} fails: {described(error)}", shown(case, method)) from error


@promise("what fails is a ValueError, and changes nothing")
def failures_change_nothing(case):
    try:
        model, _, before = taught_in_batches(case)
        model = copy.deepcopy(model)  # so that changes made here are not blamed on others
    except Exception:
        model = case.model()
        for rows in case.batches:
            before = image(model)
            try:
                learn(case, model, case.rows(case.X[rows]), case.y[rows], part(case.weight, rows))
            except ValueError:
                expect_same(before, image(model), "after a failed partial_fit")
            except Exception as error:
                raise Broken(f"partial_fit raises {described(error)}") from error
        before = image(model)
    for what, line, X, y, weight in spoilt(case):
        try:
            learn(case, model, X, y, weight)
        except ValueError:
            expect_same(before, image(model), f"after it refused {what}")
        except Exception as error:
            raise Broken(f"{what}: {described(error)}", line, shown(case)) from error
        else:
            raise Broken(f"{what} is accepted", line, shown(case))


def spoilt(case):
    """Yield input that must be refused: what is wrong with it, the same as Python, rows, targets, weights."""
    rng = case.rng("spoilt")
    (n, d), rows, weight = case.X.shape, case.rows(), case.weight
    i, j = int(rng.integers(n)), int(rng.integers(d))
    for value in (np.nan, np.inf):
        X = case.X.copy()
        X[i, j] = value
        if not (np.isnan(value) and case.takes_missing_values):
            yield f"{value} in X", f"X[{i}, {j}] = np.{value}", case.rows(X), case.y, weight
        if weight is not None:
            spoilt_weight = np.where(np.arange(n) == i, value, weight)
            yield f"{value} in sample_weight", f"weight[{i}] = np.{value}", rows, case.y, spoilt_weight
    if not case.is_sparse:
        X = case.X.astype(object)
        X[i, j] = 10**400
        yield "10**400 in X", f"X = X.astype(object); X[{i}, {j}] = 10**400", X, case.y, weight
    negative = np.where(np.arange(n) == i, -1.0, 1.0)
    yield "a negative weight", f"weight = np.array({negative.tolist()})", rows, case.y, negative
    yield "too few targets", "y = y[1:]", rows, case.y[1:], None
    yield "an empty array", "X, y = X[:0], y[:0]", case.rows(case.X[:0]), case.y[:0], None
    if case.classes is not None:
        new = "new" if case.y.dtype.kind == "U" else 9
        if case.y.ndim == 2:
            y = np.where(np.arange(n)[:, None] == i, new, case.y)
        else:
            y = np.array([new if k == i else label for k, label in enumerate(case.y.tolist())])
        yield "a new class", f"y = np.array({y.tolist()})", rows, y, None
        return
    for value, as_code in ((np.nan, "np.nan"), (np.inf, "np.inf"), (None, "None"), (10**400, "10**400")):
        for kind in ("float", "object") if value != 10**400 else ("object",):
            y = case.y.astype(kind)
            y.flat[i] = value
            line = f"y = y.astype({kind}); y.flat[{i}] = {as_code}"
            yield f"{as_code} in y of type {kind}", line, rows, y, weight


@promise("batches do not matter to any bit")
def batches_do_not_matter(case):
    try:
        _, at_once, whole = taught(case)
        _, played, parts = taught_in_batches(case)
    except ValueError:
        return
    expect_equal(at_once, np.concatenate(played), "predictions made on the way in one call and in several")
    expect_same(whole, parts, "in one call and in several")


@promise("a saved model goes on as if it had not been saved")
def saved_models_resume(case):
    try:
        kept, _, expected = taught_in_batches(case)
    except ValueError:
        return
    saved = case.model()
    for rows in case.batches:
        learn(case, saved, case.rows(case.X[rows]), case.y[rows], part(case.weight, rows))
        saved = pickle.loads(pickle.dumps(saved))
    expect_same(expected, image(saved), "after it was saved in between")
    expect_equal(decide(case, kept), decide(case, saved), "predictions")


@promise("a model that keeps no columns but those that rows have named is that of all columns, bit for bit", every=2)
def columns_that_no_row_names_do_not_matter(case):
    if not case.is_sparse or case.classes is None or case.learner.startswith("Hedge"):
        return
    found, failed = [], []
    for large in (2**60, 0):  # from this many numbers in a table on, a model keeps only the columns that rows name
        model, played = case.model(), []
        with mock.patch.object(placed, "LARGE", large), mock.patch.object(placed, "AT_ONCE", 64):
            for rows in case.batches:
                batch = wide(case.rows(case.X[rows])), case.y[rows], part(case.weight, rows)
                before = image(model) if large == 0 else None
                try:
                    played.append(learn(case, model, *batch))
                except ValueError as error:
                    failed.append(described(error))
                    if large == 0:
                        expect_same(before, image(model), "after a failed partial_fit of wide rows")
                    continue
                if large == 0:
                    model = pickle.loads(pickle.dumps(model))
        found.append((model, np.concatenate(played) if played else np.zeros(0)))
    if failed[: len(failed) // 2] != failed[len(failed) // 2 :]:
        raise Broken(f"of all columns and of those that rows name other calls fail: {failed}")
    (of_all, at_once), (model, played) = found
    state = getattr(model, "_state", None)
    if not isinstance(state, placed.PlacedState):
        return
    expect_equal(at_once, played, "predictions made on the way, of all columns and of those that rows name,")
    features = state.features()
    expect_equal(of_all._state.part(features).columns.table, state.part(features).columns.table, "columns")
    if of_all._state.is_exact():
        decisions = [decide(case, each, wide(case.rows())) for each in (of_all, model)]
        if np.abs(decisions[0]).max() < LARGEST / 2:  # if all weights and their sums are in range
            expect_equal(*decisions, "predictions, of all columns and of those that rows name,")


def wide(rows):
    """Return sparse rows with so many columns of zeros between their own that they are read as wide rows."""
    rows = sparse.csr_array(rows)
    indices, n_columns = rows.indices * APART + 7, max(5000, (rows.shape[1] + 1) * APART)
    return sparse.csr_array((rows.data, indices, rows.indptr), shape=(rows.shape[0], n_columns))


@promise("storage and its order do not matter to any bit")
def storage_does_not_matter(case):
    if "float32" in case.storage or case.storage in IN_PARTS:
        return
    kinds = [kind for kind in (SPARSE if case.is_sparse else DENSE) if "float32" not in kind and kind not in IN_PARTS]
    if case.kernel == "numba" and "int64" not in case.storage:  # int64 would be compiled for this alone
        kinds = [kind for kind in kinds if "int64" not in kind]
    found = {}
    for kind in kinds:
        try:
            if kind == case.storage:
                _, played, known = taught(case)
            else:
                model = case.model()
                played, known = learn(case, model, case.rows(storage=kind), case.y, case.weight), image(model)
            found[kind] = played.tobytes(), known
        except ValueError as error:
            found[kind] = described(error)
    for kind in kinds[1:]:
        if found[kind] != found[kinds[0]]:
            raise Broken(f"models of {kinds[0]} and {kind} differ", *stored_code(case.X, kind), shown(case))


@promise("the order of the columns of a row, their parts, and stored zeros matter no more than rounding")
def parts_of_rows_do_not_matter(case):
    by_unit = case.classes is None and case.parameters.get("target_normalization", "std") is not None
    if by_unit and case.parameters.get("penalty") is not None:
        return  # a penalty falls due when a column is named, in the unit that targets have then
    if case.stable and case.storage in IN_PARTS:
        expect_agreement(case, {"sorted rows": (case.kernel, "csr"), "these rows": (case.kernel, case.storage)})


@promise("both kernels accept the same, and agree")
def kernels_agree(case):
    careful = case.parameters.get("invariance") != "full" and case.is_careful(case.parameters)
    alike = case.classes is not None and len(case.classes) > 2  # heads that differ by rounding alone
    if case.kernel == "numba" and case.stable and (case.within_a_range or (careful and not alike)):
        expect_agreement(case, {kernel: (kernel, case.storage) for kernel in ("numpy", "numba")})


@promise("both kernels agree after thousands of rows", every=4, shrinks=False)
def kernels_agree_for_long(case):
    """By then, shares of experts have vanished, sums have faded, and a column has not varied for long."""
    if case.kernel != "numba" or not case.stable:
        return
    X, y = restless(case, 2000)
    X[case.rng("stuck").integers(300, 1000) :, 0] = X[0, 0]  # for 1000 rows or more
    stream = replace(case, X=X, y=y, weight=None, cuts=())
    expect_agreement(stream, {kernel: (kernel, case.storage) for kernel in ("numpy", "numba")})


def expect_agreement(case, ways):
    """Raise `Broken` if two ways to learn a case differ by more than rounding.

    Parameters
    ----------
    case : Case
        What is learnt.
    ways : dict of str to (str, str)
        The kernel and the storage of the rows, by name.
    """

    def outcome(way, X, y, weight, moved=False):
        kernel, storage = ways[way]
        if moved:  # float32 would round the moves away
            storage = storage.replace("float32", "").strip() or "C"
        model, rows = case.model(), case.rows(X, storage)
        with sklearn_nag.config_context(kernel=kernel), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            options = {} if case.classes is None else {"classes": case.classes}
            model.partial_fit(rows, y, sample_weight=weight, **options)
            return decision(model, rows)

    def lines():
        yield "from sklearn.base import clone"
        for kernel, storage in ways.values():
            yield f'with sklearn_nag.config_context(kernel="{kernel}"):'
            if storage != case.storage:
                yield f"    whole = {literal(case.X)}"
                yield f"    print(clone(model).{case.call().replace('X', 'whole', 1)}.predict(whole))"
            else:
                yield f"    print(clone(model).{case.call()}.predict(X))"

    found = {}
    for way in ways:
        try:
            found[way] = outcome(way, case.X, case.y, case.weight)
        except ValueError as error:
            found[way] = described(error)
    (one, a), (other, b) = found.items()
    if isinstance(a, str) or isinstance(b, str):
        if isinstance(a, str) != isinstance(b, str):
            refused, error = (one, a) if isinstance(a, str) else (other, b)
            raise Broken(f"{refused} alone: {error}", *lines())
        return
    if not case.within_bounds:
        return
    largest_target = np.abs(case.y).max() if case.classes is None else 0.0
    scale = max(np.abs(a).max(), ULPS / TOLERANCE * largest_target)  # targets are rounded, too
    distance = np.abs(a - b).max() / scale if scale > 0 else np.abs(b).max()
    if distance <= TOLERANCE:
        return
    rng = case.rng("ulps")
    for _ in range(MOVES):  # do the last digits of the input decide on these rows, if only now and then?
        X = np.clip(case.X * (1.0 + ULPS * rng.normal(size=case.X.shape)), -LARGEST, LARGEST)
        weight = np.ones(len(X)) if case.weight is None else case.weight
        weight = np.clip(weight * (1.0 + ULPS * rng.normal(size=len(X))), 0.0, LARGEST_ACCEPTED_WEIGHT)
        y = case.y
        if case.classes is None:
            y = np.clip(y * (1.0 + ULPS * rng.normal(size=y.shape)), -LARGEST, LARGEST)
        for way in ways:
            try:
                moved = outcome(way, X, y, weight, moved=True)
            except ValueError:
                return
            if 20.0 * np.abs(moved - found[way]).max() / scale > distance:
                return
    raise Broken(f"{one} and {other} differ by {distance:.1e} of the largest prediction", *lines())


@promise("powers of two in the units of features change no bit")
def powers_of_two_do_not_matter(case):
    normalised = case.parameters.get("normalization", "rms") is not None
    seen, largest, least = case.sizes()
    if not normalised or "float32" in case.storage or (least < 2.0**-1000).any():
        return
    power = np.zeros(case.X.shape[1], int)
    down, up = -1000 - np.frexp(least)[1], 1000 - np.frexp(largest)[1]
    power[seen] = case.rng("powers").integers(np.minimum(down, 0), np.maximum(up, 0) + 1)
    expect_no_units(case, power, 0)


@promise("powers of two in the unit of targets change no bit")
def powers_of_two_of_targets_do_not_matter(case):
    options, sizes = case.parameters, np.abs(case.y[case.y != 0]) if case.classes is None else np.zeros(0)
    if not sizes.size or options.get("target_normalization", "standard") is None or options.get("loss") in LOG_LINK:
        return
    mixes = case.learner.startswith(("Hedge", "NAGCells"))  # they mix by losses in raw units
    if mixes and options.get("update") == "hedge":  # its rate has a unit
        return
    lowest, highest = (1.0 / LARGEST_TARGET, LARGEST_TARGET) if mixes else (LEAST_TARGET, MOST_TARGET)
    if sizes.min() < lowest or sizes.max() / WIDEST_RANGE > sizes.min():
        return
    down, up = np.frexp(lowest)[1] - np.frexp(sizes.min())[1], np.frexp(highest)[1] - np.frexp(sizes.max())[1]
    down, up, rng = min(down, 0), max(up, 0), case.rng("power")
    power = int(rng.choice([down, up, rng.integers(down, up + 1)]))  # faults are mostly near the ends
    expect_no_units(case, np.zeros(case.X.shape[1], int), power)


def expect_no_units(case, power, of_target):
    """Raise `Broken` if powers of two in the unit of each column, or of the target, change a bit, within the bounds."""
    if not (case.within_bounds and case.within_a_range):
        return
    if case.parameters.get("loss") == "huber" and case.parameters.get("epsilon", 1.0) < LEAST_EPSILON:
        return
    others = in_other_units(case.parameters, power, of_target)
    if others is None:
        return
    rows, targets = np.ldexp(case.X, power), np.ldexp(case.y, of_target) if of_target else case.y
    model, a, _ = taught(case)
    _, b = learnt(replace(case, parameters={**case.parameters, **others}, y=targets), rows)
    tiny = max(TINY, np.ldexp(TINY, -of_target))  # subnormal numbers have fewer bits
    a, b = (np.where(np.abs(p) < tiny, 0.0, p) for p in (a, np.ldexp(b, -of_target)))
    worst = np.abs(a - b).max(initial=0.0) / max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0), tiny)
    by_averages = hasattr(model, "weights_")  # mixtures, whose averages forecast in raw units
    if a.tobytes() != b.tobytes() and not (by_averages and worst < TOLERANCE):
        target = f"np.ldexp(y, {of_target})" if of_target else "y"
        raise Broken(
            f"predictions made on the way differ by {worst:.1e} of the largest",
            "from sklearn.base import clone",
            f"for rows, targets, others in ((X, y, {{}}), (np.ldexp(X, {power.tolist()}), {target}, "
            f"{in_words(others)})):",
            "    print(clone(model).set_params(**others)."
            f"{case.call().replace('partial_fit(X, y', '_play(rows, targets')})",
        )


def in_other_units(parameters, power, of_target):
    """Return parameters that change if columns and targets are multiplied by powers of two; None beyond the range."""
    units = {}
    if isinstance(parameters.get("constraint"), Box):
        units["constraint"] = parameters["constraint"], of_target - power
    if isinstance(parameters.get("clip"), tuple | list):
        units["clip"] = parameters["clip"], of_target
    others = {}
    for name, (value, factor) in units.items():
        is_box = isinstance(value, Box)
        ends = [np.broadcast_to(end, np.shape(factor)) for end in ((value.low, value.high) if is_box else value)]
        moved = [np.ldexp(end, factor) for end in ends]
        if any((np.ldexp(new, -factor) != old).any() for new, old in zip(moved, ends)):
            return None
        others[name] = Box(*moved) if is_box else tuple(float(end) for end in moved)
    return others


def in_words(parameters):
    """Return parameters that other units change, as Python."""
    return "{" + ", ".join(f"{name!r}: {as_python(value)}" for name, value in parameters.items()) + "}"


@promise("weights are within the bounds that they have, to the bit, after every batch")
def weights_are_within_bounds(case):
    constraint = case.parameters.get("constraint")
    if constraint is None or isinstance(constraint, L2Ball | Simplex | WeightedL1Ball):
        return
    low, high = bounds_of(constraint, case.X.shape[1])
    model = case.model()
    for rows in case.batches:
        try:
            learn(case, model, case.rows(case.X[rows]), case.y[rows], part(case.weight, rows))
        except ValueError:
            return
        coef = model.coef_
        if not ((coef >= low) & (coef <= high)).all():
            raise Broken(f"weights are out of bounds: {coef.tolist()}", shown(case), "print(model.coef_)")


def bounds_of(constraint, n):
    """Return the least and the largest weights, from the definition."""
    if isinstance(constraint, Box):
        return constraint.low, constraint.high
    signs = dict.fromkeys(range(n), 1) if constraint == "nonnegative" else constraint
    low = [0.0 if signs.get(i) == 1 else -np.inf for i in range(n)]
    return np.array(low), np.array([0.0 if signs.get(i) == -1 else np.inf for i in range(n)])


@promise("with invariance='full' no linear map of the features matters, however few the rows", shrinks=False)
def linear_maps_do_not_matter(case):
    case, rows, more, maps = mapped(case)
    model, played = learnt(case)
    found = {"rows in their span": decide(case, model, more), "rows before they are learnt": played}
    for what, map_, move in maps:
        other = case.model()
        replayed = learn(case, other, rows @ map_ + move, case.y, case.weight)
        again = decide(case, other, more @ map_ + move), replayed
        for (where, a), b in zip(found.items(), again):
            gap = np.abs(a - b).max()
            distance = gap / max(np.abs(a).max(), np.abs(b).max(), TINY)
            if distance > TOLERANCE and gap > rounding_of(case) and not last_digits_decide(case, more, distance):
                raise Broken(
                    f"{what} change decisions for {where} by {distance:.1e} of the largest",
                    *case.code(),
                    f"map_ = np.array({map_.tolist()})",
                    f"new = np.array({more.tolist()})",
                    "from sklearn.base import clone",
                    f"for A, move in ((np.eye(len(map_)), 0.0), (map_, np.array({move.tolist()}))):",
                    f"    print(clone(model).{case.call().replace('(X', '(X @ A + move', 1)}.predict(new @ A + move))",
                )


def mapped(case):
    """Return what `linear_maps_do_not_matter` needs: a case with its own rows, these rows, rows in their span, and
    maps.
    """
    rng = case.rng("linear maps")
    kept = {"loss", "fit_intercept", "multi_class", "target_normalization", "quantile", "epsilon", "average", ALPHA}
    classifies = case.classes is not None
    parameters = {name: value for name, value in case.parameters.items() if name in kept}
    if parameters.get("loss") not in (*CLASSIFICATION, *REGRESSION):  # the loss of a mixture
        parameters.pop("loss", None)
    parameters["average"] = parameters.get("average", True) is not False
    parameters.update(invariance="full", update=str(rng.choice(["auto", "potential"])))
    intercept = parameters.get("fit_intercept", True)
    d = int(rng.integers(1, 9) if rng.random() < 0.9 else rng.integers(9, 21))
    n = int(rng.integers(1, 2 * d + 4) if rng.random() < 0.7 else rng.integers(2 * d, 5 * d + 4))
    X = np.round(rng.normal(size=(n, d)), 2) + rng.choice([0.0, 0.0, 10.0], d)
    kind = rng.choice(["plain", "late", "dependent", "one-hot", "repeated"])
    if kind == "late":
        X[np.arange(n)[:, None] < rng.integers(0, n + 1, d)] = 0.0
    if kind == "dependent":
        X[:, d // 2] = 3.0 * X[:, 0] - X[:, -1] + 1.0
    if kind == "one-hot":
        X = np.eye(d)[rng.integers(0, d, n)]
    if kind == "repeated":
        X = X[rng.integers(0, n, n)]
    if classifies:
        y = drawn(rng, case.classes, n)
    else:
        y = as_the_loss_takes_them(np.round(X @ rng.normal(size=d) + rng.normal(size=n), 2), parameters)
        parameters["clip"] = None
    weight = None if rng.random() < 0.6 else rng.integers(1, 4, n) * 0.5
    learner = "ScaleInvariantClassifier" if classifies else "ScaleInvariantRegressor"
    case = replace(case, learner=learner, parameters=parameters, storage="C", X=X, y=y, weight=weight, cuts=())
    shares = rng.normal(size=(10, n))
    if intercept:
        shares += (1.0 - shares.sum(axis=1, keepdims=True)) / n
    left, right = (np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(2))
    here = np.zeros(d)
    maps = [
        ("columns in another order", np.eye(d)[rng.permutation(d)], here),
        ("columns times numbers", np.diag(rng.choice([-1.0, 1.0], d) * 10.0 ** rng.uniform(-3, 3, d)), here),
        ("sums of columns", left @ np.diag(np.geomspace(1.0, 1e3, d)) @ right, here),
    ]
    if intercept:
        maps.append(("sums of columns with another origin", left, rng.normal(size=d)))
    return case, X, np.vstack([X, shares @ X]), maps


def rounding_of(case):
    """Return what rounding may leave of decisions that cancel: targets have the same unit, if they are numbers."""
    return ULPS * (1.0 if case.classes is not None else np.abs(case.y).max())


def last_digits_decide(case, more, distance):
    """Return whether moves of the last digits of the input change decisions by as much, if only now and then."""
    rng = case.rng("ulps")
    model, _ = learnt(case)
    before = decide(case, model, more)
    for _ in range(MOVES):
        model, _ = learnt(case, case.X * (1.0 + ULPS * rng.normal(size=case.X.shape)))
        after = decide(case, model, more)
        scale = max(np.abs(before).max(), TINY)
        if 20.0 * np.abs(after - before).max() / scale > distance:
            return True
    return False
