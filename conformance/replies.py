"""What a worker answers: whether it is an answer at all, and what is said of its start."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from conformance.judge import Outcome
from conformance.link import Link

OUTCOMES = frozenset({"returned", "rejected", "crashed"})
FAILED_AT_ONCE = "exit status 1; it said:"
NEEDS = " (a worker needs Python 3.8 or newer, and NumPy)"


def is_start(header: Mapping[str, Any]) -> bool:
    """Whether this is how a worker answers its first frame: a program may have written into the pipe."""
    ready, packages, cpu = (header.get(key) for key in ("ready", "packages", "cpu"))
    if ready is not True:
        return ready is False and isinstance(header.get("message"), str)
    told = [header.get("python"), header.get("hardware", "")]
    texts = [*told, *(packages.values() if isinstance(packages, dict) else [None])]
    return isinstance(cpu, list) and all(isinstance(text, str) for text in (*texts, *cpu))


def is_reply(header: Mapping[str, Any]) -> bool:
    """Whether this is how a worker answers a program."""
    kind, message, seconds, certain = (header.get(key) for key in ("outcome", "message", "seconds", "certain"))
    known = isinstance(kind, str) and kind in OUTCOMES and isinstance(message, str) and isinstance(certain, bool)
    return known and type(seconds) is float and 0 <= seconds < math.inf


def started(link: Link, environment: Mapping[str, Any], seconds: float) -> str:
    """Say of a worker that it has started, and with what."""
    versions = {"Python": environment["python"], **environment["packages"]}
    said = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"worker {link.process.pid} started in {seconds:.1f} s: {said}"


def hinted(outcome: Outcome, link: Link) -> str:
    """Return how a start failed, with what may help."""
    if outcome.kind == "timed_out":
        return f"{outcome.message}; --start-timeout sets this limit{link.last_words()}"
    return outcome.message + (NEEDS if FAILED_AT_ONCE in outcome.message else "")
