"""Parameters and attributes that docstrings of several estimators describe alike; see `sklearn_nag._decorators`."""

from __future__ import annotations

import re


def entries(section):
    """Entries of a numpydoc section by their names."""
    return {entry.split(" :")[0]: entry for entry in re.split(r"\n(?=\S)", section.strip())}


ALL = entries("""
fit_intercept : bool, default=True
    Whether a constant feature 1 is added.
max_iter : int, default=1000
    Largest number of passes over the rows in `fit`.
shuffle : bool, default=True
    Whether `fit` goes through the rows in a new random order in each pass.
verbose : int, default=0
    Above 0, `fit` prints a line for each pass, and both it and `partial_fit` one before code is compiled; above 1 also
    progressive losses, after 1, 2, 4, 8, ... rows. See `report_progress` for the same as numbers.
random_state : int, RandomState instance or None, default=None
    Order of the rows, and which are held out.
early_stopping : bool or "auto", default="auto"
    ``"auto"``: where a new model has less than ten rows for each column in use, of less than 200 rows five, `fit`
    first finds out how many passes help, by the loss on rows held out, and then learns all rows; see :ref:`passes`.
    True: rows are held out everywhere, never learnt, and `fit` stops by the score on them. False: none are held
    out.
validation_fraction : float, default=0.1
    Share of the rows that is held out for ``early_stopping``, between 0 and 1; 5,000 rows at most with ``"auto"``.
n_iter_no_change : int, default=5
    Passes without improvement before `fit` stops; 2 at most where it searches for the number of passes.
warm_start : bool, default=False
    Whether `fit` goes on from the present model.
t_ : float
    Total weight of the rows learnt.
n_iter_ : int
    Passes over the rows that `fit` has taught this model; 1 after `partial_fit`.
validation_losses_ : ndarray of shape (n_passes,)
    Mean loss on the rows held out after each pass by which `fit` searched for the number of passes, of each of several
    targets over that of its mean; empty where it did not.
feature_importances_ : ndarray of shape (n_features,)
    Mean size of ``coef_ * scale_`` over classes or outputs. SelectFromModel and RFE go by it with
    ``importance_getter="feature_importances_"``; by default they go by ``coef_``, and so by units.
n_features_in_ : int
    Number of features.
feature_names_in_ : ndarray of shape (`n_features_in_`,)
    Names of the features, where the input had them.
""")

CLASSIFIER = entries("""
multi_class : {"multinomial", "ovr"}, default="multinomial"
    How more than two classes are learnt with ``loss="log_loss"``: by the softmax of one decision value for each, or
    each against the rest. Other losses learn each class against the rest.
tol : float or None, default=1e-3
    `fit` stops when the mean loss of a pass (or the validation score, with ``early_stopping``) has not been better
    than the best one by ``tol`` for ``n_iter_no_change`` passes. None: after ``max_iter`` passes.
class_weight : dict, "balanced" or None, default=None
    Factor on the weights of the rows of each class, 1 for classes that a dict does not name; ``"balanced"`` makes
    the classes that come weigh alike, by ``sample_weight``; in ``partial_fit`` those so far, up to each row. Scales
    count a row by it before they predict it while learning, which tells of its class: see ``progressive_loss_``.
calibration : {"progressive", None}, default=None
    ``"progressive"`` gives every loss probabilities, and sets of classes (`predict_set`), by what predictions made
    before rows were learnt were worth: a temperature and, but for the log loss without ``class_weight``, an offset for
    each class. Those of the log loss are then as sure as they are right, also where rows are few for the columns. Rows
    count by their ``sample_weight`` where there is no ``class_weight``; in sets each counts once. See :doc:`/how_sure`.
classes_ : ndarray of shape (n_classes,) or (n_labels, 2)
    The classes; of several labels ``[0, 1]`` for each.
coef_ : ndarray of shape (1, n_features), (n_classes, n_features) or (n_labels, n_features)
    Weights in raw units; read-only, made when asked for. What tells features apart by their importance is
    ``coef_ * scale_``, which has no unit. A CSR matrix after ``sparsify()``, and for so many classes and columns that a
    table of all would have more than 8 GiB, or no room.
intercept_ : ndarray of shape (1,), (n_classes,) or (n_labels,)
    Decision value where every feature is 0.
progressive_loss_ : float
    Mean loss of the predictions made before each row was learnt, by the weights that `predict` had then and by scales
    that know the features of the row, over all rows since the model was new and over classes learnt one against the
    rest. After one pass it is an honest estimate of the loss on new rows, but for a short ``half_life`` and columns
    with far tails, see :ref:`far_tails`, and a little too low with ``class_weight`` or other weights made of labels,
    by which scales have counted the row. With ``invariance="full"`` it is too low until rows span the columns: a row in
    a direction that none had before counts as predicted by the mean, where `predict` goes on.
""")

