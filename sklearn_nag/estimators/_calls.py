"""Calls that change an estimator: one at a time, undone on failure, never visible half-done.

Arrays of a model change in place, because copies would cost more than learning rows. Readers in other threads
therefore wait until the call ends. A signal handler cannot wait for the call that it interrupts, so it reads the
model from before that call; so does a process that another thread forks meanwhile. A function that the call itself
calls between rows reads the current model: it gets a view, or reads the estimator itself while that is `at_rest`.
"""

from __future__ import annotations

import functools
import os
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import Any, cast

from .. import kernels
from .._beside import Beside
from .._decorators import Method

# Kept outside the estimators: attributes that are not parameters would be copied, compared and pickled with the others.
_turns = Beside()
_making = threading.RLock()  # re-entrant: a signal handler may ask for another turn meanwhile
_whole: ContextVar[Any] = ContextVar("sklearn_nag_whole", default=None)
_calls = count(1)


class Turn:
    """Whose turn it is to read or to change an estimator.

    Locks are taken only by ``with``, which no signal can split.

    Attributes
    ----------
    lock : RLock
        Held by the thread that reads or changes the estimator.
    changing : Lock
        Held during a call that changes it.
    before : dict
        The attributes at the start of that call.
    in_place : object or None
        Its ``restore()`` undoes what the call changed in place; ``attributes()`` returns copies of these attributes
        from before.
    at_rest : bool
        Whether the estimator is consistent, while the call runs a function from outside.
    number : int
        Number of the call; nested calls have greater ones.
    """

    def __init__(self):
        self.lock, self.changing = threading.RLock(), threading.Lock()
        self.before, self.in_place, self.at_rest, self.number = {}, None, False, 0

    def of_view(self):
        """The turn of a view, which may be read during this call."""
        turn = Turn()
        turn.lock, turn.at_rest = self.lock, True
        return turn

    def check_free(self, estimator):
        """Raise if this thread is reading or changing ``estimator``: its arrays are then in use."""
        if self.lock._is_owned():
            name = type(estimator).__name__
            raise RuntimeError(
                f"this {name} is in the middle of a call: a function that the call has called, or the handler of a "
                f"signal that came meanwhile, cannot make the same {name} learn. Let it learn after the call, or give "
                "the rows to a copy."
            )

    def seen(self, estimator):
        """``estimator`` as the holder of the lock may see it: itself, or a copy from before the call."""
        if self.at_rest or not self.changing.locked():
            return estimator
        copy = object.__new__(type(estimator))
        vars(copy).update(self.before)
        if self.in_place is not None:
            vars(copy).update(self.in_place.attributes())
        return copy

    def undo(self, estimator):
        """Restore ``estimator`` to its state before the call; may be repeated."""
        if self.in_place is not None:
            self.in_place.restore()
        set_attributes(estimator, self.before)


def turn_of(estimator):
    """The `Turn` of an estimator, created on first use."""
    turn = _turns.get(estimator)
    if turn is None:
        with _making:
            turn = _turns.setdefault(estimator, Turn())
    return turn


def unchanged_on_error(method: Method) -> Method:
    """Make ``method`` wait for its turn, and restore the attributes of its object if it raises.

    Calls that change an object run one after another, in whatever threads; see `Turn`. Nesting them in one thread is an
    error.
    """

    @functools.wraps(method)
    def wrapped(self, *args, **kwargs):
        turn = turn_of(self)
        turn.check_free(self)
        with turn.lock:
            turn.before, turn.in_place, turn.at_rest, turn.number = vars(self).copy(), None, False, next(_calls)
            try:
                with turn.changing:
                    return undone_on_error(self, turn, *args, **kwargs)
            finally:
                turn.before, turn.in_place = {}, None

    def undone_on_error(self, turn, *args, **kwargs):
        try:
            return method(self, *args, **kwargs)
        except BaseException as error:
            turn.undo(self)
            if isinstance(error, TypeError) and (public := _of_public_class(error, method, self)) is not error:
                raise public from None
            raise

    cast(Any, wrapped).undone = True
    return cast(Method, wrapped)


def between_calls(method: Method) -> Method:
    """Make ``method`` see its object before or after a call that changes it, never in between."""

    @functools.wraps(method)
    def wrapped(self, *args, **kwargs):
        turn = turn_of(self)
        with turn.lock:
            return method(turn.seen(self), *args, **kwargs)

    return cast(Method, wrapped)


@contextmanager
def at_rest(estimator):
    """A ``with`` block, inside a call that changes an estimator, in which it may be read as it is."""
    turn = turn_of(estimator)
    before, turn.at_rest = turn.at_rest, True
    try:
        yield
    finally:
        turn.at_rest = before


def view_of(estimator):
    """A view of an estimator that a call is changing, for outside code to read, not to change."""
    view = object.__new__(type(estimator))
    vars(view).update(vars(estimator))
    _turns[view] = turn_of(estimator).of_view()
    return view


def renewed(view, estimator):
    """``view``, updated with the estimator's current attributes."""
    vars(view).update(vars(estimator))
    return view


def set_attributes(owner, attributes):
    """Give an object exactly these attributes."""
    for name in vars(owner).keys() - attributes.keys():
        del vars(owner)[name]
    vars(owner).update(attributes)  # not cleared first, because other threads may read parameters


def named_publicly(method: Method) -> Method:
    """Make errors about wrong calls of ``method`` name the class of the object, not the base that defines it."""

    @functools.wraps(method)
    def wrapped(self, *args, **kwargs):
        try:
            return method(self, *args, **kwargs)
        except TypeError as error:
            raise _of_public_class(error, method, self) from None

    return cast(Method, wrapped)


def _of_public_class(error, method, owner):
    """``error``, renamed for the public class if Python reports a wrong call of ``method``."""
    if f"{method.__qualname__}()" not in str(error):
        return error
    return TypeError(str(error).replace(method.__qualname__, f"{type(owner).__name__}.{method.__name__}"))


def _after_fork():
    """Undo the calls of threads that a forked process lacks, nested ones first, and free their locks."""
    global _making
    _making = threading.RLock()
    for estimator, turn in sorted(_turns.items(), key=lambda pair: -pair[1].number):
        if turn.lock.acquire(blocking=False):  # free, or owned by the thread that goes on here
            turn.lock.release()
            continue
        if turn.changing.locked():
            turn.undo(estimator)
        turn.__init__()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


# -- who undoes what a learner learns: its own call, or that of the estimator it is part of


@contextmanager
def holding(variable, value):
    """A ``with`` block in which a context variable has this value."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def part_of(whole):
    """A ``with`` block in which ``whole``, unless it is None, undoes what its parts learn.

    ``whole.has(learner)`` tells the parts. ``whole.undo(state, loss, named)`` must return what
    `sklearn_nag.kernels.undo` does. Threads started inside know ``whole`` if they run in a copy of the context.
    """
    return holding(_whole, whole)


def undo_of(learner, state, loss, named):
    """`Undo` of what a learner is about to learn, as from `sklearn_nag.kernels.undo`."""
    whole = _whole.get()
    return (kernels if whole is None or not whole.has(learner) else whole).undo(state, loss, named)
