"""Texts in a stream: hashed words and pairs, weighted by the documents so far that have them."""

from __future__ import annotations

from collections import Counter
from numbers import Integral
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import normalize

from ..estimators._parameters import check_flag, check_number, check_option
from ..estimators._validation import as_numpy
from ._base import OnlineTransformer, table_in
from ._frames import WORDS, as_word, read_table
from ._words import added_up, counted_since, encoded, hasher, names_of_places


class Documents(NamedTuple):
    """Number of documents, number of documents with each hashed word, and counts of words."""

    n: int
    counts: np.ndarray
    words: dict = {}  # as far as remembered; the dict of a state never changes


class Texts(NamedTuple):
    """Words of texts, and how often each hashed word occurs in each text."""

    words: list
    hashed: sparse.csr_array


class OnlineTfidf(OnlineTransformer):
    """Encode texts as hashed words and word pairs with tf-idf weights, learning document counts along the way.

    `sklearn.feature_extraction.text.HashingVectorizer` splits a text into words and maps each word, and each pair of
    neighbours, to one of ``n_features`` columns. The count of a word in a text is multiplied by
    ``log((1 + n) / (1 + df)) + 1``, where ``n`` is the number of documents so far, including this one, and ``df`` is
    the number of those that contain the word [1]_. Rarer words therefore count more.

    Parameters
    ----------
    n_features : int, default=262144
        Number of columns to which words are hashed.
    ngram_range : tuple (int, int), default=(1, 2)
        Minimum and maximum number of neighbouring words to hash together; (1, 1) stands for single words.
    analyzer : {"word", "char", "char_wb"} or callable, default="word"
        As for HashingVectorizer: whether to count words or characters.
    lowercase : bool, default=True
        Whether to convert texts to lower case.
    stop_words : {"english"} or list, default=None
        Words to leave out.
    strip_accents : {"ascii", "unicode"} or callable, default=None
        Whether and how to remove accents.
    sublinear_tf : bool, default=False
        Whether a word that occurs ``k`` times counts as ``1 + log(k)``.
    norm : {"l1", "l2"} or None, default="l2"
        Norm by which each row is divided.
    max_names : int, default=1000
        Number of words and pairs to remember for column names. When a text makes them more than twice as many, the more
        frequent half is kept.

    Attributes
    ----------
    n_documents_ : int
        Number of documents learnt.
    document_counts_ : ndarray of shape (n_features,)
        Number of documents that contained the words of each column.
    idf_ : ndarray of shape (n_features,)
        Current factor for the words of each column.

    See Also
    --------
    sklearn.feature_extraction.text.TfidfVectorizer : Needs all documents first.
    sklearn.feature_extraction.text.HashingVectorizer : Learns nothing; can be used in an `OnlinePipeline`.

    Notes
    -----
    Texts are a list, an array or column of one dimension, or a table with a single column. A missing text is empty, and
    bytes are read as UTF-8. `sklearn_nag.merge` adds up the counts of several encoders.

    References
    ----------
    .. [1] Manning, Raghavan and Schütze, "Introduction to information retrieval", Cambridge University Press, 2008,
       section 6.2; with the smoothing of scikit-learn, as if one document more had every word.

    Examples
    --------
    >>> from sklearn_nag.preprocessing import OnlineTfidf
    >>> tfidf = OnlineTfidf(ngram_range=(1, 1), norm=None)
    >>> rows = tfidf.learn_transform(["good", "bad", "good bad good"])
    >>> rows.shape, rows.nnz, tfidf.n_documents_
    ((3, 262144), 4, 3)
    >>> float(tfidf.transform(["good"]).sum()), float(tfidf.transform(["new"]).sum().round(3))
    (1.2876820724517808, 2.386)
    """

    _state: Documents
    _reads = frozenset((WORDS,))
    _input_tags = ("string",)

    def __init__(
        self,
        n_features: int = 2**18,
        *,
        ngram_range: tuple = (1, 2),
        analyzer: Any = "word",
        lowercase: bool = True,
        stop_words: Any = None,
        strip_accents: Any = None,
        sublinear_tf: bool = False,
        norm: str | None = "l2",
        max_names: int = 1000,
    ):
        self.n_features = n_features
        self.ngram_range = ngram_range
        self.analyzer = analyzer
        self.lowercase = lowercase
        self.stop_words = stop_words
        self.strip_accents = strip_accents
        self.sublinear_tf = sublinear_tf
        self.norm = norm
        self.max_names = max_names

    def _check_parameters(self):
        check_number("n_features", self.n_features, Integral, min_val=1, max_val=2**31 - 1)
        check_number("max_names", self.max_names, Integral, min_val=0)
        check_flag("sublinear_tf", self.sublinear_tf)
        check_option("norm", self.norm, ("l1", "l2", None))

    def _rows(self, X, first):
        texts = _texts(X)
        vectorizer = HashingVectorizer(
            n_features=int(self.n_features), ngram_range=self.ngram_range, analyzer=self.analyzer,
            lowercase=self.lowercase, stop_words=self.stop_words, strip_accents=self.strip_accents,
        )  # fmt: skip
        if first:
            vectorizer.fit(texts)  # checks its parameters
            self.n_features_in_ = 1
            vars(self).pop("feature_names_in_", None)
        if hasattr(X, "columns"):
            table_in(self, X, first)  # knows names
        analyze = vectorizer.build_analyzer()
        made = [analyze(text) for text in texts]
        try:
            words = [list(of_text) for of_text in made]
            return Texts(words, self._hashed(words))
        except TypeError as error:
            raise TypeError("analyzer must return a list of str for a text.") from error

    def _hashed(self, words):
        """Counts of each hashed word in each list of words."""
        to_columns = hasher(self.n_features)
        try:
            return sparse.csr_array(to_columns.transform(words))
        except UnicodeEncodeError:
            return sparse.csr_array(to_columns.transform([list(map(encoded, of_text)) for of_text in words]))

    def _new_state(self, rows):
        return Documents(0, np.zeros(int(self.n_features), dtype=np.int64))

    def _learn_rows(self, state, rows, transform):
        words, rows = rows
        counts = state.counts + np.bincount(rows.indices, minlength=rows.shape[1])
        after = Documents(state.n + rows.shape[0], counts, _counted(state.words, words, int(self.max_names)))
        if not transform:
            return after, None
        # Number of documents of the batch, up to its own, with the word of an entry: the entry's rank within its
        # column.
        order = np.argsort(rows.indices, kind="stable")
        columns = rows.indices[order]
        begins = np.flatnonzero(np.diff(columns, prepend=-1))
        rank = np.arange(1, len(columns) + 1) - np.repeat(begins, np.diff(begins, append=len(columns)))
        counts = state.counts[rows.indices]
        counts[order] += rank
        n = np.repeat(state.n + np.arange(1, rows.shape[0] + 1), np.diff(rows.indptr))
        return after, self._weighed(rows, _idf(n, counts))

    def _transform_rows(self, state, rows):
        return self._weighed(rows.hashed, _idf(state.n, state.counts[rows.hashed.indices]))

    def _weighed(self, rows, idf):
        times = 1.0 + np.log(rows.data) if self.sublinear_tf else rows.data
        rows = sparse.csr_array((times * idf, rows.indices, rows.indptr), shape=rows.shape)
        if self.norm is None:
            return rows
        with config_context(skip_parameter_validation=True, assume_finite=True):  # all is known here
            return normalize(rows, self.norm, copy=False)

    def _names_out(self, state, names):
        known = sorted(state.words, key=lambda word: (-state.words[word], word))
        places = self._hashed([[word] for word in known]).indices if known else np.empty(0)
        words = [f"{names[0]}={word}" for word in known]
        return names_of_places(f"{names[0]}_hashed", int(self.n_features), places, words)

    def _numeric_outputs(self):
        return []

    def _less(self, state, base):
        return Documents(state.n - base.n, state.counts - base.counts, counted_since(state.words, base.words))

    def _merge_states(self, states):
        words, n = dict(sorted(added_up(state.words for state in states).items())), int(self.max_names)
        counts = np.sum([state.counts for state in states], axis=0)
        return Documents(sum(state.n for state in states), counts, _most(words, n) if len(words) > 2 * n else words)

    @property
    def n_documents_(self) -> int:
        """Number of documents learnt."""
        self._check_is_fitted()
        return self._state.n

    @property
    def document_counts_(self) -> np.ndarray:
        """Number of documents that contained the words of each column."""
        self._check_is_fitted()
        return self._state.counts.copy()

    @property
    def idf_(self) -> np.ndarray:
        """Current factor for the words of each column."""
        self._check_is_fitted()
        return _idf(self._state.n, self._state.counts)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


