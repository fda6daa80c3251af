"""The campaign of faults finds what is broken on purpose, and makes it small."""

import itertools
import os
import re
import resource
import signal
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sklearn_nag
from benchmarks.faults import __main__ as tool
from benchmarks.faults import cases, mishaps, promises, shrink
from benchmarks.faults.children import Died, each_in_child, in_child
from sklearn_nag import kernels
from sklearn_nag.estimators import _online
from sklearn_nag.kernels.state.model import LinearState

LEARN, CHECK_WEIGHTS = kernels.learn, _online.check_weights


@pytest.fixture(autouse=True)
def without_numba(monkeypatch):
    """Cases on the NumPy kernel alone, as nothing needs to be compiled for them."""
    monkeypatch.setattr(cases, "HAVE_NUMBA", False)


def campaign(name, n_cases=40, most=1):
    """What is printed of the cases that break a promise, of some cases that try it."""
    shown = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(promises.PROMISES, name, replace(promises.PROMISES[name], every=1))
        table = tool.campaign(3, n_cases=n_cases, names=[name], show=shown.append, most_shown=most, shrink_seconds=60.0)
    assert table[name][0] == n_cases
    assert (table[name][1] > 0) == bool(shown)
    return "\n".join(shown)


def test_a_seed_gives_the_same_cases():
    for i in range(30):
        one, two = cases.made(7, i), cases.made(7, i)
        assert one.code() == two.code()
        assert one.kernel == two.kernel
    assert len({tuple(cases.made(7, i).code()) for i in range(30)}) == 30


@pytest.mark.parametrize("storage", cases.DENSE + cases.SPARSE)
def test_every_storage_holds_the_same_rows(rng, storage):
    X = np.float32(rng.normal(size=(5, 7)) * (rng.random((5, 7)) < 0.5)).astype(np.float64)
    rows = cases.stored(X, storage)
    assert np.array_equal(rows if storage in cases.DENSE else rows.toarray(), X)
    scope = {"X": X, "np": np, "sparse": cases.sparse}
    exec("\n".join(cases.stored_code(X, storage)), scope)
    assert type(scope["X"]) is type(rows)
    assert scope["X"].dtype == rows.dtype
    if storage.startswith("csr"):
        assert np.array_equal(scope["X"].indices, rows.indices)
        assert scope["X"].indices.dtype == rows.indices.dtype


@pytest.mark.filterwarnings("ignore:some rows did not count")
def test_a_case_as_python_is_the_case():
    for i in range(40):
        case = cases.made(11, i)
        model, refused = case.model(), False
        with np.errstate(all="ignore"), sklearn_nag.config_context(kernel=case.kernel):
            try:
                promises.learn(case, model, case.rows(), case.y, case.weight)
            except ValueError:
                refused = True
            scope = {"np": np, "sklearn_nag": sklearn_nag, "sparse": cases.sparse}
            exec("\n".join(case.code()), scope)
            with pytest.raises(ValueError) if refused else nullcontext():
                exec(f"model.{case.call()}", scope)
        assert promises.image(scope["model"]) == promises.image(model)


# -- each promise against what breaks it


def learning(monkeypatch, change):
    """Make the kernel do ``change(state, X, weight)`` whenever it has learnt."""

    def learn(state, loss, X, y, sample_weight=None, **options):
        LEARN(state, loss, X, y, sample_weight, **options)
        change(state, X, sample_weight)

    monkeypatch.setattr(kernels, "learn", learn)


def rows_of(shown):
    """The rows and the options of the model in a reproducer."""
    lines = {}
    for line in shown.splitlines():
        name, _, value = line.partition(" = ")
        lines.setdefault(name, value)
    return eval(lines["X"], {"np": np}), lines["model"].partition("(")[2]


def test_a_number_that_is_not_finite(monkeypatch):
    def change(state, X, weight):
        if (np.abs(X) > 1e200).any():
            state.columns.weight[0, 0] = np.nan

    learning(monkeypatch, change)
    shown = campaign("numbers_stay_finite")
    X, _ = rows_of(shown)
    assert "columns" in shown
    assert X.shape == (1, 1)
    assert np.abs(X) > 1e200


