"""Words as one-hot columns: by a vocabulary that grows up to a limit, or by hashing."""

from __future__ import annotations

from collections import Counter
from numbers import Integral
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.feature_extraction import FeatureHasher

from ..estimators._parameters import InvalidParameterError, check_flag, check_number
from ._base import OnlineTransformer, in_columns, names_in, table_in
from ._frames import WORDS

MISSING, OTHER = "(missing)", "(other)"  # column names for a missing word, and for words without a column
_HALVES = "surrogatepass"  # error handler for encoding
_NONE = "\ud800"  # stands for a missing word: no UTF-8 text has it, and skops files have no None among keys


class Coded(NamedTuple):
    """Words by number."""

    codes: list  # per column: an array with a number for each row
    words: list  # per column: the word of each number, all of which occur; `_NONE` is a missing word
    n_rows: int

    def not_in(self, i, known):
        """New words of a column, each once, in row order."""
        is_new = np.array([word not in known for word in self.words[i]], dtype=bool)
        if not is_new.any():
            return []
        found, first = np.unique(self.codes[i][is_new[self.codes[i]]], return_index=True)
        return list(dict.fromkeys(self.words[i][code] for code in found[np.argsort(first)].tolist()))


class _OfWords(OnlineTransformer):
    """Base of the encoders of words, whose rows are `Coded`."""

    _reads = frozenset((WORDS,))
    _takes_tables = (WORDS,)
    _input_tags = "allow_nan", "categorical", "string"

    def _rows(self, X, first):
        table = table_in(self, X, first)
        codes, words = [], []
        for column in table.columns:
            of_rows, of_column = column.coded()
            if None in of_column:
                of_column = [_NONE if word is None else word for word in of_column]
            codes.append(of_rows)
            words.append(of_column)
        return Coded(codes, words, table.n_rows)

    def _numeric_outputs(self):
        return []


class Vocabulary(NamedTuple):
    """The words of each column, in order of appearance."""

    places: tuple[dict[str, int], ...]


class _OfVocabulary(_OfWords):
    """Base of the encoders that number words, up to a limit."""

    _state: Vocabulary
    max_categories: int

    def _check_parameters(self):
        check_number("max_categories", self.max_categories, Integral, min_val=2, max_val=2**31 - 1)

    def _new_state(self, rows):
        return Vocabulary(({},) * len(rows.words))

    def _learn_rows(self, state, rows, transform):
        most, places = int(self.max_categories) - 1, []
        for i, known in enumerate(state.places):
            new = rows.not_in(i, known) if len(known) < most else []
            if new:
                known = known.copy()
                known.update(zip(new[: most - len(known)], range(len(known), most)))
            places.append(known)
        state = Vocabulary(tuple(places))
        return state, self._transform_rows(state, rows) if transform else None

    def _numbers(self, state, rows, of_others):
        """Number of each word; other words get the number of their column in ``of_others``."""
        out = np.empty((rows.n_rows, len(rows.words)), dtype=np.int32)
        for i, (known, other) in enumerate(zip(state.places, of_others)):
            out[:, i] = np.array([known.get(word, other) for word in rows.words[i]], dtype=np.int32).take(rows.codes[i])
        return out

    def _merge_states(self, states):
        most = int(self.max_categories) - 1
        words = [
            dict.fromkeys(word for known in column for word in known) for column in zip(*(s.places for s in states))
        ]
        return Vocabulary(tuple({word: place for place, word in enumerate(list(column)[:most])} for column in words))

    @property
    def categories_(self) -> list[np.ndarray]:
        """The words of each column, in order of first appearance; None is a missing word."""
        self._check_is_fitted()
        words = [[None if word == _NONE else word for word in known] for known in self._state.places]
        return [np.array([*known, None], dtype=object)[:-1] for known in words]


