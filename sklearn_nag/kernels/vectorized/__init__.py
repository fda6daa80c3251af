"""What the rows in NumPy of all families share."""
