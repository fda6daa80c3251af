"""Parameters and attributes that the docstrings of several estimators share; see `sklearn_nag._decorators`."""

import re


def entries(section):
    """Entries of a numpydoc section by name."""
    return {entry.split(" :")[0]: entry for entry in re.split(r"\n(?=\S)", section.strip())}


ALL = entries("""
fit_intercept : bool, default=True
    Whether to learn an intercept, as the weight of a constant feature 1.
max_iter : int, default=1000
    Maximum number of passes over the rows in `fit`.
shuffle : bool, default=True
    Whether `fit` visits the rows in a new random order in each pass.
verbose : int, default=0
    Above 0, `fit` prints a line for each pass, and `fit` and `partial_fit` print one before code is compiled. Above 1,
    they also print progressive losses after 1, 2, 4, 8, ... rows. See `report_progress` for the same as numbers.
random_state : int, RandomState instance or None, default=None
    Controls the order of the rows and the choice of held-out rows.
early_stopping : bool or "auto", default="auto"
    Whether `fit` holds out rows; see :ref:`passes`.

    - ``"auto"``: if a new model has fewer than ten rows for each column in use (fewer than five if it has fewer than
      200 rows). `fit` then uses the loss on the held-out rows to find how many passes help, and learns all rows in the
      end.
    - True: always. Held-out rows are never learnt, and `fit` stops by the score on them.
    - False: never.
validation_fraction : float, default=0.1
    Fraction of the rows to hold out, between 0 and 1; with ``early_stopping="auto"``, at most 5,000 rows.
n_iter_no_change : int, default=5
    Number of passes without improvement before `fit` stops; at most 2 while it searches for the number of passes.
warm_start : bool, default=False
    Whether `fit` continues from the current model.
t_ : float
    Total weight of the rows learnt.
n_iter_ : int
    Number of passes over the rows by which `fit` has trained this model; 1 after `partial_fit`.
validation_losses_ : ndarray of shape (n_passes,)
    Mean loss on the held-out rows after each pass of the search for the number of passes; empty if there was no
    search. With several targets, the loss of each is divided by the loss of predicting its mean.
feature_importances_ : ndarray of shape (n_features,)
    Mean absolute value of ``coef_ * scale_`` over classes or outputs. For SelectFromModel and RFE, pass
    ``importance_getter="feature_importances_"``: by default they use ``coef_``, which depends on units.
n_features_in_ : int
    Number of features.
feature_names_in_ : ndarray of shape (`n_features_in_`,)
    Names of the features, if the input had them.
""")

CLASSIFIER = entries("""
multi_class : {"multinomial", "ovr"}, default="multinomial"
    How ``loss="log_loss"`` learns more than two classes. ``"multinomial"``: with a softmax of one decision value for
    each class. ``"ovr"``: each class against the rest, as all other losses do.
tol : float or None, default=1e-3
    `fit` stops when the mean loss of a pass (or the validation score, with ``early_stopping``) has not improved on the
    best one by ``tol`` for ``n_iter_no_change`` passes. None: `fit` stops after ``max_iter`` passes.
class_weight : dict, "balanced" or None, default=None
    Factor for the weights of the rows of each class; 1 for classes that a dict does not name. ``"balanced"`` gives the
    classes that occur the same sum of ``sample_weight``; `partial_fit` balances the classes seen up to each
    row. See ``progressive_loss_`` for a side effect.
calibration : {"progressive", None}, default=None
    ``"progressive"`` gives every loss probabilities and sets of classes (`predict_set`). It learns a temperature and,
    except for the log loss without ``class_weight``, an offset for each class from predictions made before each row was
    learnt. Probabilities of the log loss are then as confident as they are accurate, even with few rows for the number
    of columns. Rows count by their ``sample_weight``; with ``class_weight``, and in sets, each counts once. See
    :doc:`/how_sure`.
classes_ : ndarray of shape (n_classes,) or (n_labels, 2)
    The classes; for several labels, ``[0, 1]`` for each.
coef_ : ndarray of shape (1, n_features), (n_classes, n_features) or (n_labels, n_features)
    Weights in raw units; read-only, computed on access. To compare the importance of features, use ``coef_ * scale_``,
    which has no unit. A CSR matrix after ``sparsify()``, and if there are so many classes and columns that a dense
    table would exceed 8 GiB or the available memory.
intercept_ : ndarray of shape (1,), (n_classes,) or (n_labels,)
    Decision value when every feature is 0.
progressive_loss_ : float
    Mean loss of the predictions made before each row was learnt, over all rows since the model was new and over classes
    learnt one against the rest. After one pass, it is an honest estimate of the loss on new rows, except for a short
    ``half_life`` on columns with far tails; see :ref:`far_tails`. It is slightly too low with ``class_weight``, or
    other weights that depend on labels: scales know the features of a row before it is predicted, and count them by its
    weight. With ``invariance="full"``, it is too low until the rows span the columns: a row in a new direction counts
    as predicted by the mean, whereas `predict` extrapolates.
""")

