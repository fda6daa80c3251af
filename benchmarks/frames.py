"""Tables as they come: what `prepare` makes of ugly files, how long it takes, and how well a learner behind it does.

    python -m benchmarks.frames [--data-dir FOLDER] [--output FOLDER] [--quick]

* ``frames_ugly.csv``: small CSV files, made here, each with a column that other tools stumble over; what was made of
  that column, and whether it is right.
* ``frames_seconds.csv``: milliseconds for one row and for 10,000 rows of 20 mixed columns, compared with scikit-learn's
  `ColumnTransformer` on the same columns.
* ``frames_scores.csv``: accuracy or R^2 on held-out rows (30 %) of 60,000 rows of real tables at most, and seconds to
  learn, compared with scikit-learn's learners behind a `ColumnTransformer`, and with gradient boosting.
* ``frames_text.csv``: `OnlineTfidf`, in one pass over a stream of texts, compared with `TfidfVectorizer`.

Without ``--data-dir``, tables and texts are made up, because scikit-learn ships none with words.
"""

import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier, SGDRegressor
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from sklearn_nag import NAGCellsClassifier, NAGCellsRegressor, NAGClassifier, NAGRegressor
from sklearn_nag.preprocessing import OnlineTfidf, make_online_pipeline, prepare
from sklearn_nag.streams import read_batches

from .data import parse
from .options import file_in, load_each

N_ROWS = 400  # rows of an ugly file


# -- ugly files


def ugly_files(rng):
    """Yield what is ugly, and a column: its name, its texts as in the file, its kind, and how to read the file."""
    n = N_ROWS
    days = [np.datetime64("2023-01-01") + int(k) for k in rng.integers(0, 700, n)]
    days = [day.item() for day in days]
    words = ["film", "good", "bad", "one", "very", "long", "funny"]
    numbers = rng.normal(100.0, 15.0, n)
    yield "identifiers that count up", "customer_id", map(str, range(1, n + 1)), "drop", {}
    yield "random identifiers", "account", map(str, rng.choice(9 * 10**7, n, replace=False) + 10**7), "drop", {}
    again = rng.integers(10**7, 10**8, n - 20)
    yield "random identifiers, 5 % twice", "member", map(str, [*again, *again[:20]]), "drop", {}
    yield "dates, days first", "sold", (f"{day:%d/%m/%Y}" for day in days), "dates", {}
    yield "dates with dots, and times", "seen", (f"{day:%d.%m.%Y} 10:30" for day in days), "dates", {}
    yield "dates as ISO 8601", "due", map(str, days), "dates", {}
    yield (
        "decimal commas and semicolons",
        "weight",
        (f"{x:.2f}".replace(".", ",") for x in numbers),
        "numbers",
        {"sep": ";"},
    )
    yield "latin-1", "Straße", rng.choice(["Goethestraße", "Allée"], n), "words", {"encoding": "latin-1"}
    yield "money", "income", (f'"${x:,.2f}"' for x in rng.exponential(5000.0, n)), "numbers", {}
    yield "percent, and ? for missing", "share", (f"{x:.1f} %" if x > 90 else "?" for x in numbers), "numbers", {}
    yield (
        "money with codes, and losses in brackets",
        "gain",
        (f"EUR {x:.2f}" if x > 100 else f"({x:.2f})" for x in numbers),
        "numbers",
        {},
    )
    yield "one typo", "length", ("abc" if i == 77 else f"{x:.1f}" for i, x in enumerate(numbers)), "numbers", {}
    yield "dates in words, and 12 hours", "met", (f"{day:%d %b %Y} 03:30 PM" for day in days), "dates", {}
    yield "dates of two digits", "paid", (f"{day:%d/%m/%y}" for day in days), "dates", {}
    yield "dates of digits alone", "born", (f"{day:%Y%m%d}" for day in days), "dates", {}
    yield "seconds since 1970", "changed", (str(1.6e9 + 8e4 * k + 0.5) for k in range(n)), "dates", {}
    yield "times of the day", "starts", (f"{k % 24:02}:{k % 60:02}" for k in range(n)), "dates", {}
    yield "leading zeros", "zip", rng.choice(["01234", "04109", "10115"], n), "words", {}
    yield "free text", "review", (" ".join(rng.choice(words, 9)) for _ in range(n)), "text", {}
    yield "1 % outliers", "size", (f"{x * 1000 ** (rng.random() < 0.01):.3f}" for x in numbers), "numbers", {}
    yield "a column that is always empty", "note", [""] * n, "drop", {}


