"""What the compiled rows of all families share."""
