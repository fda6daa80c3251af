"""Promises about input that nobody intends: parameters of absurd types and sizes, and arrays that are none."""

from __future__ import annotations

import contextlib
import io
import warnings
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np

import sklearn_nag
from sklearn_nag import constraints, distributed, model_selection

from .mishaps import first_call, plain_rows
from .promises import Broken, described, expect_same, image, promise

ROWS, COLUMNS = 8, 3

# Values to give to parameters. A call may accept a value, or must say which parameter is wrong.
VALUES = (
    "10**400", "-10**400", "10**5000", "2**63", "-2**63 - 1", "-1", "0", "-0.5", "float('nan')", "float('inf')",
    "float('-inf')", "np.longdouble('1e4000')", "Fraction(1, 10**400)", "Fraction(10**400)", "Decimal(1)", "1j",
    "'word'", "''", "b'constant'", "None", "np.True_", "[]", "()", "{}", "set()", "[1.0, 2.0]", "(10**400, 1)",
    "np.array([1.0, 2.0])", "np.array(1)", "np.array(['constant', 'l2'])", "np.ma.masked",
    "np.datetime64('2020-01-01')", "object()", "int", "{0: 10**400, 1: 1}", "{'a': -1}", "np.random.default_rng(0)",
)  # fmt: skip

NAG = "NAGClassifier NAGRegressor"
# Functions, the parameters that are tried, and the prefixes of the names of learners that the functions take.
FUNCTIONS = (
    ("model_selection.progressive_validation(model, X, y, {name}={value})", "batch_size delay classes curve_at", ""),
    ("model_selection.eta_sweep(model, X, y, {name}={value})", "eta0s classes", NAG),
    ("distributed.shard_fit(model, X, y, {name}={value})", "n_shards rounds", f"{NAG} ScaleInvariant"),
    ("constraints.L2Ball({value}).project([1.0, 2.0])", "radius", ""),
    ("constraints.WeightedL1Ball(1.0).project({value})", "point", ""),
    ("constraints.Box({value}).project([1.0, 2.0])", "low", ""),
    ("constraints.Simplex(1.0).project([1.0, 2.0], {value})", "metric", ""),
)

# Forms in which an array A may be given. These are no arrays of real numbers, and are refused by name, ...
REFUSED = (
    "np.ma.masked_array(A, np.arange(A.size).reshape(A.shape) == 1)",
    "list(np.ma.masked_array(A, np.arange(A.size).reshape(A.shape) == A.size - 1))",
    "(entry for entry in A)",
    "iter(A.tolist())",
    "dict(enumerate(A.tolist()))",
    "set(range(len(A)))",
    "dict.fromkeys(range(len(A))).values()",
)
# ... and so are these, unless they are labels: two of them are words.
NOT_NUMBERS = (
    "A + 1j",
    "A.astype(object) + 1j",
    "(A + 1j).tolist()",
    "np.full(A.shape, 'word')",
    "np.full(A.shape, 'word', dtype=object)",
    "np.full(A.shape, np.datetime64('2020-01-01'))",
    "np.full(A.shape, 10**400, dtype=object)",
    "np.full(A.shape, {}, dtype=object)",
)
# These are the same numbers or labels in other forms.
SAME = (
    "np.ma.masked_array(A)",
    "A.tolist()",
    "list(np.ma.masked_array(A))",
    "A.astype(object)",
    "np.asfortranarray(A)",
)

_SCOPE = {
    "np": np, "Fraction": Fraction, "Decimal": Decimal, "model_selection": model_selection, "distributed": distributed,
    "constraints": constraints,
}  # fmt: skip
_IMPORTS = (
    "from decimal import Decimal; from fractions import Fraction",
    "from sklearn_nag import constraints, distributed, model_selection",
)


