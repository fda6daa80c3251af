"""Figures of comparisons, even if there is no ratio of errors to draw."""

import io
import itertools
import re
from dataclasses import replace

import numpy as np
import pytest

from sklearn_nag._main_job import figures
from sklearn_nag._main_job.figures import draw_comparison
from sklearn_nag._main_job.measures import OF_CLASSES, OF_QUANTITIES

from .test_comparison import made

Text = pytest.importorskip("matplotlib.text").Text
NONE = np.zeros(10)


@pytest.mark.parametrize("errors", [(0.0, 0.02, 0.5), (0.0, 0.0, 0.0), (np.nan, 0.02, 0.5)])
def test_the_first_error_may_be_none_or_unknown(errors):
    file = io.BytesIO()
    draw_comparison(made(**dict(zip(("ours", "sgd", "shares"), (NONE + error for error in errors)))), file)
    assert file.getvalue().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("metric", "whole"), [*itertools.product([*OF_CLASSES, *OF_QUANTITIES], [0.0]), ("accuracy", 0.5), ("r2", 0.5)]
)
def test_all_words_are_in_the_figure_and_apart(monkeypatch, metric, whole):
    names = ["NAGRegressor", 'NAGRegressor, loss="absolute_error", of logarithms', "sgd", "shares"]
    errors = NONE + whole, NONE + 0.7, NONE + 9.0, NONE + 0.6
    found, measure = made(**dict(zip(names, errors))), (OF_CLASSES | OF_QUANTITIES)[metric]
    figure = figures._figure(6.4, 3.0)
    monkeypatch.setattr(figures, "_figure", lambda *size: figure)
    draw_comparison(replace(found, measures={"log_loss": measure._replace(missing_to_one=False)}), io.BytesIO())
    figure.canvas.draw()
    texts = [text for text in figure.findobj(Text) if text.get_visible() and re.search("[a-z]", text.get_text())]
    boxes = {text.get_text(): text.get_window_extent() for text in texts}
    label = next(words for words in boxes if words.startswith(measure.error))
    for words, box in boxes.items():
        assert figure.bbox.contains(*box.min), words
        assert figure.bbox.contains(*box.max), words
        assert words == label or not box.overlaps(boxes[label]), words
