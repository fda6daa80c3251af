"""A comparison as text: a table, and what it says in a sentence."""

from __future__ import annotations

import sys

import numpy as np

from .comparison import ETAS, standard_error


def progress(done, total, what):
    """Redraw the progress bar if this is a terminal; wipe it when all is done."""
    if sys.stderr.isatty():
        filled = 30 * done // total
        text = f"[{'#' * filled}{'.' * (30 - filled)}] {done}/{total} {what}"
        sys.stderr.write(f"\r\x1b[K{text}" if done < total else "\r\x1b[K")
        sys.stderr.flush()


def table(comparison):
    """The results on a task as text."""
    task = comparison.task
    head = f"  {'':22} {'at default':>10}   {'at best eta':>19} {'best eta':>9}   good eta"
    lines = [f"{task.name}: {task.X.shape[0]} rows, {task.X.shape[1]} features; error is {task.error}", head]
    for result in comparison.results:
        there = f"{number(result.errors[result.best])} ± {number(standard_error(result.folds[result.best]))}"
        eta, good = f"{ETAS[result.best]:.4g}", comparison.good(result)
        if np.isnan(result.errors[result.best]):
            there, eta = "diverged", ""
        span = "none" if good is None else f"{ETAS[good[0]]:.3g} to {ETAS[good[1]]:.3g}"
        lines.append(f"  {result.name:22} {number(result.default):>10}   {there:>19} {eta:>9}   {span}")
    lines.append(f"  {baseline_name(task):22} {number(comparison.baseline):>10}")
    return "\n".join([*lines, f"  => {verdict(comparison)}"])


def number(error):
    """An error to four digits."""
    return "diverged" if np.isnan(error) else f"{error:.4f}"


def baseline_name(task):
    """What is predicted by the learner that looks at no feature."""
    return "most frequent class" if task.is_classification else "mean of the target"


def verdict(comparison):
    """One sentence: how the defaults of this package compare with the best of all learners."""
    ours, winner = comparison.results[0], comparison.winner
    least, spread = winner.errors[winner.best], standard_error(winner.folds[winner.best])
    name = winner.name.replace(", scaled", " on scaled features")
    best = f"{name} at eta {ETAS[winner.best]:.3g} (error {number(least)} ± {number(spread)})"
    if not comparison.baseline > comparison.good_enough:
        return (
            f"No learner is better than predicting the {baseline_name(comparison.task)}: these features tell a linear "
            "model nothing of the target."
        )
    if ours.default <= comparison.good_enough:
        if ours is winner:
            return (
                f"No learner is better than {ours.name}, and its defaults (error {number(ours.default)}) are as good."
            )
        return f"The defaults of {ours.name} (error {number(ours.default)}) are as good as the best of all, {best}."
    if ours.errors[ours.best] <= comparison.good_enough:
        return (
            f"{ours.name} needs eta0={ETAS[ours.best]:.3g} here (error {number(ours.errors[ours.best])}, "
            f"{number(ours.default)} with its defaults) to be as good as the best of all, {best}."
        )
    return f"{best} is better here than {ours.name}, whose defaults make the error {number(ours.default)}."
