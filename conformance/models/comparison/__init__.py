"""Compare a model with its port, layer by layer."""