REGRESSOR = entries("""
clip : "targets", (float, float) or None, default="targets"
    The range within which predictions are held, while learning and by `predict` alike: that of the targets learnt so
    far (and 0, without ``fit_intercept``), further out where they have grown or fallen in the order of the rows; two
    numbers in the unit of the target, either of which may be infinite; or none. Where a prediction leaves the range,
    the derivative of the loss is taken at its end or, of the range of the targets, a little beyond. It is what keeps
    outlying rows from doing harm: see :ref:`clipping`.
quantile : float, default=0.5
    The quantile that ``loss="quantile"`` predicts, between 0 and 1.
power : float, default=1.5
    Of ``loss="tweedie"``, from 1 to 2: variances are as the means to this power. 1 is ``"poisson"``, 2 is ``"gamma"``.
tol : float or None, default=1e-3
    `fit` stops when the mean loss of a pass has not been below the best one by ``tol`` times the best (or, with
    ``early_stopping``, the validation score above the best one by ``tol``) for ``n_iter_no_change`` passes. None:
    after ``max_iter`` passes. It is relative, unlike that of SGDRegressor, because the loss has the unit of the
    target.
coef_ : ndarray of shape (n_features,) or (n_outputs, n_features)
    Weights in raw units; read-only, made when asked for. What tells features apart by their importance is
    ``coef_ * scale_``, which has the unit of the target. Predictions are ``X @ coef_ + intercept_``, held within the
    range that ``clip`` stands for.
intercept_ : ndarray of shape (1,) or (n_outputs,)
    Prediction where every feature is 0, before it is clipped.
progressive_loss_ : float
    Mean loss of the predictions made before each row was learnt, by the weights that `predict` had then and by scales
    that know the features of the row, over all rows since the model was new and over outputs. With ``clip=None`` and
    ``target_normalization`` these predictions, unlike those of `predict`, are held within the range of the targets so
    far, widened on either side by its own width. After one pass it is an honest estimate of the loss on new rows, but
    for a short ``half_life`` and columns with far tails, see :ref:`far_tails`. The first row, with
    ``target_normalization`` and ``fit_intercept``, only sets the origin: its loss is 0.
""")

