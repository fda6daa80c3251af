"""Train a model from files that need not fit in memory: Parquet, CSV, or svmlight.

Batches are read with sklearn_nag.streams.read_batches and learnt with fit_stream, so the model is what they give.
The first 100,000 rows determine how each column is read (numbers, words, dates, money, text, missing values), and a
line is printed for each. The model knows its columns. Numbers of svmlight files are not changed.

Without --estimator, a first pass over the target determines what it is. Classes are words, which include digits with
leading zeros, or at most 20 different whole numbers; anything else is a quantity. With more different values, a target
of numbers with words in up to 1 % of the rows is refused, and so are amounts written as words and days written in
digits. --as then says which it is.
"""

from __future__ import annotations

import ast
import pickle
import re
import time
import warnings
import zlib
from collections import Counter
from functools import partial
from itertools import chain, islice
from pathlib import Path

import joblib
import numpy as np
from sklearn.base import is_classifier

from .. import estimators
from .._extras import needed
from ..preprocessing._frames import NUMBERS, WORDS
from ..preprocessing._numbers import is_missing_word
from ..preprocessing._prepare import TEXT, are_days, beside_numbers
from ..streams import Batches, fit_stream, read_batches
from ..streams._read import ROWS_SHOWN, TARGETS_ALONE, IfThere
from ..streams._sources import FORMATS, find_paths, suffixes
from ..streams._whole import check_writable, clear_beside, write_whole
from .tables import LEADING_ZERO, MOST_CLASSES, add_choices, as_options, kinds_of, new_parser

PROGRAM = "python -m sklearn_nag train"
ESTIMATORS = [f"{family}{task}" for family in ("NAG", "ScaleInvariant", "FTRL") for task in ("Classifier", "Regressor")]
SUFFIXES = (".joblib", ".pkl", ".skops")
LARGEST_CLASS = 2.0**63  # scikit-learn compares classes that are numbers with 64-bit integers
MOST_WORDS = 1000  # most classes in a target of words, unless an estimator or classes are given
WHAT_FILES_DO = (ValueError, OSError, EOFError, ImportError, NotImplementedError, zlib.error)


def parse(arguments):
    parser = new_parser(PROGRAM, __doc__)
    add = parser.add_argument
    add("--target", metavar="NAME", help="column to predict; not for svmlight, where each line starts with the target")
    add_choices(add)
    add("--fill", action="store_true",
        help="only warn if later rows lack columns, have new ones, or have values of another kind; values that cannot "
        "be read count as missing, also in predictions; columns that --columns names are required")  # fmt: skip
    add("--sample-weight", metavar="NAME", help="column with the weights of the rows")
    add("--estimator", choices=ESTIMATORS, help="estimator to train (NAGClassifier or NAGRegressor, by the target)")
    add("--set", nargs="+", default=[], metavar="NAME=VALUE", help="parameters of the estimator, such as eta0=0.5")
    add("--classes", nargs="+", metavar="CLASS", help="all classes; by default, a pass over the target finds them")
    add("--passes", type=int, default=1, help="number of passes over the files (%(default)s)")
    add("--shuffle-buffer", type=int, default=0, metavar="ROWS", help="rows to read ahead and shuffle (%(default)s)")
    add("--checkpoint", type=Path, metavar="FILE", help="file from which the same command resumes if it was killed")
    add("--checkpoint-every", type=int, default=1_000_000, metavar="ROWS",
        help="number of rows between two checkpoints (%(default)s)")  # fmt: skip
    add("--changed-files", action="store_true", help="resume from the checkpoint although rows of files were corrected")
    add("--model", type=Path, default=Path("model.joblib"), metavar="FILE",
        help="file for the model, in the format of its suffix: .joblib, .pkl or .skops (%(default)s)")  # fmt: skip
    add("--n-hashed", type=int, default=2**16, metavar="N", help="number of columns to hash words to (%(default)s)")
    add("--n-features", type=int, metavar="N", help="number of features of svmlight files, which require it")
    add_reading(add)
    options = parser.parse_args(arguments)
    if options.model.suffix not in SUFFIXES:
        parser.error(f"--model {options.model}: its name must end in {', '.join(SUFFIXES)}")
    for path in (options.model, options.checkpoint):
        if path is not None and not path.parent.is_dir():
            parser.error(f"there is no folder {path.parent} for {path.name}")
    if options.checkpoint is not None and options.checkpoint.resolve() == options.model.resolve():
        parser.error(f"--checkpoint {options.checkpoint}: the model would overwrite it")
    return parser, options


