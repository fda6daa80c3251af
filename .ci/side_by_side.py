"""Run the commands on standard input, one a line, as many at a time as there are cores.

What each prints is shown when it ends. When one has failed, no other is begun, and this fails, too.
"""

import os
import subprocess
import sys
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed

# CORES says to a command how many it has; the other two say so to pytest and to libraries that start threads.
ONE_CORE = {"CORES": "1", "PYTEST_XDIST_AUTO_NUM_WORKERS": "1", "OMP_NUM_THREADS": "1"}


def cores():
    """How many this process has."""
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return int(os.environ.get("CORES") or here)


def run(command):
    """The exit status of a command, what it prints, and its seconds."""
    start = time.monotonic()
    done = subprocess.run(
        ["bash", "-c", command],
        env={**os.environ, **ONE_CORE},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return done.returncode, done.stdout, time.monotonic() - start


def main(commands):
    """Run them; return those that failed."""
    failed = []
    with ThreadPoolExecutor(cores()) as pool:
        begun = {pool.submit(run, command): command for command in commands}
        for future in as_completed(begun):
            try:
                status, printed, seconds = future.result()
            except CancelledError:
                continue
            print(f"\n--- {begun[future]}: {seconds:.0f} s", flush=True)
            sys.stdout.buffer.write(printed)
            sys.stdout.flush()
            if status:
                failed.append(begun[future])
                for other in begun:
                    other.cancel()
    return failed


if __name__ == "__main__":
    failed = main([line.strip() for line in sys.stdin if line.strip()])
    if failed:
        sys.exit(f"failed: {'; '.join(failed)}")
