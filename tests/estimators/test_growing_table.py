"""The table that grows while a model learns."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_wine

from sklearn_nag import NAGClassifier, NAGRegressor

from .helpers import bits

X, Y = load_wine(return_X_y=True)


def lines(capsys):
    """Rows, weight, mean loss and mean loss since the last line, of each line printed."""
    printed = capsys.readouterr().out.splitlines()
    return np.array([[float(word) for word in line.split()[:4]] for line in printed if "loss" not in line])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_lines_at_powers_of_two_however_rows_are_cut(capsys, container):
    weight = np.random.default_rng(0).integers(1, 4, len(Y)).astype(float)
    expected, losses = NAGClassifier(), []
    for i in range(len(Y)):
        before = expected._state.loss.sum() if i else 0.0
        expected.partial_fit(container(X[i : i + 1]), Y[i : i + 1], [0, 1, 2] if i == 0 else None, weight[i : i + 1])
        losses.append(expected._state.loss.sum() - before)
    assert capsys.readouterr().out == ""
    total, weights, at = np.cumsum(losses), np.cumsum(weight), 2 ** np.arange(8)
    since = np.diff(total[at - 1], prepend=0.0) / np.diff(weights[at - 1], prepend=0.0)
    for cuts in ([], [1, 2, 3, 70], [5, 64, 65, 150]):
        clf = NAGClassifier(verbose=2)
        for rows in np.split(np.arange(len(Y)), cuts):
            clf.partial_fit(container(X[rows]), Y[rows], [0, 1, 2], weight[rows])
        columns = np.column_stack([at, weights[at - 1], total[at - 1] / weights[at - 1], since])
        np.testing.assert_allclose(lines(capsys), columns, rtol=1e-9, atol=1e-6)
        assert np.array_equal(bits(clf), bits(expected))


def test_fit_counts_on_over_its_passes(capsys):
    clf = NAGClassifier(verbose=2, max_iter=3, tol=None, random_state=0).fit(*load_breast_cancer(return_X_y=True))
    quiet = NAGClassifier(max_iter=3, tol=None, random_state=0).fit(*load_breast_cancer(return_X_y=True))
    assert np.array_equal(bits(clf), bits(quiet))
    out = capsys.readouterr().out
    assert out.count("mean loss ") == 1
    assert [line.split()[0] for line in out.splitlines() if "oss" not in line] == [str(2**k) for k in range(11)]
    assert out.count("Pass ") == 3
    clf.fit(X, Y)
    assert capsys.readouterr().out.splitlines()[1].split()[0] == "1"


def test_a_loaded_model_begins_a_table_and_errors_leave_the_model(capsys):
    reg = NAGRegressor(verbose=2).partial_fit(X, Y)
    loaded = pickle.loads(pickle.dumps(reg))
    capsys.readouterr()
    loaded.partial_fit(X, Y)
    table = lines(capsys)
    assert table[0, 0] == 1
    assert table[0, 1] == 179
    before = bits(loaded)
    with pytest.raises(ValueError, match="NaN"):
        loaded.partial_fit(np.where(X == X[100, 0], np.nan, X), Y)
    assert np.array_equal(bits(loaded), before)
    capsys.readouterr()
    reg.partial_fit(X[:3], Y[:3], sample_weight=[0.0, 0.0, 1.0])
    assert lines(capsys).size == 0  # 181 rows: the next line is that of row 256
