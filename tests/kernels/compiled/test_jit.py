"""Compiled code, with and without a cache on disk, and the copies that rules share."""

import numpy as np
import pytest

from sklearn_nag import config_context
from sklearn_nag.kernels import Mixture, _backend, mix

from ...processes import run_code
from ..helpers import needs_numba

# The smallest function that Python calls, because each process compiles it.
FIT = "import numpy as np; from sklearn_nag.kernels import Mixture, mix; print(mix(Mixture.new(3), np.eye(3))[2, 0]);"


def mixed():
    """Return what `FIT` prints."""
    with config_context(kernel="numba"):
        return pytest.approx(mix(Mixture.new(3), np.eye(3))[2, 0])


@needs_numba
def test_where_nothing_can_be_cached():
    """Without a home or a cache folder, code is slower at first, but there is no error."""
    nowhere = {
        _backend.ENVIRONMENT: "numba",
        "HOME": "/nonexistent",
        "NUMBA_CACHE_DIR": "/proc/nonexistent",
        "XDG_CACHE_HOME": "/nonexistent",
    }
    assert float(run_code(FIT, **nowhere)[0].stdout) == mixed()


@needs_numba
def test_a_numba_that_was_not_tried_compiles_by_itself(tmp_path):
    environment = {_backend.ENVIRONMENT: "numba", "NUMBA_CACHE_DIR": str(tmp_path)}
    newer = "import numba; numba.version_info = numba.version_info._replace(short=(99, 0));"
    seen = "import sys; print('sklearn_nag.kernels.compiled.linking' in sys.modules)"
    share, loaded = run_code(f"{newer} {FIT} {seen}", **environment)[0].stdout.split()
    assert (float(share), loaded) == (mixed(), "False")


@needs_numba
def test_rules_that_agree_in_what_a_function_reads_share_it():
    from sklearn_nag.kernels.compiled import losses
    from sklearn_nag.kernels.compiled.constants import constants_of
    from sklearn_nag.kernels.compiled.jit import for_rule

    copies = [
        for_rule(losses.loss_and_gradient, constants_of(of_margin=of_margin, of_rate=False, norm=norm))
        for of_margin in (True, False)
        for norm in (1, 2)
    ]
    assert copies[0] is copies[1]
    assert copies[2] is copies[3]
    assert copies[0] is not copies[2]
    others = constants_of(of_margin=True, of_rate=False, norm=1)
    assert for_rule(losses.loss_of_margin, others) is losses.loss_of_margin  # it reads no constant


@needs_numba
def test_a_constant_that_is_missing_is_named():
    from sklearn_nag.kernels.compiled import losses
    from sklearn_nag.kernels.compiled.constants import constants_of
    from sklearn_nag.kernels.compiled.jit import for_rule

    with pytest.raises(TypeError, match="loss_and_gradient reads OF_MARGIN"):
        for_rule(losses.loss_and_gradient, constants_of(norm=1))
