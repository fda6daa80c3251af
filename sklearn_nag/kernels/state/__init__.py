"""The arrays that a model is made of, and the linear function that they stand for."""
