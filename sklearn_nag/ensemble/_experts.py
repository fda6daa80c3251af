"""Experts: learners with names, and what each of them predicts for rows before it learns them."""

from __future__ import annotations

from sklearn.base import BaseEstimator, clone
from sklearn.utils import Bunch

from ..estimators._online import OnlineLinear
from ..model_selection._streams import StreamPipeline


class NamedEstimators(BaseEstimator):
    """Base of estimators with a parameter ``estimators``, a list of names and estimators, or None for a default list.

    The estimators and their parameters are parameters, too: ``name`` and ``name__parameter``.
    """

    estimators: list[tuple[str, BaseEstimator]] | None

    def get_params(self, deep=True):
        """Get parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether to add the estimators by their names, and their parameters as ``name__parameter``.

        Returns
        -------
        dict
            Values by name.
        """
        own = super().get_params(deep=False)
        if not deep:
            return own
        nested = {}
        for name, estimator in self._pairs():
            nested[name] = estimator
            nested.update((f"{name}__{key}", value) for key, value in estimator.get_params(deep=True).items())
        return {**nested, **own}

    def set_params(self, **params):
        """Set parameters by name; ``estimators`` first, then single estimators, then parameters of these.

        Parameters
        ----------
        **params : dict
            Values by name, as `get_params` names them.

        Returns
        -------
        self : object
            The estimator.
        """
        params = dict(params)
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        pairs = self._pairs()
        replaced = {name: params.pop(name) for name, _ in pairs if name in params}
        if replaced:
            self.estimators = [(name, replaced.get(name, estimator)) for name, estimator in pairs]
        return super().set_params(**params)

    def _pairs(self):
        """Names and estimators that were given, as far as ``estimators`` is a list of them."""
        try:
            return [(name, estimator) for name, estimator in self.estimators if hasattr(estimator, "get_params")]
        except (TypeError, ValueError):
            return []

    def _named(self):
        """Names and estimators that the parameters stand for; raise where they cannot be used."""
        if self.estimators is None:
            return self._default_estimators()
        try:
            named = [(name, estimator) for name, estimator in self.estimators]
        except (TypeError, ValueError):
            raise ValueError(
                f"estimators must be a list of (name, estimator) or None; got {self.estimators!r:.80}."
            ) from None
        names = [name for name, _ in named]
        own = super().get_params(deep=False)
        if not named:
            raise ValueError("estimators is an empty list; it must name at least one, or be None for the default ones.")
        for name in names:
            if not isinstance(name, str) or "__" in name or name in own or names.count(name) > 1:
                raise ValueError(
                    "names in estimators must be different strings without '__' that are not names of parameters; "
                    f"got {name!r} among {names}."
                )
        return named

    @property
    def named_estimators_(self) -> Bunch:
        """The fitted estimators by name."""
        return Bunch(**dict(zip(self._names, self.estimators_)))


class Expert(StreamPipeline):
    """A learner, and the transformers before it, which are played before they learn.

    Parameters
    ----------
    name : str
        For messages.
    estimator : estimator
        As `StreamPipeline` takes it; cloned.
    """

    def __init__(self, name, estimator):
        super().__init__(clone(estimator))
        self.name, self.has_learnt = name, False

    @property
    def by_row(self):
        """Whether what is played does not depend on how rows are cut into batches."""
        return isinstance(self.learner, OnlineLinear) and not self.transformers

    def play(self, method, X, y, weight, classes):
        """Learn a batch; return the responses of ``method`` to each row from before it was learnt.

        Parameters
        ----------
        method : str
            ``"predict"`` or ``"predict_proba"``.
        X, y, weight : array-like, ndarray, ndarray or None
            Rows, targets and weights above 0.
        classes : ndarray or None
            All classes, for classifiers.

        Returns
        -------
        ndarray or None
            Responses; None where there are none, as nothing has been learnt.
        """
        try:
            return self._play(method, X, y, weight, classes)
        except Exception as error:
            error.add_note(f"Raised by {self.name!r}, one of estimators.")
            raise

    def _play(self, method, X, y, weight, classes):
        options = {} if classes is None else {"classes": classes}
        X = self.transform(X)
        if isinstance(self.learner, OnlineLinear):
            decision = self.learner._play(X, y, sample_weight=weight, **options)
            return self.learner._respond(method, decision)
        responses = getattr(self.learner, method)(X) if self.has_learnt else None
        weights = {} if weight is None else {"sample_weight": weight}
        self.learner.partial_fit(X, y, **({} if self.has_learnt else options), **weights)
        self.has_learnt = True
        return responses
