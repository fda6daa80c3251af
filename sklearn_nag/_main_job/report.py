"""Findings as text: tables, and what they say in a sentence or two."""

from __future__ import annotations

import sys

import numpy as np
from sklearn.compose import TransformedTargetRegressor

from .comparison import BASELINES, COVERAGE, PEERS, REPEATS, SURE
from .measures import has_heavy_tails, is_rare
from .rates import ETAS, standard_error

NONE = "-"  # for a missing value
MUCH = 0.1  # so much less error is mentioned if significant by itself, though not among so many comparisons


def progress(done, total, what):
    """Redraw the progress bar if this is a terminal; erase it at the end."""
    if sys.stderr.isatty():
        filled = 30 * done // total
        text = f"[{'#' * filled}{'.' * (30 - filled)}] {done}/{total} {what}"
        sys.stderr.write(f"\r\x1b[K{text}" if done < total else "\r\x1b[K")
        sys.stderr.flush()


def range_table(comparison):
    """Table of what learning rates cost on a task, as text."""
    task = comparison.task
    head = f"  {'':22} {'at default':>10}   {'at best eta':>19} {'best eta':>9}   good eta"
    lines = [f"{task.name}: {task.X.shape[0]} rows, {task.X.shape[1]} features; error is {task.error}", head]
    for result in comparison.results:
        there = f"{rate_error(result.errors[result.best])} ± {rate_error(standard_error(result.folds[result.best]))}"
        eta, good = f"{ETAS[result.best]:.4g}", comparison.good(result)
        if np.isnan(result.errors[result.best]):
            there, eta = "diverged", ""
        span = "none" if good is None else f"{ETAS[good[0]]:.3g} to {ETAS[good[1]]:.3g}"
        lines.append(f"  {result.name:22} {rate_error(result.default):>10}   {there:>19} {eta:>9}   {span}")
    lines.append(f"  {baseline_name(task):22} {rate_error(comparison.baseline):>10}")
    return "\n".join([*lines, f"  => {range_verdict(comparison)}"])


def rate_error(error):
    """An error to four digits."""
    return "diverged" if np.isnan(error) else f"{error:.4f}"


def baseline_name(task):
    """Name of the prediction that uses no feature."""
    return "most frequent class" if task.is_classification else "mean of the target"


def range_verdict(comparison):
    """One sentence on the defaults of this package compared with the best of all learners."""
    ours, winner = comparison.results[0], comparison.winner
    least, spread = winner.errors[winner.best], standard_error(winner.folds[winner.best])
    name = winner.name.replace(", scaled", " on scaled features")
    default = rate_error(ours.default)
    best = f"{name} at eta {ETAS[winner.best]:.3g} (error {rate_error(least)} ± {rate_error(spread)})"
    if not comparison.baseline > comparison.good_enough:
        return (
            f"No learner is better than predicting the {baseline_name(comparison.task)}: a linear model learns nothing "
            "about the target from these features."
        )
    if ours.default <= comparison.good_enough:
        if ours is winner:
            return f"No learner is better than {ours.name}, and its default parameters (error {default}) are as good."
        return f"{ours.name} with default parameters (error {default}) is as good as the best of all, {best}."
    if ours.errors[ours.best] <= comparison.good_enough:
        with_rate = f"eta0={ETAS[ours.best]:.3g}"
        errors = f"(error {rate_error(ours.errors[ours.best])}, {default} with default parameters)"
        if ours is winner:
            return f"No learner is better than {ours.name} with {with_rate} {errors}."
        return f"{ours.name} needs {with_rate} here {errors} to be as good as the best of all, {best}."
    return f"{best} is better here than {ours.name} with default parameters (error {default})."


# -- a user's table


def findings(comparison):
    """All findings on a table, as lines of text."""
    head, *rows = cells(comparison)
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = [
        "  " + "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:]))]).rstrip()
        for row in [head, *rows]
    ]
    remarks = [f"  {remark}" for remark in how(comparison)]
    return "\n".join([title(comparison), *lines, *remarks, *(f"  => {sentence}" for sentence in verdict(comparison))])


def title(comparison):
    """What was learnt, and how it is judged."""
    table = comparison.table
    n = n_used(table)
    return f"{table.name}: {len(table.y)} rows, {n} column{'s' * (n != 1)}, judged by {comparison.judge.name}"