def test_a_refusal_within_the_bounds(monkeypatch):
    def check_weights(weight, n_rows):
        weight = CHECK_WEIGHTS(weight, n_rows)
        if weight is not None and weight.max(initial=0.0) > 1e20:
            raise ValueError("too heavy")
        return weight

    monkeypatch.setattr(_online, "check_weights", check_weights)
    shown = campaign("nothing_fails", 60)
    assert "too heavy" in shown
    assert rows_of(shown)[0].shape == (1, 1)


def test_a_failure_that_changes_the_model(monkeypatch):
    monkeypatch.setattr(LinearState, "unchanged_on_error", lambda self, named=None: nullcontext())
    assert "is not the same after it refused nan in X" in campaign("failures_change_nothing", 10, most=9)


def test_a_failure_of_another_type(monkeypatch):
    def check_weights(weight, n_rows):
        if weight is not None and np.min(weight, initial=0.0) < 0:
            raise IndexError("no such row")
        return CHECK_WEIGHTS(weight, n_rows)

    monkeypatch.setattr(_online, "check_weights", check_weights)
    assert "a negative weight: IndexError: no such row" in campaign("failures_change_nothing", 3, most=9)


def test_a_call_that_leaves_a_trace(monkeypatch):
    def change(state, X, weight):
        state.t *= 1.0 + 1e-15

    learning(monkeypatch, change)
    shown = campaign("batches_do_not_matter")
    X, _ = rows_of(shown)
    assert "for rows in slice(0, 1), slice(1, 2):" in shown
    assert X.shape == (2, 1)


def test_a_number_that_is_not_saved(monkeypatch):
    monkeypatch.setattr(LinearState, "__getstate__", lambda self: {**vars(self), "cached": None, "averaged": 0.0})
    shown = campaign("saved_models_resume")
    assert "predictions differ" in shown or "is not the same after it was saved in between" in shown


def test_an_order_that_matters(monkeypatch):
    def change(state, X, weight):
        if isinstance(X, np.ndarray) and not X.flags.c_contiguous:
            state.t *= 1.0 + 1e-15

    learning(monkeypatch, change)
    shown = campaign("storage_does_not_matter")
    assert "models of C and F differ" in shown
    assert rows_of(shown)[0].size <= 4  # as smaller ones lie in both orders


def test_parts_that_are_not_added_up(monkeypatch):
    def learn(state, loss, X, y, sample_weight=None, **options):
        if not isinstance(X, np.ndarray) and X.nnz and (X.data == 0).any():
            X = X[:, ::-1]
        LEARN(state, loss, X, y, sample_weight, **options)

    monkeypatch.setattr(kernels, "learn", learn)
    shown = campaign("parts_of_rows_do_not_matter", 240)
    assert "sorted rows and these rows differ by" in shown