def _error(call, *args, **options):
    """Call without warnings and printed output; return the error that is raised, or None."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            call(*args, **options)
        except Exception as error:
            return error
    return None


def _lines(case):
    """Return rows of plain sizes: as Python, as arrays, and their classes as an argument."""
    X, y, classes = plain_rows(case, ROWS, COLUMNS)
    return [f"X = np.array({X.tolist()})", f"y = np.array({y.tolist()})"], X, y, classes


def _sane(case):
    """Return the estimator of the case, whose ``fit`` makes few passes."""
    parameters = {**case.parameters, "max_iter": 2, "random_state": 0}
    if isinstance(parameters.get("columns"), list):  # chosen for the case's rows, which may have more columns
        parameters["columns"] = [COLUMNS - 1]
    if isinstance(parameters.get("constraint"), constraints.Box):
        parameters["constraint"] = "nonnegative"
    return replace(case, parameters=parameters).model()


@promise("an absurd parameter is taken, or refused by name", every=20, shrinks=False)
def absurd_parameters_are_named(case):
    sklearn_nag.set_config(kernel="numpy")  # no row is special, so one kernel will do
    lines, X, y, classes = _lines(case)
    rng, first = case.rng("absurd"), first_call(classes)
    for name in _sane(case).get_params(deep=False):
        for code in rng.choice(VALUES, 4, replace=False):
            value = eval(code, _SCOPE)
            if name == "verbose" and code == "np.True_":
                continue
            begun = bool(rng.random() < 0.5)  # a model that has learnt, or a new one
            method = str(rng.choice(["partial_fit", "fit"]))
            model = _sane(case)
            scope = {**_SCOPE, "model": model, "X": X, "y": y}
            call = f"model.{first if method == 'partial_fit' else 'fit(X, y)'}"
            shown = [*_IMPORTS, *lines, *[f"model.{first}"] * begun, f"model.set_params({name}={code})", call]
            if begun and _error(eval, f"model.{first}", scope) is not None:
                continue
            known = set(vars(model))
            error = _error(model.set_params, **{name: value})
            if error is not None:
                _expect_named(error, name, f"{name}={code}", shown)
                continue
            with contextlib.redirect_stdout(None):  # tables, if verbose is absurd
                error = _error(eval, call, scope)
            if error is None:
                continue
            if "leave the range of float64" not in str(error):  # as some rules may with such rows
                _expect_named(error, name, f"{name}={code}", shown)
            if set(vars(model)) - known - {"_made"}:
                raise Broken(f"{name}={code} is refused, but leaves {sorted(set(vars(model)) - known)}", *shown)
    for template, names, learners in FUNCTIONS:
        if learners and not case.learner.startswith(tuple(learners.split())):
            continue
        for name in names.split():
            code = str(rng.choice(VALUES))
            call = template.format(name=name, value=code)
            scope = {**_SCOPE, "model": _sane(case), "X": X, "y": y}
            error = _error(eval, call, scope)
            if error is not None and not _about_the_rows(error):
                _expect_named(error, name, call, [*_IMPORTS, *lines, call])


def _about_the_rows(error):
    """Return whether an error is about what a function finds in the rows, with parameters that are legal."""
    words = "nothing to score", "the range of float64", "eta0='auto'", 'eta0="auto"', "cannot be merged", "half_life"
    return isinstance(error, ValueError | TypeError) and any(word in str(error) for word in words)


def _expect_named(error, name, what, lines):
    """Raise `Broken` unless an error is one of the two kinds for parameters, and names the parameter."""
    if not isinstance(error, ValueError | TypeError):
        raise Broken(f"{what} raises {described(error)}", *lines)
    if name not in str(error):
        raise Broken(f"{what} raises an error without its name: {described(error)}", *lines)


@promise(
    "what is no array of real numbers is refused by name and changes nothing; its other guises are the same",
    every=10,
    shrinks=False,
)
def guises_of_arrays(case):
    sklearn_nag.set_config(kernel=case.kernel)
    lines, X, y, classes = _lines(case)
    rng = case.rng("guises")
    model, arguments = _sane(case), {"X": X, "y": y, "sample_weight": np.ones(ROWS)}
    if _error(_call, model, "partial_fit", classes, **arguments) is not None:
        return
    plain = image(model)
    for name, A in arguments.items():
        methods = ("partial_fit", "fit", "predict") if name == "X" else ("partial_fit", "fit")
        numeric = name != "y" or classes is None
        for code in (*REFUSED, *(NOT_NUMBERS if numeric else NOT_NUMBERS[:1] * (A.dtype.kind != "U"))):
            method = str(rng.choice(methods))
            given = {**arguments, name: eval(code, {**_SCOPE, "A": A})}
            error = _error(_call, model, method, classes, **given)
            shown = _shown(case, lines, name, code, method, classes)
            if error is None:
                raise Broken(f"{method} takes {code} for {name}", *shown)
            _expect_named(error, name, f"{method} with {code} for {name}", shown)
            expect_same(plain, image(model), f"after {method} refused {code} for {name}")
        for code in SAME:
            other = _sane(case)
            given = {**arguments, name: eval(code, {**_SCOPE, "A": A})}
            error = _error(_call, other, "partial_fit", classes, **given)
            shown = _shown(case, lines, name, code, "partial_fit", classes)
            if error is not None:
                raise Broken(f"{code} for {name}: {described(error)}", *shown)
            if image(other) != plain:
                raise Broken(f"{code} for {name} teaches another model", *shown)
    if not hasattr(model, "set_coef") or not case.learner.startswith("NAG"):
        return
    for name, A in {"coef": np.array(model.coef_), "intercept": np.array(model.intercept_)}.items():
        for code in (*REFUSED, *NOT_NUMBERS):
            if not A.ndim or (A.size < 2 and "masked" in code):
                continue
            given = {"coef": model.coef_, "intercept": model.intercept_, name: eval(code, {**_SCOPE, "A": A})}
            error = _error(model.set_coef, **given)
            shown = [*lines, f"model.{first_call(classes)}", f"A = model.{name}_", f"model.set_coef({code}, ...)"]
            if error is None:
                raise Broken(f"set_coef takes {code} for {name}", *shown)
            _expect_named(error, name, f"set_coef with {code} for {name}", shown)
            expect_same(plain, image(model), f"after set_coef refused {code} for {name}")


def _call(model, method, classes, X, y=None, sample_weight=None):
    if method == "predict":
        return model.predict(X)
    if method == "fit":
        return model.fit(X, y, sample_weight=sample_weight)
    return model.partial_fit(X, y, sample_weight=sample_weight, **({} if classes is None else {"classes": classes}))


def _shown(case, lines, name, code, method, classes):
    """Return Python that gives an argument in another form."""
    begin = [f"weight = np.ones({ROWS})", f"model.{first_call(classes)}"]
    variable = "weight" if name == "sample_weight" else name
    call = "predict(X)" if method == "predict" else first_call(classes).replace("partial_fit", method)
    if method == "fit":
        call = "fit(X, y)"
    call = call if method == "predict" else f"{call[:-1]}, sample_weight=weight)"
    return [*lines, *begin, f"A = {variable}; {variable} = {code}", f"model.{call}"]
