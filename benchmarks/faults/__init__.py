"""A campaign of faults: random models, rows and mishaps show whether the package keeps its promises.

python -m benchmarks.faults --minutes 2 --seed 0

A *case* (`cases.Case`) is an estimator with its parameters, rows, targets and weights, all made from a seed. A
*promise* is a function of a case that raises `promises.Broken` if it does not hold; to add a promise, write such a
function. Cases run in child processes, so that a crash or an endless loop is a broken promise like any other. A case
that breaks a promise is made as small as possible (`shrink`) and printed as a few lines of Python.
``docs/reliability.rst`` lists the promises and their bounds.
"""
