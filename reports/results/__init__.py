"""The format of results files: records, readers and consistency checks."""
