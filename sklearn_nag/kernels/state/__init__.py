"""The arrays of a model, and the linear function that they represent."""
