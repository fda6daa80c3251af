"""Several learning rates as heads of one model, kept apart: each learns what it would alone, bit for bit."""

from __future__ import annotations

from copy import copy
from functools import partial

import numpy as np
from sklearn.base import clone

from ..estimators._nag import _NAGRule
from ..estimators._online import Divergence
from ..estimators._validation import check_number


def check_sweep(estimator, eta0s):
    """``eta0s`` as a tuple of float, once it is known that they can be swept; raise if not."""
    if not isinstance(estimator, _NAGRule):
        raise TypeError(
            f"a sweep needs NAGClassifier or NAGRegressor, whose eta0 it sets; got {type(estimator).__name__}."
        )
    if isinstance(estimator.eta0, str) and estimator.eta0 == "auto":
        raise ValueError(
            'a sweep sets eta0, and eta0="auto" learns with several by itself: give the estimator a number.'
        )
    eta0s = tuple(np.ravel(eta0s).tolist())
    if not eta0s:
        raise ValueError("eta0s must hold at least one learning rate; got none.")
    for eta0 in eta0s:
        check_number("eta0s", eta0, min_val=0, include_boundaries="neither")
    return tuple(float(eta0) for eta0 in eta0s)


def part(model, which):
    """Model of some of the learning rates of ``model`` only."""
    smaller = copy(model)
    vars(smaller).pop("_made", None)
    smaller._eta0s = tuple(model._eta0s[i] for i in which)
    smaller._places = model._places[which]
    if model.__sklearn_is_fitted__():
        smaller._state = model._state.part(which, smaller._rule(model._state.rule.centred))
    return smaller


def alone(model, i):
    """Estimator of one learning rate of a fitted ``model``, as if there had been no other."""
    estimator = copy(model)
    estimator.eta0 = model._eta0s[i]
    for name in ("_eta0s", "_places", "_made"):
        vars(estimator).pop(name, None)
    estimator._begun_with = {name: getattr(estimator, name) for name in estimator._fixed}
    estimator._state = model._state.part(np.array([i]), estimator._rule(model._state.rule.centred))
    return estimator


class Sweep:
    """Learns with several learning rates at once, by one model, or by more from when some have diverged.

    Parameters
    ----------
    estimator : NAGClassifier or NAGRegressor
        Its other parameters hold for all.
    eta0s : tuple of float
        The learning rates; see `check_sweep`.

    Attributes
    ----------
    models : list of estimator
        Each learns with some of the rates, ``_eta0s``, which stand at ``_places`` among all of them.
    """

    def __init__(self, estimator, eta0s):
        self.eta0s = eta0s
        model = clone(estimator)
        model._eta0s, model._places = eta0s, np.arange(len(eta0s))
        self.models = [model]

    def learn(self, call):
        """``call`` every model; one that diverges is split until what diverges is alone, and dropped.

        Returns
        -------
        list
            What the calls returned, for each model that is left.
        """
        waiting, self.models, results = self.models[::-1], [], []
        while waiting:
            model = waiting.pop()
            try:
                results.append(call(model))
            except Divergence:
                halves = np.array_split(np.arange(len(model._eta0s)), 2)
                waiting += [part(model, half) for half in halves[::-1] if 0 < len(half) < len(model._eta0s)]
            else:
                self.models.append(model)
        return results

    def play(self, X, y, sample_weight=None, classes=None):
        """Learn a batch as by `partial_fit`.

        Returns
        -------
        list of (int, ndarray)
            For each rate that has not diverged its place, and the decision values that rows were predicted by.
        """
        played = self.learn(lambda model: model._play(X, y, sample_weight, classes))
        return [
            (place, decision)
            for model, values in zip(self.models, played)
            for place, decision in zip(model._places, np.split(values, len(model._eta0s), axis=1))
        ]

    def estimators(self):
        """Fitted estimators in the order of ``eta0s``, None for those that have diverged."""
        found = [None] * len(self.eta0s)
        for model in self.models:
            for i, place in enumerate(model._places):
                found[place] = alone(model, i)
        return found

    def fit(self, X, y, sample_weight=None):
        """Learn as by `fit`, each rate for as many passes as it needs; the order of rows is the same for all.

        Returns
        -------
        list of estimator
            As `estimators`.
        """
        (model,) = self.models
        passes = model._begin_fit(X, y, sample_weight)
        stopping = [passes.stopping() for _ in self.eta0s]
        found = [None] * len(self.eta0s)
        for n_iter, order in enumerate(passes, 1):
            losses, learning = self.learn(partial(passes.learn, order=order)), []
            for one, objectives in zip(self.models, losses):
                one.n_iter_ = n_iter
                if model.early_stopping:
                    objectives = [-passes.score(alone(one, i)) for i in range(len(one._eta0s))]
                settled = np.array([stopping[k].settled(v) for k, v in zip(one._places, objectives)])
                for i in np.flatnonzero(settled | (n_iter == model.max_iter)):
                    found[one._places[i]] = alone(one, i)
                if not settled.any():
                    learning.append(one)
                elif not settled.all():
                    learning.append(part(one, np.flatnonzero(~settled)))
            self.models = learning
            if not learning:
                break
        return found
