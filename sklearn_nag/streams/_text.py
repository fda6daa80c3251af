"""Text files cut into blocks of whole rows, none longer than a limit."""

_LINE_END = 2  # bytes, at most


class BadRow(ValueError):
    """A row that cannot be read; its message is a predicate, such as "opens a quote that is not closed"."""


class WholeRows:
    """Rows of a text file, in blocks; a row is a line, unless subclasses redefine it.

    Rows have at most ``longest`` bytes without line ends. Memory holds no more of the file than such a row, or a block.
    """

    def __init__(self, file, longest):
        self._file, self._longest = file, longest
        self._held, self._ended, self._wrong = b"", False, None

    def read(self, size):
        """The next rows, about ``size`` bytes but at least one row; nothing at the end of the file.

        Raise `BadRow` if the next row cannot be read; those before it have been returned.
        """
        if self._wrong is not None:
            raise self._wrong
        most = self._longest + _LINE_END
        wanted = min(size, most)
        while True:
            self._fill(wanted)
            end, wrong = self._end(self._held, self._ended)
            if wrong is None and end == 0 and not self._ended and len(self._held) >= most:
                wrong = BadRow(f"has more than {self._longest} bytes{self._why_long()}")
            if end or wrong or self._ended:
                break
            wanted = min(2 * len(self._held), most)
        if wrong is not None and end == 0:
            raise wrong
        rows, self._held, self._wrong = self._held[:end], self._held[end:], wrong
        return rows

    def _fill(self, size):
        """Read until ``size`` bytes are in memory, or the file ends."""
        parts, n = [self._held], len(self._held)
        while n < size and not self._ended:
            parts.append(self._file.read(size - n))
            n += len(parts[-1])
            self._ended = not parts[-1]
        self._held = b"".join(parts)

    def _end(self, text, ended):
        """Where the last whole row of a text ends, and `BadRow` for the row after it, or None."""
        return (len(text) if ended else text.rfind(b"\n") + 1), None

    def _why_long(self):
        """Likely cause and remedy for a row that is too long, to end the message."""
        return "; if it is meant, give a larger max_row_bytes"
