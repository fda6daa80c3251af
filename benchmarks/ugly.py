"""Files as people have them: does ``python -m sklearn_nag FILE --target y`` say what is true of them?

    python -m benchmarks.ugly [--output FOLDER] [--quick] [--only WORD]

Eighteen small CSV files are made here by known rules, so that it is known what there is to gain: thirteen with a column
that other tools stumble over, as in `benchmarks.frames`, and churn, fraud, months with growth, prices of which a
hundredth is wrong, and reviews as text. The command line runs on each. Its verdict is right if

* the output has the words that the file calls for, such as that identifiers are left out, or rows are split by time;
* for a random target, no learner is said to be better than predicting without columns;
* otherwise the learner that is named gains, compared with that, at least half of what the rule gains that made the
  file.

``ugly.csv`` has the verdict's first sentence, whether it is right, and seconds of processor time in one process, with
compiled code on disk.
"""

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from .data import parse
from .options import resource

MONTHS = 144


@dataclass
class File:
    """A file to write: its columns as texts, the target, what the rule knows of it, and what the output must have."""

    name: str
    columns: dict
    y: np.ndarray
    truth: np.ndarray  # probability of class 1, or the mean, by the rule that made the target
    words: str = ""  # a regular expression
    options: list = field(default_factory=list)
    separator: str = ","
    encoding: str = "utf-8"
    absolute: bool = False  # whether the median absolute error judges

    @property
    def is_classification(self):
        """Whether the target is a class."""
        return self.y.dtype == int

    def write(self, path):
        """Write the file."""
        y = self.y if self.is_classification else [f"{value:.4f}" for value in self.y]
        if self.separator == ";":
            y = [text.replace(".", ",") for text in y]
        frame = pd.DataFrame({**{name: list(texts) for name, texts in self.columns.items()}, "y": y})
        frame.to_csv(path, sep=self.separator, encoding=self.encoding, index=False)

    @property
    def attainable(self):
        """Share of the error without columns that the rule saves."""
        if self.is_classification:
            losses = [-np.log(np.where(self.y == 1, p, 1 - p)).mean() for p in (self.truth, self.y.mean())]
        elif self.absolute:
            losses = [np.median(np.abs(self.y - p)) for p in (self.truth, np.median(self.y))]
        else:
            losses = [np.sqrt(((self.y - p) ** 2).mean()) for p in (self.truth, self.y.mean())]
        return 1 - losses[0] / losses[1]


def flipped(rng, is_one, error=0.1):
    """Return the given classes with some errors, and the probabilities of class 1."""
    truth = np.where(is_one, 1 - error, error)
    return (rng.random(len(truth)) < truth).astype(int), truth


def noisy(rng, mean, noise=1.0):
    """Return quantities around a mean, and the mean."""
    return mean + rng.normal(0, noise, len(mean)), mean


def ugly_files(rng, n):
    """Yield thirteen files, each with a column that other tools stumble over."""
    x, days = rng.normal(100, 15, n), np.datetime64("2023-01-01") + rng.integers(0, 700, n)
    hours, dates = rng.integers(0, 24, n), [day.item() for day in days]
    shown = [f"{value:.2f}" for value in x]
    above = x > 100
    ids = ["left out: whole numbers that name rows"] * 2
    yield File("identifiers that count up", {"customer_id": range(1, n + 1), "x": shown},
               *flipped(rng, above, 0.5), ids[0])  # fmt: skip
    account = rng.choice(9 * 10**7, n, replace=False) + 10**7
    yield File("random identifiers", {"account": account, "x": shown}, *flipped(rng, above), ids[1])
    weekend = np.array([day.weekday() >= 5 for day in dates])
    by_time = "later ones are predicted"
    yield File("dates, days first", {"sold": [f"{day:%d/%m/%Y}" for day in dates]},
               *noisy(rng, 4.0 * weekend), by_time)  # fmt: skip
    seen = [f"{day:%d.%m.%Y} {hour:02}:30" for day, hour in zip(dates, hours)]
    yield File("dates with dots, and times", {"seen": seen}, *flipped(rng, hours >= 12), by_time)
    summer = np.array([4 <= day.month <= 9 for day in dates])
    yield File("dates as ISO 8601", {"due": map(str, dates)}, *noisy(rng, 4.0 * summer), by_time)
    yield File("decimal commas and semicolons", {"weight": [text.replace(".", ",") for text in shown]},
               *noisy(rng, x / 5), "numbers as ", separator=";")  # fmt: skip
    street = rng.choice(["Goethestraße", "Allée", "Königsweg"], n)
    yield File("latin-1", {"Straße": street}, *flipped(rng, street == "Allée"), "3 words",
               ["--encoding", "latin-1"], encoding="latin-1")  # fmt: skip
    income = rng.exponential(5000.0, n)
    yield File("money", {"income": [f"${value:,.2f}" for value in income]}, *flipped(rng, income > 5000),
               "numbers as ")  # fmt: skip
    share = [f"{value:.1f} %" if value > 90 else "?" for value in x]
    yield File("percent, and ? for missing", {"share": share}, *flipped(rng, above), "missing .*filled")
    town = rng.choice(["01234", "04109", "10115"], n)
    yield File("leading zeros", {"zip": town}, *noisy(rng, 4.0 * (town == "04109")), "3 words")
    words = np.array(["film", "good", "bad", "one", "very", "long", "funny"])
    texts = rng.integers(0, len(words), (n, 9))
    praise = (texts == 1).sum(axis=1) - (texts == 2).sum(axis=1)
    yield File("free text", {"review": [" ".join(words[row]) for row in texts]}, *noisy(rng, 2.0 * praise), "text [(]")
    far = np.where(rng.random(n) < 0.01, x * 1000, x)
    yield File("1 % outliers in a column", {"size": [f"{value:.3f}" for value in far]}, *flipped(rng, above),
               "numbers from")  # fmt: skip
    yield File("a column that is always empty", {"note": [""] * n, "x": shown}, *flipped(rng, above),
               "left out: no values")  # fmt: skip


