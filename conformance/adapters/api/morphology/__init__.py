"""Grey-scale dilation, written with array operations."""
