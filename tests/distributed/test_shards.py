"""Shards give the results of a plain loop over them, whatever runs them."""

import copy
import itertools

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from sklearn_nag import (
    FTRLClassifier,
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
    config_context,
    kernels,
    merge,
)
from sklearn_nag.constraints import Box
from sklearn_nag.distributed import shard_fit
from sklearn_nag.distributed._rounds import (
    FAN_IN,
    begin,
    first_pair,
    join_first,
    judge,
    learn_first,
    learn_piece,
    plan,
    run_rounds,
    with_steps,
)
from sklearn_nag.preprocessing import (
    OnlineColumnTransformer,
    OnlineImputer,
    OnlineOneHotEncoder,
    make_online_pipeline,
)

from ..estimators.helpers import bits

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3000, 4)) * [1.0, 100.0, 1e-3, 5.0] + [0, 300, 1, 0]
Z = X[:, 0] + X[:, 1] / 100 - 3
Y = (Z + RNG.logistic(size=3000) > 0).astype(int)


def by_a_loop(estimator, X, y, n_shards, rounds, weight=None, **options):
    """The definition of `shard_fit`, for at most ``FAN_IN`` shards."""
    assert 1 < n_shards <= FAN_IN
    first = len(y) // (n_shards + 1)
    shards = [equal_runs(part, rounds) for part in equal_runs(np.arange(first, len(y)), n_shards)]

    def learn(model, rows, **more):
        weights = {} if weight is None else {"sample_weight": weight[rows]}
        return copy.deepcopy(model).partial_fit(X[rows], y[rows], **weights, **more)

    def step(model, eta0):
        return copy.deepcopy(model).set_params(eta0=eta0).partial_fit(X[:1], y[:1], sample_weight=[0.0])

    has_rate = hasattr(estimator, "eta0") and estimator.eta0 != "auto" and estimator.adaptive
    merged = [learn(estimator, np.arange(first), **options)]
    if has_rate:
        merged[0] = step(merged[0], estimator.eta0 * min(n_shards**0.5, 4.0))
    for r in range(rounds):
        start = copy.deepcopy(merged[-1])
        before = merged[-2] if r else merged[-1]
        start._state = kernels.lead(start._state, before._state, 1 - n_shards**-0.25, renew=r == max(0, rounds - 2))
        merged.append(merge([learn(start, shard[r]) for shard in shards], start))
    return step(merged[-1], estimator.eta0) if has_rate else merged[-1]


def equal_runs(rows, n):
    bounds = [int(len(rows) * i / n) for i in range(n + 1)]
    return [rows[start:stop] for start, stop in itertools.pairwise(bounds)]


@pytest.mark.parametrize(
    ("n_shards", "rounds", "factor"),
    [(1, 9, None), (2, 1, 2**0.5), (9, 1, 3), (100, 1, 4), (100, 6, 6), (100, 20, 8), (49, 20, 7)],
)
def test_how_long_steps_are(n_shards, rounds, factor):
    factors = []

    def call(function, *arguments):
        if function in (begin, with_steps):
            factors.append(arguments[-1])
        return "model"

    pieces = [[(0, 1)] * n_shards] * rounds
    run_rounds(
        "base",
        pieces,
        1.0,
        call,
        lambda base, pieces: ["model"] * len(pieces),
        lambda models, base: "model",
        lambda pair, piece: [0.0, 1.0],
    )
    assert factors == ([] if factor is None else [factor, 1.0])


