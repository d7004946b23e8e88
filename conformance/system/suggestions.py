"""Suggestions for misspelled names, for error messages."""

from __future__ import annotations

from collections.abc import Iterable

MAX_SUGGESTIONS = 4
"""Maximum number of names in one suggestion."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return `, did you mean 'a'?` with the names that begin with this one, or else the most similar one; or ""."""
    import difflib  # noqa: PLC0415 - needed for errors only

    names = list(known)
    near = [one for one in names if name and one.startswith((f"{name}.", f"{name}-"))]
    near = near[:MAX_SUGGESTIONS] or difflib.get_close_matches(name, names, 1)
    return f", did you mean {' or '.join(map(repr, near))}?" if near else ""


def unknown_name_text(name: str, known: Iterable[str], lists_all: str) -> str:
    """Return `unknown` with a suggestion, or else with all known names.

    lists_all: the command that lists all names, for a suggestion.
    """
    names = list(known)
    near = suggestion(name, names)
    return f"unknown{near} (`{lists_all}` lists all)" if near else f"unknown, known are {', '.join(names)}"
