"""Sentences about parameters of Python, as those who type options on the command line would have them."""

from __future__ import annotations

import re
import shlex

_OPTIONS = (
    (r"kinds=\{('[^']*'|\"[^\"]*\"): '(\w+)'\}", lambda found: f"--as {shlex.quote(f'{found[1][1:-1]}={found[2]}')}"),
    (r"(?:The )?'kinds\[('[^']*'|\"[^\"]*\")\]' parameter( of \w+)?", lambda found: f"--as {found[1][1:-1]}=KIND"),
    (r"\bkinds has\b", "--as has"),
    (r"\b(drop|columns) has\b", r"--\1 has"),
    (r"\b(give|by|say by) (columns|encoding|n_features)\b", r"\1 --\2"),
    (r"\bor encoding say\b", "or --encoding say"),
    (r"mismatch='fill'", "--fill"),
    (r"changed_files=True", "--changed-files"),
    (r"\bmax_row_bytes\b", "--max-row-bytes"),
    (r"--n_features", "--n-features"),
)


def as_options(sentence: str) -> str:
    """A sentence with options in place of parameters, such as ``--fill`` for ``mismatch='fill'``."""
    for parameter, option in _OPTIONS:
        sentence = re.sub(parameter, option, sentence)
    return sentence


def in_a_line(error: BaseException) -> str:
    """What an error and its notes say, in one line, by options."""
    return as_options(" ".join(" ".join([str(error), *getattr(error, "__notes__", ())]).split()))
