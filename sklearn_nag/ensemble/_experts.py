"""Experts: named learners, and their forecasts of rows before they learn them."""

from __future__ import annotations

import copy
import inspect
from functools import cache

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch

from .. import kernels
from ..estimators._online import OnlineLinear
from ..estimators._parameters import HasNamedParts, check_names_of_parts, check_parameters, shown
from ..estimators._saved import check_integer
from ..model_selection._streams import StreamPipeline, count_rows, saying, slice_rows, slice_weights
from ..preprocessing._base import OnlineTransformer
from ..preprocessing._places import OfNumbers
from ..preprocessing._steps import transformed

GROWTH = 1.25  # factor between the numbers of rows at which averaged weights are looked at


class NamedEstimators(HasNamedParts):
    """Base of estimators with a parameter ``estimators``: a list of names and estimators, or None."""

    estimators: list[tuple[str, BaseEstimator]] | None
    _list_of_parts = "estimators"

    def _entries(self):
        try:
            return [(name, estimator) for name, estimator in self.estimators if hasattr(estimator, "get_params")]
        except (TypeError, ValueError):
            return []

    def _named(self):
        """Names and estimators by the present parameters; raise if invalid."""
        if self.estimators is None:
            return self._default_estimators()
        try:
            named = [(name, estimator) for name, estimator in self.estimators]
        except (TypeError, ValueError):
            raise ValueError(
                f"estimators must be a list of (name, estimator) or None; got {shown(self.estimators)}."
            ) from None
        if not named:
            raise ValueError("estimators is an empty list; it must name at least one, or be None for the default ones.")
        check_names_of_parts("estimators", [name for name, _ in named], type(self))
        return named

    @property
    def named_estimators_(self) -> Bunch:
        """The fitted estimators by name."""
        return Bunch(**dict(zip(self._names, self.estimators_)))


