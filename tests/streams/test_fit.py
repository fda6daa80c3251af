"""Training from a stream is `partial_fit`, whatever interrupts it."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_nag import NAGClassifier, NAGRegressor, ScaleInvariantClassifier
from sklearn_nag.streams import Batches, fit_stream, read_batches

from ..estimators.helpers import bits

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2000, 4)) * [1.0, 100.0, 1e-3, 5.0]
Y = (X[:, 0] + X[:, 1] / 100 + RNG.normal(size=2000) > 0).astype(int)


def cut(*sizes, rows=X, y=Y, weight=None):
    stops = [*np.cumsum([0, *sizes]), len(y)]
    for i, j in itertools.pairwise(stops):
        yield (rows[i:j], y[i:j]) if weight is None else (rows[i:j], y[i:j], weight[i:j])


class Cuttable:
    """An iterable of batches that can begin anew, and may break down."""

    def __init__(self, *sizes, fails_after=None, **options):
        self.sizes, self.fails_after, self.options = sizes, fails_after, options

    def __iter__(self):
        for number, batch in enumerate(cut(*self.sizes, **self.options)):
            if number == self.fails_after:
                raise OSError("the disk is gone")
            yield batch


@pytest.mark.parametrize(
    ("estimator", "options"),
    [
        (NAGClassifier(), {}),
        (NAGClassifier(), {"weight": RNG.uniform(1, 2, 2000)}),
        (NAGClassifier(), {"rows": sparse.csr_array(X * (RNG.random(X.shape) < 0.5))}),
        (ScaleInvariantClassifier(), {}),
        (NAGRegressor(), {"y": X[:, 0]}),
    ],
)
def test_it_is_partial_fit(estimator, options):
    batches = Cuttable(100, 1, 700, **options)
    extra = {} if isinstance(estimator, NAGRegressor) else {"classes": [0, 1]}
    model = fit_stream(estimator, batches, passes=2, **extra)
    expected = type(estimator)()
    for _ in range(2):
        (batch,) = cut(**options)
        weight = {"sample_weight": batch[2]} if len(batch) == 3 else {}
        expected.partial_fit(*batch[:2], **extra, **weight)
    np.testing.assert_array_equal(bits(model), bits(expected))
    assert not hasattr(estimator, "_state")


def test_shuffling_does_not_depend_on_the_cuts():
    models = [
        fit_stream(NAGClassifier(), Cuttable(*sizes), classes=[0, 1], shuffle_buffer=300, random_state=3, passes=2)
        for sizes in ((), (10, 290, 1, 600), (1999,))
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(bits(model), bits(models[0]))
    rows = np.concatenate([
        order + start for start, order in (
            (300 * i, np.random.default_rng([3, 0, i]).permutation(min(300, 2000 - 300 * i))) for i in range(7)
        )
    ])  # fmt: skip
    assert sorted(rows) == list(range(2000))
    once = fit_stream(NAGClassifier(), Cuttable(77), classes=[0, 1], shuffle_buffer=300, random_state=3)
    np.testing.assert_array_equal(bits(once), bits(NAGClassifier().partial_fit(X[rows], Y[rows], classes=[0, 1])))


@pytest.mark.parametrize("shuffle_buffer", [0, 150])
@pytest.mark.parametrize(
    "estimator",
    [NAGClassifier(), make_pipeline(StandardScaler(), SGDClassifier(random_state=0))],
    ids=["ours", "other"],
)
def test_a_run_that_failed_goes_on(estimator, shuffle_buffer, tmp_path):
    options = {"classes": [0, 1], "passes": 2, "checkpoint_every": 250, "shuffle_buffer": shuffle_buffer}
    sizes, path = [100] * 19, tmp_path / "model"
    undisturbed = fit_stream(estimator, Cuttable(*sizes), **options)
    for fails_after in (3, 9, 15):
        with pytest.raises(OSError, match="the disk is gone"):
            fit_stream(estimator, Cuttable(*sizes, fails_after=fails_after), checkpoint=path, **options)
    model = fit_stream(estimator, Cuttable(*sizes), checkpoint=path, **options)
    again = fit_stream(estimator, Cuttable(*sizes, fails_after=0), checkpoint=path, **options)  # all is done
    for other in (model, again):
        np.testing.assert_array_equal(other.decision_function(X), undisturbed.decision_function(X))
    assert os.listdir(tmp_path) == ["model"]


SCRIPT = """
import os, pickle, signal, sys, time
import numpy as np
from sklearn_nag import NAGClassifier
from sklearn_nag.streams import fit_stream

