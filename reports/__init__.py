"""Views of results files: HTML, Markdown, JUnit XML, badges, Parquet and the terminal.

Packages import in one direction: `results` <- `analysis` <- `views`. Views are pure functions of the results. They read
no clock, draw no random numbers and contain no framework names; all names come from the results.
"""