def n_used(table):
    """Number of columns that are learnt from."""
    known = table.prepare[0]
    return len({name for _, step, names in known.transformers if step != "drop" for name in np.atleast_1d(names)})


def cells(comparison):
    """Table of all learners as rows of strings, the head first."""
    reference, p_values = comparison.reference, comparison.p_values()
    first, *others = comparison.measures.values()
    head = ["", f"{first.name} ± sd", *(other.name for other in others)]
    rows = [[*head, f"{first.error} against {reference.name}", "p", "s"]]
    for outcome in comparison.outcomes:
        judged, *others = (mean(outcome, name) for name in outcome.values)
        spread = np.std(outcome.values[comparison.metric], ddof=1)
        row = [outcome.name, judged + ("" if np.isnan(spread) else f" ± {number(spread, 2)}"), *others]
        change = "" if outcome is reference else percent(comparison, outcome, reference, interval=True)
        p = p_values.get(outcome.name, np.nan)
        rows.append([*row, change, "" if np.isnan(p) else f"{p:.2g}", f"{outcome.seconds:.2f}"])
    return rows


def number(value, digits=4):
    """A value to a few digits."""
    if np.isnan(value):
        return "failed"
    return f"{value:,.0f}" if abs(value) >= 10.0 ** max(digits, 4) else f"{value:.{digits}g}"


def mean(outcome, measure):
    """Mean of a measure over an outcome's splits; a dash if there is no value."""
    values, model = outcome.values[measure], outcome.learner.estimator
    has_none = not len(values) or (measure == "log_loss" and not hasattr(model, "predict_proba"))
    return NONE if has_none else number(values.mean())


def percent(comparison, one, other, interval=False):
    """Signed difference of errors, maybe with its 95 % interval, in % of the latter unless that is 0."""
    found, whole = comparison.difference(one, other), comparison.error(other)
    if np.isnan(found.mean):
        return "" if interval else "?"
    scale, form, unit = (100 / whole, "+.1f", " %") if whole > 0 else (1, "+.3g", "")
    ends = f" ({scale * found.low:{form}} to {scale * found.high:{form}})" if interval else ""
    return f"{scale * found.mean:{form}}{unit}{ends}"


def lower(comparison, one, other):
    """How much lower the error of one outcome is than that of another, in words."""
    whole = comparison.error(other)
    share = f"{100 * (1 - comparison.error(one) / whole):.1f} %" if whole > 0 else "no"
    return f"{share} lower {comparison.judge.error}"


def how(comparison):
    """Lines on how learners were judged, and on the target."""
    table, n_train, n_test = comparison.table, comparison.n_train, comparison.n_test
    if table.time is None:
        folds = f"{comparison.n_splits // REPEATS}-fold cross-validation, {REPEATS} times"
    else:
        folds = f"{comparison.n_splits} stretches of rows by {table.time!r}, each predicted from all rows before it"
    lines = [f"{folds}: on average {n_train:.0f} training rows and {n_test:.0f} test rows."]
    compared = len(comparison.p_values())
    lines.append(
        "± is the standard deviation over these splits. 95 % intervals and p values of differences are from the "
        f"corrected resampled t-test (Nadeau and Bengio 2003), p adjusted for {compared} comparisons (Holm)."
    )
    if any(outcome.learner.goes_on for outcome in comparison.outcomes):
        lines.append('"goes on": the learner learns each twentieth of the test rows before it predicts the next.')
    of_both = [m.name for m in comparison.measures.values() if m.needs_both]
    if of_both and comparison.n_of_one:
        n = comparison.n_splits
        lines.append(
            f"In {n - comparison.n_of_one} of {n} splits the test rows have both classes: {joined(of_both)} "
            f"{'are means' if len(of_both) > 1 else 'is the mean'} over these."
        )
    if "log_loss" in comparison.measures and NONE in [mean(outcome, "log_loss") for outcome in comparison.outcomes]:
        lines.append(f"{NONE}: there is no log loss without probabilities.")
    if table.is_classification and is_rare(table.y):
        labels, counts = np.unique(table.y, return_counts=True)
        lines.append(
            f"{labels[counts.argmin()]!r} is rare ({counts.min() / counts.sum():.1%} of the rows), so accuracy says "
            f"little; average precision is {counts.min() / counts.sum():.4f} for a random order."
        )
    if not table.is_classification and has_heavy_tails(table.y):
        lines.append(
            f"{table.target!r} has heavy tails: a hundredth of the rows makes up most of its squared deviations. So "
            'the default measure is the median error, and loss="huber" and "absolute_error" are tried'
            f"{', the latter also on logarithms' if table.y.min() > 0 else ''}."
        )
    if comparison.coverage is not None:
        lines.append(
            f"{COVERAGE:.0%} intervals of {comparison.reference.name} (predict_interval) contain "
            f"{comparison.coverage:.1%} of the test targets."
        )
    return lines


