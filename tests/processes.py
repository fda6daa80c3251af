"""Run code in separate processes, each forked from one that has already imported the slow packages.

These are NumPy, scikit-learn and Numba, which are not what tests of processes are about. This package is imported only
after the fork, so it finds the environment of its own process.
"""

import atexit
import json
import os
import select
import subprocess
import sys
from functools import cache
from typing import NamedTuple

SECONDS = 300  # that processes may take
# It reads lines of JSON with the environment, folder, arguments and code of each of the processes that run together. It
# answers with lines of their exit codes and output.
SERVER = """
import gc, importlib.util, json, os, sys
import numpy, scipy.stats, sklearn.linear_model
reload = lambda: None
if importlib.util.find_spec("numba"):
    import numba
    numba.njit(lambda x: x + 1)(1)
    reload = numba.core.config.reload_config

gc.freeze()  # for it is looked through at the end of each process, too

class Forked(Exception):
    pass

def forked(environment, folder, arguments, code):
    ends = [os.pipe() for _ in range(2)]
    process = os.fork()
    if process == 0:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for place, (reader, writer) in enumerate(ends, 1):
            os.close(reader)
            os.dup2(writer, place)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        sys.argv[1:] = arguments
        reload()
        raise Forked(code)
    for _, writer in ends:
        os.close(writer)
    return process, [reader for reader, _ in ends]

def answer(line):
    started = [forked(*one) for one in json.loads(line)]
    for process, readers in started:
        printed = [os.fdopen(reader, encoding="utf-8").read() for reader in readers]
        yield os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), *printed

code = ""
try:
    for line in sys.stdin:
        os.write(1, (json.dumps([*answer(line)]) + chr(10)).encode())
except Forked as begun:
    code = begun.args[0]
exec(code, {"__name__": "__main__"})  # and ends as any process does
"""


class Ended(NamedTuple):
    """Exit code and output of a process."""

    returncode: int
    stdout: str
    stderr: str


@cache
def server():
    """The process from which others are forked. It ends with this one, and its sets have another order."""
    hash_seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": hash_seed}
    command = {"args": [sys.executable, "-c", SERVER], "env": environment, "text": True}
    pipes = subprocess.Popen(**command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(pipes.communicate)
    return pipes


def run_code(code, *arguments, n=1, returncode=0, **environment):
    """Results of ``n`` processes that run the code at the same time, with ``environment`` added to their own."""
    environment = {**os.environ, **environment}
    if hasattr(os, "fork"):
        pipes = server()
        pipes.stdin.write(json.dumps([[environment, os.getcwd(), arguments, code]] * n) + "\n")
        pipes.stdin.flush()
        if not select.select([pipes.stdout], [], [], SECONDS)[0]:
            server.cache_clear()
            pipes.kill()
            raise TimeoutError(f"processes do not end within {SECONDS} s")
        ended = [Ended(*one) for one in json.loads(pipes.stdout.readline())]
    else:
        command = {"args": [sys.executable, "-c", code, *arguments], "env": environment, "text": True}
        started = [subprocess.Popen(**command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(n)]
        ended = [Ended(process.wait(), *process.communicate()) for process in started]
    assert all(one.returncode == returncode for one in ended), ended
    return ended
