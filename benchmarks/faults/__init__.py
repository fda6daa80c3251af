"""A campaign of faults: random models, rows and mishaps, and whether what the package promises holds.

python -m benchmarks.faults --minutes 2 --seed 0

A *case* (`cases.Case`) is an estimator with its parameters, rows, targets and weights, all made from a seed. A
*promise* is a function of a case that raises `promises.Broken` when it does not hold; to add one is to write one.
Cases run in child processes, so that a crash or an endless loop is a broken promise like any other. What breaks one
is made as small as it can be (`shrink`) and printed as a few lines of Python. ``docs/reliability.rst`` says what is
promised, and within which bounds.
"""