def verdict(comparison):
    """Sentences: which learner to use and what it is worth, how the others compare, and perhaps what was left out."""
    reference, chosen, judge = comparison.reference, comparison.chosen, comparison.judge
    ahead = [
        peer
        for peer in comparison.better(PEERS)
        if comparison.difference(peer, chosen).p < SURE and comparison.error(peer) < comparison.error(chosen)
    ]
    best = ahead[0] if ahead else chosen
    by_itself = ahead or comparison.tells_something(reference)  # not merely the best of all
    if not (by_itself and comparison.tells_something(best)) and best not in comparison.telling(best.learner.family):
        if not (telling := comparison.telling(PEERS)):
            return [
                f"No learner is significantly better than {without_columns(comparison)}: with "
                f"{comparison.n_train:.0f} training rows, these columns do not predict {comparison.table.target!r} "
                "reliably.",
                f"The closest is {nearest(comparison)}; {rest(comparison, reference)}",
                *left_out(comparison.table),
            ]
        best = telling[0]
    baseline = comparison.baseline(best)
    worth = f"{lower(comparison, best, baseline)} than predicting the {plainly(baseline)}"
    values = {m.name: mean(best, name) for name, m in comparison.measures.items() if m is not judge}
    others = [f"{name} {value}" for name, value in values.items() if value != NONE]
    scores = f"{judge.name} {number(best.values[comparison.metric].mean())}" + f" ({', '.join(others)})" * bool(others)
    against = f"{lower(comparison, best, reference)} than {reference.name} with default parameters"
    if best is not reference:
        p = comparison.p_values()[best.name]
        against += f" (p = {p:.2g})" if p >= 0.0001 else " (p < 0.0001)"
    if best in comparison.of(PEERS) and best not in ahead:
        first = f"{best.name}, but no learner of this package, is significantly better: {scores}, {worth}."
    elif best in ahead:
        first = f"{best.name} is better here than any learner of this package: {scores}, {against}, and {worth}."
    elif best is reference:
        first = f"Use {best.name} with default parameters: {scores}, {worth}."
    else:
        first = f"Use {best.name}: {scores}, {against}, and {worth}."
    others = rest(comparison, best)
    return [first, others[0].upper() + others[1:]]


def left_out(table):
    """A list with a sentence on columns taken for names of rows, or empty."""
    notes = [note.strip().replace(": left out: ", ", as ", 1) for note in table.notes if " keeps them)" in note]
    return [f"Columns left out and not tested: {'; '.join(notes)}."] if notes else []


def without_columns(comparison):
    """What baselines predict, with errors: those of learners that go on, and of others."""
    found = {id(b): b for o in comparison.outcomes if o.learner.family != BASELINES for b in [comparison.baseline(o)]}
    values = [
        f"predicting the {plainly(b)} ({comparison.judge.name} {number(b.values[comparison.metric].mean())})"
        for b in found.values()
    ]
    return " or ".join(values)


def plainly(baseline):
    """What a baseline predicts, without an article."""
    return baseline.name.removeprefix("the ").replace(", goes on", " as it goes on")


def nearest(comparison):
    """The best learner, and the chosen one of this package, against their baselines."""
    chosen, says = comparison.chosen, []
    best = min((o for o in comparison.outcomes if o.learner.family != BASELINES), key=comparison.error)
    for outcome in [best] if best is chosen else [best, chosen]:
        baseline = comparison.baseline(outcome)
        change = f"{percent(comparison, outcome, baseline)} {comparison.judge.error}"
        says.append(f"{outcome.name}, at {change} compared with the {plainly(baseline)}")
    return ", and the best of this package is ".join(says)


