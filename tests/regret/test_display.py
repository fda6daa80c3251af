"""Figures of `RegretDisplay`, and its bad arguments."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from sklearn_nag import NAGClassifier, ScaleInvariantClassifier
from sklearn_nag.regret import RegretDisplay, best_in_hindsight, potential_bound, record

pytest.importorskip("matplotlib").use("Agg")


def test_regrets_and_bounds_are_drawn():
    X, y = (rows[:200] for rows in load_breast_cancer(return_X_y=True))
    plain = {"fit_intercept": False, "centering": False}
    runs = {
        "potential": record(ScaleInvariantClassifier(update="potential", **plain), X, y),
        "NAG": record(NAGClassifier(**plain), X, y),
    }
    u = best_in_hindsight(runs["NAG"])
    display = RegretDisplay.from_runs(runs, u, {"potential": potential_bound}).plot()
    assert [line.get_label() for line in display.lines_] == ["potential", "NAG"]
    np.testing.assert_array_equal(display.lines_[1].get_ydata(), runs["NAG"].regret(u))
    (dashed,) = display.bound_lines_
    np.testing.assert_array_equal(dashed.get_ydata(), potential_bound(runs["potential"], u))
    assert dashed.get_color() == display.lines_[0].get_color()
    assert "bound" in display.ax_.get_ylabel()
    lowest = min(curve.min() for curve in (*display.regrets.values(), *display.bounds.values()))
    assert display.ax_.get_ylim()[0] > min(lowest, 0.0) * 1.5 - 1.0  # curves fill the height of the axes
    ax = display.figure_.add_subplot()
    assert RegretDisplay({"it": [1.0, 2.0]}).plot(ax).ax_ is ax


def test_bad_arguments():
    with pytest.raises(ValueError, match="bounds has .b., which regrets does not have"):
        RegretDisplay({"a": [1.0]}, {"b": [1.0]})
    with pytest.raises(ValueError, match="shape"):
        RegretDisplay({"a": [1.0]}, {"a": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"the regret of 'a' has shape \(1, 2\); it must hold one number for each row"):
        RegretDisplay({"a": [[1.0, 2.0]]})