def _counted(known, texts, n):
    """Counts of words after more texts; beyond ``2 * n`` words, only the most frequent stay."""
    if n == 0:
        return known
    known = Counter(known)
    for words in texts:
        known.update(words)
        if len(known) > 2 * n:
            known = Counter(_most(known, n))
    return dict(known)


def _most(counts, n):
    """The ``n`` most frequent words; the first ones among equals."""
    return dict(sorted(counts.items(), key=itemgetter(1), reverse=True)[:n])


def _idf(n, counts):
    return np.log((1.0 + n) / (1.0 + counts)) + 1.0


def _texts(X):
    """Texts of a list or a column; missing ones become empty."""
    if isinstance(X, str):
        raise ValueError("Iterable over raw text documents expected, string object received.")
    if sparse.issparse(X):
        raise TypeError("Sparse data was passed for X, whose entries are not texts.")
    X = as_numpy(X, "X")
    if hasattr(X, "columns") or getattr(X, "ndim", 1) == 2:
        columns = read_table(X).columns
        if len(columns) != 1:
            raise ValueError(f"X has {len(columns)} columns; texts are one column: give each its own OnlineTfidf.")
        texts = columns[0].words().tolist()
    else:
        as_list = getattr(X, "to_list", getattr(X, "to_pylist", None))  # to_pylist is Arrow's
        rows = list(X) if as_list is None else as_list()
        if any(isinstance(row, list | tuple) for row in rows):
            return _texts(read_table(rows))
        texts = [as_word(text) for text in rows]
    if not texts:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
    return ["" if text is None else text for text in texts]
