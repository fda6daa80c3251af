"""Data sets and preprocessing of Ross, Mineiro and Langford, "Normalized online learning" (UAI 2013).

Each ``fetch_…`` reads a file of the UCI repository from a folder or, if it is missing, uses scikit-learn's fetchers.
Numbers are in raw units. The number of rows and the range of scales are checked against Table 1 of the paper.
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
