"""Views: pure functions from results files to HTML, Markdown and the terminal.

Imports run one way: records <- reading <- summary <- payload <- html, markdown, terminal. Nothing here reads a clock,
draws a random number or knows a framework; every name comes from the results.
"""