def ugly(rng):
    """Return a row for each ugly file: what was made of its column, and whether that is right."""
    table = []
    for what, name, texts, kind, options in ugly_files(rng):
        separator, encoding = options.get("sep", ","), options.get("encoding", "utf-8")
        rows = [f"{name}{separator}rare{separator}y"]
        rows += [f"{text}{separator}{int(i % 97 == 0)}{separator}{i % 2}" for i, text in enumerate(texts)]
        said = []
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "ugly.csv"
            path.write_bytes("\n".join(rows).encode(encoding))
            try:
                read_batches(path, "y", frames=True, encoding=encoding).prepare(say=said.append)
            except ValueError as error:
                said.append(str(error))
        made = said[0].partition(": ")[2]
        begins = {
            "drop": "left out", "words": "", "numbers": "numbers", "dates": ("dates", "times of"), "text": "text (",
        }[kind]  # fmt: skip
        right = made.startswith(begins) and (kind != "words" or " words" in made[:12])
        table.append({"file": what, "column": name, "made of it": made, "right": "yes" if right else "no"})
    twice = pd.DataFrame([[1.5, 2.5], [3.5, 4.5]], columns=["size", "size"])
    try:
        prepare(twice)
        made = "taken"
    except ValueError as error:
        made = f"refused: {error}"
    right = "yes" if made.startswith("refused") else "no"
    table.append({"file": "two columns of one name", "column": "size", "made of it": made, "right": right})
    return pd.DataFrame(table)


# -- seconds


def mixed(rng, n):
    """Return a table of 20 mixed columns: 12 of numbers (four with gaps), six of words, and two of dates."""
    columns = {f"n{i}": rng.normal(size=n) for i in range(12)}
    for i in range(8, 12):
        columns[f"n{i}"][rng.random(n) < 0.1] = np.nan
    columns |= {f"w{i}": rng.choice([f"word{k}" for k in range(5 * (i + 1))], n) for i in range(6)}
    days = pd.Timestamp("2024-01-01")
    columns |= {f"d{i}": days + pd.to_timedelta(rng.integers(0, 10**7, n), unit="s") for i in range(2)}
    return pd.DataFrame(columns)


def parts_of_dates(X):
    """Return what `DateEncoder` makes of dates, computed with pandas."""
    blocks = []
    for name in X:
        dates = X[name].dt
        blocks.append(X[name].to_numpy().astype("datetime64[us]").astype(np.int64)[:, None] / 8.64e10)
        blocks += [np.eye(12)[dates.month - 1], np.eye(7)[dates.day_of_week], np.eye(24)[dates.hour]]
    return np.hstack(blocks)


def best_of(repeats, run):
    """Return the least seconds of some runs."""
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)