class Expert(StreamPipeline):
    """A learner with the transformers before it, played before they learn.

    A learner of this package forecasts each row as its kernel does while learning. If averages are ``apart`` and its
    ``predict`` averages the weights of all rows, it gives two forecasts: by its latest weights, and by the average. The
    average is looked at after numbers of rows that grow by a quarter, so that neither costs nor results depend on how a
    stream is cut. Otherwise there is one forecast, by the weights of ``predict``, as for calibrated learners.

    Errors have its ``name``.
    """

    apart = True  # of older saved models

    def __init__(self, name, estimator, apart=True):
        self.name, self.averages = name, False
        with self.saying():
            super().__init__(estimator)
            self.check_steps()
        self.apart = apart and getattr(self.learner, "calibration", None) is None
        self.n_rows, self.next_look = 0, 1  # rows learnt, and at which number the average is looked at next
        self.snapshot = None  # the model at the last look

    def __deepcopy__(self, memo):
        """An independent copy; it shares the snapshot, which never changes, and what was made of it."""
        copied = object.__new__(type(self))
        memo[id(self)], memo[id(self.snapshot)] = copied, self.snapshot
        vars(copied).update(copy.deepcopy(vars(self), memo))
        return copied

    def check(self):
        """Raise for attributes that do not form an expert, as from a changed or damaged file."""
        expected = {"name", "estimator", "learner", "transformers", "averages", "n_rows", "next_look", "snapshot"}
        if vars(self).keys() - {"apart"} != expected or not isinstance(self.name, str):
            raise ValueError("an expert has other attributes than experts have")
        if isinstance(self.estimator, Pipeline) and not {"steps", "memory", "verbose"} <= vars(self.estimator).keys():
            raise ValueError(f"{self.name!r} is a pipeline without steps, memory or verbose")
        try:
            self.resume(self.estimator)
        except TypeError as error:
            raise ValueError(str(error)) from None
        if not hasattr(self.learner, "predict"):
            raise ValueError(f"{self.name!r} ends with a {type(self.learner).__name__}, which cannot predict")
        for name, step in getattr(self.estimator, "steps", []):
            if not isinstance(name, str) or (isinstance(step, str) and step != "passthrough"):
                raise ValueError(f"{self.name!r} has a step that is no transformer with a name")
        self.check_steps()
        for what, least in (("n_rows", 0), ("next_look", getattr(self, "n_rows", 0))):
            check_integer(f"{what} of {self.name!r}", getattr(self, what), least)
        for flag in ("averages", "apart"):
            if not isinstance(getattr(self, flag), bool | np.bool_):
                raise ValueError(f"{flag} of {self.name!r} is {getattr(self, flag)!r:.60}; it must be True or False")
        if self.snapshot is None:
            return
        kernels.check(self.snapshot)
        state = getattr(self.learner, "_state", None)
        fits = type(state) is type(self.snapshot) and self.averages
        if not (fits and state.n_features == self.snapshot.n_features):
            raise ValueError(f"{self.name!r} has a snapshot of another model")
        if state.rule.n_played != self.snapshot.rule.n_played:
            raise ValueError(f"{self.name!r} has a snapshot of a model of other targets")

    def check_steps(self):
        """Raise for parameters that steps of this package reject."""
        if isinstance(self.learner, OnlineLinear):
            self.learner._check_changed_parameters()
        for _, step in self.transformers:
            if isinstance(step, OnlineTransformer):
                check_parameters(step)

    @property
    def n_forecasts(self):
        """Number of forecasts per row, once something has been learnt."""
        return 1 + self.averages

    def play(self, method, X, y, weight, classes, judged=True, checked=False):
        """Learn a batch, of weights above 0; return forecasts from before each row was learnt.

        These are responses of ``method``, ``"predict"`` or ``"predict_proba"``, one per forecast; or None, if nothing
        has been learnt or rows are not to be ``judged``. ``checked`` rows are arrays that steps and learners of this
        package take without more checks.
        """
        with self.saying():
            options = {} if classes is None else {"classes": classes}
            return self._play(method, X, y, weight, options, judged, checked and self._takes_checked)

    @property
    def _takes_checked(self):
        """Whether all steps, and the learner, take rows that have been checked."""
        return _is_own(type(self.learner), OnlineLinear) and all(
            _is_own(type(step), OfNumbers) for _, step in self.transformers
        )

    @property
    def takes_weights(self):
        """Whether the learner takes row weights, as all of this package do."""
        if _is_own(type(self.learner), OnlineLinear):
            return True
        return "sample_weight" in inspect.signature(self.learner.partial_fit).parameters

    def saying(self):
        """A ``with`` block whose errors name the expert."""
        return saying(f"{self.name!r}, one of estimators")

    def _play(self, method, X, y, weight, options, judged, checked):
        own, has_learnt = isinstance(self.learner, OnlineLinear), self.n_rows > 0
        if checked and has_learnt:
            for _, step in self.transformers:
                X = step._learn_checked(X)
            options = {"checked": True}
        else:
            X = self.transform(X, weight)
        weight = self.heard(weight)
        if own and judged and self.apart:
            return self._play_and_look(method, X, y, weight, options)
        if self.plays and judged:
            before = self.learner._evidence
            played = self.learner._play(X, y, sample_weight=weight, **options)
            responses = [self.learner._responded(method, played, y, weight, before)]
        else:
            responses = [getattr(self.learner, method)(X)] if has_learnt and judged else None
            weights = {} if weight is None else {"sample_weight": weight}
            self.learner.partial_fit(X, y, **({} if has_learnt else options), **weights)
        self.n_rows += count_rows(X)
        self.next_look = self.n_rows
        return responses

    def _play_and_look(self, method, X, y, weight, options):
        """Like `play`, for a learner of this package with its average as a separate forecast."""
        learner, latest, average, start, n = self.learner, [], [], 0, count_rows(X)
        while start < n:
            if self.n_rows == self.next_look:
                self.next_look = max(self.n_rows + 1, int(self.n_rows * GROWTH))
                self.snapshot = learner._state.copy() if self.averages else None
            stop = min(n, start + self.next_look - self.n_rows)
            rows = X if stop - start == n else slice_rows(X, start, stop)
            if self.snapshot is not None:
                rows = learner._rows_to_predict(rows, "checked" in options)
                decision = kernels.predict_by_row(self.snapshot, rows)
                average.append(learner._respond(method, decision))
            weights = slice_weights(weight, start, stop)
            played = learner._play(rows, y[start:stop], sample_weight=weights, latest=self.averages, **options)
            latest.append(learner._respond(method, played))
            if self.n_rows == 0:
                self.averages = bool(learner._state.rule.averaged)
            self.n_rows, start = self.n_rows + stop - start, stop
        average = latest[: len(latest) - len(average)] + average
        return [np.concatenate(parts) for parts in (latest, average)[: self.n_forecasts]]

    def forecast(self, which, method, X, checked=False):
        """Response of ``method``: by the latest weights for the first of two forecasts, otherwise the estimator's.

        ``checked`` is as for `play`.
        """
        with self.saying():
            checked = checked and self._takes_checked
            if checked:
                for _, step in self.transformers:
                    X = step._transform_checked(X)
            else:
                X = transformed((step for _, step in self.transformers), X)
            if which == self.n_forecasts - 1:
                return self.learner._answer(method, X) if checked else getattr(self.learner, method)(X)
            decision = kernels.predict(self.learner._state.latest(), self.learner._rows_to_predict(X, checked))
            return self.learner._respond(method, decision)


@cache
def _is_own(kind, base):
    """Whether a class is a subclass of ``base`` in this package; those of others may override public methods."""
    return issubclass(kind, base) and kind.__module__.partition(".")[0] == __name__.partition(".")[0]