@pytest.mark.parametrize(("rounds", "renewed"), [(1, 0), (4, 2)])
def test_what_is_led_learnt_and_merged_of_what(rounds, renewed):
    """What each round leads, learns and merges, for nine shards and merges of at most eight models.

    The last shard has no rows in the first round.
    """

    def learn(start, pieces):
        return [("learnt", start, piece) for piece in pieces if piece[1] > piece[0]]

    pieces = [[(k, k + 1) for k in range(10 * r, 10 * r + 9)] for r in range(rounds)]
    pieces[0][8] = (8, 8)
    model = run_rounds(
        "first",
        pieces,
        0.5,
        lambda function, *arguments: (function.__name__, *arguments),
        learn,
        lambda models, start: ("merged", models, start),
        lambda pair, piece: (pair, piece),
    )
    before = base = ("begin", "first", [("first", piece) for piece in pieces[0][:8]], 0.5, 3.0)
    for r in range(rounds):
        start = ("lead", base, before, 1.0 - 9**-0.25, r == renewed)
        merged = ("merged", learn(start, pieces[r][:8]), start)
        before, base = base, merged if r == 0 else ("merged", [merged, ("learnt", start, pieces[r][8])], start)
        if r == 0:
            base = ("join_first", base, start, "first")
    assert model == ("with_steps", base, 0.5, 1.0)


@pytest.mark.parametrize("n_shards", [1, 2, 32, 33, 64, 65, 1000])
def test_some_shards_judge_the_first_model(n_shards):
    """Shards that have rows judge the first model: all of them, or at most 32 at equal distances."""
    judges = []
    pieces = [[(0, 0), *((i, i + 1) for i in range(n_shards)), (n_shards, n_shards)]]
    call, nothing = (lambda *arguments: None), (lambda base, pieces: [])
    run_rounds(None, pieces, None, call, nothing, None, lambda pair, piece: judges.append(piece[0]))
    distance = next(d for d in itertools.count(1) if len(range(0, n_shards, d)) <= 32)
    assert judges == list(range(0, n_shards, distance))


LEARNERS = [
    (NAGClassifier(), Y, {}),
    (NAGRegressor(), Z, {}),
    (NAGClassifier(), Y, {"weight": RNG.uniform(1, 2, 3000)}),
    (NAGClassifier(eta0="auto"), Y, {}),
    (NAGClassifier(adaptive=False), Y, {}),
    (NAGClassifier(penalty="l1"), Y, {}),
    (ScaleInvariantClassifier(), Y, {}),
]


@pytest.mark.parametrize(
    ("estimator", "y", "options", "n_jobs"),
    [(*learner, 1) for learner in LEARNERS] + [(*learner, 3) for learner in LEARNERS[:2]],
)
def test_it_is_a_loop_over_shards(estimator, y, options, n_jobs):
    classes = {} if isinstance(estimator, NAGRegressor) else {"classes": [0, 1]}
    rows, y, options = X[:600], y[:600], {name: weight[:600] for name, weight in options.items()}
    model = shard_fit(estimator, rows, y, sample_weight=options.get("weight"), n_shards=6, rounds=3, n_jobs=n_jobs)
    np.testing.assert_array_equal(bits(model), bits(by_a_loop(estimator, rows, y, 6, 3, **options, **classes)))
    assert not hasattr(estimator, "_state")
    assert model.get_params() == estimator.get_params()
    merge([model, copy.deepcopy(estimator).partial_fit(rows, y, **classes)])  # both learn by the same rule


def test_threads_and_processes_give_the_same_bits():
    """Shards use the kernel that is chosen where the call starts, both in threads and in processes."""
    for kernel in ("auto", "numpy"):
        with config_context(kernel=kernel):
            model = shard_fit(NAGClassifier(), X, Y, n_shards=5, rounds=2)
            for backend in ("threading", "loky"):
                with joblib.parallel_config(backend, n_jobs=2):
                    other = shard_fit(NAGClassifier(), X, Y, n_shards=5, rounds=2, n_jobs=2)
                np.testing.assert_array_equal(bits(other), bits(model))