def rest(comparison, best):
    """A sentence on the learners that need not be used."""
    reference, p_values = comparison.reference, comparison.p_values()
    groups: dict[str, list[str]] = {"better": [], "same": [], "worse": [], "failed": []}
    uncertain = []
    for outcome in comparison.outcomes:
        if outcome.learner.family == BASELINES or outcome in (best, reference):
            continue
        p, change = p_values[outcome.name], percent(comparison, outcome, reference)
        if np.isnan(p):
            groups["failed"].append(called(outcome, reference))
        elif p >= SURE:
            groups["same"].append(called(outcome, reference))
            uncertain.append(outcome)
        else:
            is_better = comparison.error(outcome) < comparison.error(reference)
            groups["better" if is_better else "worse"].append(called(outcome, reference, change))
    says = {
        "better": ("is also better", "are also better"),
        "same": ("does not differ significantly", "do not differ significantly"),
        "worse": ("is worse", "are worse"),
        "failed": ("failed", "failed"),
    }
    parts = {kind: f"{joined(names)} {says[kind][len(names) > 1]}" for kind, names in groups.items() if names}
    if best is reference and uncertain:
        lowest = min(uncertain, key=comparison.error)
        is_much = comparison.error(lowest) < (1.0 - MUCH) * comparison.error(reference)
        if is_much and comparison.difference(lowest, reference).p < SURE:  # by itself
            name = called(lowest, reference)
            how_much = f"{lower(comparison, lowest, reference)} on average"
            parts["same"] += f", although {name} has {how_much} (p = {p_values[lowest.name]:.2g}): try more rows"
    return f"compared with {reference.name} with default parameters, {'; '.join(parts.values())}."


def called(outcome, reference, *remarks):
    """Name of a learner in a list, without the reference's and with remarks in brackets: "SGDClassifier (scaled)"."""
    name, *parts = outcome.name.removeprefix(f"{reference.name}, ").split(", ")
    return f"{name} ({', '.join([*parts, *remarks])})" if parts or remarks else name


def joined(names):
    """Names as a list in words."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def snippet(comparison):
    """Python code with which the chosen learner learns the whole file."""
    table, learner = comparison.table, comparison.chosen.learner
    of_logarithms = isinstance(learner.estimator, TransformedTargetRegressor)
    estimator = learner.estimator.regressor if of_logarithms else learner.estimator
    name, defaults = type(estimator).__name__, type(estimator)().get_params()
    changed = {key: value for key, value in estimator.get_params().items() if value != defaults[key]}
    changes = ", ".join(_given(changed))
    read = ", ".join([repr(table.name), *_given(table.reading)])
    prepare = ", ".join(["X", f"{name}({changes})", *_given(table.preparing)])
    readers = [type(reader).__name__ for reader in (table.time_reader, table.target_reader) if reader is not None]
    lines = [
        "import pandas as pd",
        f"from sklearn_nag import {name}",
        f"from sklearn_nag.preprocessing import {', '.join([*readers, 'prepare'])}",
        "",
        f"frame = pd.read_csv({read})",
    ]
    if table.target_reader is not None:
        lines.append(f"frame[{table.target!r}] = {table.target_reader!r}.fit_transform(frame[[{table.target!r}]])")
    lines.append(f"frame = frame.dropna(subset=[{table.target!r}])")
    if table.time is not None:
        key = "" if table.time_reader is None else (
            f", key=lambda times: {table.time_reader!r}.fit_transform(times.to_frame())[:, 0]"
        )  # fmt: skip
        lines.append(f"frame = frame.sort_values({table.time!r}, kind='stable', na_position='first'{key})")
    lines += [
        f"X, y = frame.drop(columns={table.target!r}), frame[{table.target!r}]",
        f"model = prepare({prepare})",
        "model.fit(X, y)",
    ]
    if of_logarithms:
        lines[0:1] = ["import numpy as np", lines[0], "from sklearn.compose import TransformedTargetRegressor"]
        lines[-1:] = ["model = TransformedTargetRegressor(model, func=np.log, inverse_func=np.exp)", lines[-1]]
    if learner.goes_on:
        lines.append("# for each batch of new rows: model.partial_fit(X_new, y_new)")
    return "\n".join(lines)


def _given(parameters):
    return [f"{name}={value!r}" for name, value in parameters.items()]
