"""Whole models: the layers of a model, and whether other surfaces compute them in the same way."""
