"""Run the campaign: try each promise on case after case, and print a table of the results."""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import numpy as np
from joblib import cpu_count

from . import absurd, files, mishaps, saving, tables  # noqa: F401 (they add their promises)
from .cases import made
from .children import Died, each_in_child
from .promises import PROMISES, Broken, described, learn
from .shrink import kind, shrunk

CASES_OF_A_CHILD = 40  # then another child takes over; a new process takes as long as a case
MOST_SHOWN = 3  # cases of one promise that are shrunk and shown, each broken in a different way


class Fault(NamedTuple):
    """What is wrong, and lines of Python that show it."""

    message: str
    lines: tuple[str, ...] = ()


def fault(trial):
    """Return what is wrong with a promise on a case, given as the pair ``trial``; None if nothing is wrong."""
    case, name = trial
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    try:
        PROMISES[name].holds(case)
    except Broken as error:
        return Fault(str(error), error.lines)
    except Exception as error:
        return Fault(f"the promise itself fails: {described(error)}")
    return None


def outcomes(trials):
    """Try promises on cases in child processes; yield each case and name, what is wrong, and the seconds."""
    for (case, name), found, seconds in each_in_child(fault, trials):
        yield case, name, Fault(str(found)) if isinstance(found, Died) else found, seconds


def reproducer(case, name, wrong):
    """Return lines of Python that show what is wrong."""
    lines = [f"# {PROMISES[name].says}: {wrong.message}", f"# seed {case.seed}"]
    if PROMISES[name].shrinks:
        body = [*case.code(), *(wrong.lines or calls(case))]
    else:  # these promises make their own rows
        body = [case.code()[-1], *wrong.lines]
    if any("sparse." in line for line in body):
        lines.append("from scipy import sparse")
    lines += ["import numpy as np, sklearn_nag", f'sklearn_nag.set_config(kernel="{case.kernel}")']
    return "\n".join([*lines, *body])


def calls(case):
    """Return lines of Python that call ``partial_fit``, batch by batch."""
    if len(case.batches) == 1:
        return [f"model.{case.call()}"]
    parts = ", ".join(f"slice({rows.start}, {rows.stop})" for rows in case.batches)
    return [f"for rows in {parts}:", f"    model.{case.call('[rows]')}"]


def campaign(
    seed, minutes=None, n_cases=None, names=None, show=print, most_shown=MOST_SHOWN, shrink_seconds=20.0, part=(0, 1)
):
    """Try promises on the cases of a seed.

    Parameters
    ----------
    seed : int
        The seed that gives the cases.
    minutes : float, optional
        How long to go on.
    n_cases : int, optional
        How many cases to try.
    names : iterable of str, optional
        Promises to try; all by default.
    show : callable, default=print
        Is called with each reproducer.
    most_shown : int, default=3
        How many reproducers of one promise to show, each broken in a different way.
    shrink_seconds : float, default=20.0
        The longest time to shrink a case.
    part : tuple of int, default=(0, 1)
        The number of this process, and how many processes share the cases of the seed.

    Returns
    -------
    dict of str to [int, int, float]
        For each promise: cases tried, cases that broke it, seconds.
    """
    names = list(PROMISES if names is None else names)
    table = {name: [0, 0, 0.0] for name in names}
    shown = defaultdict(set)
    stop = time.monotonic() + 60.0 * minutes if minutes is not None else float("inf")
    own, n_parts = part
    for first in itertools.count(own * CASES_OF_A_CHILD, n_parts * CASES_OF_A_CHILD):
        last = first + CASES_OF_A_CHILD if n_cases is None else min(first + CASES_OF_A_CHILD, n_cases)
        cases = [made(seed, i) for i in range(first, last)]
        for case in cases:
            warm_up(case)
        trials = [(case, name) for i, case in enumerate(cases, first) for name in names if due(name, i)]
        for case, name, wrong, seconds in outcomes(trials):
            row = table[name]
            row[0] += 1
            row[1] += wrong is not None
            row[2] += seconds
            if wrong is not None and kind(wrong.message) not in shown[name] and len(shown[name]) < most_shown:
                shown[name].add(kind(wrong.message))
                if PROMISES[name].shrinks:
                    case = shrunk(case, partial(first_broken, name=name, like=wrong), shrink_seconds)
                    wrong = next(outcomes([(case, name)]))[2] or wrong
                show(reproducer(case, name, wrong) + "\n")
            if time.monotonic() > stop:
                return table
        if last == n_cases or time.monotonic() > stop:
            return table


