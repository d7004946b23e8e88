"""Draws of the parts of a candidate: sizes, numbers, conventions and violated preconditions."""
