"""A few combinations instead of all, for choices that hardly affect one another."""

import itertools
import os


def every_pair(*choices):
    """Combinations in which each value of a choice meets each value of every other choice; always the same ones.

    Values that need more combinations than that belong in one choice. With ``EVERY_RULE`` in the environment, all
    combinations are returned.
    """
    choices = [list(values) for values in choices]
    if os.environ.get("EVERY_RULE"):
        return list(itertools.product(*choices))
    places = [range(len(values)) for values in choices]
    two = list(itertools.combinations(range(len(choices)), 2))
    left = {(i, j, a, b) for i, j in two for a in places[i] for b in places[j]}
    every, taken = list(itertools.product(*places)), []
    while left:
        found = [sum((i, j, some[i], some[j]) in left for i, j in two) for some in every]
        best = every[found.index(max(found))]
        left -= {(i, j, best[i], best[j]) for i, j in two}
        taken.append(best)
    return [tuple(values[k] for values, k in zip(choices, some)) for some in sorted(taken)]
