"""A progress bar for streams, by tqdm or rich, whichever is installed."""

from __future__ import annotations

import sys

from .._extras import how_to_install


class Silent:
    """A progress bar that shows nothing."""

    def show(self, n_rows, loss):
        """Count rows."""

    def close(self):
        """Leave the line."""


class TqdmBar:
    """Rows, rows a second and the progressive loss, on standard error."""

    def __init__(self, total):
        from tqdm import tqdm

        self.bar = tqdm(total=total, unit="row", unit_scale=True, dynamic_ncols=True)

    def show(self, n_rows, loss):
        """Count ``n_rows`` more; show the loss unless it is None."""
        if loss is not None:
            self.bar.set_postfix_str(_of_loss(loss), refresh=False)
        self.bar.update(n_rows)

    def close(self):
        """Leave the line."""
        self.bar.close()


class RichBar:
    """What `TqdmBar` shows, by rich."""

    def __init__(self, total):
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        parts = [BarColumn(), TextColumn("{task.completed:,.0f} rows"), TimeElapsedColumn()]
        parts += [TextColumn("{task.fields[speed]}"), TextColumn("{task.fields[loss]}")]
        self.bar = Progress(*parts, console=Console(stderr=True))
        self.task = self.bar.add_task("", total=total, speed="", loss="")
        self.bar.start()

    def show(self, n_rows, loss):
        """Count ``n_rows`` more; show the loss unless it is None."""
        fields = {} if loss is None else {"loss": _of_loss(loss)}
        self.bar.update(self.task, advance=n_rows, **fields)
        task = self.bar.tasks[0]
        if task.elapsed:
            self.bar.update(self.task, speed=f"{task.completed / task.elapsed:,.0f} rows/s")

    def close(self):
        """Leave the line."""
        self.bar.stop()


def _of_loss(loss):
    return f"progressive loss {loss:.6g}"


def progress_bar(progress, total):
    """Bar as ``progress`` says: True, False, or "auto" for where there is a terminal and tqdm or rich is installed."""
    if progress is False or (progress == "auto" and not sys.stderr.isatty()):
        return Silent()
    for bar in (TqdmBar, RichBar):
        try:
            return bar(total)
        except ImportError:
            continue
    if progress == "auto":
        return Silent()
    raise ImportError(f"progress=True needs tqdm or rich, and neither is installed: {how_to_install('progress')}")
