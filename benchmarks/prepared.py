"""A table with missing values, words and dates, larger than memory, is learnt from its file as `train` learns it.

A Parquet file of about the given size is written to a temporary folder: twelve columns of numbers, four of them with
missing values, six of words and two of dates (`benchmarks.frames.mixed`). ``train`` prepares and learns it in a process
with limited memory (heap and mappings, as ``RLIMIT_DATA`` counts them). It is compared with the time of the learner
alone, on rows that the same pipeline has prepared while the clock stood still. ``--kills`` says how often a run with
checkpoints, and then one of ``predict``, is killed by SIGKILL, and started again each time. What it leaves is compared,
bit for bit, with what an undisturbed run leaves.

    python -m benchmarks.prepared --mb 2000 --limit-mb 600 --repeats 3 --output docs/results/prepared.csv
    python -m benchmarks.prepared --mb 100 --kills 5
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import joblib
import numpy as np

from benchmarks.faults.promises import image
from benchmarks.frames import mixed
from benchmarks.options import count, new_file, parser_of, resource
from benchmarks.provenance import write_table
from benchmarks.streams import rows_of

CHUNK = 50_000
BYTES_A_ROW = 149


def write(path, megabytes):
    """Write a file of about the given size; return the number of rows."""
    import pyarrow as pa
    from pyarrow import parquet

    rng, n_rows = np.random.default_rng(0), int(megabytes * 1e6 / BYTES_A_ROW)
    writer = None
    for start in range(0, n_rows, CHUNK):
        frame = mixed(rng, min(CHUNK, n_rows - start))
        frame["y"] = frame["n0"] + frame["w3"].str.len() + rng.normal(size=len(frame))
        table = pa.Table.from_pandas(frame, preserve_index=False)
        writer = writer or parquet.ParquetWriter(path, table.schema, compression="none")
        writer.write_table(table)
    writer.close()
    return n_rows


def run(way, path):
    """Learn in one way; print rows, seconds, processor time, peak memory and the loss, as JSON."""
    from sklearn_nag import NAGRegressor
    from sklearn_nag.streams import fit_stream, read_batches

    batches = read_batches(path, "y", frames=True)
    pipeline = batches.prepare(NAGRegressor())
    X, y = next(iter(batches))
    pipeline.partial_fit(X, y)  # compile
    start, processor = time.perf_counter(), time.process_time()
    pipeline = batches.prepare(NAGRegressor())
    if way == "train":
        pipeline = fit_stream(pipeline, batches)
    else:
        seconds = used = 0.0
        for X, y in batches:
            rows = pipeline[0].learn_transform(X)
            start, processor = time.perf_counter(), time.thread_time()
            pipeline[-1].partial_fit(rows, y)
            seconds, used = seconds + time.perf_counter() - start, used + time.thread_time() - processor
        start, processor = time.perf_counter() - seconds, time.process_time() - used
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    peak = resource().getrusage(resource().RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([pipeline[-1].t_, seconds, processor, peak, pipeline[-1].progressive_loss_]))


def timed(path, limit_mb, repeats):
    """Run each way in turn, ``repeats`` times, with limited memory; yield a table line for its median run."""
    usage, limit, ways = resource(), limit_mb * 10**6, ("train", "learner alone")
    found, failed = {way: [] for way in ways}, {}
    for way in ways * repeats:
        process = subprocess.run(
            [sys.executable, "-m", "benchmarks.prepared", "--way", way, str(path)],
            preexec_fn=lambda: usage.setrlimit(usage.RLIMIT_DATA, (limit, limit)),
            capture_output=True,
            text=True,
        )
        if process.returncode:
            failed[way] = process.stderr.strip().splitlines()[-1]
        else:
            found[way].append(json.loads(process.stdout.splitlines()[-1]))
            print(f"{way}: {found[way][-1][0] / found[way][-1][1]:.0f} rows/s", flush=True)
    for way in ways:
        line = [f"{path.stat().st_size / 1e6:.0f}", way]
        if way in failed:
            yield [*line, "-", "-", "-", failed[way], "-"]
            continue
        rows, seconds, processor, peak, loss = sorted(found[way], key=lambda run: run[1])[repeats // 2]
        yield [*line, f"{rows:.0f}", f"{rows / seconds:.0f}", f"{rows / processor:.0f}", f"{peak:.0f}", f"{loss:.5f}"]


def killed(command, moments, progress, name):
    """Start a command again and again, and kill it as soon as it is beyond each moment; then let it end."""
    far = 0
    for number, moment in enumerate(moments, 1):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while process.poll() is None and progress() <= max(far, moment):
            time.sleep(0.001)
        if process.poll() is not None:
            print(f"{name} ended after {number - 1} kills; a larger --mb leaves time for more")
            break
        process.kill()
        process.wait()
        far = progress()
        print(f"{name}, kill {number}: after {far} rows", flush=True)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def kill(n_kills, megabytes, folder):
    """Kill runs of ``train`` and ``predict``; print whether the bits are the same in the end."""
    path = folder / "rows.parquet"
    n_rows = write(path, megabytes)
    every, program = 50_000, [sys.executable, "-m", "sklearn_nag"]
    learn = [*program, "train", str(path), "--target", "y", "--batch-size", "10000"]
    subprocess.run([*learn, "--model", str(folder / "undisturbed.pkl")], check=True, stdout=subprocess.DEVNULL)
    checkpoint, moments = folder / "checkpoint", np.linspace(0.0, 0.8 * n_rows, n_kills)
    options = ["--model", str(folder / "model.pkl"), "--checkpoint", str(checkpoint), "--checkpoint-every", str(every)]
    killed([*learn, *options], moments, lambda: rows_of(checkpoint), "train")
    found, expected = (image(joblib.load(folder / name)) for name in ("model.pkl", "undisturbed.pkl"))
    same = found == expected
    print("train: the same bits as undisturbed" if same else "train: OTHER BITS")

    say = [*program, "predict", str(folder / "model.pkl"), str(path), "--keep", "y", "--part", str(every)]
    subprocess.run([*say, "--out", str(folder / "undisturbed.parquet")], check=True, stdout=subprocess.DEVNULL)
    out = folder / "out.parquet"
    parts = folder / "out.parquet.parts"
    killed([*say, "--out", str(out)], moments, lambda: every * len(list(parts.glob("*.arrow"))), "predict")
    same = out.read_bytes() == (folder / "undisturbed.parquet").read_bytes()
    print("predict: the same bits as undisturbed" if same else "predict: OTHER BITS")


def main():
    """Write the file, and learn it."""
    parser = parser_of(__doc__)
    parser.add_argument("--mb", type=float, default=50, help="size of the file (%(default)s)")
    parser.add_argument("--limit-mb", type=int, default=600, help="memory of a process (%(default)s)")
    parser.add_argument("--kills", type=int, default=0, help="how often to kill runs, instead")
    parser.add_argument("--repeats", type=count, default=1, help="how often to learn each way (%(default)s)")
    parser.add_argument("--output", type=new_file, help="CSV file for the figures")
    parser.add_argument("--way", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        run(options.way[0], Path(options.way[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        if options.kills:
            kill(options.kills, options.mb, Path(folder))
            return
        path = Path(folder) / "rows.parquet"
        write(path, options.mb)
        lines = [["MB", "way", "rows", "rows/s", "rows/s of processor time", "peak MB", "loss"]]
        for line in timed(path, options.limit_mb, options.repeats):
            lines.append(line)
            print(", ".join(f"{what} {cell}" for what, cell in zip(lines[0], line)), flush=True)
    if options.output:
        write_table(options.output, lines)


if __name__ == "__main__":
    main()
