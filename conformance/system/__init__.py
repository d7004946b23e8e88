"""Atomic file writes, on-disk caches, parallel map, and process control."""
