"""What is compiled ahead, and what is reported."""

import re
from pathlib import Path

import numpy as np
import pytest

from sklearn_nag import __main__ as command
from sklearn_nag._main_job import warm_up

from ..kernels.helpers import HAVE_NUMBA, needs_numba
from ..processes import run_code

PLAIN = ["normalization=None", "adaptive=False", "centering=False", "importance_aware=False", "average=False"]
PLAIN += ["multi_class='ovr'"]  # with it, the code for two classes learns several
FIRST_CALL = """
import numpy as np
from sklearn_nag import NAGClassifier
from sklearn_nag.kernels.compiled.cache import tell_of_compiling

said = []
with tell_of_compiling(said.append):
    NAGClassifier(%s).partial_fit(np.ones((4, 3)), [0, 1, 0, 1], classes=[0, 1])
print(len(said))
"""


@needs_numba
def test_a_process_compiles_nothing_after_it(tmp_path):
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "SKLEARN_NAG_KERNEL": "numba"}
    warm = "from sklearn_nag._main_job import warm_up; warm_up.kinds = lambda dtype: [warm_up.np.ones((8, 3))];"
    (said,) = run_code(f"{warm} warm_up.main({['NAGClassifier', '--set', *PLAIN]!r})", **environment)
    found = re.fullmatch(r"(\d+) compiled functions, [\d.]+ MB, are stored in (.+)\n", said.stdout)
    assert int(found[1]) == len(list(Path(found[2]).glob("*.nbc"))) > 0
    assert tmp_path in Path(found[2]).parents
    assert run_code(FIRST_CALL % ", ".join(PLAIN), **environment)[0].stdout == "0\n"


@needs_numba
def test_parameters_that_do_not_fit_are_named(monkeypatch, capsys):
    monkeypatch.setattr(warm_up, "kinds", lambda dtype: [np.ones((8, 3))])
    with pytest.raises(SystemExit) as exit_:
        command.main(["warm-up", "FTRLClassifier", "--set", "eta=3"])
    assert exit_.value.code == 1
    assert capsys.readouterr().out.startswith("FTRLClassifier: Invalid parameter 'eta' for estimator FTRLClassifier()")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["SGDClassifier"], "there is no estimator SGDClassifier"), (["--set", "eta0"], "NAME=VALUE")],
)
def test_wrong_options(capsys, arguments, words):
    with pytest.raises(SystemExit) as exit_:
        command.main(["warm-up", *arguments])
    assert exit_.value.code == 2
    assert words in capsys.readouterr().err


@pytest.mark.skipif(HAVE_NUMBA, reason="Numba is installed")
def test_without_numba_it_says_so(capsys):
    with pytest.raises(SystemExit):
        command.main(["warm-up"])
    assert "needs Numba" in capsys.readouterr().err
