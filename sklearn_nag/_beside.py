"""What is known of objects beside them, which no copy and no file of them has."""

from __future__ import annotations

from typing import Any
from weakref import ref


class Beside:
    """Values by object, for as long as these live.

    As `weakref.WeakKeyDictionary`, but entries go without a line of Python. The handler of a signal may come in any
    such line. As an object that dies cannot raise, what it raises there is lost: an interrupt would not be heeded.
    """

    def __init__(self) -> None:
        self._values: dict[ref, Any] = {}

    def __contains__(self, key: Any) -> bool:
        return ref(key) in self._values

    def __getitem__(self, key: Any) -> Any:
        return self._values[ref(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._values[ref(key, self._values.pop)] = value

    def get(self, key: Any) -> Any:
        """The value of an object, or None."""
        return self._values.get(ref(key))

    def setdefault(self, key: Any, value: Any) -> Any:
        """The value of an object, which is ``value`` if it had none."""
        return self._values.setdefault(ref(key, self._values.pop), value)

    def items(self) -> list[tuple[Any, Any]]:
        """The objects, and the value of each."""
        found = ((known(), value) for known, value in list(self._values.items()))
        return [pair for pair in found if pair[0] is not None]
