"""Parts of ``python -m sklearn_nag``: data to learn, a comparison of learners, its text, and its figures."""
