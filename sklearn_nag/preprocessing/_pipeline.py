"""A Pipeline that learns from a stream."""

from __future__ import annotations

import copy
import functools
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.metadata_routing import UNUSED, process_routing

from .._decorators import available_if
from ..estimators._calls import unchanged_on_error
from ..estimators._parameters import (
    InvalidParameterError,
    check_names_of_parts,
    learner_of,
    names_before_learner,
    shown,
)
from ..estimators._validation import named_models
from ._steps import (
    check_is_step,
    check_step,
    is_left_out,
    learn_step,
    learns,
    merge_steps,
    numeric_outputs,
    places_in,
    tell_numeric,
    transformed,
    undone_on_error,
)

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.utils import Bunch


def _are_named(steps):
    """Whether there are steps, each with a name."""
    are_pairs = isinstance(steps, list | tuple) and all(isinstance(p, list | tuple) and len(p) == 2 for p in steps)
    return are_pairs and bool(steps)


def _last_can(method):
    """Check that a pipeline's last step has a method; one that passes rows on has ``transform``."""

    def check(pipeline):
        if not _are_named(pipeline.steps):
            return True  # the call reports what is wrong with the steps
        last = pipeline.steps[-1][1]
        if is_left_out(last):
            return method == "transform"
        getattr(last, method)  # raises the most informative AttributeError
        return True

    return check


def _can_learn(pipeline):
    if not _are_named(pipeline.steps):
        return True  # the call reports what is wrong with the steps
    last = pipeline.steps[-1][1]
    if isinstance(last, str):
        return True  # as above
    if not (is_left_out(last) or learns(last) or hasattr(last, "transform")):
        raise AttributeError(f"the last step, {type(last).__name__}, cannot learn from a stream: it has no partial_fit")
    return True


