"""Figures: for bundled data a summary and all curves; for a file what each learner is worth."""

import numpy as np

from .comparison import BASELINES, OURS, PEERS
from .rates import ETAS, standard_error

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".svg", ".pdf", ".eps")
SHOWN = (("sklearn_nag, raw data", "C0", "o"), ("SGD, scaled data", "C1", "s"), ("SGD, raw data", "C3", "v"))


def draw_summary(comparisons, path):
    """Save the figure of what defaults and learning rates cost, with a row for each data set.

    On the left are errors with default parameters, as multiples of that of SGD on scaled features at its best learning
    rate. On the right are the learning rates within one standard error of the best of all.
    """
    figure = _figure(9, 1.6 + 0.85 * len(comparisons))
    left, right = figure.subplots(1, 2, sharey=True)
    limit = 2.0 * max(1.0, *(c.baseline / _reference(c)[0] for c in comparisons))
    for row, comparison in enumerate(comparisons):
        for axes in (left, right):
            axes.axhspan(row - 0.5, row + 0.5, color="0.95" if row % 2 else "1.0", zorder=0)
        _draw_defaults(left, row, comparison, limit)
        _draw_good_etas(right, row, comparison)
    ticks = [tick for tick in (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if tick <= limit]
    left.axvline(1, color="0.4", lw=1, zorder=1)
    left.set(xscale="log", xlim=(0.5, limit), xlabel="error / error of SGD, scaled and tuned")
    left.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    left.minorticks_off()
    left.set(yticks=range(len(comparisons)), yticklabels=[c.task.name for c in comparisons])
    left.set(ylim=(len(comparisons) - 0.5, -0.5), title="Error with default parameters")
    right.set(xscale="log", xlim=(ETAS[0] / 2, ETAS[-1] * 2), xlabel="learning rate")
    right.set_title("Learning rates as good as the best")
    handles = [left.plot([], [], m, color=c, ms=9, label=label)[0] for label, c, m in SHOWN]
    handles.append(left.plot([], [], "|", color="0.4", ms=14, mew=2, label="most frequent class, or mean")[0])
    handles.append(left.plot([], [], color="0.75", lw=10, label="± 1 standard error")[0])
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=130)


def _draw_defaults(axes, row, comparison, limit):
    """Draw errors with default parameters as multiples of tuned SGD's; arrows are beyond the limit."""
    tuned, spread = _reference(comparison)
    ends = [max(1 - spread / tuned, 0.01), 1 + spread / tuned]
    axes.plot(ends, [row] * 2, color="0.75", lw=12, zorder=1, solid_capstyle="butt")
    axes.plot([comparison.baseline / tuned], [row], "|", color="0.4", ms=22, mew=2)
    for (_, color, marker), result, height in _shown(row, comparison):
        ratio = result.default / tuned
        inside = ratio < limit
        axes.plot([ratio if inside else 0.87 * limit], [height], marker if inside else ">", color=color, ms=9)


def _draw_good_etas(axes, row, comparison):
    """Draw the good enough learning rates of each learner as bars."""
    for (_, color, _), result, height in _shown(row, comparison):
        good = comparison.good(result)
        if good is None:
            axes.text(1.3 * ETAS[0], height, "none", color=color, va="center", fontsize=9)
        else:
            ends = ETAS[list(good)] * [10**-0.12, 10**0.12]  # makes a single rate visible
            axes.plot(ends, [height] * 2, color=color, lw=6, solid_capstyle="butt")


def _reference(comparison):
    """Error of SGD on scaled features at its best learning rate, and its standard error over folds."""
    result = comparison.results[-1]
    return result.errors[result.best], standard_error(result.folds[result.best])


def _shown(row, comparison):
    """Style, result and height of each learner of the summary."""
    ours, *_, sgd, scaled = comparison.results
    return zip(SHOWN, (ours, scaled, sgd), (row - 0.22, row, row + 0.22))


