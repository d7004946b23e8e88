"""Limit the number of error messages of a file."""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_FILE_ERRORS = 20
"""Maximum number of errors listed for a file."""


def first_errors(messages: Iterable[str]) -> list[str]:
    """Return the first messages of each file, and after them the number of others.

    Messages start with `file:line: `. Those that do not are limited together.
    """
    found: dict[str, list[str]] = {}
    for message in messages:
        location = re.match(r"(.*?):\d+: ", message)
        found.setdefault(f"{location[1]}: " if location else "", []).append(message)
    shown = []
    for file, lines in found.items():
        more = [f"{file}and {len(lines) - MAX_FILE_ERRORS:,} more"] if len(lines) > MAX_FILE_ERRORS else []
        shown += lines[:MAX_FILE_ERRORS] + more
    return shown


def sort_errors(errors: Iterable[str]) -> list[str]:
    """Sort error messages by line within each file; files and messages without a file stay in their order."""
    files: dict[str, int] = {}

    def sort_key(text: str) -> tuple[int, float, str]:
        location = re.match(r"(.*?):(?:(\d+):| and) ", text)  # the number of other errors is the last line
        file, line = location.groups() if location else ("", "0")
        return files.setdefault(file, len(files)), float(line or "inf"), text if location else ""

    return sorted(errors, key=sort_key)