class OnlinePipeline(Pipeline):
    """A `sklearn.pipeline.Pipeline` that learns from a stream, batch by batch.

    It has everything that a Pipeline has: ``fit``, predictions, parameters of steps as ``step__parameter``, slices and
    ``set_output``. In `partial_fit`, each step learns the rows and then transforms them for the next:

    - Transformers of this package have ``learn_transform``: row ``t`` is transformed using rows ``1`` to ``t``. If all
      steps are of this kind, results do not depend on how the stream is cut.
    - Others with ``partial_fit``, such as `sklearn.preprocessing.StandardScaler`, learn a batch and then transform it.
      Later rows of a batch affect how earlier ones are transformed, so results depend on how the stream is cut.
    - Steps without ``partial_fit`` only transform. They must be fitted, or learn nothing, as
      `sklearn.feature_extraction.text.HashingVectorizer`. A step in a `sklearn.frozen.FrozenEstimator` does not change.

    Parameters
    ----------
    steps : list of tuple
        Names and estimators: transformers and, last, a learner or another transformer. None and "passthrough" pass rows
        on unchanged.
    transform_input : list of str, default=None
        As for `sklearn.pipeline.Pipeline`.
    memory : str or object with the joblib.Memory interface, default=None
        As for `sklearn.pipeline.Pipeline`: a cache for transformers that `fit` fits. It has no effect if a step is told
        which columns hold numbers, such as `OnlineCells` or `NAGCellsClassifier`; nor do callbacks.
    verbose : bool, default=False
        Whether `fit` prints the time of each step.

    Attributes
    ----------
    named_steps : Bunch
        The steps by name.
    classes_ : ndarray of shape (n_classes,)
        The classes, if the last step is a classifier.
    n_features_in_ : int
        Number of input columns of the first step.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of these columns, if the input was a frame.

    See Also
    --------
    make_online_pipeline : The same, with names generated from classes.
    OnlineColumnTransformer : Different transformers for different columns.

    Notes
    -----
    `fit` works as in a Pipeline: each transformer is fitted to all rows, and the learner then makes as many passes over
    the transformed rows as it needs.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn_nag import NAGClassifier
    >>> from sklearn_nag.preprocessing import OnlinePipeline
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> pipeline = OnlinePipeline([("scale", StandardScaler()), ("learn", NAGClassifier())])
    >>> for start in range(0, len(y), 100):
    ...     pipeline = pipeline.partial_fit(X[start : start + 100], y[start : start + 100], classes=[0, 1])
    >>> pipeline.score(X, y) > 0.9
    True
    """

    # `classes` goes to the last step as it is, and weights are routed by steps: the pipeline requests neither.
    __metadata_request__partial_fit = {"classes": UNUSED, "sample_weight": UNUSED}

    @unchanged_on_error
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Fit the transformers one after another to all rows, then the last step to the transformed rows.

        Parameters
        ----------
        X : iterable
            Rows, in a form that the first step accepts.
        y : iterable, optional
            Targets.
        **params : dict
            Parameters of steps, as for ``Pipeline.fit``: ``step__parameter``, or metadata that steps request; and
            ``sample_weight``, as for `partial_fit`.

        Returns
        -------
        self : object
            The fitted pipeline.
        """
        with self._undone_on_error(refits=True) as told:
            self._telling(told).fit(X, y, **self._with_weights(**params))
        return self

    @available_if(_last_can("transform"))
    @unchanged_on_error
    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit all steps, and return the rows as transformed by all fitted steps.

        Parameters
        ----------
        X : iterable
            Rows, in a form that the first step accepts.
        y : iterable, optional
            Targets.
        **params : dict
            As for `fit`.

        Returns
        -------
        {ndarray, sparse matrix, data frame}
            The transformed rows.
        """
        with self._undone_on_error(refits=True) as told:
            return self._telling(told).fit_transform(X, y, **params)

    @available_if(_can_learn)
    @unchanged_on_error
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Learn a batch: each transformer learns it and transforms it for the next step, and the last step learns that.

        Parameters
        ----------
        X : iterable
            Rows, in a form that the first step accepts.
        y : array-like, optional
            Targets.
        classes : array-like of shape (n_classes,), optional
            All classes; classifiers need them with the first batch.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, for the last step; with scikit-learn's metadata routing, for the steps that request
            them.
        **params : dict
            Further parameters for the ``partial_fit`` of steps: ``step__parameter`` or, with metadata routing, what
            steps request.

        Returns
        -------
        self : object
            The pipeline.

        Raises
        ------
        TypeError
            For a step that needs all rows before it can transform any.
        """
        with self._undone_on_error() as told:
            self._partial_fit(X, y, classes, sample_weight, params, told)
        return self

    @available_if(_last_can("transform"))
    @unchanged_on_error
    def learn_transform(self, X: Any) -> Any:
        """Learn a batch with all steps, and return it transformed: row t using rows 1 to t.

        Parameters
        ----------
        X : iterable
            Rows, in a form that the first step accepts.

        Returns
        -------
        {ndarray, sparse matrix, data frame}
            The transformed rows.
        """
        with self._undone_on_error() as told:
            return self._learn_inside(X, told)

    @available_if(_last_can("predict_interval"))
    def predict_interval(self, X: Any, coverage: float | ArrayLike = 0.9, **params: Any) -> np.ndarray:
        """Interval for the target of each row that contains it with the given probability.

        Parameters
        ----------
        X : iterable
            Rows, in a form that the first step accepts.
        coverage : float or array-like of shape (n_coverages,), default=0.9
            Probability that an interval contains the target; or several such probabilities.
        **params : dict
            Further parameters of the last step's method, such as ``method`` of
            `sklearn_nag.NAGRegressor.predict_interval`.

        Returns
        -------
        ndarray
            The result of the last step for the transformed rows.
        """
        return self.steps[-1][1].predict_interval(self._transformed(X), coverage, **params)

    @available_if(_last_can("predict_set"))
    def predict_set(self, X: Any, coverage: float | ArrayLike = 0.9) -> np.ndarray:
        """For each row, a set of classes that contains the true class with the given probability.

        Parameters
        ----------
        X : iterable
            Rows, in a form that the first step accepts.
        coverage : float or array-like of shape (n_coverages,), default=0.9
            Probability that a set contains the class; or several such probabilities.

        Returns
        -------
        ndarray of bool
            The result of the last step for the transformed rows, as from `sklearn_nag.NAGClassifier.predict_set`.
        """
        return self.steps[-1][1].predict_set(self._transformed(X), coverage)

    @available_if(_last_can("coefficients"))
    def coefficients(
        self, feature_names: ArrayLike | None = None, *, as_frame: bool | Literal["auto"] = "auto"
    ) -> pd.DataFrame | Bunch:
        """Return a table of the weights of the last step, with feature names from the steps before.

        Parameters
        ----------
        feature_names : array-like of str of shape (n_features,), optional
            Names of the features of the last step. By default, ``pipeline[:-1].get_feature_names_out()`` gives them: of
            columns, of words, and of hashed words as far as they are remembered.
        as_frame : bool or "auto", default="auto"
            Whether to return a pandas DataFrame; ``"auto"``: if pandas is installed.

        Returns
        -------
        DataFrame or Bunch
            As `sklearn_nag.NAGRegressor.coefficients`.
        """
        if feature_names is None:
            feature_names = names_before_learner(self)
        return learner_of(self).coefficients(feature_names, as_frame=as_frame)

    def _transformed(self, X):
        """Rows in the form that the last step takes."""
        return transformed((step for _, step in self.steps[:-1]), X)

    def _partial_fit(self, X, y, classes, sample_weight, params, told):
        *before, (name, last) = self.steps
        self._check_stream(before)
        of_steps = self._params_of_steps(sample_weight, params)
        X = self._learnt(before, X, y, of_steps, told)
        told.append(tell_numeric(last, [step for _, step in before]))
        if learns(last):
            options = {} if classes is None else {"classes": classes}
            last.partial_fit(X, y, **options, **of_steps.get(name, {}))
        else:
            self._check_stream(self.steps[-1:])

    def _learn_inside(self, X, told):
        """Like `learn_transform`, inside a call that undoes it; functions that undo more are added to ``told``."""
        self._check_steps()
        self._check_stream(self.steps)
        return self._learnt(self.steps, X, None, {}, told)

    def _learnt(self, steps, X, y, of_steps, told):
        """Rows as these first steps transformed them while learning them."""
        for i, (name, step) in enumerate(steps):
            told.append(tell_numeric(step, [other for _, other in steps[:i]]))
            X = learn_step(step, X, y, of_steps.get(name))
        return X

    def _check_steps(self):
        """Raise for invalid steps or names."""
        if not _are_named(self.steps):
            raise InvalidParameterError("steps", "a list of tuples (name, estimator), at least one", shown(self.steps))
        check_names_of_parts("steps", [name for name, _ in self.steps], type(self))
        for place, (name, step) in enumerate(self.steps, 1):
            if not is_left_out(step) or step == "drop":
                check_is_step(name, step, is_last=place == len(self.steps))

    def _check_stream(self, steps):
        """Raise also for steps that must see all rows."""
        for name, step in steps:
            if not is_left_out(step):
                check_step(name, step)

    def _with_weights(self, sample_weight=None, **params):
        """Step parameters with the weights, which are for the last step unless metadata are routed."""
        if sample_weight is None:
            return params
        if get_config()["enable_metadata_routing"]:
            return {**params, "sample_weight": sample_weight}
        last, step = self.steps[-1]
        if is_left_out(step):
            raise TypeError(f"the last step, {last!r}, passes rows on unchanged: it takes no sample_weight.")
        if f"{last}__sample_weight" in params:
            raise ValueError(f"sample_weight and {last}__sample_weight are the same; give one of them.")
        return {**params, f"{last}__sample_weight": sample_weight}

    def _params_of_steps(self, sample_weight, params):
        """Parameters for ``partial_fit`` of each step, by its name."""
        params = self._with_weights(sample_weight, **params)
        if get_config()["enable_metadata_routing"]:
            if not params:
                return {}
            routed = process_routing(self, "partial_fit", **params)
            return {
                name: routed[name]["partial_fit"] for name, _ in self.steps if "partial_fit" in routed.get(name, {})
            }
        of_steps = {name: {} for name, _ in self.steps}
        for key, value in params.items():
            name, found, parameter = key.partition("__")
            if not found or name not in of_steps:
                raise ValueError(
                    f"OnlinePipeline.partial_fit does not accept the parameter {key!r}; those of a step are given as "
                    f"step__parameter, and the steps are {', '.join(map(repr, of_steps))}."
                )
            of_steps[name][parameter] = value
        for name, step in self.steps:
            if of_steps[name] and not learns(step):
                raise TypeError(f"the step {name!r} does not learn, and takes no parameters; got {of_steps[name]}.")
        return of_steps

    def _telling(self, told):
        """A Pipeline that fits the steps, and tells those that ask which of their columns hold numbers.

        Functions that undo this are added to ``told``.
        """
        steps = []
        for i, (name, step) in enumerate(self.steps):
            if hasattr(step, "set_numeric_columns"):
                steps.append((f"before {name}", _Telling(step, [other for _, other in self.steps[:i]], told)))
            steps.append((name, step))
        if len(steps) == len(self.steps):
            return super()
        return Pipeline(steps, transform_input=self.transform_input, verbose=self.verbose)

    def _undone_on_error(self, refits=False):
        """Check the steps; return a ``with`` block that restores them if it raises, as `undone_on_error` does."""
        self._check_steps()
        return undone_on_error([step for _, step in self.steps], refits)

    @property
    def numeric_outputs_(self) -> np.ndarray:
        """Positions of the output columns that hold numbers, if the last transformer knows them."""
        numeric = numeric_outputs(step for _, step in self.steps)
        if numeric is None:
            raise AttributeError("no step of this pipeline knows which output columns hold numbers")
        return numeric

    @property
    def _takes_tables(self):
        return getattr(next(iter(self._parts()), None), "_takes_tables", ())

    @property
    def _reads(self):
        return getattr(next(iter(self._parts()), None), "_reads", frozenset())

    def _parts(self):
        return [step for _, step in self.steps if not is_left_out(step)]

    def _merged(self, pipelines, base=None):
        """A pipeline of the merged steps of several, the first being this, that end in a transformer."""
        steps, _ = merge_transformers(pipelines, len(self.steps), base)
        result = copy.copy(self)
        result.steps = steps
        return result

    def _places_in(self, merged):
        return places_in(self.steps[-1][1], merged.steps[-1][1])

    def get_metadata_routing(self) -> Any:
        """Return which steps get which metadata.

        Returns
        -------
        MetadataRouter
            That of a Pipeline, plus ``partial_fit`` of the steps that have it.
        """
        router = super().get_metadata_routing()
        steps = dict(self.steps)
        for name, pair in router:
            step = steps.get(name)
            is_asked = step is self.steps[-1][1] or not hasattr(step, "learn_transform")
            if name in steps and learns(step) and is_asked:
                pair.mapping.add(caller="partial_fit", callee="partial_fit")
        return router


def _predicting(name):
    """The method of `Pipeline` with this name, without its check of the tags of all steps, which takes many rows' time.

    The last step is still checked to be fitted; if it is not, or metadata are routed, Pipeline does everything.
    """

    @available_if(lambda pipeline: getattr(super(OnlinePipeline, pipeline), name))
    @functools.wraps(getattr(Pipeline, name))
    def method(self, X, **params):
        if get_config()["enable_metadata_routing"] or not self.__sklearn_is_fitted__():
            return getattr(super(OnlinePipeline, self), name)(X, **params)
        for _, step in self.steps[:-1]:
            if step is not None and step != "passthrough":
                X = step.transform(X)
        return getattr(self.steps[-1][1], name)(X, **params)

    return method


for _name in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
    setattr(OnlinePipeline, _name, _predicting(_name))


class _Telling(BaseEstimator):
    """A step that tells the next which columns hold numbers, and passes rows on."""

    def __init__(self, step, before, told):
        self.step, self.before, self.told = step, before, told

    def fit(self, X, y=None):
        self.told.append(tell_numeric(self.step, self.before, refits=True))
        return self

    def transform(self, X):
        return X

    def __sklearn_is_fitted__(self):
        return True


def merge_transformers(pipelines: list, n: int, base: Any = None) -> tuple[list, list]:
    """Merge the first ``n`` steps of several pipelines, one by one; all went on from ``base``, if any.

    Also return, for each pipeline and then ``base``, the place of each output column in the merged output, -1 for none;
    None if all are the same.
    """
    named = named_models(pipelines, base)
    expected = [name for name, _ in pipelines[0].steps]
    for which, pipeline in named:
        own = [name for name, _ in pipeline.steps]
        if own != expected:
            raise ValueError(f"{which} does not fit models[0]: its steps are {own}, there {expected}.")
    steps, places = [], [None] * len(named)
    for i, (name, first) in enumerate(pipelines[0].steps[:n]):
        of_all = [pipeline.steps[i][1] for _, pipeline in named]
        moved = any(of_one is not None for of_one in places)
        if moved and not is_left_out(first):
            before = pipelines[0].steps[i - 1][0]
            raise TypeError(
                f"the step {before!r} moves columns when it is merged, and {name!r} comes after it: a step that makes "
                "columns of words can be merged only if it is the last one before the learner."
            )
        step = merge_steps(name, of_all[: len(pipelines)], None if base is None else of_all[-1])
        if not is_left_out(step):
            places = [places_in(one, step) for one in of_all]
        steps.append((name, step))
    return steps, places


def make_online_pipeline(
    *steps: Any, memory: Any = None, transform_input: list[str] | None = None, verbose: bool = False
) -> OnlinePipeline:
    """Make an `OnlinePipeline` from steps without names; they are named after their classes, in lower case.

    Parameters
    ----------
    *steps : estimators
        Transformers and, last, a learner or another transformer.
    memory : str or object with the joblib.Memory interface, default=None
        As for `OnlinePipeline`.
    transform_input : list of str, default=None
        As for `OnlinePipeline`.
    verbose : bool, default=False
        As for `OnlinePipeline`.

    Returns
    -------
    OnlinePipeline
        The pipeline.

    See Also
    --------
    OnlinePipeline : The same, with given names.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn_nag import NAGRegressor
    >>> from sklearn_nag.preprocessing import make_online_pipeline
    >>> pipeline = make_online_pipeline(StandardScaler(), NAGRegressor())
    >>> list(pipeline.named_steps)
    ['standardscaler', 'nagregressor']
    """
    named = make_pipeline(*steps).steps
    return OnlinePipeline(named, transform_input=transform_input, memory=memory, verbose=verbose)
