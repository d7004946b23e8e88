"""Files, caches and processes."""