def batches(pause):
    rng = np.random.default_rng(1)
    for _ in range(60):
        X = rng.normal(size=(50, 3))
        yield X, (X[:, 0] > 0).astype(int)
        time.sleep(pause)

def run(path, pause):
    model = fit_stream(NAGClassifier(), batches(pause), classes=[0, 1], checkpoint=path, checkpoint_every=50)
    return model.coef_.tobytes().hex(), model.t_

path, rng, written = sys.argv[1], np.random.default_rng(2), 0
undisturbed = run(None, 0)
for _ in range(3):
    process = os.fork()
    if process == 0:
        run(path, 0.02)
        os._exit(0)
    while not os.path.exists(path) or os.stat(path).st_mtime_ns == written:
        time.sleep(0.002)
    time.sleep(rng.uniform(0, 0.2))
    os.kill(process, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL
    written = os.stat(path).st_mtime_ns
    with open(path, "rb") as file:
        print(pickle.load(file)[1])
print(run(path, 0) == undisturbed)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_random_moments(tmp_path):
    """SIGKILL, three times; each run goes on from the one before, and ends with the bits of an undisturbed one."""
    environment = {**os.environ, "SKLEARN_NAG_KERNEL": "numpy", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(tmp_path / "model")]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True).stdout
    *learnt, same = output.split()
    learnt = [int(n) for n in learnt]
    assert 0 < learnt[0] < learnt[1] < learnt[2] < 3000
    assert same == "True"


def test_checkpoints_of_another_run(tmp_path):
    path, options = tmp_path / "model", {"classes": [0, 1], "checkpoint_every": 100}
    with pytest.raises(OSError, match="disk"):
        fit_stream(NAGClassifier(), Cuttable(150, 150, fails_after=2), checkpoint=path, **options)
    with pytest.raises(ValueError, match=r"run with other parameters: .*'eta0', 1\.0.*; now .*'eta0', 2\.0"):
        fit_stream(NAGClassifier(eta0=2.0), Cuttable(150), checkpoint=path, **options)
    with pytest.raises(ValueError, match="other passes: 1; now 2"):
        fit_stream(NAGClassifier(), Cuttable(150), checkpoint=path, passes=2, **options)
    with pytest.raises(ValueError, match="after 300 rows, which is within a batch"):
        fit_stream(NAGClassifier(), Cuttable(200, 200), checkpoint=path, **options)
    with pytest.raises(ValueError, match="after 300 rows; this stream has only 150"):
        fit_stream(NAGClassifier(), [(X[:150], Y[:150])], checkpoint=path, **options)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="is no checkpoint"):
        fit_stream(NAGClassifier(), Cuttable(150), checkpoint=path, **options)


def test_checkpoints_of_other_files(tmp_path):
    pytest.importorskip("pyarrow", exc_type=ImportError)
    np.savetxt(tmp_path / "1.csv", np.c_[X[:100], Y[:100]], delimiter=",", header="a,b,c,d,y", comments="")
    options = {"classes": [0, 1], "checkpoint": tmp_path / "model"}

    def batches():
        return read_batches(str(tmp_path / "*.csv"), "y", columns=list("abcd"))

    fit_stream(NAGClassifier(), batches(), **options)
    assert fit_stream(NAGClassifier(), batches(), **options).t_ == 100
    np.savetxt(tmp_path / "2.csv", np.c_[X[100:], Y[100:]], delimiter=",", header="a,b,c,d,y", comments="")
    with pytest.raises(ValueError, match="of a run with other sizes of files"):
        fit_stream(NAGClassifier(), batches(), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"passes": 0}, "passes"),
        ({"shuffle_buffer": -1}, "shuffle_buffer"),
        ({"batches": iter([]), "passes": 2}, "passes=2 needs batches that can begin anew"),
        ({"batches": Batches(lambda: iter([]), None, False), "passes": 2}, "can begin anew"),
        ({"batches": []}, "there are no rows"),
        ({"classes": None}, "classes must be given"),
        ({"progress": "yes"}, "'progress' parameter must be one of"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ValueError, match=message):
        fit_stream(NAGClassifier(), **{"batches": Cuttable(10), "classes": [0, 1], **options})


def test_the_bar_shows_rows_and_loss(capsys):
    pytest.importorskip("tqdm")
    fit_stream(NAGClassifier(), Cuttable(1000), classes=[0, 1], progress=True)
    shown = capsys.readouterr().err
    assert "2.00k" in shown
    assert "progressive loss 0." in shown
    fit_stream(NAGClassifier(), Cuttable(1000), classes=[0, 1])  # a pipe
    assert capsys.readouterr().err == ""
