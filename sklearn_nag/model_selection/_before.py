"""State before a call, and copies, of estimators that train others in place."""

from __future__ import annotations

import copy

import numpy as np
from sklearn.utils import get_tags

from .. import kernels
from ..estimators._calls import set_attributes, turn_of
from ..estimators._online import OnlineLinear
from ..estimators._parameters import learner_of, pipelines_of
from ..preprocessing._steps import kept


class LearnsInPlace:
    """Base of estimators that train others in place; ``_in_place`` names the attributes that hold these."""

    _in_place: tuple[str, ...] = ()

    def __getstate__(self):
        turn = turn_of(self)
        with turn.lock:
            state = dict(super(LearnsInPlace, turn.seen(self)).__getstate__())
            # Copies, because another thread may learn before these have been written.
            return state | copy.deepcopy({name: state[name] for name in self._in_place if name in state})

    def _begin_in_place(self, models, parts=()):
        """Let a failing call undo its changes in place; ``models`` and ``parts`` are as for `Before`."""
        owned = {name: getattr(self, name) for name in self._in_place}
        turn_of(self).in_place = Before(owned, models, parts)


def tags_of_inner(tags, estimator):
    """Set ``tags`` to those of the inner ``estimator``, but without several labels."""
    inner = get_tags(estimator)
    tags.estimator_type, tags.input_tags, tags.target_tags = inner.estimator_type, inner.input_tags, inner.target_tags
    tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
    if tags.classifier_tags is not None:
        tags.classifier_tags.multi_label = False
    return tags


class Thrown:
    """Learners discarded if a call fails, so not kept; see `part_of`."""

    def __init__(self, models):
        self.learners = {id(learner_of(model)) for model in models}

    def has(self, learner):
        """Whether a learner is one of these."""
        return id(learner) in self.learners

    def undo(self, state, loss, named):
        """Same as `sklearn_nag.kernels.undo`, for no columns."""
        return kernels.undo(state, loss, np.empty(0, np.int64))


class Before(Thrown):
    """State of estimators before a call that trains them in place; see `Turn` and `part_of`.

    Learners of this package change the arrays of their models: the columns that rows name are kept, or all once these
    come to half as many. Other learners are copied. Transformers keep what `kept` says.

    The estimator being called holds them in attributes ``owned``: ``models`` learn; attributes of ``parts`` are
    replaced, never changed in place.
    """

    def __init__(self, owned, models, parts=()):
        super().__init__(models)
        self.owned, self.undos, self.n_named = owned, [], {}
        self.known = [(part, vars(part).copy()) for part in parts]
        for model in models:
            for pipeline in pipelines_of(model):
                self.known.append((pipeline, vars(pipeline).copy()))
                for _, step in pipeline.steps[:-1]:
                    self.known += kept(step)
            learner = learner_of(model)
            own = isinstance(learner, OnlineLinear)
            self.known.append((learner, vars(learner).copy() if own else copy.deepcopy(vars(learner))))

    def undo(self, state, loss, named):
        """Same as `sklearn_nag.kernels.undo`; the result is kept."""
        n_named = self.n_named.get(id(state), 0)
        if n_named is None:  # all columns are kept
            return super().undo(state, loss, named)
        undo = kernels.undo(state, loss, named if 2 * n_named < state.n_columns else None)
        self.n_named[id(state)] = None if undo.named is None else n_named + len(undo.named)
        self.undos.append(undo)
        return undo

    def restore(self):
        """Restore the state of all estimators."""
        for undo in reversed(self.undos):
            undo.restore()
        for part, attributes in self.known:
            set_attributes(part, attributes)

    def attributes(self):
        """Copies of the ``owned`` attributes as they were before the call."""
        memo = {id(part): object.__new__(type(part)) for part, _ in self.known}
        copies = [memo[id(part)] for part, _ in self.known]
        for part, attributes in self.known:
            state, snapshot = attributes.get("_state"), attributes.get("snapshot")
            if isinstance(part, OnlineLinear) and state is not None:
                first, *later = [undo for undo in self.undos if undo.state is state] or [None]
                memo[id(state)] = state.copy() if first is None else first.model(later)
            if snapshot is not None:  # of an expert; never changes
                memo[id(snapshot)] = snapshot
        for copied, (_, attributes) in zip(copies, self.known):
            vars(copied).update(copy.deepcopy(attributes, memo))
        return copy.deepcopy(self.owned, memo)