def seconds(rng, quick):
    """Return a row for each piece of work that is timed."""
    n, repeats = (1000, 3) if quick else (10_000, 15)
    frame, y = mixed(rng, n), rng.normal(size=n)
    ours = prepare(frame, NAGRegressor()).partial_fit(frame, y)
    theirs = ColumnTransformer(
        [
            ("numbers", SimpleImputer(add_indicator=True), make_column_selector("^n")),
            ("words", OneHotEncoder(), make_column_selector("^w")),
            ("dates", FunctionTransformer(parts_of_dates), make_column_selector("^d")),
        ]
    ).fit(frame)
    row, label = frame[:1], y[:1]
    runs = {
        "one row, learnt by pipeline and learner": lambda: ours.partial_fit(row, label),
        "one row, predicted": lambda: ours.predict(row),
        "one row, ColumnTransformer.transform alone": lambda: theirs.transform(row),
        f"{n} rows, learn_transform": lambda: ours[0].learn_transform(frame),
        f"{n} rows, transform": lambda: ours[0].transform(frame),
        f"{n} rows, ColumnTransformer.fit_transform": lambda: theirs.fit_transform(frame),
        f"{n} rows, ColumnTransformer.transform": lambda: theirs.transform(frame),
    }
    times = {what: best_of(repeats * (20 if what.startswith("one") else 1), run) for what, run in runs.items()}
    return pd.DataFrame({"what": times.keys(), "milliseconds": [round(1e3 * t, 2) for t in times.values()]})


# -- scores


def read(file, target, drop=(), **options):
    """Return a loader of a table and the name of its target."""

    def load(folder):
        frame = pd.read_csv(file_in(folder, file), **options)
        return frame.rename(columns=str).drop(columns=list(drop)), target

    return load


TABLES = {
    "bank": read("bank-full.csv.gz", "y", sep=";"),
    "census": read("census-income.data.gz", "41", header=None, skipinitialspace=True),
    "bike": read("bike-hour.csv.gz", "cnt", drop=("casual", "registered")),
    "covertype": read("covtype.data.gz", "54", header=None),
}


def tables(folder, most_rows, rng):
    """Yield the name of a table, its columns as a frame, and the target; rows are in random order."""
    if folder is None:
        frame = mixed(rng, 2000)
        effect = frame["w3"].str.len() + 2.0 * (frame["w0"] == "word1") + frame["n0"]
        yield "made up", frame, (effect + rng.normal(size=2000)).to_numpy()
        return
    for name, frame, target in load_each(TABLES, folder):
        frame = frame.iloc[rng.permutation(len(frame))[:most_rows]].reset_index(drop=True)
        y = frame.pop(target).to_numpy()
        yield name, frame, y.astype(str) if y.dtype == object else y


def learners(frame, classification):
    """Yield what is compared: names and models."""
    numbers, words = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")

    def batch(learner):
        one_hot = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=100)
        columns = make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), numbers), (one_hot, words)
        )  # fmt: skip
        return make_pipeline(columns, learner)

    ours = NAGClassifier() if classification else NAGRegressor()
    boosting = HistGradientBoostingClassifier if classification else HistGradientBoostingRegressor
    sgd = SGDClassifier(loss="log_loss") if classification else SGDRegressor()
    yield "prepare + NAG, one pass", prepare(frame, ours)
    yield "prepare + NAG, fit", prepare(frame, type(ours)(random_state=0))
    cells = NAGCellsClassifier if classification else NAGCellsRegressor
    yield "prepare + NAGCells, one pass", prepare(frame, cells(random_state=0))
    yield "ColumnTransformer + SGD", batch(sgd.set_params(random_state=0))
    yield (
        "ColumnTransformer + " + ("LogisticRegression" if classification else "Ridge"),
        batch(LogisticRegression(max_iter=300) if classification else Ridge()),
    )
    yield "HistGradientBoosting, categories", boosting(categorical_features="from_dtype", random_state=0)


def scores(folder, most_rows, rng):
    """Return a row for each table and learner: score on held-out rows, and seconds to learn."""
    found = []
    for name, frame, y in tables(folder, most_rows, rng):
        classification = y.dtype.kind != "f" and len(np.unique(y)) <= 20
        train, test, y_train, y_test = train_test_split(frame, y, test_size=0.3, random_state=0)
        for what, model in learners(train, classification):
            rows = [train, test]
            if "Boosting" in what:
                rows = [_categories(part, train) for part in rows]
            start = time.perf_counter()
            if "one pass" in what:
                options = {"classes": np.unique(y)} if classification else {}
                for begin in range(0, len(train), 1000):
                    model.partial_fit(train[begin : begin + 1000], y_train[begin : begin + 1000], **options)
            else:
                model.fit(rows[0], y_train)
            taken = time.perf_counter() - start
            score = model.score(rows[1], y_test)
            found.append({"table": name, "learner": what, "score": f"{score:.3f}", "seconds": f"{taken:.1f}"})
            print(f"{name:10} {what:40} {score:.3f} {taken:6.1f} s", flush=True)
    return pd.DataFrame(found)


