"""The campaign of faults finds defects made on purpose, and reduces the cases that show them."""

import itertools
import os
import re
import resource
import signal
import time
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import sklearn_nag
from benchmarks.faults import __main__ as tool
from benchmarks.faults import cases, files, mishaps, promises, saving, shrink, tables
from benchmarks.faults.children import Died, each_in_child, in_child
from sklearn_nag import kernels
from sklearn_nag.ensemble import _bootstrap
from sklearn_nag.estimators import _calls, _online, _parameters, _regressor, _validation
from sklearn_nag.kernels.full import numpy_rows
from sklearn_nag.kernels.full.rule import solve
from sklearn_nag.kernels.state import placed
from sklearn_nag.kernels.state.model import LinearState, Undo
from sklearn_nag.preprocessing import _imputer, _steps
from sklearn_nag.streams import _aside, _csv, _fit, _whole
from sklearn_nag.uncertainty import quantiles

ROTATE_IN = numpy_rows.rotate_in
LEARN, CHECK_WEIGHTS = kernels.learn, _online.check_weights


@pytest.fixture(autouse=True)
def without_numba(monkeypatch):
    """Run cases on the NumPy kernel alone, so that nothing needs to be compiled."""
    monkeypatch.setattr(cases, "HAVE_NUMBA", False)


def campaign(name, n_cases=40, says=None, most=9, seed=3, small=False):
    """Try cases of a promise until the reproducer of a broken one matches ``says``; return the last reproducer.

    If ``says`` is None, no case may be broken. The campaign ends at the match, because going on would find nothing
    more. The ``seed`` is one with which the match comes soon. Cases are made ``small`` if the test looks at what is
    left of them.
    """
    shown = []

    def show(reproducer):
        shown.append(reproducer)
        if says is not None and re.search(says, reproducer):
            raise Found

    table = None
    with pytest.MonkeyPatch.context() as patch, suppress(Found):
        patch.setitem(promises.PROMISES, name, replace(promises.PROMISES[name], every=1))
        if says is not None:
            patch.setattr(promises, "MOVES", 4)  # no defect here is only in the last digits
        if not small:
            patch.setattr(files, "SHRINK_SECONDS", 0.0)
        table = tool.campaign(
            seed, n_cases=n_cases, names=[name], show=show, most_shown=most, shrink_seconds=60.0 * small
        )
    if says is None:
        assert table[name][:2] == [n_cases, 0], shown
    else:
        assert table is None, (f"no case says {says!r}", shown)
    return shown[-1] if shown else ""


class Found(Exception):
    """A campaign has found what the test looks for."""


def test_processes_share_the_cases():
    table = tool.by_processes(2, 3, n_cases=43, names=["weights_are_within_bounds"])  # one process tries 40 of them
    assert table["weights_are_within_bounds"][:2] == [43, 0]


HAVE_TABLES = pytest.mark.skipif(not all(tables.HAVE.values()), reason="needs pandas, polars and pyarrow")


@HAVE_TABLES
def test_tables_keep_what_is_promised():
    for number in range(6):
        for holds in (tables.tables_resume, tables.tables_of_all_libraries_agree, tables.tables_merge):
            holds(cases.made(5, number))


def first_broken_table(holds):
    for number in range(40):
        try:
            holds(cases.made(5, number))
        except promises.Broken as broken:
            return str(broken)
    return None


@HAVE_TABLES
def test_means_that_depend_on_batches(monkeypatch):
    """The means add up sums of batches instead of rows, so they differ by rounding alone."""
    Means = _imputer.Means
    learn = Means.learn_and_fill

    def by_batch(self, rows, marked):
        known, _ = learn(Means.new(rows.shape[1]), rows, marked)
        return Means.merged([self, known]), learn(self, rows, marked)[1]

    monkeypatch.setattr(Means, "learn_and_fill", by_batch)
    assert "not the same in one call and in several" in first_broken_table(tables.tables_resume)


@HAVE_TABLES
def test_counts_that_do_not_add_up(monkeypatch):
    monkeypatch.setattr(_imputer.Means, "merged", staticmethod(lambda states: next(iter(states))))
    assert first_broken_table(tables.tables_merge) == "values of shards do not add up"