REGRESSOR = entries("""
clip : "targets", (float, float) or None, default="targets"
    Range to which predictions are clipped, both while learning and in `predict`. This keeps outlying rows from doing
    harm; see :ref:`clipping`.

    - ``"targets"``: the range of the targets learnt so far (and 0, without ``fit_intercept``), extended if they have
      grown or fallen in the order of the rows.
    - Two numbers: a range in the unit of the target; either may be infinite.
    - None: predictions are not clipped.

    If a prediction leaves the range, the derivative of the loss is taken at its end or, for ``"targets"``, slightly
    beyond it.
quantile : float, default=0.5
    Quantile that ``loss="quantile"`` predicts, between 0 and 1.
power : float, default=1.5
    Power of ``loss="tweedie"``, from 1 to 2: variances are proportional to the means raised to this power. 1 is
    ``"poisson"``, 2 is ``"gamma"``.
tol : float or None, default=1e-3
    `fit` stops when, for ``n_iter_no_change`` passes, the mean loss of a pass has not been below the best one by
    ``tol`` times the best (or, with ``early_stopping``, the validation score has not been above the best one by
    ``tol``). It is relative, unlike that of SGDRegressor, because the loss has the unit of the target. None: `fit`
    stops after ``max_iter`` passes.
coef_ : ndarray of shape (n_features,) or (n_outputs, n_features)
    Weights in raw units; read-only, computed on access. To compare the importance of features, use ``coef_ * scale_``,
    which has the unit of the target. Predictions are ``X @ coef_ + intercept_``, clipped to the range given by
    ``clip``.
intercept_ : ndarray of shape (1,) or (n_outputs,)
    Prediction when every feature is 0, before clipping.
progressive_loss_ : float
    Mean loss of the predictions made before each row was learnt, over outputs and all rows since the model was new.
    After one pass, it is an honest estimate of the loss on new rows, except for a short ``half_life`` on columns with
    far tails, because scales know the features of a row before it is predicted; see :ref:`far_tails`. With
    ``clip=None`` and ``target_normalization``, these predictions, unlike those of `predict`, are clipped to the range
    of the targets so far, widened on either side by its own width. With ``target_normalization`` and ``fit_intercept``,
    the first row only sets the origin: its loss is 0.
""")

