"""Views: pure functions from results files to HTML, Markdown, JUnit XML, badges, Parquet and the terminal.

Imports run one way: records <- reading <- summary <- payload <- html; summary <- markdown, junit, badges, terminal;
reading <- parquet. Nothing here reads a clock, draws a random number or knows a framework; every name comes from the
results.
"""