@HAVE_TABLES
def test_a_table_that_changes_a_model_which_refuses_it(monkeypatch):
    monkeypatch.setattr(_steps, "kept", lambda step, refits: [])
    assert "after it refused" in first_broken_table(tables.tables_resume)


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


@pytest.mark.filterwarnings("ignore:some rows did not count", "ignore:A column-vector y")
def test_a_case_as_python_is_the_case():
    for i in range(24):
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


# -- each promise and the defects that break it


def learning(monkeypatch, change):
    """Make the kernel call ``change(state, X, weight)`` whenever it has learnt."""

    def learn(state, loss, X, y, sample_weight=None, **options):
        LEARN(state, loss, X, y, sample_weight, **options)
        change(state, X, sample_weight)

    monkeypatch.setattr(kernels, "learn", learn)


def rows_of(shown):
    """The rows in a reproducer, and the options of its model."""
    lines = {}
    for line in shown.splitlines():
        name, _, value = line.partition(" = ")
        lines.setdefault(name, value)
    return eval(lines["X"], {"np": np}), lines["model"].partition("(")[2]


def test_a_number_that_is_not_finite(monkeypatch):
    def change(state, X, weight):
        if abs(X).max() > 1e200:
            state.columns.weight[0, 0] = np.nan

    learning(monkeypatch, change)
    X, _ = rows_of(campaign("numbers_stay_finite", says="columns", small=True))
    assert X.shape == (1, 1)
    assert np.abs(X) > 1e200


def test_a_refusal_within_the_bounds(monkeypatch):
    def check_weights(weight, n_rows):
        weight = CHECK_WEIGHTS(weight, n_rows)
        if weight is not None and weight.max(initial=0.0) > 1e20:
            raise ValueError("too heavy")
        return weight

    monkeypatch.setattr(_online, "check_weights", check_weights)
    campaign("nothing_fails", 60, "too heavy")


def test_a_failure_that_changes_the_model(monkeypatch):
    monkeypatch.setattr(Undo, "restore", lambda self: None)
    campaign("failures_change_nothing", 10, "is not the same after it refused nan in X")


def test_a_failure_of_another_type(monkeypatch):
    def check_weights(weight, n_rows):
        if weight is not None and np.min(weight, initial=0.0) < 0:
            raise IndexError("no such row")
        return CHECK_WEIGHTS(weight, n_rows)

    monkeypatch.setattr(_online, "check_weights", check_weights)
    campaign("failures_change_nothing", 3, "a negative weight: IndexError: no such row")


def test_a_call_that_leaves_a_trace(monkeypatch):
    def change(state, X, weight):
        state.t *= 1.0 + 1e-15

    learning(monkeypatch, change)
    says = r"for rows in slice\(0, (\d)\), slice\(\1, \d\):"
    X, _ = rows_of(campaign("batches_do_not_matter", says=says, small=True))
    assert len(X) <= 3
    assert X.shape[1] == 1


def test_a_number_that_is_not_saved(monkeypatch):
    monkeypatch.setattr(LinearState, "__getstate__", lambda self: {**vars(self), "cached": None, "averaged": 0.0})
    campaign("saved_models_resume", says="predictions differ|is not the same after it was saved in between")


def test_an_order_that_matters(monkeypatch):
    def change(state, X, weight):
        if isinstance(X, np.ndarray) and not X.flags.c_contiguous:
            state.t *= 1.0 + 1e-15

    learning(monkeypatch, change)
    shown = campaign("storage_does_not_matter", says="models of C and F differ", small=True)
    assert rows_of(shown)[0].size <= 4  # smaller arrays are contiguous in both orders


def test_columns_that_get_the_place_of_others(monkeypatch):
    campaign("columns_that_no_row_names_do_not_matter", 20, seed=4)
    put = placed.PlacedState.put

    def shifted(state, features, part):
        put(state, features, part)
        state.place[features] = np.roll(state.place[features], 1)

    monkeypatch.setattr(placed.PlacedState, "put", shifted)
    campaign("columns_that_no_row_names_do_not_matter", 40, "differ", seed=4)


def test_parts_that_are_not_added_up(monkeypatch):
    def learn(state, loss, X, y, sample_weight=None, **options):
        if not isinstance(X, np.ndarray) and X.nnz and (X.data == 0).any():
            X = X[:, ::-1]
        LEARN(state, loss, X, y, sample_weight, **options)

    monkeypatch.setattr(kernels, "learn", learn)
    campaign("parts_of_rows_do_not_matter", 240, "sorted rows and these rows differ by")


