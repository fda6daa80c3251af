"""Training from files in little memory: Parquet, CSV and svmlight, compared with rows in memory and other readers.

Files of about the given sizes are written to a temporary folder: normal features, whose noisy sign is the target. Each
way runs in a process of its own with limited memory (heap and mappings, as ``RLIMIT_DATA`` counts them). ``--kills``
says how often a run with checkpoints is killed by SIGKILL at random moments, and started again each time. Its model is
compared, bit for bit, with that of an undisturbed run. Processor time says more than seconds if a machine has other
work; it leaves out the time that a process waits for the disk. A ``.txt`` file next to the CSV file says when, where
and with what it was measured.

    python -m benchmarks.streams --parquet-mb 2000 --text-mb 500 --limit-mb 600 --output docs/results/streams.csv
    python -m benchmarks.streams --kills 10
"""

import argparse
import io
import json
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.options import new_file, parser_of, resource
from benchmarks.provenance import write_table

COLUMNS = 50
CHUNK = 20_000


def chunks(n_rows):
    """Yield rows and targets in chunks."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=COLUMNS)
    for start in range(0, n_rows, CHUNK):
        X = rng.normal(size=(min(CHUNK, n_rows - start), COLUMNS)) * np.logspace(-3, 3, COLUMNS)
        yield X, (X / np.logspace(-3, 3, COLUMNS) @ weights + 3 * rng.normal(size=len(X)) > 0).astype(np.int64)


def write(path, megabytes):
    """Write rows until the file has about the given size; return their number."""
    import pandas as pd
    import pyarrow as pa
    from pyarrow import parquet
    from sklearn.datasets import dump_svmlight_file

    names = [f"x{i}" for i in range(COLUMNS)]
    bytes_a_row = {".parquet": 8 * COLUMNS, ".csv": 9.6 * COLUMNS, ".svm": 13 * COLUMNS}[path.suffix]
    n_rows, writer = int(megabytes * 1e6 / bytes_a_row), None
    with open(path, "wb") as file:
        for X, y in chunks(n_rows):
            frame = pd.DataFrame(X, columns=names).assign(y=y)
            if path.suffix == ".parquet":
                table = pa.Table.from_pandas(frame, preserve_index=False)
                writer = writer or parquet.ParquetWriter(file, table.schema, compression="none", use_dictionary=False)
                writer.write_table(table)
            elif path.suffix == ".csv":
                frame.to_csv(file, index=False, header=file.tell() == 0, float_format="%.6g")
            else:
                dump_svmlight_file(np.round(X, 6), y, file)
        if writer:
            writer.close()
    return n_rows


def in_memory(path, partial_fit):
    """Yield the seconds and processor time of learning the rows of a Parquet file, read before the clock starts, in
    batches.
    """
    from pyarrow import parquet

    for group in range(parquet.ParquetFile(path).num_row_groups):
        table = parquet.ParquetFile(path).read_row_group(group)
        y = table.column("y").to_numpy()
        X = np.column_stack([table.column(i).to_numpy() for i in range(COLUMNS)])
        start, processor = time.perf_counter(), time.process_time()
        partial_fit(X, y)
        yield time.perf_counter() - start, time.process_time() - processor


def run(way, path):
    """Train in one way; print rows, seconds, processor time, peak memory and the loss, as JSON."""
    import pyarrow.parquet  # noqa: F401
    from sklearn.datasets import load_svmlight_file

    from sklearn_nag import NAGClassifier
    from sklearn_nag.streams import fit_stream, read_batches

    few = np.random.default_rng(0).normal(size=(10, COLUMNS))
    sparse_rows, _ = load_svmlight_file(io.BytesIO(b"1 0:1\n" * 10), n_features=COLUMNS)
    for rows in (few, sparse_rows):  # compile
        NAGClassifier().partial_fit(rows, np.arange(10) % 2, classes=[0, 1])
    model = NAGClassifier()
    if way == "pandas chunks":
        import pandas as pd
    start, processor = time.perf_counter(), time.process_time()
    if way == "fit_stream":
        options = {"n_features": COLUMNS} if path.suffix == ".svm" else {"target": "y"}
        model = fit_stream(model, read_batches(path, **options), classes=[0, 1])
    elif way == "in memory":
        times = list(in_memory(path, lambda X, y: model.partial_fit(X, y, classes=[0, 1])))
        seconds, used = (sum(some) for some in zip(*times))
        start, processor = time.perf_counter() - seconds, time.process_time() - used
    elif way == "pandas chunks":
        for frame in pd.read_csv(path, chunksize=8192):
            y = frame.pop("y").to_numpy()
            model.partial_fit(frame.to_numpy(), y, classes=[0, 1])
    else:
        model.partial_fit(*load_svmlight_file(str(path), n_features=COLUMNS), classes=[0, 1])
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    peak = resource().getrusage(resource().RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([model.t_, seconds, processor, peak, model.progressive_loss_]))


def learn_with_checkpoints(path, checkpoint):
    """Train from a file, with a checkpoint at short intervals."""
    from sklearn_nag import NAGClassifier
    from sklearn_nag.streams import fit_stream, read_batches

    batches = read_batches(path, "y", batch_size=1000)
    return fit_stream(NAGClassifier(), batches, classes=[0, 1], checkpoint=checkpoint, checkpoint_every=5000)


def kill(n_kills, megabytes, folder):
    """Kill a run again and again; print how far each got, and whether the bits are the same in the end."""
    path, checkpoint = folder / "rows.parquet", folder / "checkpoint"
    n_rows = write(path, megabytes)
    expected = learn_with_checkpoints(path, folder / "undisturbed")
    command = [sys.executable, "-m", "benchmarks.streams", "--learn", str(path), str(checkpoint)]
    rng, far = np.random.default_rng(0), 0
    for number, moment in enumerate(np.sort(rng.uniform(0.0, 0.98 * n_rows, n_kills)), 1):
        process = subprocess.Popen(command)
        while process.poll() is None and rows_of(checkpoint) <= max(far, moment):  # it must go on, and reach the moment
            time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.01))
        if process.poll() is not None:
            print(f"it ended after {number - 1} kills; a larger --parquet-mb leaves time for more")
            break
        process.kill()
        process.wait()
        far = rows_of(checkpoint)
        print(f"kill {number}: checkpoint after {far} of {n_rows} rows ({far / n_rows:.0%})", flush=True)
    model = learn_with_checkpoints(path, checkpoint)
    same = model._state.columns.table.tobytes() == expected._state.columns.table.tobytes()
    same = same and model.progressive_loss_ == expected.progressive_loss_ and model.t_ == expected.t_ == n_rows
    print("the same bits as undisturbed" if same else "OTHER BITS")


def rows_of(checkpoint):
    """Return how many rows a checkpoint has; 0 if there is none."""
    return pickle.loads(checkpoint.read_bytes())[1] if checkpoint.exists() else 0


def main():
    """Write the files, and train from each in every way."""
    parser = parser_of(__doc__)
    parser.add_argument("--parquet-mb", type=float, default=100, help="size of the Parquet file (%(default)s)")
    parser.add_argument("--text-mb", type=float, default=50, help="size of the CSV and svmlight files (%(default)s)")
    parser.add_argument("--limit-mb", type=int, default=600, help="memory of a process (%(default)s)")
    parser.add_argument("--kills", type=int, default=0, help="how often to kill a run with checkpoints, instead")
    parser.add_argument("--output", type=new_file, help="CSV file for the figures")
    parser.add_argument("--way", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--learn", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.learn:
        learn_with_checkpoints(*map(Path, options.learn))
        return
    if options.kills:
        with tempfile.TemporaryDirectory() as folder:
            kill(options.kills, options.parquet_mb, Path(folder))
        return
    if options.way:
        run(options.way[0], Path(options.way[1]))
        return
    usage, limit = resource(), options.limit_mb * 10**6
    lines = [["file", "MB", "way", "rows", "rows/s", "rows/s of processor time", "peak MB", "loss"]]
    with tempfile.TemporaryDirectory() as folder:
        for name, megabytes, ways in (
            ("rows.parquet", options.parquet_mb, ("fit_stream", "in memory")),
            ("rows.csv", options.text_mb, ("fit_stream", "pandas chunks")),
            ("rows.svm", options.text_mb, ("fit_stream", "scikit-learn's loader")),
        ):
            path = Path(folder) / name
            write(path, megabytes)
            print(f"{name}: {path.stat().st_size / 1e6:.0f} MB, memory limited to {options.limit_mb} MB", flush=True)
            for way in ways:
                process = subprocess.run(
                    [sys.executable, "-m", "benchmarks.streams", "--way", way, str(path)],
                    preexec_fn=lambda: usage.setrlimit(usage.RLIMIT_DATA, (limit, limit)),
                    capture_output=True,
                    text=True,
                )
                line = [path.suffix, f"{path.stat().st_size / 1e6:.0f}", way]
                if process.returncode:
                    line += ["-", "-", "-", process.stderr.strip().splitlines()[-1], "-"]
                else:
                    rows, seconds, processor, peak, loss = json.loads(process.stdout.splitlines()[-1])
                    line += [f"{rows:.0f}", f"{rows / seconds:.0f}", f"{rows / processor:.0f}", f"{peak:.0f}",
                             f"{loss:.4f}"]  # fmt: skip
                lines.append(line)
                print("  " + ", ".join(f"{what} {cell}" for what, cell in zip(lines[0][2:], line[2:])), flush=True)
            path.unlink()
    if options.output:
        write_table(options.output, lines)


if __name__ == "__main__":
    main()