class OnlineOneHotEncoder(_OfVocabulary):
    """One-hot encode words, with a vocabulary that grows along the stream up to a limit.

    Each column becomes ``max_categories`` columns from the start. A new word takes the next free one. Once all but the
    last are taken, the vocabulary is full: all later words share the last one. The meaning of a column never changes,
    so a subsequent learner can continue. A missing word is treated as a word of its own.

    Parameters
    ----------
    max_categories : int, default=100
        Number of output columns for each column of words, at least 2; it can name one word fewer than this.
    sparse_output : bool, default=True
        Whether the output is a CSR array, with an entry for each word, or dense.

    Attributes
    ----------
    categories_ : list of ndarray
        The words of each column, in order of first appearance; None is a missing word.
    n_features_in_ : int
        Number of columns of words.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if the input was a frame.

    See Also
    --------
    HashingEncoder : For any number of different words.
    sklearn.preprocessing.OneHotEncoder : Needs all rows first.

    Notes
    -----
    Words are str, or bytes in UTF-8. Numbers, booleans and dates are converted to words, for which 1 and 1.0 are the
    same. `transform` maps words that have not been learnt to the last column. Output names contain the words and change
    while the vocabulary grows, so steps of a pipeline do not pass frames to each other.

    Examples
    --------
    >>> from sklearn_nag.preprocessing import OnlineOneHotEncoder
    >>> encoder = OnlineOneHotEncoder(max_categories=3, sparse_output=False)
    >>> encoder.learn_transform([["Rome"], ["Oslo"], ["Rome"], ["Lima"]])
    array([[1., 0., 0.],
           [0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 1.]])
    >>> encoder.get_feature_names_out(["town"])
    array(['town=Rome', 'town=Oslo', 'town=(other)'], dtype=object)
    """

    def __init__(self, max_categories: int = 100, *, sparse_output: bool = True):
        self.max_categories = max_categories
        self.sparse_output = sparse_output

    def _check_parameters(self):
        super()._check_parameters()
        check_flag("sparse_output", self.sparse_output)

    def _new_state(self, rows):
        if len(rows.words) * int(self.max_categories) >= 2**31:
            allowed = "below 2147483648, times the number of columns"
            raise InvalidParameterError("max_categories", allowed, self.max_categories)
        return super()._new_state(rows)

    def _transform_rows(self, state, rows):
        n_columns, width = len(rows.words), int(self.max_categories)
        columns = self._numbers(state, rows, [width - 1] * n_columns) + width * np.arange(n_columns, dtype=np.int32)
        return in_columns(columns, np.ones(columns.shape), n_columns * width, self.sparse_output)

    def _names_out(self, state, names):
        out = []
        for name, known in zip(names, state.places):
            free = range(len(known), int(self.max_categories) - 1)
            words = [*map(_shown, known), *(f"(free {place})" for place in free)]
            out += [f"{name}={word}" for word in [*words, OTHER]]
        return out

    def _places_in(self, merged):
        width, places = int(self.max_categories), []
        pairs = list(zip(self._state.places, merged._state.places))
        if all(there.get(word) == place for known, there in pairs for word, place in known.items()):
            return None  # free places, which no row has had, stay as well
        for i, (known, there) in enumerate(pairs):
            of_column = np.full(width, -1)
            of_column[: len(known)] = [there.get(word, -1) for word in known]
            of_column[-1] = width - 1
            places.append(np.where(of_column < 0, -1, of_column + i * width))
        return np.concatenate(places)


