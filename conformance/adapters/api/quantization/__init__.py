"""Quantization: the formulas of adapters, and compositions of array operations."""