def test_errors_say_of_which_rows_they_count():
    bad = X[:600].copy()
    bad[377, 1] = np.inf  # row 77 of another shard's piece, which begins at row 300
    with pytest.raises(ValueError, match=r"^rows \[300:400\]: Input X contains infinity in row 77, column 1"):
        shard_fit(NAGClassifier(), bad, Y[:600], n_shards=5, rounds=1)
    bad[377, 1], bad[7, 1] = 0.0, np.inf
    with pytest.raises(ValueError, match="^Input X contains infinity in row 7, column 1"):
        shard_fit(NAGClassifier(), bad, Y[:600], n_shards=5, rounds=1)


@pytest.mark.parametrize("kind", ["sparse", "frame"])
def test_other_rows(kind):
    pd = pytest.importorskip("pandas")
    rows = sparse.coo_array(X[:600]) if kind == "sparse" else pd.DataFrame(X[:600], columns=list("abcd"))
    model = shard_fit(NAGClassifier(centering=False), rows, Y[:600], n_shards=5, rounds=3)
    plain = shard_fit(NAGClassifier(centering=False), X[:600], Y[:600], n_shards=5, rounds=3)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-9)
    assert hasattr(model, "feature_names_in_") == (kind == "frame")


def test_one_shard_is_one_model():
    model = shard_fit(NAGClassifier(), X, Y, n_shards=1, rounds=5)
    np.testing.assert_array_equal(bits(model), bits(NAGClassifier().partial_fit(X, Y, classes=[0, 1])))


def test_more_shards_than_rows():
    for n in (1, 10):
        assert shard_fit(NAGClassifier(), X[:n], Y[:n], classes=[0, 1], n_shards=40, rounds=3).t_ == n
    with pytest.raises(ValueError, match="there are no rows to learn from"):
        shard_fit(NAGClassifier(), X[:0], Y[:0], classes=[0, 1])


def test_more_rounds_are_nearer_to_one_model():
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(24000, 6)) * 10.0 ** rng.integers(-3, 4, 6)
    y = (rows / rows.std(axis=0) @ rng.normal(size=6) + rng.logistic(size=24000) > 0).astype(int)
    train, test = slice(0, 16000), slice(16000, None)
    one = NAGClassifier().partial_fit(rows[train], y[train], classes=[0, 1])
    best = log_loss(y[test], one.predict_proba(rows[test]))
    losses = []
    for rounds in (1, 16):
        model = shard_fit(NAGClassifier(), rows[train], y[train], n_shards=32, rounds=rounds)
        losses.append(log_loss(y[test], model.predict_proba(rows[test])))
    assert losses[1] < 1.005 * best
    assert losses[1] < losses[0] < 1.05 * best


