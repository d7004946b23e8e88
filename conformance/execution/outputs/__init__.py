"""Outputs that programs outside of this suite computed for an exported catalogue: reading and judging them."""
