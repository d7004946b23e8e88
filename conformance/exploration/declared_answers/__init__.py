"""Variants of the cases of conventions, and the answers of surfaces in them."""
