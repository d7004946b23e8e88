"""Workers, runs, shards and results files."""
