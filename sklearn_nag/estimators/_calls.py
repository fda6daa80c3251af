"""One call changes an estimator at a time; one that fails is undone; readers see it before or after such a call.

The arrays of a model change in place, as copies would cost more than rows do. So whoever reads them while another
thread learns waits until that call ends. A signal handler cannot wait for the call that it interrupts: it reads the
model as it was before that call, and so does a process that is forked meanwhile by another thread. A function that a
call itself calls, between rows, reads it as it is: it is handed a view of the estimator or, where it knows the
estimator by itself, that is at rest.
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

# Beside the estimators, as attributes that are not parameters would be copied, compared and pickled with the others.
_turns = Beside()
_making = threading.RLock()  # a handler may come meanwhile that asks for the turn of another
_whole: ContextVar[Any] = ContextVar("sklearn_nag_whole", default=None)
_calls = count(1)


class Turn:
    """Whose turn it is to read or to change an estimator.

    Locks are taken by ``with`` alone, which no signal can come between.

    Attributes
    ----------
    lock : RLock
        Held by the thread that reads or changes the estimator.
    changing : Lock
        Held during a call that changes it.
    before : dict
        The attributes at the beginning of that call.
    in_place : object or None
        What undoes the changes that the call makes in place: ``in_place.restore()`` does so, and
        ``in_place.attributes()`` are copies, as they were, of the attributes that have such changes.
    at_rest : bool
        Whether that call has left the estimator whole while it calls a function of somebody else's.
    number : int
        That of the call: calls within it have greater ones.
    """

    def __init__(self):
        self.lock, self.changing = threading.RLock(), threading.Lock()
        self.before, self.in_place, self.at_rest, self.number = {}, None, False, 0

    def of_view(self):
        """The turn of a view, which is to be read while this call goes on."""
        turn = Turn()
        turn.lock, turn.at_rest = self.lock, True
        return turn

    def check_free(self, estimator):
        """Raise where this thread is reading ``estimator`` or changing it, as its arrays are then in use."""
        if self.lock._is_owned():
            name = type(estimator).__name__
            raise RuntimeError(
                f"this {name} is in the middle of a call: a function that the call has called, or the handler of a "
                f"signal that came meanwhile, cannot make the same {name} learn. Let it learn after the call, or give "
                "the rows to a copy."
            )

    def seen(self, estimator):
        """``estimator`` as the thread that holds its lock may see it: itself, or a copy from before the call."""
        if self.at_rest or not self.changing.locked():
            return estimator
        copy = object.__new__(type(estimator))
        vars(copy).update(self.before)
        if self.in_place is not None:
            vars(copy).update(self.in_place.attributes())
        return copy

    def undo(self, estimator):
        """Make ``estimator`` what it was before the call; also once more."""
        if self.in_place is not None:
            self.in_place.restore()
        set_attributes(estimator, self.before)


def turn_of(estimator):
    """The `Turn` of an estimator, made when first asked for."""
    turn = _turns.get(estimator)
    if turn is None:
        with _making:
            turn = _turns.setdefault(estimator, Turn())
    return turn


def unchanged_on_error(method: Method) -> Method:
    """Make ``method`` leave the attributes of its object as they were when it raises, and wait for its turn.

    Calls that change an object are made one after another, whatever threads they come from; see `Turn`. One within
    another, of the same thread, is an error.
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
    """Make ``method`` see its object before or after calls that change it, never between."""

    @functools.wraps(method)
    def wrapped(self, *args, **kwargs):
        turn = turn_of(self)
        with turn.lock:
            return method(turn.seen(self), *args, **kwargs)

    return cast(Method, wrapped)


@contextmanager
def at_rest(estimator):
    """A ``with`` block, within a call that changes an estimator, in which it is whole and may be read as it is."""
    turn = turn_of(estimator)
    before, turn.at_rest = turn.at_rest, True
    try:
        yield
    finally:
        turn.at_rest = before


def view_of(estimator):
    """The estimator as it is within a call that changes it, to be read, not changed, by whom the call hands it to."""
    view = object.__new__(type(estimator))
    vars(view).update(vars(estimator))
    _turns[view] = turn_of(estimator).of_view()
    return view


def renewed(view, estimator):
    """``view`` with the attributes that the estimator has by now."""
    vars(view).update(vars(estimator))
    return view


def set_attributes(owner, attributes):
    """Let an object have these attributes and no others."""
    for name in vars(owner).keys() - attributes.keys():
        del vars(owner)[name]
    vars(owner).update(attributes)  # not all cleared before, as other threads may read parameters


def named_publicly(method: Method) -> Method:
    """Make wrong calls of ``method`` an error that names the class of its object, not the base that defines it."""

    @functools.wraps(method)
    def wrapped(self, *args, **kwargs):
        try:
            return method(self, *args, **kwargs)
        except TypeError as error:
            raise _of_public_class(error, method, self) from None

    return cast(Method, wrapped)


def _of_public_class(error, method, owner):
    """``error``, or the same about the public class where Python reports a wrong call of ``method``."""
    if f"{method.__qualname__}()" not in str(error):
        return error
    return TypeError(str(error).replace(method.__qualname__, f"{type(owner).__name__}.{method.__name__}"))


def _after_fork():
    """Undo the calls of threads that a forked process lacks, those within others first, and free their locks."""
    global _making
    _making = threading.RLock()
    for estimator, turn in sorted(_turns.items(), key=lambda pair: -pair[1].number):
        if turn.lock.acquire(blocking=False):  # it is free, or of the thread that goes on here
            turn.lock.release()
            continue
        if turn.changing.locked():
            turn.undo(estimator)
        turn.__init__()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


# -- who undoes what a learner learns: its own call or, where it is part of another estimator, the call of that


@contextmanager
def holding(variable, value):
    """A ``with`` block in which a variable of the context has this value."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def part_of(whole):
    """A ``with`` block in which ``whole``, unless it is None, undoes what those learn that it ``has``.

    It is asked for ``whole.has(learner)``, and then for ``whole.undo(state, loss, named)``, which is to return what
    `sklearn_nag.kernels.undo` does. Threads that are started inside know of it if they run in a copy of the context.
    """
    return holding(_whole, whole)


def undo_of(learner, state, loss, named):
    """`Undo` of what a learner is going to learn, as `sklearn_nag.kernels.undo` returns it."""
    whole = _whole.get()
    return (kernels if whole is None or not whole.has(learner) else whole).undo(state, loss, named)
