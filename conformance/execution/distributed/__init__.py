"""Runs in shards: on a cluster, on several machines, and their merge."""
