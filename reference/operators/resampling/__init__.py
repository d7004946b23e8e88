"""Operators that interpolate: resizing, and sampling at the points of a grid."""
