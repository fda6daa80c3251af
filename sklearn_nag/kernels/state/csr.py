"""CSR rows made of parts, without the checks of SciPy."""

import copy
from functools import lru_cache

from scipy import sparse

FEW = 64  # rows up to which checks would take longer than the rows


@lru_cache(maxsize=128)
def _empty(shape):
    return sparse.csr_array(shape)


def csr_rows(data, indices, indptr, shape):
    """CSR array of these parts, which must form one; ``indices`` and ``indptr`` have the type that SciPy chooses."""
    if shape[0] > FEW:
        return sparse.csr_array((data, indices, indptr), shape=shape)
    rows = copy.copy(_empty(shape))
    rows.data, rows.indices, rows.indptr = data, indices, indptr
    return rows