def add_reading(add):
    """Add files, and options for reading them."""
    add("files", nargs="+", help="files or globs: .parquet; .csv, .tsv; .svm, .svmlight, .libsvm; text also .gz, .bz2")
    add("--batch-size", type=int, default=2**13, metavar="ROWS", help="largest number of rows in a batch (%(default)s)")
    add("--delimiter", help="delimiter of CSV files (the most frequent of comma, semicolon, tab and bar in the header)")
    add("--encoding", default="utf-8", help="encoding of CSV files (%(default)s)")
    add("--max-row-bytes", type=int, default=2**25, metavar="BYTES", help="largest size of a row of text (%(default)s)")
    add("--one-based", action="store_true", help="features of svmlight files are numbered from 1")


def reading(options):
    """Options as parameters of `read_batches`."""
    names = "batch_size", "n_hashed", "delimiter", "encoding", "max_row_bytes"
    return {name: getattr(options, name) for name in names} | {"zero_based": not options.one_based}


def main(arguments):
    """Train, save the model, and print what was done."""
    parser, options = parse(arguments)
    try:
        print(noting(train, options))
    except WHAT_FILES_DO as error:
        parser.exit(2, f"{PROGRAM}: {in_a_line(error)}\n")
    except KeyboardInterrupt:
        kept = options.checkpoint is not None and options.checkpoint.exists()
        parser.exit(130, "\nInterrupted." + (" The same command resumes from the checkpoint.\n" if kept else "\n"))


