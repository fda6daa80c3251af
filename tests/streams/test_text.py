"""Rows of text are read in blocks, and none is longer than the limit."""

import gzip
import io
import tracemalloc

import numpy as np
import pytest

from sklearn_nag.streams import read_batches
from sklearn_nag.streams._text import BadRow, WholeRows


class Trickling(io.BytesIO):
    """A file that returns less than it is asked for, as pipes do."""

    def read(self, size):
        return super().read(min(size, 3))


@pytest.mark.parametrize("kind", [io.BytesIO, Trickling])
@pytest.mark.parametrize("last", [b"", b"\n"])
def test_whole_rows_whatever_the_blocks(last, kind):
    text = b"\n".join(b"x" * n for n in (3, 0, 1, 9, 0, 2, 8)) + last
    for size in range(1, 30):
        rows, parts = WholeRows(kind(text), 10), []
        while part := rows.read(size):
            parts.append(part)
        assert b"".join(parts) == text
        assert all(part.endswith(b"\n") for part in parts[:-1])
        assert rows.read(size) == b""


@pytest.mark.parametrize("size", [1, 4, 100])
def test_a_row_beyond_the_limit(size):
    rows, parts = WholeRows(io.BytesIO(b"1234\n12345678\n12\n"), 5), []

    def read_on():
        while part := rows.read(size):
            parts.append(part)

    for _ in range(2):
        with pytest.raises(BadRow, match="has more than 5 bytes; if it is meant, give a larger max_row_bytes"):
            read_on()
    assert b"".join(parts) == b"1234\n"


@pytest.mark.parametrize(("limit", "n_mib"), [({}, 40), ({"max_row_bytes": 2**20}, 10)])
def test_memory_for_svmlight_is_bounded(limit, n_mib, tmp_path):
    """Memory is bounded even if a small compressed file contains a long line."""
    path = tmp_path / "rows.svm.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"1 0:1\n" * 3 + b"0 0:2 # ")
        for _ in range(n_mib):
            file.write(bytes(2**20))
    assert path.stat().st_size < 2**20
    longest = limit.get("max_row_bytes", 2**25)
    tracemalloc.start()
    try:
        with pytest.raises(
            ValueError, match=rf"rows\.svm\.gz cannot be read: its line 4 has more than {longest} bytes"
        ):
            list(read_batches(path, n_features=1, **limit))
        assert tracemalloc.get_traced_memory()[1] < 5 * longest
    finally:
        tracemalloc.stop()
    batches = list(read_batches(path, n_features=1, max_row_bytes=2**27))
    np.testing.assert_array_equal(np.concatenate([y for _, y in batches]), [1, 1, 1, 0])
    np.testing.assert_array_equal(np.concatenate([X.data for X, _ in batches]), [1, 1, 1, 2])
