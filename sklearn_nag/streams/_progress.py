"""A progress bar for streams, by tqdm where it is installed."""

from __future__ import annotations

import sys


class Silent:
    """A progress bar that shows nothing."""

    def show(self, n_rows, loss):
        """Count rows."""

    def close(self):
        """Leave the line."""


class Bar:
    """Rows, rows a second and the progressive loss, on standard error."""

    def __init__(self, total):
        from tqdm import tqdm

        self.bar = tqdm(total=total, unit="row", unit_scale=True, dynamic_ncols=True)

    def show(self, n_rows, loss):
        """Count ``n_rows`` more; show the loss unless it is None."""
        if loss is not None:
            self.bar.set_postfix_str(f"progressive loss {loss:.6g}", refresh=False)
        self.bar.update(n_rows)

    def close(self):
        """Leave the line."""
        self.bar.close()


def progress_bar(progress, total):
    """Bar as ``progress`` says: True, False, or "auto" for where there is a terminal and tqdm is installed."""
    if progress is False or (progress == "auto" and not sys.stderr.isatty()):
        return Silent()
    try:
        return Bar(total)
    except ImportError:
        if progress == "auto":
            return Silent()
        raise ImportError(
            'progress=True needs tqdm, which is not installed: pip install "sklearn-nag[progress]"'
        ) from None