class OnlineOrdinalEncoder(_OfVocabulary):
    """Encode words as integers, in order of first appearance.

    With this code, curves and cells, which cut columns, learn how words act together with other columns. The numbers
    measure nothing, so they are of little use to a linear model: add an `OnlineOneHotEncoder`, as `prepare` does.
    Frequent words appear early and so have low numbers.

    Parameters
    ----------
    max_categories : int, default=100
        Number of codes, from 0 on, at least 2. The last one is for all words that come once the others are taken.
        `transform` gives words that have not been learnt the next free code.

    Attributes
    ----------
    categories_ : list of ndarray
        The words of each column, in order of first appearance; None is a missing word.
    n_features_in_ : int
        Number of columns of words.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if the input was a frame.

    See Also
    --------
    OnlineOneHotEncoder : A column for each word.
    sklearn.preprocessing.OrdinalEncoder : Needs all rows first.

    Notes
    -----
    Words are str, or bytes in UTF-8. Numbers, booleans and dates are converted to words, for which 1 and 1.0 are the
    same. A missing word is treated as a word of its own. Models in which a word has different codes cannot be merged:
    let one model see the words first, and give copies of it to all shards.

    Examples
    --------
    >>> from sklearn_nag.preprocessing import OnlineOrdinalEncoder
    >>> OnlineOrdinalEncoder(max_categories=3).learn_transform([["Rome"], ["Oslo"], ["Rome"], ["Lima"], ["Bonn"]])
    array([[0.],
           [1.],
           [0.],
           [2.],
           [2.]])
    """

    def __init__(self, max_categories: int = 100):
        self.max_categories = max_categories

    def _transform_rows(self, state, rows):
        return self._numbers(state, rows, map(len, state.places)).astype(np.float64)

    def _merge_states(self, states):
        merged = super()._merge_states(states)
        for state in states:
            for known, there in zip(state.places, merged.places):
                if any(there.get(word) != number for word, number in known.items()):
                    raise ValueError(
                        "models in which a word has different codes cannot be merged: let one model see the words "
                        "first, and give copies of it to all shards."
                    )
        return merged

    def _names_out(self, state, names):
        return names

    def _numeric_outputs(self):
        return range(self.n_features_in_)


class Remembered(NamedTuple):
    """Counts of the words of each column, as far as remembered."""

    counts: tuple[dict[str, int], ...]


class HashingEncoder(_OfWords):
    """Encode words as zero-one columns by hashing, and remember the most frequent words as column names.

    `sklearn.feature_extraction.FeatureHasher` maps a word, together with the name of its column, to one of
    ``n_features`` columns. The number of words is therefore unlimited, and several words may share a column. The output
    does not depend on the rows learnt: words are remembered for names only. A missing word is treated as a word of its
    own.

    Parameters
    ----------
    n_features : int, default=65536
        Number of columns to which words are hashed.
    max_names : int, default=1000
        Number of words to remember. When there are twice as many, the more frequent half is kept.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of words.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if the input was a frame.

    See Also
    --------
    OnlineOneHotEncoder : Gives each word a column of its own.

    Examples
    --------
    >>> from sklearn_nag.preprocessing import HashingEncoder
    >>> encoder = HashingEncoder(n_features=8)
    >>> encoder.learn_transform([["Rome"], ["Oslo"], ["Rome"]]).indices.tolist()
    [4, 1, 4]
    >>> encoder.get_feature_names_out(["town"])[[1, 2, 4]]
    array(['town=Oslo', 'hashed2', 'town=Rome'], dtype=object)
    """

    _state: Remembered

    def __init__(self, n_features: int = 2**16, *, max_names: int = 1000):
        self.n_features = n_features
        self.max_names = max_names

    def _check_parameters(self):
        check_number("n_features", self.n_features, Integral, min_val=1, max_val=2**31 - 1)
        check_number("max_names", self.max_names, Integral, min_val=0)

    def _new_state(self, rows):
        return Remembered(({},) * len(rows.words))

    def _learn_rows(self, state, rows, transform):
        counts = remembered(state.counts, rows, int(self.max_names))
        return Remembered(counts), self._transform_rows(state, rows) if transform else None

    def _transform_rows(self, state, rows):
        return hashed_rows(rows, names_in(self), self.n_features)

    def _names_out(self, state, names):
        keys = _by_count(state.counts)
        words = [f"{names[i]}={_shown(word)}" for i, word in keys]
        places = _hashed([(names_in(self)[i], word) for i, word in keys], self.n_features)
        return names_of_places("hashed", int(self.n_features), places, words)

    def _less(self, state, base):
        return Remembered(tuple(map(counted_since, state.counts, base.counts)))

    def _merge_states(self, states):
        n = int(self.max_names)
        counts = tuple(added_up(of_column) for of_column in zip(*(state.counts for state in states)))
        return Remembered(_seen_most(counts, n) if sum(map(len, counts)) > 2 * n else counts)