NAG = entries("""
normalization : {"auto", "max", "rms", None}, default="auto"
    Scale of a feature: the largest absolute value so far, the root mean square so far, or none; of deviations from
    the mean where features are centred. ``"auto"`` centres a feature that is not 0 in more than half of the rows so
    far and divides it by its root mean square. For the others it takes the geometric mean of the root mean squares
    over all rows and, counting three times, over those in which they are not 0: between ``"rms"``, by which a rare
    word counts as much as a frequent one, and ``"max"``. So dense and sparse rows give the same predictions, to
    rounding.
adaptive : bool, default=True
    Whether each weight's step is divided by the root of the sum of its squared gradients, as in AdaGrad. The classes of
    a softmax share one such sum for each feature.
centering : bool or "auto", default="auto"
    Whether to subtract from each feature its running mean, so that its origin does not matter; with
    ``normalization="auto"`` from those that are not 0 in more than half of the rows, however rows are stored.
    ``"auto"``: where ``normalization`` and ``fit_intercept`` are in use and, with ``"max"`` and ``"rms"``, the first
    rows are dense. Without ``normalization="auto"`` sparse rows cannot be centred.
scales : {"online", "first-pass"}, default="online"
    Whether scales, means and the unit of the target are learnt along with the weights, or by `fit` in a pass of their
    own before: the transductive setting of Theorem 1, in which no row is seen by a scale that is too small. That pass
    counts in ``t_`` and, with the predictions of a model without weights, in ``progressive_loss_``, not in ``n_iter_``
    or ``max_iter``. `partial_fit` sees each row once, so it refuses ``"first-pass"``.
learning_rate : {"constant", "invscaling"}, default="constant"
    ``eta0`` throughout, or ``eta0 / t ** power_t``. The adaptive rules of the paper take a constant one.
power_t : float, default=0.5
    Exponent of ``learning_rate="invscaling"``.
alpha : float, default=0.0001
    Strength of the penalty, without effect where there is none: the objective is the mean loss plus
    ``alpha * (l1_ratio * |u|_1 + (1 - l1_ratio) * |u|_2^2 / 2)``, with weights without units, ``u = coef_ * scale_``.
    With ``target_normalization`` a regressor counts errors and ``u`` in standard deviations of the target, and
    deviances of targets over their mean: see :doc:`/from_scikit_learn`.
l1_ratio : float or None, default=0.15
    Share of L1 for ``penalty="elasticnet"``, in [0, 1]; None where there is no such penalty.
constraint : "nonnegative", dict, Box, L2Ball, WeightedL1Ball, Simplex or None, default=None
    Where weights are held; the intercept is free. Bounds on each weight, ``coef_`` to the bit, in the unit of its own
    column: ``"nonnegative"``, a dict of signs (1, -1, or 0 for any) by names or numbers of columns, such as
    ``{"price": -1}``, or a `Box` of `sklearn_nag.constraints` that has 0 in it. Steps are cut off at the bounds, and a
    sparse row costs as much as without; not with a penalty of L1. Or a ball, or a simplex, on which all weights without
    units, ``u = coef_ * scale_``, are projected after each step; for a regressor with ``target_normalization`` in
    standard deviations of the target. A row then takes time in proportion to all features. Nearest is what costs least
    in the metric of the steps, ``sum sqrt(H_i) (u_i - v_i)^2`` for adaptive rules; where these have scales, steps are
    ``eta0 * radius * g z / sqrt(H)``. See :ref:`constraints`. Simplex needs ``normalization=None, adaptive=False``.
average : bool, int or "auto", default="auto"
    Whether to predict with the average of the weights used while learning, from the first row on or once rows of a
    total weight of ``average`` have been seen. Row ``t`` counts ``t`` times, so that early rows are soon forgotten.
    What is averaged is ``u``, which has no unit. ``"auto"``: unless there is a penalty, and predictions are by that
    average and the latest weights, with shares that follow the progressive losses of the two (AdaHedge); see
    :ref:`averaging`.
half_life : float, "auto", tuple of float or None, default=None
    Total weight of rows, at least 1, after which what was learnt counts half: means, scales, the unit of a target,
    gradients, averages and shares of learning rates alike. Weights themselves fade to a half in eight half-lives, of
    less than 20 rows in as few as four, so that none grows without end. No row halves these sums more than
    once, so one that weighs as much as ``2 ** k`` half-lives counts for about ``k`` of them. For streams that change
    their nature. None never forgets. Not with ``normalization="max"``. Four times in each half-life all features are
    gone through, however sparse rows are; with Numba and no penalty once in 200.
    ``"auto"`` learns with half-lives of 20, 80, 320, 1,280, 5,120 and infinity side by side, and mixes their
    predictions by how well each has predicted rows before it learnt them, the last ones above all (fixed share):
    several times the work, and nothing to choose. Rare quantiles leave short ones out. A tuple has other half-lives
    in place of these, beside infinity. ``coef_`` is the mean of their weights, by their shares; ``scale_`` and
    ``mean_`` are those that never fade. Models with half-lives cannot be merged. See :ref:`forgetting`.
half_life_ : ndarray of shape (n_half_lives,) or (n_targets, n_half_lives)
    How much each half-life is trusted, where there are several: its share in predictions, for each class learnt one
    against the rest and each output.
half_lives_ : ndarray of float
    These half-lives, infinity first.
scale_ : ndarray of shape (n_features,)
    What each feature was divided by; 1 for a feature that has been 0 so far. With ``normalization="auto"`` that of a
    feature that is mostly 0 is larger than its deviation, so that penalties weigh more on it.
mean_ : ndarray of shape (n_features,)
    What was subtracted from each feature; 0 where features are not centred.
""")

