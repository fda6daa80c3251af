"""Figures of comparisons, where there is no share of an error to draw."""

import io

import numpy as np
import pytest

from sklearn_nag._main_job.figures import draw_comparison

from .test_comparison import made

pytest.importorskip("matplotlib")
NONE = np.zeros(10)


@pytest.mark.parametrize("errors", [(0.0, 0.02, 0.5), (0.0, 0.0, 0.0), (np.nan, 0.02, 0.5)])
def test_the_first_error_may_be_none_or_unknown(errors):
    file = io.BytesIO()
    draw_comparison(made(**dict(zip(("ours", "sgd", "shares"), (NONE + error for error in errors)))), file)
    assert file.getvalue().startswith(b"\x89PNG")