def noting(job, options):
    """Return what ``job(options)`` says, after printing each of its warnings once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("once", UserWarning)
        said = job(options)
    told = [warning for warning in caught if issubclass(warning.category, UserWarning | RuntimeWarning)]
    for message in dict.fromkeys(str(warning.message) for warning in told):
        print(f"note: {as_options(message)}")
    return said


def train(options):
    """Train and save a model; return lines on what was done. Raise `WHAT_FILES_DO` for unusable input."""
    formats = {FORMATS.get(suffixes(Path(name))[0]) for name in options.files}
    if options.target is None and formats & {"csv", "parquet"}:
        raise ValueError("--target must name the column to predict.")
    clear_beside(options.model)
    check_writable(options.model)
    if not batches_of(options, options.columns).repeatable:
        raise ValueError(
            f"{' '.join(options.files)}: train reads rows more than once, which a named pipe does not allow."
        )
    estimator, classes = learner(options)
    batches = batches_of(options, options.columns)
    if options.target is not None:
        estimator = prepared(options, batches, estimator)
    n_read = 0

    def counted():
        nonlocal n_read
        for batch in batches:
            n_read += len(batch[1])
            yield batch

    start = time.perf_counter()
    rows = Batches(counted, batches.n_rows, batches.repeatable, batches.settings, lasting=batches.lasting)
    model = fit_stream(
        estimator, rows, classes=classes,
        passes=options.passes, shuffle_buffer=options.shuffle_buffer, checkpoint=options.checkpoint,
        checkpoint_every=options.checkpoint_every, changed_files=options.changed_files,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    write_whole(options.model, lambda file: save(model, file, options.model.suffix))
    learnt = model if options.target is None else model[-1]
    kind = f"{len(learnt.classes_)} classes" if is_classifier(learnt) else "a quantity"
    gaps = [f"{batches.n_left_out} rows without {options.target!r} left out"] if batches.n_left_out else []
    return "\n".join([
        f"{type(learnt).__name__}, up to {learnt.n_features_in_} features, {options.target or 'target'}: {kind}",
        f"{n_read} rows read in {seconds:.1f} s, {n_read / seconds:,.0f} rows per second" if n_read else
        f"nothing was left to learn: {options.checkpoint} is from a completed run",
        *gaps,
        f"progressive loss {learnt._named_loss(learnt.progressive_loss_)}, "
        + ("each row predicted before it was learnt" if options.passes == 1 else
           f"over {options.passes} passes; only in the first are the predicted rows new"),
        f"model: {options.model}",
    ])  # fmt: skip


def batches_of(options, columns, words=()):
    """Batches of the files, without rows that lack a target."""
    is_table = options.target is not None
    kinds = kinds_of(options.kinds, options.target)
    # `prepare` checks that all of these are columns.
    words = IfThere([*words, *(name for name, kind in kinds.items() if kind in (WORDS, TEXT))])
    return read_batches(
        options.files, options.target, columns=columns, sample_weight=options.sample_weight,
        missing_target="drop" if is_table else "raise", transformer=None, frames=is_table, words=words,
        mismatch="fill" if options.fill and is_table and columns is None else "raise",
        n_features=options.n_features, **reading(options),
    )  # fmt: skip


def prepared(options, batches, estimator):
    """A pipeline for the columns of the first rows, ending with the estimator; print a line per column."""
    first = batches.head()
    if first.num_columns == 0:
        raise ValueError(f"there is nothing to learn from: there are no features besides {target_of(options)}.")
    kinds = kinds_of(options.kinds, options.target)
    kinds.pop(options.target, None)
    said = [f"columns, according to the first {first.num_rows} rows:"]
    made = {
        "drop": options.drop, "kinds": kinds, "n_hashed": options.n_hashed,
        "mismatch": "fill" if options.fill else "raise", "say": lambda line: said.append(f"  {as_options(line)}"),
    }  # fmt: skip
    pipeline = batches._prepared(first, estimator, made)
    print("\n".join(said))
    return pipeline


def learner(options):
    """The estimator with its parameters, and the classes of a classifier."""
    name, classes = options.estimator, options.classes
    kind = kinds_of(options.kinds, options.target).get(options.target)
    if kind == NUMBERS and classes is None:
        name = name or "NAGRegressor"
    of_quantities = name is not None and name.endswith("Regressor")
    if classes is not None and of_quantities:
        raise ValueError(f"--classes is for classifiers; --estimator is {name}.")
    what = target_of(options)
    may_be_codes = kind is None and options.target is not None and not of_quantities
    if may_be_codes:
        keep_codes(options, -(-ROWS_SHOWN // options.batch_size))
    targets = targets_of(batches_of(options, None if options.target is None else TARGETS_ALONE), what)
    if of_quantities:
        if next(targets, np.empty(0)).dtype.kind in "US":
            word = _first_no_number(partial(first_word, options))
            such = f", such as {word}" if word else ""
            raise ValueError(f"{name} needs numbers as targets; {what} holds words{such}.")
    elif classes is not None:
        classes = classes_as_targets(classes, next(targets, np.empty(0)))
    else:
        find = partial(first_word, options)
        classes = find_classes(targets, what, surely=name is not None or kind == WORDS, find=find)
        if may_be_codes and classes is not None and classes.dtype.kind == "f" and keep_codes(options):
            return learner(options)
    name = name or ("NAGRegressor" if classes is None else "NAGClassifier")
    return getattr(estimators, name)().set_params(**dict(map(parameter, options.set))), classes


def keep_codes(options, n_batches=None):
    """Make a target words if it has digits with leading zeros, which numbers merge; return whether it has."""
    targets = (y.tolist() for _, y, *_ in islice(batches_of(options, TARGETS_ALONE, [options.target]), n_batches))
    words = (str(word) for some in chain([options.classes or ()], targets) for word in set(some))
    has_codes = any(re.fullmatch(LEADING_ZERO, word) for word in words)
    if has_codes:
        options.kinds = [*options.kinds, f"{options.target}={WORDS}"]
    return has_codes


def first_word(options, is_it):
    """First word of the target with ``is_it(word)``, with its file and row, or None."""
    for path in find_paths(options.files):
        n_rows = 0
        # Read as a feature, a target has all rows, including those without a value.
        whole = {"columns": [options.target], "frames": True, "words": [options.target]}
        for X, _ in read_batches(path, **whole, **reading(options)):
            words = X.column(options.target).to_pylist()
            row = next((row for row, word in enumerate(words) if word is not None and is_it(word)), None)
            if row is not None:
                return f"{words[row]!r} in {path}, data row {n_rows + row + 1}"
            n_rows += len(words)
    return None


def target_of(options):
    """Name of the target in errors."""
    files, more = options.files[0], len(options.files) - 1
    files += f" and {more} more" if more else ""
    return f"the target of {files}" if options.target is None else f"the target column {options.target!r} of {files}"


def targets_of(batches, what):
    """Yield the targets of batches; raise if there is none."""
    n_rows = 0
    for _, y, *_ in batches:
        if y is None:
            raise ValueError("--target must name the column to predict.")
        n_rows += len(y)
        yield y
    if n_rows == 0:
        raise ValueError(f"{what} has no rows to learn from.")


def parameter(text):
    """Name and value of ``NAME=VALUE``; a value that is no Python literal is a word."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--set {text}: it must be NAME=VALUE, such as eta0=0.5.")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def classes_as_targets(words, targets):
    """Classes given as words, in the type of the targets."""
    kind = targets.dtype.kind
    if kind in "US":
        return np.array(words)
    try:
        values = [{"false": 0, "true": 1}[word.lower()] if word.lower() in ("false", "true") else float(word)
                  for word in words]  # fmt: skip
    except ValueError:
        raise ValueError(f"--classes {' '.join(words)}: the target holds numbers, not words.") from None
    _check_classes(np.array(values), f"--classes {' '.join(words)}")
    return np.array(values).astype(targets.dtype)


