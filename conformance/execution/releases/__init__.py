"""Runs of the releases of a framework: versions, one environment for each, and the results files of the history."""