def test_kernels_that_differ_for_one_parameter(monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(promises, "HAVE_NUMBA", True)

    def change(state, X, weight):
        decays = type(state.rule) is kernels.nag.Rule and state.rule.power_t > 0
        if sklearn_nag.get_config()["kernel"] == "numba" and decays:
            state.columns.weight *= 1.01

    def learn(state, loss, X, y, sample_weight=None, **options):
        with sklearn_nag.config_context(kernel="numpy"):  # the same for both, but for what is broken
            LEARN(state, loss, X, y, sample_weight, **options)
        change(state, X, sample_weight)

    monkeypatch.setattr(kernels, "learn", learn)
    shown = campaign("kernels_agree", 60)
    X, options = rows_of(shown)
    assert "numpy and numba differ by" in shown
    assert options.count("learning_rate='invscaling'") == 1
    assert X.shape[1] == 1


def test_a_unit_that_matters(monkeypatch):
    def learn(state, loss, X, y, sample_weight=None, *, predictions=None, **options):
        LEARN(state, loss, X, y, sample_weight, predictions=predictions, **options)
        predictions += 1e-12 * np.frexp(np.abs(X).max())[1]

    monkeypatch.setattr(kernels, "learn", learn)
    shown = campaign("powers_of_two_do_not_matter")
    assert "np.ldexp(X, [" in shown


def test_a_crash_and_what_comes_after_it(monkeypatch):
    def change(state, X, weight):
        if weight is not None and (weight == 0).any():
            os.kill(os.getpid(), signal.SIGKILL)

    learning(monkeypatch, change)
    shown = campaign("batches_do_not_matter")
    assert "crashes (SIGKILL)" in shown
    assert rows_of(shown)[0].shape == (1, 1)
    assert "weight = np.array([0.0])" in shown


def test_writers_that_lose_rows(monkeypatch):
    def learn(state, loss, X, y, sample_weight=None, **options):
        t = state.t
        LEARN(state, loss, X, y, sample_weight, **options)
        state.t = min(state.t, t + len(y) - 1)

    monkeypatch.setattr(kernels, "learn", learn)
    assert "of the rows are lost" in campaign("writers_lose_no_rows", 2)


def test_a_matrix_that_is_not_looked_at(monkeypatch):
    monkeypatch.setattr(_online.OnlineLinear, "_decision", lambda self, X: np.zeros((X.shape[0], 1)))
    shown = campaign("malformed_matrices_are_refused", 3)
    assert "predict after" in shown or "accepted" in shown


def test_an_interrupt_half_way(monkeypatch):
    def learn(state, loss, X, y, sample_weight=None, **options):
        for _ in range(1 + 100 * (len(y) > 100)):
            state.t += 1.0
            time.sleep(0.003)

    monkeypatch.setattr(kernels, "learn", learn)
    monkeypatch.setattr(LinearState, "unchanged_on_error", lambda self, named=None: nullcontext())
    assert "leaves the model neither before nor after the call" in campaign("interrupts_change_nothing", 4)


def test_memory_that_is_missing_half_way(monkeypatch):
    def change(state, X, weight):
        if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
            raise MemoryError

    learning(monkeypatch, change)
    monkeypatch.setattr(LinearState, "unchanged_on_error", lambda self, named=None: nullcontext())
    assert "leaves another model" in campaign("lack_of_memory_changes_nothing", 4)


def test_a_reader_that_sees_half_a_call(monkeypatch):
    calls = itertools.count()
    monkeypatch.setattr(_online.OnlineLinear, "_decision", lambda self, X: np.full((len(X), 1), float(next(calls))))
    shown = campaign("readers_see_whole_models", 1)
    assert "predictions" in shown


def test_a_process_that_fails(monkeypatch):
    monkeypatch.setattr(mishaps, "HAVE_NUMBA", True)
    monkeypatch.setattr(mishaps, "LEARN_AND_TELL", TRUSTING)
    shown = [campaign("a_damaged_cache_harms_nothing", 12)]
    assert any("cache.nb" in line or "NUMBA_CACHE_DIR is" in line or "the disk is full" in line for line in shown)


TRUSTING = """
import os, pathlib
cache = pathlib.Path(os.environ["NUMBA_CACHE_DIR"])
cache.mkdir(exist_ok=True)
for name in ("cache.nbi", "cache.nbc"):
    if not (cache / name).exists():
        (cache / name).write_bytes(bytes(100))
    assert (cache / name).read_bytes() == bytes(100), f"{name} is damaged"
print("learnt")
"""

# -- the parts of it


def test_children():
    assert list(in_child(range, 3)) == [0, 1, 2]

    def dies(item):
        if item == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        if item == 3:
            time.sleep(60)
        return 10 * item

    found = [result for _, result, _ in each_in_child(dies, range(5), seconds=0.3)]
    assert found[:2] + found[4:] == [0, 10, 40]
    assert [str(death) for death in found[2:4]] == ["crashes (SIGKILL)", "does not end within 0 s"]
    assert all(isinstance(death, Died) for death in found[2:4])


def test_shrinking_ends_at_what_matters():
    case = cases.made(5, 0)
    X = np.arange(60.0).reshape(12, 5) + 0.123
    X[7, 3] = -1.234e7
    case = replace(case, X=X, y=np.arange(12) % 2, classes=np.arange(2), weight=None, cuts=(3, 9), storage="csr")
    small = shrink.shrunk(case, lambda cases: next((case for case in cases if (case.X < -1e6).any()), None))
    assert small.X.shape == (1, 1)
    assert small.X[0, 0] == -1e7
    assert small.parameters == {}
    assert small.storage == "C"
    assert small.cuts == ()


def test_the_page_of_promises_names_what_there_is():
    root = Path(__file__).parents[1]
    text = (root / "docs" / "reliability.rst").read_text()
    named = re.findall(r"``(\S+\.py)::(\w+)``", text)
    assert {name for file, name in named if file.startswith("benchmarks")} == set(promises.PROMISES)
    for file, name in named:
        assert f"def {name}(" in (root / file).read_text(), (file, name)