NAG = entries("""
normalization : {"auto", "max", "rms", None}, default="auto"
    Scale by which each feature is divided; that of its deviations from the mean if it is centred.

    - ``"max"``: the largest absolute value so far.
    - ``"rms"``: the root mean square so far.
    - ``"auto"``: features that are not 0 in more than half of the rows so far are centred and divided by their root
      mean square. For the others, the scale is the geometric mean of two root mean squares: over all rows and, counted
      three times, over the rows in which the feature is not 0. This is between ``"rms"``, which counts a rare word as
      much as a frequent one, and ``"max"``. Dense and sparse rows then give the same predictions, up to rounding.
    - None: features are not scaled.
adaptive : bool, default=True
    Whether to divide each weight's step by the square root of the sum of its squared gradients, as in AdaGrad. The
    classes of a softmax share one sum for each feature.
centering : bool or "auto", default="auto"
    Whether to subtract the running mean from each feature, so that its origin does not matter. With
    ``normalization="auto"``, this applies to features that are not 0 in more than half of the rows, whether rows are
    stored as dense or sparse. ``"auto"``: yes if ``normalization`` and ``fit_intercept`` are in use and, with ``"max"``
    and ``"rms"``, the first rows are dense. Without ``normalization="auto"``, sparse rows cannot be centred.
scales : {"online", "first-pass"}, default="online"
    How to learn scales, means and the unit of the target.

    - ``"online"``: along with the weights.
    - ``"first-pass"``: by `fit`, in a separate pass beforehand, so that no row meets a scale that is too small. This is
      the transductive setting of Theorem 1. The pass counts in ``t_`` and, with the predictions of a model without
      weights, in ``progressive_loss_``, but not in ``n_iter_`` or ``max_iter``. `partial_fit` refuses this option,
      because it sees each row once.
learning_rate : {"constant", "invscaling"}, default="constant"
    Learning rate schedule: ``eta0`` throughout, or ``eta0 / t ** power_t``. The adaptive rules of the paper use a
    constant rate.
power_t : float, default=0.5
    Exponent of ``learning_rate="invscaling"``.
alpha : float, default=0.0001
    Strength of the penalty; no effect without one. The objective is the mean loss plus
    ``alpha * (l1_ratio * |u|_1 + (1 - l1_ratio) * |u|_2^2 / 2)``, where ``u = coef_ * scale_`` are the unit-free
    weights. With ``target_normalization``, a regressor measures errors and ``u`` in standard deviations of the target,
    and deviances of targets divided by their mean: see :doc:`/from_scikit_learn`.
l1_ratio : float or None, default=0.15
    Share of L1 in ``penalty="elasticnet"``, in [0, 1]; may be None with other penalties.
constraint : "nonnegative", dict, Box, L2Ball, WeightedL1Ball, Simplex or None, default=None
    Set within which the weights stay; the intercept is free. See :ref:`constraints`.

    - Bounds on each entry of ``coef_``, in the unit of its own column: ``"nonnegative"``; a dict of signs (1, -1, or 0
      for any) by column name or number, such as ``{"price": -1}``; or a `Box` of `sklearn_nag.constraints` that
      contains 0. ``coef_`` satisfies them exactly. They do not go with an L1 penalty.
    - A ball or a simplex for all unit-free weights, ``u = coef_ * scale_``; for a regressor with
      ``target_normalization``, in standard deviations of the target, except with ``"poisson"``, ``"gamma"`` and
      ``"tweedie"``. Weights are projected onto it after each step, in the metric of the steps, so a row takes time in
      proportion to all features. `Simplex` needs ``normalization=None, adaptive=False``.
average : bool, int or "auto", default="auto"
    Whether to predict with the average of the weights used while learning, instead of the latest weights. The average
    is of ``u``, which has no unit. Row ``t`` counts ``t`` times, so early rows are soon forgotten.

    - ``"auto"``: with a penalty, no averaging. Without one, predictions combine the average and the latest weights, in
      shares that follow the progressive losses of the two (AdaHedge); see :ref:`averaging`.
    - True or False: with or without averaging.
    - int: with the average, once rows of this total weight have been seen.
half_life : float, "auto", tuple of float or None, default=None
    Total weight of rows, at least 1, after which the influence of past rows halves, for streams that change. None never
    forgets. See :ref:`forgetting`.

    Means, scales, the unit of a target, gradients, averages and shares of learning rates fade, and weights more slowly.
    A row that weighs as much as ``2 ** k`` half-lives counts for about ``k`` of them. Fading visits all features four
    times in each half-life; with Numba and no penalty, once in 200 half-lives.

    ``"auto"`` learns with half-lives of 20, 80, 320, 1,280, 5,120 and infinity side by side, and mixes their
    predictions by how well each has predicted rows before learning them, the latest rows above all (fixed share). This
    takes several times the work. For rare quantiles, short half-lives are left out. A tuple replaces these half-lives,
    except for infinity. ``coef_`` is the mean of their weights by their shares; ``scale_`` and ``mean_`` are those of
    the model that never forgets.

    Not available with ``normalization="max"``. Models with half-lives cannot be merged.
half_life_ : ndarray of shape (n_half_lives,) or (n_targets, n_half_lives)
    Share of each half-life in predictions, if there are several: for each class learnt one against the rest and each
    output.
half_lives_ : ndarray of float
    The half-lives that are mixed, infinity first.
scale_ : ndarray of shape (n_features,)
    Divisor of each feature; 1 for a feature that has been 0 so far. With ``normalization="auto"``, that of a feature
    that is mostly 0 is larger than its deviation, so penalties weigh more on it.
mean_ : ndarray of shape (n_features,)
    Value subtracted from each feature; 0 for features that are not centred.
""")

