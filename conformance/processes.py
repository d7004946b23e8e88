"""What the system says of processes, and how those are ended that a worker leaves behind."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

LIST = Path("/proc")
MARK = "NN_CONFORMANCE_WORKER"
"""The variable that every process of a worker inherits; its value is the worker's own."""


def memory(process: int) -> int:
    """Return the bytes of real memory that a process holds, 0 where the system does not say."""
    try:
        return int((LIST / str(process) / "statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def machine() -> int:
    """Return the bytes of memory that this machine or container has."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with contextlib.suppress(OSError, ValueError):  # none, or the word "max"
        return min(whole, int(Path("/sys/fs/cgroup/memory.max").read_text("ascii")))
    return whole


def end(group: int, mark: str) -> None:
    """Kill a group of processes, and whatever has left it but still bears the mark."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    for process in _marked(f"{MARK}={mark}".encode()):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)


def _marked(variable: bytes) -> Iterator[int]:
    """Yield the processes that have a variable with this value in their environment."""
    for entry in LIST.glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # another user's, or gone
            if variable in entry.read_bytes().split(b"\0"):
                yield int(entry.parent.name)
