"""Find the release in which an answer changed, with few installations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conformance import ConformanceError


def first_changed(versions: Sequence[str], answer: Callable[[str], str]) -> tuple[str, str, str, str] | None:
    """Return the last release with the oldest answer, the release after it, and the answers of both.

    versions: oldest first; answer: the answer of a release. It is called at most ⌈log2 n⌉ + 2 times. None if the
    oldest and the newest release answer the same: changes in between are not searched. Of several changes, one is
    found. Raises ConformanceError for fewer than two releases.
    """
    if len(versions) < 2:  # noqa: PLR2004 - a change needs two releases
        raise ConformanceError("a bisection needs at least two releases")
    low, high = 0, len(versions) - 1
    oldest, changed = answer(versions[low]), answer(versions[high])
    if oldest == changed:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        found = answer(versions[middle])
        if found == oldest:
            low = middle
        else:
            high, changed = middle, found
    return versions[low], versions[high], oldest, changed