def by_processes(jobs, seed, **how):
    """Like `campaign`, with several processes at once."""
    if jobs == 1:
        return campaign(seed, **how)
    with ProcessPoolExecutor(jobs) as pool:
        parts = [pool.submit(campaign, seed, part=(i, jobs), **how) for i in range(jobs)]
        tables = [part.result() for part in parts]
    return {name: [sum(column) for column in zip(*(table[name] for table in tables))] for name in tables[0]}


def due(name, index):
    """Return whether a promise is tried on the case with this number."""
    return index % PROMISES[name].every == PROMISES[name].every - 1


def first_broken(candidates, name, like):
    """Return the first case that breaks a promise in the same way as ``like``, or None."""
    for case, _, wrong, _ in outcomes((case, name) for case in candidates):
        if wrong is not None and kind(wrong.message) == kind(like.message):
            return case
    return None


_warm = set()  # results of `what_is_compiled` for the cases so far


def what_is_compiled(case):
    """Return what the compiled code for a case depends on.

    Numbers count by their types, because hardly any is a constant of the code.
    """
    parameters = (
        (name, value if isinstance(value, str | bool) else type(value)) for name, value in case.parameters.items()
    )
    targets = case.y.ndim, case.y.dtype, None if case.classes is None else case.classes.shape, case.weight is None
    return case.learner, case.storage, *sorted(parameters, key=str), *targets


def warm_up(case):
    """Compile, or load, what children will run for a case, because what children compile is lost with them."""
    if case.kernel == "numpy" or (kind_of_model := what_is_compiled(case)) in _warm:
        return
    _warm.add(kind_of_model)
    n, d = 3, case.X.shape[1]
    X = np.vstack([np.eye(n, d), np.ones((n, d))])
    warnings.simplefilter("ignore")
    with suppress(ValueError), np.errstate(all="ignore"):
        learn(case, case.model(), case.rows(X), np.resize(case.y, (2 * n, *case.y.shape[1:])), None)


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.0, help="how long to go on; 2 by default")
    parser.add_argument("--seed", type=int, default=0, help="gives the cases, in an order that stays; 0 by default")
    parser.add_argument("--promises", nargs="+", choices=list(PROMISES), help="those to try; all by default")
    parser.add_argument("--show", type=int, default=MOST_SHOWN, help="reproducers for each promise; 3 by default")
    parser.add_argument("--jobs", type=int, default=cpu_count(), help="processes; one a core by default")
    args = parser.parse_args()
    start = time.monotonic()
    how = {"minutes": args.minutes, "names": args.promises, "most_shown": args.show}
    table = by_processes(args.jobs, args.seed, show=partial(print, flush=True), **how)
    width = max(len(PROMISES[name].says) for name in table)
    print(f"{'promise':{width}}  {'cases':>7}  {'broken':>6}  {'seconds':>7}")
    for name, (cases, broken, seconds) in table.items():
        print(f"{PROMISES[name].says:{width}}  {cases:7}  {broken:6}  {seconds:7.1f}")
    cases = max(row[0] for row in table.values())
    print(f"{cases} cases, {60.0 * cases / (time.monotonic() - start):.0f} a minute")
    sys.exit(any(row[1] for row in table.values()))


if __name__ == "__main__":
    main()