SCALE_INVARIANT = entries("""
invariance : {"coordinatewise", "full"}, default="coordinatewise"
    Which maps of the features leave predictions unchanged: scaling each (time in proportion to the nonzeros of a
    row), or every invertible linear map and, with ``fit_intercept``, move of the origin (time and memory in
    proportion to the square of ``n_features``, dense rows only; for rows in the span of those learnt, see Notes).
update : {"auto", "potential", "scinol1", "scinol2"}, default="auto"
    ``"potential"`` is [1]_. ``"scinol1"`` and ``"scinol2"`` are the algorithms of [2]_, which are for
    ``invariance="coordinatewise"`` only. ``"auto"``: ``"scinol2"`` there, ``"potential"`` for ``"full"``.
potential_alpha : float, default=1.5
    The papers' alpha, the constant of the potential, above 9/8; ScInOL has none. Larger values start more slowly.
centering : bool or "auto", default="auto"
    Whether to subtract its running mean from each feature or, for ``invariance="coordinatewise"``, from those that
    are not 0 in more than half of the rows so far, however rows are stored. ``"auto"``: where ``fit_intercept`` is
    in use. False is not allowed with ``invariance="full"`` and ``fit_intercept``.
average : bool or "auto", default="auto"
    Whether to predict with an average of the weights had while learning, in which later rows count more, or with
    the latest ones. ``"auto"``: with both, with shares that follow the progressive losses of the two (AdaHedge); see
    :ref:`averaging`. That is for ``"scinol1"`` and ``"scinol2"``; for ``"potential"`` it is the average.
n_jobs : int or None, default=None
    Without effect: one core learns all outputs.
scale_ : ndarray of shape (n_features,)
    Size of each feature: the root mean square (``update="potential"``) or the largest absolute value; of deviations
    from the mean where features are centred. 1 for a feature that has been 0 so far.
mean_ : ndarray of shape (n_features,)
    Mean of each feature; 0 where features are not centred.
""")

FTRL = entries("""
regularizer : {"proximal", "l2", "entropy"}, default="proximal"
    ``"proximal"`` is FTRL-Proximal [1]_, with a learning rate for each weight. ``"l2"`` is lazy online gradient
    descent (dual averaging, [2]_), ``"entropy"`` exponentiated gradient [3]_, whose weights have sizes that add up
    to ``radius``.
normalization : {"auto", "max", "rms", None}, default="max"
    Scale of a feature: the largest absolute value so far, the root mean square so far, or none; of deviations from
    the mean where features are centred. ``"auto"`` is that of :class:`NAGClassifier`. With a scale, rows are also
    divided by the root of their mean square length, so that ``eta0`` does not depend on the number of features; not
    for ``"entropy"``. None is the printed algorithm.
beta : float, default=0.1
    What is added to the root of the sum of a weight's squared gradients, for ``"proximal"``: damps its first steps.
power_t : float, default=0.5
    The learning rate is ``eta0 / t ** power_t`` for ``"l2"`` and ``"entropy"``; 0 keeps it constant.
l1 : float, default=0.0
    Strength of the L1 norm of the weights, in the unit of the sum (not the mean) of the losses. The larger it is, the
    more weights are exactly 0. Weights are those of features over their sizes, so it depends on no unit; the
    intercept is not penalised. Not for ``"entropy"``.
l2 : float, default=0.0
    Strength of half the squared L2 norm of the weights, likewise.
radius : float, default=10.0
    Sum of the sizes of the weights ``coef_ * scale_``, for ``"entropy"``; for a regressor in standard deviations of
    the target where these are learnt. The weight of the intercept is free. To weigh experts, whose predictions are the
    features, take ``radius=1, positive=True, normalization=None, fit_intercept=False`` and, for a regressor,
    ``target_normalization=None``.
half_life : float or None, default=None
    Total weight of rows, at least 1, after which what was learnt counts half: the leader is that of the losses of
    late. For streams that change their nature; None never forgets. Not with ``normalization="max"``. Four times in
    each half-life all features are gone through, however sparse rows are. See :ref:`forgetting`.
positive : bool, default=False
    Whether weights are not negative, for ``"entropy"``: they then are a probability distribution times ``radius``.
constraint : "nonnegative", dict, Box, L2Ball, WeightedL1Ball, Simplex or None, default=None
    Where weights are held; the intercept is free. Bounds on each weight, ``coef_`` to the bit, in the unit of its own
    column: ``"nonnegative"``, a dict of signs (1, -1, or 0 for any) by names or numbers of columns, such as
    ``{"price": -1}``, or a `Box` of `sklearn_nag.constraints` that has 0 in it; for ``"proximal"`` and ``"l2"``. Or a
    ball, or a simplex, that holds all weights without units, ``coef_ * scale_``, for ``"l2"``; for a regressor with
    ``target_normalization`` in standard deviations of the target. It is lazy: the sum of the gradients is projected
    anew for each row, not the weights after it. A row then takes time in proportion to all features. See
    :ref:`constraints`.
""")
