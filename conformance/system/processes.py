"""What the system says of processes, and how those are ended that a worker leaves behind."""

from __future__ import annotations

import contextlib
import os
import signal
from collections import defaultdict
from collections.abc import Iterable, Iterator
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


def worker(guard: int) -> int:
    """Return the child of a guard that is the worker, its first; 0 as long as there is none."""
    try:
        found = list(map(int, (LIST / f"{guard}/task/{guard}/children").read_bytes().split()))
    except OSError:  # not every system lists them
        found = descendants(guard)
    return found[0] if found else 0


def end_below(guard: int) -> bool:
    """Kill what descends from a guard, which then ends the rest and itself; return whether there was anything."""
    below = descendants(guard)
    _kill(below)
    return bool(below)


def end(group: int, mark: str) -> None:
    """Kill a group of processes, and whatever has left it but still bears the mark."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    _kill(_marked(f"{MARK}={mark}".encode()))


def _kill(processes: Iterable[int]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)


def descendants(process: int) -> list[int]:
    """Return the processes that a living one has started, those that they have started, and so on."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in LIST.glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The name stands in parentheses and may hold any others; the parent is the second field behind them.
            children[int(entry.read_bytes().rpartition(b")")[2].split()[1])].append(int(entry.parent.name))
    found, ahead = [], [process]
    while ahead:
        below = children.pop(ahead.pop(), [])
        found += below
        ahead += below
    return found


def _marked(variable: bytes) -> Iterator[int]:
    """Yield the processes that have a variable with this value in their environment."""
    for entry in LIST.glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # another user's, or gone
            if variable in entry.read_bytes().split(b"\0"):
                yield int(entry.parent.name)
