"""Several learning rates as heads of one model: each learns what it would alone, bit for bit."""

from functools import partial

import numpy as np
from sklearn.base import clone

from ..estimators._nag import _NAGRule
from ..estimators._online import Divergence
from ..estimators._parameters import as_they_are, check_number
from ..estimators._passes import LEARNT_ANEW
from ..estimators._validation import as_numpy


def check_sweep(estimator, eta0s):
    """``eta0s`` as a tuple of float; raise unless ``estimator`` can be swept over them."""
    if not isinstance(estimator, _NAGRule):
        raise TypeError(
            f"a sweep needs NAGClassifier or NAGRegressor, whose eta0 it sets; got {type(estimator).__name__}."
        )
    if isinstance(estimator.eta0, str) and estimator.eta0 == "auto":
        raise ValueError(
            'the estimator has eta0="auto", which learns with several rates itself; a sweep needs a number as eta0.'
        )
    eta0s = tuple(np.ravel(as_numpy(eta0s, "eta0s")).tolist())
    if not eta0s:
        raise ValueError("eta0s must hold at least one learning rate; got none.")
    for eta0 in eta0s:
        check_number("eta0s", eta0, min_val=0, include_boundaries="neither")
    return tuple(float(eta0) for eta0 in eta0s)


def _like(model):
    """An estimator with the attributes of ``model``, some to be replaced."""
    estimator = object.__new__(type(model))
    vars(estimator).update(vars(model))
    for name in ("_made", "_table"):  # made anew
        vars(estimator).pop(name, None)
    return estimator


def subset(model, which):
    """Model with only the learning rates at the places ``which``."""
    smaller = _like(model)
    smaller._eta0s = tuple(model._eta0s[i] for i in which)
    smaller._indices = model._indices[which]
    if model.__sklearn_is_fitted__():
        smaller._state = model._state.select_experts(which, smaller._rule(model._state.rule.centred))
        known = [_evidence_of(model, i) for i in which]
        smaller._evidence = known[0] if len(which) == 1 else None if known[0] is None else tuple(known)
    return smaller


def single_rate(model, i):
    """Estimator with learning rate ``i`` of a fitted ``model``, as if it had learnt alone."""
    estimator = _like(model)
    estimator.eta0 = model._eta0s[i]
    for name in ("_eta0s", "_indices"):
        vars(estimator).pop(name, None)
    estimator._begun_with = as_they_are(estimator, estimator._fixed)
    estimator._state = model._state.select_experts(np.array([i]), estimator._rule(model._state.rule.centred))
    estimator._evidence = _evidence_of(model, i)
    return estimator


def _evidence_of(model, i):
    """Evidence of how far predictions with learning rate ``i`` are off; None before any."""
    return model._evidence[i] if len(model._eta0s) > 1 and model._evidence is not None else model._evidence


class Sweep:
    """Learns with several learning rates at once, by one model, or several once some have diverged.

    Parameters
    ----------
    estimator : NAGClassifier or NAGRegressor
        Its parameters other than ``eta0`` hold for all rates.
    eta0s : tuple of float
        The learning rates, as `check_sweep` returns them.

    Attributes
    ----------
    models : list of estimator
        Each learns with the rates ``_eta0s``, whose places among all rates are ``_indices``.
    """

    def __init__(self, estimator, eta0s):
        self.eta0s = eta0s
        model = clone(estimator)
        model._eta0s, model._indices = eta0s, np.arange(len(eta0s))
        self.models, self._diverged = [model], []

    def _apply(self, learn):
        """Results of ``learn`` for each model; halve models that diverge, and drop rates that diverge alone."""
        waiting, self.models, results = self.models[::-1], [], []
        while waiting:
            model = waiting.pop()
            try:
                results.append(learn(model))
            except Divergence:
                if len(model._eta0s) == 1:
                    self._diverged.append(model._indices[0])
                    continue
                halves = np.array_split(np.arange(len(model._eta0s)), 2)
                waiting += [subset(model, half) for half in halves[::-1]]
            else:
                self.models.append(model)
        return results

    def play(self, X, y, sample_weight=None, classes=None):
        """Learn a batch as `partial_fit` does.

        Return the place and the decision values before learning each row, for each rate that has not diverged.
        """
        decisions = self._apply(lambda model: model._play(X, y, sample_weight, classes))
        return [
            (index, decision)
            for model, values in zip(self.models, decisions)
            for index, decision in zip(model._indices, np.split(values, len(model._eta0s), axis=1))
        ]

    def estimators(self):
        """Fitted estimators in the order of ``eta0s``; None for diverged rates."""
        estimators = [None] * len(self.eta0s)
        for model in self.models:
            for i, index in enumerate(model._indices):
                estimators[index] = single_rate(model, i)
        return estimators

    def fit(self, X, y, sample_weight=None):
        """Learn as `fit` does, each rate for the passes it needs; return as `estimators`."""
        (whole,) = self.models
        passes = whole._begin_fit(X, y, sample_weight)
        begin = _like(whole)
        begin._state = whole._state.copy()
        stopping = [passes.stopping() for _ in self.eta0s]
        estimators = [None] * len(self.eta0s)

        def judge(model, order):
            loss = passes.learn(model, order)
            if passes.held_out is None:
                return loss
            return [passes.objective(single_rate(model, i), None) for i in range(len(model._eta0s))]

        def keep(model, i, objective):
            """Store the estimator of rate ``i`` if due; return whether the rate goes on."""
            index = model._indices[i]
            settled = stopping[index].settled(objective) or model.n_iter_ == whole.max_iter
            if stopping[index].since_best == 0 if passes.searches else settled:
                estimators[index] = single_rate(model, i)
            return not settled

        self._make_passes(passes, judge, keep)
        if not passes.searches:
            return estimators
        kept = [i for i, found in enumerate(estimators) if found is not None and i not in self._diverged]
        best = {index: stopping[index].best_pass for index in kept}
        for index in best:
            passes.judge(estimators[index], estimators[index]._state)
        known = {index: estimators[index]._evidence for index in best}
        losses = {index: passes.shown(estimators[index], np.array(stopping[index].objectives)) for index in best}
        anew = [index for index, n in best.items() if n <= LEARNT_ANEW]
        for index in best.keys() - anew:
            try:
                passes.learn_held_out(estimators[index])
            except Divergence:
                self._diverged.append(index)
        if anew:
            self.models = [subset(begin, np.array(anew))]
            passes = passes.over_all(max(best[index] for index in anew))

            def take(model, i, _):
                index = model._indices[i]
                if model.n_iter_ == best[index]:
                    estimators[index] = single_rate(model, i)
                return model.n_iter_ < best[index]

            self._make_passes(passes, judge, take)
        for index in best:
            estimators[index].validation_losses_, estimators[index]._evidence = losses[index], known[index]
        return [None if index in self._diverged else found for index, found in enumerate(estimators)]

    def _make_passes(self, passes, judge, goes_on):
        """Make passes with the rates that go on.

        ``judge`` learns one pass with a model and returns a number for each rate; ``goes_on`` takes model, place and
        number.
        """
        for n_iter, order in enumerate(passes, 1):
            numbers, unsettled = self._apply(partial(judge, order=order)), []
            for model, of_rates in zip(self.models, numbers):
                model.n_iter_ = n_iter
                left = np.array([goes_on(model, i, number) for i, number in enumerate(of_rates)])
                if left.all():
                    unsettled.append(model)
                elif left.any():
                    unsettled.append(subset(model, np.flatnonzero(left)))
            self.models = unsettled
            if not unsettled:
                break