def find_classes(batches, what, surely, find=lambda is_it: None):
    """Classes among batches of targets, sorted; None for quantities. Errors call the target ``what``.

    With ``surely``, they are classes, however many and whatever they look like. ``find`` is `first_word` with some
    options.
    """
    found, n_rows, counts = None, 0, Counter()
    for targets in batches:
        some, times = np.unique(targets, return_counts=True)
        found = some if found is None else np.unique(np.concatenate([found, some]))
        n_rows += len(targets)
        if surely:
            _check_classes(found, what)
        elif found.dtype.kind in "US":
            counts.update(dict(zip(some.tolist(), times.tolist())))
            if len(found) > MOST_WORDS:
                break
        elif len(found) > MOST_CLASSES or not _can_be_classes(found).all():
            _check_no_days(found, what)
            return None
    if counts:
        _check_words(counts, what, find)
    if len(found) < 2:
        raise ValueError(f"there is nothing to learn: {what} is {found[0].item()!r} in all rows.")
    numbers = found.dtype.kind not in "USb"
    if surely or not numbers or len(found) <= n_rows // 2:
        return found
    _check_no_days(found, what)
    return None


def _check_no_days(values, what):
    """Raise ValueError for numbers that are dates, such as 20230228."""
    if are_days(values):
        raise ValueError(
            f"{what} holds dates, such as {values[0]:.0f}: use --estimator NAGRegressor if they are quantities, and "
            "--estimator NAGClassifier if they are classes."
        )


def _check_words(words, what, find):
    """Raise ValueError for words that do not look like classes; ``words`` maps them to numbers of rows."""
    named = {word: times for word, times in words.items() if not is_missing_word(word)}
    others = beside_numbers(named) if len(named) > MOST_CLASSES else None
    if others is not None:
        classes = "if they are classes, use --estimator NAGClassifier"
        if any(map(_is_no_number, named)):
            other = find({*others}.__contains__) if others else None
        else:  # the word that is no number comes after those that were counted
            other = _first_no_number(find)
        if other or others:
            raise ValueError(
                f"{what} holds numbers, but also {other or repr(others[0])}: write a number there, or nothing to leave "
                f"the row out; {classes}."
            )
        word = max(filter(_is_no_number, named), default=max(named))
        raise ValueError(
            f"{what} holds words that are numbers, such as {word!r}: for a quantity, write plain numbers, such "
            f"as -1234.5; {classes}."
        )
    if len(words) > MOST_WORDS:
        raise ValueError(
            f"{what} holds more than {MOST_WORDS} different words; if they are classes, use --estimator NAGClassifier."
        )


def _is_no_number(word):
    """Whether readers of files do not take a word for a number."""
    try:
        float(word)
    except ValueError:
        return True
    return "_" in word


def _first_no_number(find):
    """First word found that is no number; for a missing value only if nothing else is."""
    return find(lambda word: _is_no_number(word) and not is_missing_word(word)) or find(_is_no_number)


def _can_be_classes(values):
    """Which values scikit-learn accepts as classes."""
    if values.dtype.kind in "USb":
        return np.ones(len(values), bool)
    return (values == np.round(values)) & (np.abs(values) < LARGEST_CLASS)


def _check_classes(values, what):
    others = values[~_can_be_classes(values)]
    if len(others):
        raise ValueError(
            f"{what} has {others[0]:g}: classes are words or whole numbers below {LARGEST_CLASS:.1e} in size; "
            "regressors learn quantities."
        )


def import_skops():
    """The part of skops that reads and writes models."""
    return needed("skops.io", "skops", ".skops files need")


def save(model, file, suffix):
    """Write a model to an open file, in the format of ``suffix``."""
    if suffix == ".skops":
        import_skops().dump(model, file)
    elif suffix == ".joblib":
        joblib.dump(model, file)
    else:
        pickle.dump(model, file, protocol=5)


def in_a_line(error: BaseException) -> str:
    """An error and its notes in one line, with options in place of parameters."""
    said = [" ".join(part.split()) for part in (str(error), *getattr(error, "__notes__", ()))]
    return as_options(" ".join(part if part.endswith((".", "!", "?")) else f"{part}." for part in said))