def _categories(frame, train):
    """Return words as categories, as far as gradient boosting takes them (255 in a column), and dates as numbers."""
    columns = {}
    for name in frame:
        if frame[name].dtype.kind in "iufb":
            columns[name] = frame[name]
        elif frame[name].dtype.kind == "M":
            columns[name] = frame[name].astype("int64")
        else:
            known = train[name].value_counts().index[:250]
            columns[name] = pd.Categorical(frame[name], categories=known)
    return pd.DataFrame(columns)


# -- text


def texts(folder, rng):
    """Yield the name of each set and its lines, each a class and a text, in a random order."""
    if folder is None:
        kinds = rng.integers(0, 2, 600)
        lines = [
            f"{kind}\t{' '.join(rng.choice(['film', 'it', 'one', 'good' if kind else 'bad'], 8))}" for kind in kinds
        ]
        yield "made up", lines
        return
    options = {"sep": "\0", "header": None, "engine": "python"}
    sets = {
        "spam": read("sms_spam.txt.gz", "0", encoding="utf-8", **options),
        "films": read("movie_sentences.txt.gz", "0", encoding="latin-1", **options),
    }
    for name, frame, column in load_each(sets, folder):
        lines = [line for line in frame[column] if "\t" in line and not line.startswith("Label")]
        yield name, [lines[i] for i in rng.permutation(len(lines))]


def text(folder, rng):
    """Return a row for each set: accuracy of one pass with document counts learnt on the way, and known before."""
    found = []
    for name, lines in texts(folder, rng):
        y, X = (np.array(part, dtype=object) for part in zip(*(line.split("\t", 1) for line in lines)))
        y = y.astype(str)
        half = int(0.7 * len(X))
        online = make_online_pipeline(OnlineTfidf(), NAGClassifier())
        start = time.perf_counter()
        for begin in range(0, half, 500):
            stop = min(begin + 500, half)
            online.partial_fit(X[begin:stop], y[begin:stop], classes=np.unique(y))
        taken = time.perf_counter() - start
        start = time.perf_counter()
        batch = TfidfVectorizer(ngram_range=(1, 2))
        learner = NAGClassifier().partial_fit(batch.fit_transform(X[:half]), y[:half], classes=np.unique(y))
        of_batch = time.perf_counter() - start
        accuracies = online.score(X[half:], y[half:]), learner.score(batch.transform(X[half:]), y[half:])
        for what, accuracy, each in zip(("OnlineTfidf", "TfidfVectorizer"), accuracies, (taken, of_batch)):
            found.append({"texts": name, "weighed by": what, "accuracy": f"{accuracy:.3f}", "seconds": f"{each:.1f}"})
    return pd.DataFrame(found)


def main():
    """Print the tables, and write them where ``--output`` says."""
    options = parse(__doc__, "folder for the tables, as CSV files", "few rows, everything once")
    rng = np.random.default_rng(0)
    warnings.filterwarnings("ignore", category=UserWarning)
    results = {
        "ugly": ugly(rng),
        "seconds": seconds(rng, options.quick),
        "text": text(options.data_dir, rng),
        "scores": scores(options.data_dir, 3000 if options.quick else 60_000, rng),
    }
    for name, table in results.items():
        print(f"\n{table.to_string(index=False)}")
        if options.output is not None:
            table.to_csv(options.output / f"frames_{name}.csv", index=False)


if __name__ == "__main__":
    main()
