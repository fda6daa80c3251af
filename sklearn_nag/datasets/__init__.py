"""The data sets of Ross, Mineiro and Langford, "Normalized online learning" (UAI 2013), and what it makes of them.

Each ``fetch_…`` reads the file of the UCI repository from a folder or, where it is not there, asks scikit-learn's
fetchers. Numbers are in raw units; how many rows there are, and the range of their scales, is held against the paper's
Table 1. `paper_recipe` is the preprocessing as a Pipeline, `recipe_batches` its output a few rows at a time.
"""

from ._fetchers import fetch_bank, fetch_census, fetch_covertype, fetch_ct_slice, fetch_msd, fetch_shuttle
from ._recipe import paper_recipe, recipe_batches

__all__ = [
    "fetch_bank",
    "fetch_census",
    "fetch_covertype",
    "fetch_ct_slice",
    "fetch_msd",
    "fetch_shuttle",
    "paper_recipe",
    "recipe_batches",
]