@pytest.mark.parametrize(
    ("estimator", "n_shards", "rounds", "most"),
    [
        (NAGClassifier(), 256, 8, 1.006),
        (ScaleInvariantRegressor(), 256, 2, 1.005),
    ],
)
def test_first_rows_of_which_nothing_can_be_learnt(estimator, n_shards, rounds, most):
    """Noise drowns 50 features: errors of a model of a few rows would be in all models that start from it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70000, 50)) * 10.0 ** rng.integers(-3, 4, 50)
    z, train, test = X / X.std(axis=0) @ rng.normal(size=50) / np.sqrt(50), slice(0, 20000), slice(20000, None)
    is_classifier = isinstance(estimator, NAGClassifier)
    y = z + 2 * rng.logistic(size=70000) > 0 if is_classifier else z + 10 * rng.normal(size=70000)

    def loss(model):
        if is_classifier:
            return log_loss(y[test], model.predict_proba(X[test]))
        return np.mean((model.predict(X[test]) - y[test]) ** 2)

    one = clone(estimator).partial_fit(X[train], y[train], **({"classes": [False, True]} if is_classifier else {}))
    shards = shard_fit(estimator, X[train], y[train], n_shards=n_shards, rounds=rounds)
    assert shards.t_ == 20000
    assert loss(shards) < most * loss(one)


@pytest.mark.parametrize("learns", [True, False])
def test_what_shards_begin_with(learns):
    """Shards begin with the model of the first rows if that has learnt something, and with nothing otherwise.

    In the first case, their steps are longer. In the second, the model of the first rows is merged in.
    """
    rng = np.random.default_rng(3)
    y = X[:, 0] if learns else rng.normal(size=len(X))
    pair = learn_first(first_pair(NAGRegressor(verbose=1, constraint=None)), [(X[:10], y[:10], None)])
    assert pair[1].n_features_in_ == 1
    judged = [judge(pair, [(X[i : i + 20], y[i : i + 20], None)]) for i in range(30, 330, 20)]
    assert begin(pair, [], 1.0, 4.0).eta0 == 4.0
    assert begin(first_pair(NAGRegressor()), [], 1.0, 4.0).eta0 == 1.0
    assert not begin(pair, [[2.0, 1.0], [1.0, 2.0]], 1.0, 4.0).__sklearn_is_fitted__()  # the losses are equal
    start = begin(pair, judged, 1.0, 4.0)
    assert start.__sklearn_is_fitted__() == learns
    assert start.eta0 == (4.0 if learns else 1.0)
    model = learn_piece(start, [(X[10:30], y[10:30], None)])
    joined = join_first(model, start, pair)
    assert joined.t_ == 30
    expected = model if learns else merge([pair[0], model])
    np.testing.assert_array_equal(bits(joined), bits(expected))


def test_what_is_lost_on_the_next_rows_alone_is_judged():
    """A quarter as many rows as were learnt judge the model, compared with one that learns the targets alone."""
    pair = learn_first(first_pair(NAGRegressor()), [(X[:40], X[:40, 0], None)])
    lost = []
    for model, rows in zip(pair, (X, np.zeros((len(X), 1)))):
        later = copy.deepcopy(model).partial_fit(rows[40:50], X[40:50, 0])
        lost.append(later.progressive_loss_ * 50 - model.progressive_loss_ * 40)
    batches = [(X[i : i + 20], X[i : i + 20, 0], None) for i in (40, 60)]
    np.testing.assert_allclose(judge(pair, batches), lost, rtol=1e-12)
    assert judge(first_pair(NAGRegressor()), batches) == [0.0, 0.0]


@pytest.mark.parametrize("fitted", [True, False])
def test_steps_are_longer_where_there_is_a_rate_to_scale(fitted):
    for options, factor, expected in (
        ({"eta0": 0.5}, 2.0, 1.0),
        ({"eta0": 3}, 4.0, 12.0),
        ({"eta0": 1e308}, 3.0, 1e308),  # three times this rate would overflow
        ({"eta0": "auto"}, 2.0, "auto"),
        ({"eta0": 0.5, "adaptive": False}, 2.0, 0.5),
    ):
        before = NAGClassifier(**options)
        if fitted:
            before.partial_fit(X[:50], Y[:50], classes=[0, 1])
        rates = before._state.rule.eta if fitted else None
        model = with_steps(before, options["eta0"], factor)
        assert (before.eta0, model.eta0) == (options["eta0"], expected)
        assert type(with_steps(model, options["eta0"], 1.0).eta0) is type(options["eta0"])
        if fitted:
            assert before._state.rule.eta == rates
            assert model._state.rule.eta == (rates if expected == options["eta0"] else (expected,))
    assert shard_fit(NAGClassifier(eta0=1e308), X, Y, n_shards=9, rounds=2).eta0 == 1e308


def test_the_plan_names_every_row_once():
    for n, shards, rounds in ((100, 7, 3), (5, 4, 4), (1, 2, 2), (100, 1, 3)):
        first, pieces = plan(n, shards, rounds)
        assert first == max(1, n // (shards + 1))
        assert len(pieces) == rounds
        by_shard = [piece for k in range(shards) for piece in (pieces[r][k] for r in range(rounds))]
        assert [i for start, stop in by_shard for i in range(start, stop)] == list(range(first, n))


@pytest.mark.parametrize(
    ("estimator", "options", "error", "message"),
    [
        (SGDClassifier(), {}, TypeError, "estimator is a SGDClassifier"),
        (FTRLClassifier(), {}, TypeError, "estimator is an FTRLClassifier; its models cannot be merged"),
        (NAGClassifier(), {"n_shards": 0}, ValueError, "n_shards"),
        (NAGClassifier(), {"rounds": 1.5}, TypeError, "rounds"),
        (
            NAGClassifier(),
            {"n_shards": 2**31},
            ValueError,
            r"'n_shards' parameter must be an int in the range \[1, 1048576",
        ),
        (NAGClassifier(), {"n_shards": 2**63}, ValueError, "'n_shards' parameter"),
        (NAGClassifier(), {"rounds": 2**63}, ValueError, "'rounds' parameter"),
        (NAGClassifier(), {"n_shards": 2**18, "rounds": 5}, ValueError, r"'rounds' .* \[1, 4\]. .* n_shards is 262144"),
        (
            NAGClassifier(),
            {"sample_weight": np.ma.masked_array(np.ones(50), np.ones(50))},
            ValueError,
            "sample_weight has a masked",
        ),
        (NAGClassifier(), {"classes": []}, ValueError, "needs at least two classes; got no class"),
        (NAGClassifier(), {"sample_weight": [1.0]}, ValueError, "inconsistent numbers of samples"),
        (NAGClassifier(), {"classes": [0, 2]}, ValueError, "y contains 1"),
        (NAGClassifier(), {"sample_weight": np.zeros(50)}, ValueError, "sample_weight, .* is zero for all rows"),
        (NAGClassifier(class_weight={0: 0.0, 1: 0.0}), {}, ValueError, "class_weight, is zero for all rows"),
        (NAGRegressor(), {"sample_weight": np.zeros(50), "n_shards": 1}, ValueError, "is zero for all rows"),
    ],
)
def test_errors(estimator, options, error, message):
    with pytest.raises(error, match=message):
        shard_fit(estimator, X[:50], Y[:50], **options)


@pytest.mark.parametrize("rounds", [1, 3])
def test_least_squares_of_shards_are_those_of_one_model(rng, rounds):
    X = rng.normal(size=(600, 4)) * [1.0, 1e3, 1e-3, 1.0] + 5.0
    y = X @ [1.0, 2e-3, 300.0, -1.0] + rng.normal(size=600)
    estimator = ScaleInvariantRegressor(invariance="full")
    one = clone(estimator).partial_fit(X, y).predict(X)
    np.testing.assert_allclose(shard_fit(estimator, X, y, n_shards=7, rounds=rounds).predict(X), one, rtol=1e-10)


def test_classes_are_nothing_to_a_regressor():
    models = [shard_fit(NAGRegressor(), X[:99], Y[:99], n_shards=2, classes=classes) for classes in (None, [0, 1])]
    np.testing.assert_array_equal(*map(bits, models))


def test_frames_keep_the_names_of_their_features():
    for package in ("pandas", "polars"):
        frame = pytest.importorskip(package).DataFrame(dict(zip("abcd", X.T)))
        model = shard_fit(NAGClassifier(), frame, Y, n_shards=3, rounds=2)
        alone = NAGClassifier().partial_fit(frame, Y, classes=[0, 1])
        if hasattr(alone, "feature_names_in_"):  # older scikit-learn does not find the names in newer polars
            assert list(model.feature_names_in_) == list("abcd")
        np.testing.assert_array_equal(bits(model), bits(shard_fit(NAGClassifier(), X, Y, n_shards=3, rounds=2)))


def test_half_life_is_refused_before_anything_is_learnt():
    with pytest.raises(ValueError, match="models with half_life cannot be merged"):
        shard_fit(NAGClassifier(half_life=100.0), [["not a number"]], [0])


def test_pipelines_are_merged_with_their_learners(rng):
    n = 600
    towns = rng.choice(["Rome", "Oslo", "Lima", "Bonn"], n)
    X = np.array([rng.normal(5.0, 1.0, n), towns], dtype=object).T
    X[rng.random(n) < 0.1, 0] = None
    y = 3.0 * (towns == "Rome") - 2.0 * (towns == "Oslo") + rng.normal(0.0, 0.1, n)
    columns = OnlineColumnTransformer([("number", OnlineImputer(), [0]), ("word", OnlineOneHotEncoder(9), [1])])
    pipeline = make_online_pipeline(columns, NAGRegressor())
    model = shard_fit(pipeline, X.tolist(), y, n_shards=3, rounds=2)
    assert model[-1].t_ == n
    assert model[-1].eta0 == pipeline[-1].eta0
    present = np.array([x for x in X[:, 0] if x is not None], dtype=float)
    np.testing.assert_allclose(model[0].named_transformers_["number"].statistics_, [present.mean()])
    assert model.score(X, y) > 0.95
    assert not hasattr(pipeline[0], "transformers_")


def test_steps_that_learn_nothing_are_as_if_rows_had_been_transformed():
    steps = ["passthrough", FunctionTransformer(np.arcsinh), FrozenEstimator(StandardScaler().fit(np.arcsinh(X)))]
    model = shard_fit(make_online_pipeline(*steps, NAGRegressor()), X[:600], Z[:600], n_shards=5, rounds=3)
    rows = steps[2].transform(np.arcsinh(X[:600]))
    np.testing.assert_array_equal(bits(model[-1]), bits(shard_fit(NAGRegressor(), rows, Z[:600], n_shards=5, rounds=3)))


def test_a_pipeline_may_end_with_another():
    inner = make_online_pipeline(OnlineImputer(), NAGRegressor())
    model = shard_fit(make_online_pipeline(OnlineImputer(), inner), X[:600], Z[:600], n_shards=3, rounds=2)
    assert model[-1][-1].t_ == 600
    alone = shard_fit(inner, X[:600], Z[:600], n_shards=3, rounds=2)
    np.testing.assert_array_equal(bits(model[-1][-1]), bits(alone[-1]))
    scaled = make_online_pipeline(OnlineImputer(), make_online_pipeline(StandardScaler(), NAGRegressor()))
    with pytest.raises(TypeError, match="the step 'standardscaler' of estimator is a StandardScaler, whose models"):
        shard_fit(scaled, X, Z)


def test_the_model_of_targets_alone_has_no_constraint_and_prints_nothing(capsys):
    estimator = NAGRegressor(constraint=Box(np.zeros(4), np.inf), verbose=2)
    learn_first(first_pair(estimator), [(X[:100], Z[:100], None)])
    n_printed = len(capsys.readouterr().out.splitlines())
    estimator.partial_fit(X[:100], Z[:100])
    assert n_printed == len(capsys.readouterr().out.splitlines()) > 0


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (
            make_online_pipeline(OnlineImputer(), StandardScaler(), NAGRegressor()),
            "is a StandardScaler, whose models cannot be merged: use",
        ),
        (
            make_pipeline(OnlineImputer(), NAGRegressor()),
            "is a Pipeline, which has no partial_fit: use a .*OnlinePip",
        ),
        (
            make_online_pipeline(StandardScaler(), NAGRegressor()),
            "is a StandardScaler, whose models cannot be merged: use",
        ),
        (
            make_online_pipeline(OnlineImputer(), SGDRegressor()),
            "is a SGDRegressor; it must be a learner of sklearn_nag",
        ),
    ],
)
def test_pipelines_that_cannot_be_merged_are_told_so_before(estimator, message):
    with pytest.raises(TypeError, match=message):
        shard_fit(estimator, np.zeros((9, 2)), np.zeros(9))