def test_kernels_that_differ_for_one_parameter(monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(cases, "HAVE_NUMBA", True)

    def change(state, X, weight):
        decays = type(state.rule) is kernels.nag.Rule and state.rule.power_t > 0
        if sklearn_nag.get_config()["kernel"] == "numba" and decays:
            state.columns.weight *= 1.01

    def learn(state, loss, X, y, sample_weight=None, **options):
        with sklearn_nag.config_context(kernel="numpy"):  # the same for both, except for the defect
            LEARN(state, loss, X, y, sample_weight, **options)
        change(state, X, sample_weight)

    monkeypatch.setattr(kernels, "learn", learn)
    shown = campaign("kernels_agree", 120, "numpy and numba differ by", small=True)
    X, options = rows_of(shown)
    assert options.count("learning_rate='invscaling'") == 1
    assert X.shape[1] == 1


def test_a_unit_that_matters(monkeypatch):
    def learn(state, loss, X, y, sample_weight=None, *, predictions=None, **options):
        LEARN(state, loss, X, y, sample_weight, predictions=predictions, **options)
        predictions += 1e-12 * np.frexp(np.abs(X).max())[1]

    monkeypatch.setattr(kernels, "learn", learn)
    campaign("powers_of_two_do_not_matter", says=r"np\.ldexp\(X, \[")


def test_a_unit_of_targets_that_matters(monkeypatch):
    def learn(state, loss, X, y, sample_weight=None, *, predictions=None, **options):
        LEARN(state, loss, X, y, sample_weight, predictions=predictions, **options)
        if predictions is not None:
            small = np.abs(predictions) < 2.0**-480
            predictions[small] *= 1.0 + 2.0**-52

    campaign("powers_of_two_of_targets_do_not_matter", 100)
    monkeypatch.setattr(kernels, "learn", learn)
    campaign("powers_of_two_of_targets_do_not_matter", 100, says=r"np\.ldexp\(y, -?[1-9]")


def test_an_average_that_depends_on_the_order_of_columns(monkeypatch):
    def rotate_in(state, x, root):
        """A column that has just begun to be independent has had no weight so far."""
        row, w = x.copy(), solve(state.factor, state.columns.past)
        v, is_new, *others = ROTATE_IN(state, x, root)
        if is_new:
            state.columns.past += (w @ row)[:, None] * v
        return v, is_new, *others

    monkeypatch.setattr(numpy_rows, "rotate_in", rotate_in)
    campaign("linear_maps_do_not_matter", 60, "change decisions for rows in their span")


def test_a_crash_and_what_comes_after_it(monkeypatch):
    def change(state, X, weight):
        if weight is not None and (weight == 0).any():
            os.kill(os.getpid(), signal.SIGKILL)

    learning(monkeypatch, change)
    shown = campaign("batches_do_not_matter", says=r"crashes \(SIGKILL\)", small=True)
    assert rows_of(shown)[0].shape == (1, 1)
    assert "weight = np.array([0.0])" in shown


def test_writers_that_lose_rows(monkeypatch):
    def learn(state, loss, X, y, sample_weight=None, **options):
        t = state.t
        LEARN(state, loss, X, y, sample_weight, **options)
        state.t = min(state.t, t + len(y) - 1)

    monkeypatch.setattr(kernels, "learn", learn)
    campaign("writers_lose_no_rows", 2, "of the rows are lost")


def test_a_matrix_that_is_not_looked_at(monkeypatch):
    monkeypatch.setattr(_online.OnlineLinear, "_decision", lambda self, X: np.zeros((X.shape[0], 1)))
    campaign("malformed_matrices_are_refused", 3, "predict after|accepted")


def test_an_interrupt_half_way(monkeypatch):
    def learn(state, loss, X, y, sample_weight=None, **options):
        for _ in range(1 + 100 * (len(y) > 100)):
            state.t += 1.0
            time.sleep(0.003)

    monkeypatch.setattr(kernels, "learn", learn)
    monkeypatch.setattr(Undo, "restore", lambda self: None)
    campaign("interrupts_change_nothing", 4, "leaves the model neither before nor after the call")


def test_memory_that_is_missing_half_way(monkeypatch):
    def change(state, X, weight):
        if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
            raise MemoryError

    learning(monkeypatch, change)
    monkeypatch.setattr(Undo, "restore", lambda self: None)
    campaign("lack_of_memory_changes_nothing", 4, "leaves another model")


def test_a_reader_that_sees_half_a_call(monkeypatch):
    calls = itertools.count()
    monkeypatch.setattr(_online.OnlineLinear, "_decision", lambda self, X: np.full((len(X), 1), float(next(calls))))
    campaign("readers_see_whole_models", 1, "predictions")


def test_a_thread_that_is_waited_for(monkeypatch):
    monkeypatch.setattr(_aside.Aside, "end", lambda self, seconds: (self.close(), self._thread.join()))
    campaign("interrupts_end_waiting_for_files", 2, "an interrupt while a file stalls is heeded after")


@pytest.mark.parametrize(
    ("place", "name", "message"),
    [
        (_fit, "clear_beside", "files are left beside a checkpoint"),
        (_whole, "_take_after", "a checkpoint of mode"),
        (_whole, "_target", "takes the place of the link"),
    ],
)
def test_a_kill_that_leaves_something(place, name, message, monkeypatch):
    monkeypatch.setattr(place, name, lambda path, *more, **options: path)
    monkeypatch.setattr(_whole.os, "fsync", lambda file: time.sleep(0.005))  # so that kills come during the write
    campaign("killed_writers_leave_nothing", 4, message)


def test_a_process_that_fails(monkeypatch):
    monkeypatch.setattr(mishaps, "HAVE_NUMBA", True)
    monkeypatch.setattr(mishaps, "LEARN_AND_TELL", TRUSTING)
    campaign("a_damaged_cache_harms_nothing", 12, r"cache\.nb|NUMBA_CACHE_DIR is|the disk is full")


def test_a_tampered_model_that_is_believed(monkeypatch):
    monkeypatch.setattr(kernels, "check", lambda state: None)
    campaign("tampered_models_are_refused", 6, "it is loaded")


def test_an_attribute_that_nobody_compares(monkeypatch):
    monkeypatch.setattr(saving, "TRIALS", 0)
    monkeypatch.setattr(_online.OnlineLinear, "_check_fits", lambda self, state: None)
    campaign("tampered_models_are_refused", 3, "model.n_features_in_ = 3000000, and then")


def test_a_model_that_is_entered_again(monkeypatch):
    def check_free(self, estimator):
        if self.lock._is_owned():
            raise KeyError("no such thing")

    monkeypatch.setattr(_calls.Turn, "check_free", check_free)
    campaign("models_are_not_entered_again", 3, "fit raises KeyError: 'no such thing'", seed=6)


def test_a_handler_that_saves_half_a_call(monkeypatch):
    monkeypatch.setattr(_calls.Turn, "seen", lambda self, estimator: estimator)
    says = "predictions are those of another model|neither the model before nor after"
    campaign("handlers_save_whole_models", 8, says, seed=6)


def test_first_batches_have_weight_0_in_some_cases():
    some = [cases.made(3, i) for i in range(300)]
    late = [case for case in some if case.weight is not None and not case.weight[case.batches[0]].any()]
    assert any(case.learner.startswith("Hedge") and case.within_bounds for case in late)


TRUSTING = """
import os, pathlib
cache = pathlib.Path(os.environ["NUMBA_CACHE_DIR"])
cache.mkdir(exist_ok=True)
code = cache / "cache.nbc"
if not code.exists():
    code.write_bytes(bytes(100))
assert code.read_bytes() == bytes(100), f"{code.name} is damaged"
print("learnt")
"""


def test_a_quote_that_is_left_open(monkeypatch):
    pytest.importorskip("pyarrow", exc_type=ImportError)
    quotes = _csv.CsvRows._quotes

    def trusting(self, text):
        places, _ = quotes(self, text)
        return places[: len(places) // 2 * 2], None

    monkeypatch.setattr(_csv.CsvRows, "_quotes", trusting)
    shown = campaign("files_are_read_or_refused", 60, r"\d+ rows are read of a file that is malformed", small=True)
    text = re.search(r"write_text\((.*), encoding", shown)[1]
    assert len(eval(text)) < 15
    assert "read_batches('rows.csv', **{'target'" in shown


@pytest.mark.parametrize(
    ("defect", "message"),
    [
        (lambda text: text.replace(b"red", b"rot"), "is read as"),
        (lambda text: text.rpartition(b"\n")[0], "rows and"),
    ],
)
def test_rows_that_are_changed_or_lost(defect, message, monkeypatch):
    pytest.importorskip("pyarrow", exc_type=ImportError)
    read = _csv._Table._read
    monkeypatch.setattr(_csv._Table, "_read", lambda self, text, *types: read(self, defect(text) or b"\n", *types))
    campaign("files_are_read_or_refused", 40, message)


def test_targets_that_float64_does_not_have(monkeypatch):
    pytest.importorskip("pyarrow", exc_type=ImportError)
    monkeypatch.setattr(_csv._Table, "_check_exact", lambda self, column, name, text: None)
    campaign("files_are_read_or_refused", 80, r"the target '-?\d+' is read as")


def test_a_parameter_that_is_not_named(monkeypatch):
    monkeypatch.setattr(_online, "check_seed", lambda value: None)
    campaign("absurd_parameters_are_named", 12, "an error without its name: ValueError: Seed must be", seed=0)


def test_a_parameter_that_is_too_large(monkeypatch):
    monkeypatch.setattr(_parameters, "as_float", lambda value: value)  # so that it is compared as it is
    campaign("absurd_parameters_are_named", 12, "raises OverflowError: ")


def test_an_array_that_is_read_under_its_mask(monkeypatch):
    monkeypatch.setattr(_validation, "raise_for_masked", lambda values, name: None)
    campaign("guises_of_arrays", 2, r"takes np\.ma\.masked_array\(A, ")


def test_a_guise_that_teaches_something_else(monkeypatch):
    monkeypatch.setattr(_validation, "_holds_masks", lambda values: False)
    monkeypatch.setattr(_validation, "as_numpy", lambda values, name: np.asarray(values))
    campaign("guises_of_arrays", 2, "guises")


# -- the parts of a campaign


def test_the_table_has_what_was_tried_and_what_was_broken(monkeypatch):
    def holds(case):
        if len(case.y) % 2:
            raise promises.Broken("odd")
        assert len(case.y) % 4, "a mistake"

    shown = []
    monkeypatch.setitem(
        promises.PROMISES, "odd", replace(promises.PROMISES["nothing_fails"], holds=holds, every=2, shrinks=False)
    )
    table = tool.campaign(3, n_cases=30, names=["odd"], show=shown.append)
    sizes = [len(cases.made(3, i).y) for i in range(1, 30, 2)]
    assert table["odd"][:2] == [15, sum(size % 2 == 1 or size % 4 == 0 for size in sizes)]
    assert len(shown) == 2  # broken in two ways
    assert "odd" in shown[0] + shown[1]
    assert "the promise itself fails: AssertionError: a mistake" in shown[0] + shown[1]


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


def test_weights_beyond_their_bounds(monkeypatch):
    campaign("weights_are_within_bounds")
    monkeypatch.setattr(LinearState, "within_bounds", lambda self, coef: np.abs(coef) + 1.0)
    campaign("weights_are_within_bounds", says="weights are out of bounds")


def test_intervals_that_are_out_of_order(monkeypatch):
    def crossed(known, coverage):
        return quantiles.widths(known, coverage)[:, ::-1]

    campaign("intervals_are_in_order", 20)
    monkeypatch.setattr(_regressor, "quantiles", SimpleNamespace(**{**vars(quantiles), "widths": crossed}))
    campaign("intervals_are_in_order", says="predict_interval")


def test_intervals_that_are_too_narrow(monkeypatch):
    def narrow(known, *arguments):
        known, width = quantiles.play(known, *arguments)
        return known, 0.7 * width

    campaign("coverage_holds", 5)
    monkeypatch.setattr(_regressor, "quantiles", SimpleNamespace(**{**vars(quantiles), "play": narrow}))
    campaign("coverage_holds", 5, r"progressive_validation\(model, X, y")


def test_copies_that_draw_by_the_batch(monkeypatch):
    campaign("copies_resume", 8)
    monkeypatch.setattr(
        _bootstrap, "exponential_weights", lambda keys, start, stop: np.linspace(0.5, 1.5, stop - start)
    )
    campaign("copies_resume", 8, "in one call and in several")
