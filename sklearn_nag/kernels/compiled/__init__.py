"""Compiled code shared by the rows of all families."""
