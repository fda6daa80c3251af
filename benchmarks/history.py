"""Speed over time: what `benchmarks.speed` and `benchmarks.text` have recorded, with a panel for each piece of work.

    python -m benchmarks.speed --record speed.csv
    python -m benchmarks.text --record speed.csv
    python -m benchmarks.history speed.csv --output speed.png

Each line of the file is a ratio at a commit, mostly to a peer in the same run, so that figures from busy or slow
machines can be compared. Each processor has a line, because processors differ in what they are good at.
"""

import textwrap
from pathlib import Path

import numpy as np
import pandas as pd

from .options import new_file, parser_of


def main():
    """Draw the figure, and print the latest ratios."""
    parser = parser_of(__doc__)
    parser.add_argument("file", type=Path, help="CSV file that --record has written")
    parser.add_argument("--output", type=new_file, default=Path("speed.png"), help="the figure (%(default)s)")
    options = parser.parse_args()
    recorded = pd.read_csv(options.file)
    draw(recorded).savefig(options.output, bbox_inches="tight", dpi=120)
    latest = recorded.groupby(["processor", "work"], sort=False).last()
    print(latest[["commit", "ratio"]].to_string())


def draw(recorded, columns=4):
    """Return a figure: a panel for each piece of work, with a line for each processor over the commits, as recorded."""
    from matplotlib.figure import Figure

    works = list(recorded[np.isfinite(recorded["ratio"])].groupby("work", sort=False))
    rows = -(-len(works) // columns)
    figure = Figure(figsize=(4 * columns, 2.2 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    commits = {commit: i for i, commit in enumerate(recorded["commit"].unique())}
    colours = {processor: f"C{i}" for i, processor in enumerate(recorded["processor"].unique())}
    for ax, (work, lines) in zip(axes, works):
        for processor, ratios in lines.groupby("processor", sort=False):
            means = ratios.groupby("commit", sort=False)["ratio"].median()
            ax.plot(means.index.map(commits), means, color=colours[processor], marker=".", label=processor)
        ax.set_title(textwrap.fill(work, 48), fontsize="x-small")
        ax.set(ylim=(0, None), xticks=range(len(commits)))
        ax.set_xticklabels(commits, rotation=45, fontsize="xx-small")
    for ax in axes[len(works) :]:
        ax.remove()
    axes[0].legend(fontsize="xx-small")
    return figure


if __name__ == "__main__":
    main()