SCALE_INVARIANT = entries("""
invariance : {"coordinatewise", "full"}, default="coordinatewise"
    Which maps of the features leave predictions unchanged.

    - ``"coordinatewise"``: scaling each feature. A row takes time in proportion to its nonzeros.
    - ``"full"``: every invertible linear map and, with ``fit_intercept``, every shift of the origin, for rows in the
      span of those learnt (see Notes). It needs dense rows, and time and memory in proportion to the square of
      ``n_features``.
update : {"auto", "potential", "scinol1", "scinol2"}, default="auto"
    Update rule. ``"potential"`` is the algorithm of [1]_. ``"scinol1"`` and ``"scinol2"`` are the algorithms of [2]_,
    for ``invariance="coordinatewise"`` only. ``"auto"``: ``"scinol2"`` with ``invariance="coordinatewise"``,
    ``"potential"`` with ``"full"``.
potential_alpha : float, default=1.5
    Constant of the potential, called alpha in the papers; must be above 9/8. Larger values start more slowly. ScInOL
    does not use it.
centering : bool or "auto", default="auto"
    Whether to subtract the running mean from each feature. With ``invariance="coordinatewise"``, this applies to
    features that are not 0 in more than half of the rows so far, whether rows are stored as dense or sparse.
    ``"auto"``: if ``fit_intercept`` is in use. False is not allowed with ``invariance="full"`` and ``fit_intercept``.
average : bool or "auto", default="auto"
    Whether to predict with an average of the weights used while learning, in which later rows count more, or with the
    latest weights. ``"auto"``: for ``"scinol1"`` and ``"scinol2"``, with both, in shares that follow the progressive
    losses of the two (AdaHedge); for ``"potential"``, with the average. See :ref:`averaging`.
n_jobs : int or None, default=None
    No effect: one core learns all outputs.
scale_ : ndarray of shape (n_features,)
    Size of each feature: its root mean square (``update="potential"``) or its largest absolute value; of deviations
    from the mean if features are centred. 1 for a feature that has been 0 so far.
mean_ : ndarray of shape (n_features,)
    Mean of each feature; 0 for features that are not centred.
""")

FTRL = entries("""
regularizer : {"proximal", "l2", "entropy"}, default="proximal"
    Regulariser of the leader.

    - ``"proximal"``: FTRL-Proximal [1]_, with a learning rate for each weight.
    - ``"l2"``: lazy online gradient descent (dual averaging, [2]_).
    - ``"entropy"``: exponentiated gradient [3]_, in which the absolute values of the weights sum to ``radius``.
normalization : {"auto", "max", "rms", None}, default="max"
    Scale by which each feature is divided; that of its deviations from the mean if it is centred.

    - ``"max"``: the largest absolute value so far.
    - ``"rms"``: the root mean square so far.
    - ``"auto"``: as for :class:`NAGClassifier`.
    - None: features are not scaled, as in the printed algorithm.

    With a scale, rows are also divided by the root of their mean square length, so that ``eta0`` does not depend on the
    number of features; not for ``"entropy"``.
beta : float, default=0.1
    Added to the square root of the sum of a weight's squared gradients, for ``"proximal"``: damps its first steps.
power_t : float, default=0.5
    For ``"l2"`` and ``"entropy"``, the learning rate is ``eta0 / t ** power_t``; 0 keeps it constant.
l1 : float, default=0.0
    Strength of the L1 penalty, in the unit of the sum (not the mean) of the losses. Larger values make more weights
    exactly 0. The penalty applies to the weights of scaled features, so it does not depend on units; the intercept is
    not penalised. Not for ``"entropy"``.
l2 : float, default=0.0
    Strength of the L2 penalty (half the squared norm), in the same unit and for the same weights as ``l1``. Not for
    ``"entropy"``.
radius : float, default=10.0
    Sum of the absolute values of the weights ``coef_ * scale_``, for ``"entropy"``. For a regressor that learns the
    unit of the target, it is in standard deviations of the target. The intercept is free. To weigh experts whose
    predictions are the features, use ``radius=1, positive=True, normalization=None, fit_intercept=False`` and, for a
    regressor, ``target_normalization=None``.
half_life : float or None, default=None
    Total weight of rows, at least 1, after which the influence of past rows halves, for streams that change: the leader
    is then the best for recent losses. None never forgets. Not available with ``normalization="max"``. Fading visits
    all features four times in each half-life, however sparse rows are. See :ref:`forgetting`.
positive : bool, default=False
    Whether weights are nonnegative, for ``"entropy"``: they are then a probability distribution times ``radius``.
constraint : "nonnegative", dict, Box, L2Ball, WeightedL1Ball, Simplex or None, default=None
    Set within which the weights stay; the intercept is free. See :ref:`constraints`.

    - For ``"proximal"`` and ``"l2"``, bounds on each entry of ``coef_``, in the unit of its own column:
      ``"nonnegative"``; a dict of signs (1, -1, or 0 for any) by column name or number, such as ``{"price": -1}``; or a
      `Box` of `sklearn_nag.constraints` that contains 0. ``coef_`` satisfies them exactly.
    - For ``"l2"``, a ball or a simplex for all unit-free weights, ``coef_ * scale_``; for a regressor with
      ``target_normalization``, in standard deviations of the target. It is lazy: for each row, the sum of the gradients
      is projected anew, not the weights after the row. A row then takes time in proportion to all features.
""")
