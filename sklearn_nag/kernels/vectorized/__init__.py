"""What the NumPy rows of all families share."""
