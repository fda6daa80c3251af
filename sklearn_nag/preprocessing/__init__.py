"""Transformers that learn row by row, so that a stream can go through them as it goes through a learner."""
