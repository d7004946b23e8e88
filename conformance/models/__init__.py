"""Whole models: read their window operators, and compare a model with its port."""