def hashed_rows(rows: Coded, names: list, n_features: int) -> sparse.csr_array:
    """Words as zero-one columns: each word, with its column's name, leads to one of ``n_features``."""
    hashed = _hashed([(name, word) for name, words in zip(names, rows.words) for word in words], n_features)
    columns = np.empty((rows.n_rows, len(rows.words)), dtype=np.int32)
    first = 0
    for i, (codes, words) in enumerate(zip(rows.codes, rows.words)):
        columns[:, i] = hashed[first : first + len(words)].take(codes)
        first += len(words)
    out = in_columns(columns, np.ones(columns.shape), int(n_features), is_sparse=True)
    if len(rows.words) > 1:
        out.sum_duplicates()
    return out


def _hashed(keys, n_features):
    """Columns for pairs of a column name and a word."""
    if not keys:
        return np.empty(0, dtype=np.int32)
    words = [[hashed_word(str(name), None if word == _NONE else word)] for name, word in keys]
    return hasher(n_features).transform(words).indices


def added_up(parts):
    """Sum of the word counts in several parts."""
    total: Counter = Counter()
    for counts in parts:
        total.update(counts)
    return dict(total)


def counted_since(counts, before):
    """Counts minus those from before."""
    return dict(Counter(counts) - Counter(before))


def hasher(n_features):
    """What maps words to ``n_features`` columns."""
    return FeatureHasher(int(n_features), input_type="string", alternate_sign=False)


def names_of_places(name, n_places, places, words):
    """Names of ``n_places`` columns, by the words that lead there, or by ``name`` and number."""
    out = [f"{name}{place}" for place in range(n_places)]
    of_place: dict[int, list[str]] = {}
    for place, word in zip(places.tolist(), words):
        of_place.setdefault(place, []).append(word)
    for place, own in of_place.items():
        out[place] = " or ".join(own)
    return out


def remembered(counts: tuple, rows: Coded, n: int) -> tuple:
    """Counts of words after more rows; beyond ``2 * n`` words, the ``n`` most frequent stay."""
    if n == 0:
        return counts
    counts = tuple(of_column.copy() for of_column in counts)
    size = sum(map(len, counts))
    if size + sum(word not in known for known, words in zip(counts, rows.words) for word in words) <= 2 * n:
        for i, known in enumerate(counts):
            known.update(dict.fromkeys(rows.not_in(i, known), 0))
            for word, times in zip(rows.words[i], np.bincount(rows.codes[i]).tolist()):
                known[word] += times
        return counts
    for row in zip(*(codes.tolist() for codes in rows.codes)):
        for i, code in enumerate(row):
            word = rows.words[i][code]
            size += word not in counts[i]
            counts[i][word] = counts[i].get(word, 0) + 1
            if size > 2 * n:
                counts, size = _seen_most(counts, n), n
    return counts


def _by_count(counts):
    """Pairs of column number and word, the most frequent first, then by column and alphabet."""
    keys = [(i, word) for i, of_column in enumerate(counts) for word in of_column]
    return sorted(keys, key=lambda key: (-counts[key[0]][key[1]], *key))


def _seen_most(counts, n):
    """The ``n`` most frequent words."""
    kept: tuple[dict, ...] = tuple({} for _ in counts)
    for i, word in _by_count(counts)[:n]:
        kept[i][word] = counts[i][word]
    return kept


def _shown(word):
    """A word as shown in column names; quoted if it could be mistaken for a special name."""
    if word in (MISSING, OTHER) or word.startswith(("(free ", "'(")):
        return repr(word)
    return MISSING if word == _NONE else word


def hashed_word(name: str, word: str | None) -> str | bytes:
    """What is hashed for a word in a column, None for a missing word; different for each.

    For a missing word, it is the name alone. A byte that no UTF-8 text has ends a name that contains "=".
    """
    rest = "" if word is None else f"={word}"
    return encoded(f"{name}{rest}") if "=" not in name else name.encode() + b"\xff" + rest.encode(errors=_HALVES)


def encoded(text: str) -> str | bytes:
    """What to hash for a text: bytes if it may have lone surrogates, as file names may."""
    return text if text.isascii() else text.encode(errors=_HALVES)