def more_files(rng, n):
    """Yield five files of trades."""
    age, calls, plan = (
        rng.integers(18, 90, 5 * n),
        rng.poisson(2.0, 5 * n),
        rng.choice(["free", "basic", "gold"], 5 * n),
    )
    logit = -3.6 + 0.55 * calls + 0.9 * (plan == "free") - 0.01 * (age - 50)
    p = 1 / (1 + np.exp(-logit))
    yield File("churn, 13 %", {"age": age, "calls": calls, "plan": plan}, (rng.random(5 * n) < p).astype(int), p,
               "ROC-AUC")  # fmt: skip
    amount, hour = rng.lognormal(3.0, 1.0, 16 * n), rng.integers(0, 24, 16 * n)
    p = 1 / (1 + np.exp(9.0 - 0.03 * amount - 1.5 * (hour < 6)))
    yield File("fraud, 0.7 %", {"amount": amount.round(2), "hour": hour}, (rng.random(16 * n) < p).astype(int), p,
               "is rare .*average precision")  # fmt: skip
    months = pd.date_range("2012-01-01", periods=MONTHS, freq="MS")
    promoted = rng.integers(0, 2, MONTHS)
    mean = 100.0 + 1.5 * np.arange(MONTHS) + 15.0 * np.isin(months.month, (11, 12)) + 25.0 * promoted
    yield File("months with growth", {"month": months.strftime("%Y-%m-%d"), "promoted": promoted},
               *noisy(rng, mean, 5.0), by_time_of("month"))  # fmt: skip
    size, rooms = rng.normal(100, 30, 3 * n).clip(20), rng.integers(1, 7, 3 * n)
    mean = 50_000 + 3000 * size + 20_000 * rooms
    price = mean * rng.lognormal(0, 0.1, 3 * n) * np.where(rng.random(3 * n) < 0.01, 1000, 1)
    yield File("prices, 1 % of them wrong", {"size": size.round(1), "rooms": rooms}, price, mean,
               'heavy tails(.|\n)*=> Use NAGRegressor, loss="(huber|absolute_error)"', absolute=True)  # fmt: skip
    words = np.array([*(f"word{k}" for k in range(60)), "great", "lovely", "dull", "awful"])
    texts = rng.integers(0, len(words), (3 * n, 15))
    logit = 4.0 * ((texts == 60) | (texts == 61)).sum(axis=1) - 4.0 * (texts >= 62).sum(axis=1)
    p = 1 / (1 + np.exp(-logit))
    yield File("reviews", {"review": [" ".join(words[row]) for row in texts]}, (rng.random(3 * n) < p).astype(int), p,
               "text [(]")  # fmt: skip


def by_time_of(name):
    """Return what the output says when rows are split by time."""
    return f"rows are in the order of '{name}', and later ones are predicted"


def is_right(file, output):
    """Return whether a verdict is right, by the criteria above."""
    if not re.search(file.words, output):
        return False
    nothing = "No learner is significantly better" in output
    if file.attainable < 0.003:
        return nothing
    gain = re.search(r"=> .*?([\d.]+) % lower [^%]* than predicting", output)
    return not nothing and gain is not None and float(gain[1]) / 100 >= file.attainable / 2


def run(file, folder):
    """Return a row of the table: the verdict of the command line on a file, whether it is right, and seconds."""
    usage, path = resource(), folder / "file.csv"
    file.write(path)
    command = [sys.executable, "-m", "sklearn_nag", str(path), "--target", "y", "--jobs", "1", *file.options]
    before = usage.getrusage(usage.RUSAGE_CHILDREN)
    done = subprocess.run(
        [*command, "--figure", str(folder / f"{re.sub('[^a-z0-9]+', '_', file.name.lower())}.png")],
        capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip
    after = usage.getrusage(usage.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    output = done.stdout + done.stderr
    sentences = re.findall("=> (.*)", output) or output.splitlines()[-1:]
    right = done.returncode == 0 and is_right(file, output)
    (folder / f"{re.sub('[^a-z0-9]+', '_', file.name.lower())}.txt").write_text(output, encoding="utf-8")
    return {
        "file": file.name,
        "rows": len(file.y),
        "verdict": sentences[0],
        "the rule itself": f"{100 * max(file.attainable, 0):.0f} % less",
        "right": "yes" if right else "no",
        "seconds": f"{seconds:.0f}",
    }


def main():
    """Print the table, and write it where ``--output`` says."""
    options = parse(__doc__, "folder for the table, as a CSV file", "two small files",
                    keep="folder for what the command line prints and draws",
                    only="a word in the names of the files to run, whose rows are made anew")  # fmt: skip
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as made:
        folder = options.keep or Path(made)
        files = [*ugly_files(rng, 600), *more_files(rng, 600)]
        rows = []
        for file in [file for file in files if str(options.only or "") in file.name][: 2 if options.quick else None]:
            rows.append(run(file, folder))
            print(*rows[-1].values(), sep=" | ", flush=True)
    table = pd.DataFrame(rows)
    print(f"\n{(table['right'] == 'yes').sum()} of {len(table)} verdicts are right")
    if options.output is not None:
        path = options.output / "ugly.csv"
        if options.only is not None:
            table = pd.concat([pd.read_csv(path, dtype=str), table]).drop_duplicates("file", keep="last")
            names = [file.name for file in files]
            table = table.sort_values("file", key=lambda column: column.map(names.index))
        table.to_csv(path, index=False)


if __name__ == "__main__":
    main()
