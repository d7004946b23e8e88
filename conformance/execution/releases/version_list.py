"""Versions of a package: those that pip finds for an interpreter, and the selection of some of them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence

from packaging.version import InvalidVersion, Version

from conformance import ConformanceError

RANGE_SEPARATOR = ".."
NEWEST = "newest"
"""The name of the newest version that is not a pre-release."""
INDEX_SECONDS = 120
"""Time limit for the list of versions, in seconds."""


def available_versions(package: str, python: str) -> list[str]:
    """Return the versions of a package that pip finds for an interpreter, oldest first. Raises ConformanceError.

    package: its name for pip, with or without extras in brackets.
    """
    name = package.partition("[")[0]
    command = [python, "-m", "pip", "index", "versions", name, "--disable-pip-version-check"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INDEX_SECONDS, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConformanceError(f"versions of {package}: {error}") from None
    found = re.search(r"^Available versions: (.+)$", done.stdout, re.MULTILINE)
    if not found:
        lines = done.stderr.strip().splitlines()
        raise ConformanceError(f"versions of {package}: {lines[-1] if lines else 'pip lists none'}")
    # A build of a release, such as 2.13.0+cpu, is no release of its own.
    return sorted({version.partition("+")[0] for version in found[1].split(", ")}, key=Version)


def select_versions(available: Sequence[str], text: str = "", *, per_minor: bool = False) -> list[str]:
    """Return the selected versions, oldest first.

    available: oldest first. text: a list of versions and of ranges such as "1.15..1.18,1.32", empty for all. A version
    with fewer numbers stands for all that start with it, both ends of a range belong to it, and "newest" stands for the
    newest one. per_minor: whether only the newest patch of each minor version is selected. Raises ConformanceError if a
    part selects nothing.
    """
    chosen = set(available) if not text else set[str]()
    for part in text.split(",") if text else ():
        matching = _matching(available, part.strip())
        if not matching:
            known = f"pip finds {available[0]} to {available[-1]}" if available else "pip finds no version"
            raise ConformanceError(f"versions {part.strip()!r}: no release matches ({known})")
        chosen.update(matching)
    selected = [version for version in available if version in chosen]
    if per_minor:
        selected = list({Version(version).release[:2]: version for version in selected}.values())
    return selected


def _matching(available: Sequence[str], part: str) -> list[str]:
    if part == NEWEST:
        return [version for version in available if not Version(version).is_prerelease][-1:]
    first, separator, last = part.partition(RANGE_SEPARATOR)
    try:
        low, high = Version(first).release, Version(last if separator else first).release
    except InvalidVersion:
        raise ConformanceError(f"versions {part!r}: neither a version such as 1.20 nor a range 1.15..1.32") from None
    return [
        version
        for version in available
        if Version(version).release[: len(low)] >= low and Version(version).release[: len(high)] <= high
    ]