def draw_curves(comparisons, path):
    """Save error against learning rate for all learners, with a panel for each data set.

    Shades are one standard error of the folds. The line across is the least error plus one standard error, which counts
    as good.
    """
    wide = min(len(comparisons), 2)
    high = -(-len(comparisons) // wide)
    figure = _figure(5.0 * wide + (0.0 if wide > 1 else 2.5), 3.5 * high + 0.9)
    all_axes = figure.subplots(high, wide, squeeze=False).ravel()
    for comparison, axes in zip(comparisons, all_axes, strict=False):
        least = comparison.winner.errors[comparison.winner.best]
        top = min(max(3.0 * least, least + 0.2), 1.2 * max(comparison.baseline, least))
        for i, result in enumerate(comparison.results):
            style = "--" if "scaled" in result.name else "-"
            errors = np.where(result.errors <= 1.5 * top, result.errors, np.nan)
            axes.plot(ETAS, errors, style, color=f"C{i}", marker=".", label=_short(result.name))
            spread = np.array([standard_error(folds) for folds in result.folds])
            axes.fill_between(ETAS, errors - spread, errors + spread, color=f"C{i}", alpha=0.12, lw=0)
        axes.axhline(comparison.good_enough, color="0.5", lw=1, ls=":")
        axes.set(xscale="log", xlabel="learning rate", ylabel=comparison.task.error, title=comparison.task.name)
        axes.set_ylim(0, top)
    for axes in all_axes[len(comparisons) :]:
        axes.set_axis_off()
    figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=130)


COLOURS = {OURS: "C0", PEERS: "C1", BASELINES: "0.4"}
WIDEST = 5.0  # reach of the axes in spans of the middle half, so that a hopeless learner does not flatten the rest


def draw_comparison(comparison, file):
    """Save the figure of a table, how each learner's error differs from the first one's; PNG unless to a path."""
    reference, whole, of = comparison.reference, comparison.error(comparison.reference), ""
    outcomes = [*(o for o in comparison.outcomes if o.learner.family != BASELINES), comparison.baseline(reference)]
    if whole == 0:
        whole, of = comparison.error(outcomes[-1]) or 1.0, f"\nof that {BASELINES}"
    found = [comparison.difference(outcome, reference) for outcome in outcomes]
    changes = 100 * np.array([[d.low, d.mean, d.high] for d in found]) / whole
    left, right = _limits(changes)
    figure = _figure(6.4, 1.5 + 0.36 * len(outcomes))
    axes = figure.subplots()
    for row, (outcome, (low, mean, high)) in enumerate(zip(outcomes, changes)):
        color = COLOURS[outcome.learner.family]
        if np.isnan(mean):
            axes.text(left, row, " failed", color=color, va="center")
        elif not left <= mean <= right:
            place, arrow = (right, ">") if mean > right else (left, "<")
            axes.plot([place], [row], arrow, color=color, ms=9, clip_on=False)
            axes.text(place, row, f"{mean:+.0f} %  " if mean > right else f"  {mean:+.0f} %", color=color,
                      ha="right" if mean > right else "left", va="center")  # fmt: skip
        else:
            axes.plot([max(low, left), min(high, right)], [row, row], color=color, lw=2, alpha=0.6)
            axes.plot([mean], [row], "o", color=color, ms=8)
    axes.axvline(0, color="0.4", lw=1, zorder=0)
    axes.set_yticks(range(len(outcomes)), [outcome.name for outcome in outcomes])
    axes.set(ylim=(len(outcomes) - 0.5, -0.5), xlim=(left, right))
    axes.set_xlabel(f"{comparison.judge.error} compared with {reference.name}, in %{of}; lower is better", loc="right")
    axes.grid(axis="x", alpha=0.3)
    handles = [axes.plot([], [], "o", color=color, label=family)[0] for family, color in COLOURS.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(file, dpi=160)


def _limits(changes):
    """Ends of the axis: all differences, except those far beyond the middle half of them."""
    means = changes[~np.isnan(changes[:, 1]), 1]
    if not len(means):
        return -1.0, 1.0  # the first learner has failed
    lower, upper = np.quantile(means, [0.25, 0.75])
    reach = WIDEST * max(upper - lower, 1.0)
    inside = changes[(changes[:, 1] >= lower - reach) & (changes[:, 1] <= upper + reach)]
    left, right = min(inside[:, 0].min(), -1.0), max(inside[:, 2].max(), 1.0)
    left, right = max(left, lower - reach), min(right, upper + reach)
    margin = 0.05 * (right - left)
    return left - margin, right + margin


def _short(name):
    name = name.replace("NAGClassifier", "defaults").replace("NAGRegressor", "defaults")
    return name.replace("Classifier", "").replace("Regressor", "")


def _figure(width, height):
    """A figure without a window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure
