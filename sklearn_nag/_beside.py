"""Values kept beside objects, but not in their copies and files."""

from __future__ import annotations

from typing import Any
from weakref import ref


class Beside:
    """Values by object, for as long as the objects live.

    Like `weakref.WeakKeyDictionary`, but entries are removed without running a line of Python: a signal handler may run
    in any such line, and what it raises while an object dies is lost, so an interrupt would be ignored.
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
        """The value of an object, set to ``value`` if it had none."""
        return self._values.setdefault(ref(key, self._values.pop), value)

    def items(self) -> list[tuple[Any, Any]]:
        """Pairs of objects and their values."""
        found = ((known(), value) for known, value in list(self._values.items()))
        return [pair for pair in found if pair[0] is not None]
