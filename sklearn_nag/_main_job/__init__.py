"""What ``python -m sklearn_nag`` is made of: data to learn, a comparison of learners, its text, and its figures."""
