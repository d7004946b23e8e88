"""The console on which commands print summaries, and the width of their lines."""

from __future__ import annotations

import sys
from shutil import get_terminal_size

import click
from rich.console import Console

from reports.analysis.summary import escape_control_characters

UNLIMITED_WIDTH = 1_000_000
"""Width in characters of output that is not printed on a terminal. Rich has no value for "no limit"."""


def output_console() -> Console:
    """Return a console for standard output. It wraps lines at the width of a terminal, and not at all without one."""
    # Not `Console.is_terminal`: FORCE_COLOR, which CI servers set, makes it true for pipes and logs.
    return Console() if sys.stdout.isatty() else Console(width=UNLIMITED_WIDTH)


def line_width(limit: int) -> int:
    """Return the width for wrapped text: that of the terminal, at most `limit` columns. Without a terminal no limit."""
    return min(limit, get_terminal_size().columns) if sys.stdout.isatty() else UNLIMITED_WIDTH


def print_text(text: str) -> None:
    """Print lines that contain foreign text, such as names of a model: control characters are escaped."""
    click.echo("\n".join(map(escape_control_characters, text.split("\n"))))
