"""What the system says of processes, and how those are ended that a worker leaves behind."""

from __future__ import annotations

import contextlib
import os
import signal
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

PROC_FOLDER = Path("/proc")
WORKER_VARIABLE = "NN_CONFORMANCE_WORKER"
"""The variable that every process of a worker inherits; its value is the worker's own."""


def resident_bytes(process: int) -> int:
    """Return the bytes of real memory that a process holds, 0 where the system does not say."""
    try:
        return int((PROC_FOLDER / str(process) / "statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def machine_memory_bytes() -> int:
    """Return the bytes of memory that this machine or container has."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with contextlib.suppress(OSError, ValueError):  # none, or the word "max"
        return min(whole, int(Path("/sys/fs/cgroup/memory.max").read_text("ascii")))
    return whole


def worker_pid(supervisor: int) -> int:
    """Return the child of a guard that is the worker, its first; 0 as long as there is none."""
    try:
        found = list(map(int, (PROC_FOLDER / f"{supervisor}/task/{supervisor}/children").read_bytes().split()))
    except OSError:  # not every system lists them
        found = descendant_pids(supervisor)
    return found[0] if found else 0


def kill_below(supervisor: int) -> bool:
    """Kill what descends from a guard, which then ends the rest and itself; return whether there was anything."""
    below = descendant_pids(supervisor)
    _kill_all(below)
    return bool(below)


def kill_group(group: int, mark: str) -> None:
    """Kill a group of processes, and whatever has left it but still bears the mark."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    _kill_all(_pids_with_variable(f"{WORKER_VARIABLE}={mark}".encode()))


def _kill_all(processes: Iterable[int]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)


def descendant_pids(process: int) -> list[int]:
    """Return the processes that a living one has started, those that they have started, and so on."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in PROC_FOLDER.glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The name stands in parentheses and may hold any others; the parent is the second field behind them.
            children[int(entry.read_bytes().rpartition(b")")[2].split()[1])].append(int(entry.parent.name))
    found, ahead = [], [process]
    while ahead:
        below = children.pop(ahead.pop(), [])
        found += below
        ahead += below
    return found


def _pids_with_variable(variable: bytes) -> Iterator[int]:
    """Yield the processes that have a variable with this value in their environment."""
    for entry in PROC_FOLDER.glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # another user's, or gone
            if variable in entry.read_bytes().split(b"\0"):
                yield int(entry.parent.name)
