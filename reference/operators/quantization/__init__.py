"""Operators on numbers of eight bits: quantization and its inverse, pooling, and convolution."""
