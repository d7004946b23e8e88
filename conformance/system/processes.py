"""Read process information from /proc, and kill processes that a worker started.

A supervisor is the process whose first child is the parent of a worker.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

PROC_FOLDER = Path("/proc")
WORKER_VARIABLE = "NN_CONFORMANCE_WORKER"
"""Environment variable that all processes of a worker inherit; its value is unique to the worker."""


def resident_bytes(process: int) -> int:
    """Return the resident memory of a process in bytes; 0 where the system does not report it."""
    try:
        return int((PROC_FOLDER / str(process) / "statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def is_running(process: int) -> bool:
    """Whether a thread of a process is running. Its first thread may have ended before the others."""
    for status in PROC_FOLDER.glob(f"{process}/task/*/stat"):
        with contextlib.suppress(OSError, IndexError):  # it has just ended
            if status.read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X"):
                return True
    return False


def machine_memory_bytes() -> int:
    """Return the memory of this machine or container in bytes."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with contextlib.suppress(OSError, ValueError):  # no such file, or the word "max"
        return min(physical, int(Path("/sys/fs/cgroup/memory.max").read_text("ascii")))
    return physical


def worker_pid(supervisor: int) -> int:
    """Return the process id of a supervisor's first grandchild, which is the worker; 0 before it has started."""
    return next((worker for parent in child_pids(supervisor)[:1] for worker in child_pids(parent)), 0)


def child_pids(process: int) -> list[int]:
    """Return the process ids of the children of a process with one thread, and maybe of their descendants."""
    try:
        return list(map(int, (PROC_FOLDER / f"{process}/task/{process}/children").read_bytes().split()))
    except OSError:  # the kernel may be built without this file
        return descendant_pids(process)


def kill_below(supervisor: int) -> bool:
    """Kill all descendants of a supervisor and return whether it had any. The supervisor then exits."""
    descendants = descendant_pids(supervisor)
    _kill_all(descendants)
    if descendants:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(supervisor, signal.SIGCONT)  # a program may have stopped it
    return bool(descendants)


def kill_group(group: int, mark: str) -> None:
    """Kill a process group, and the processes that left the group but have `WORKER_VARIABLE=mark`."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    _kill_all(_pids_with_variable(f"{WORKER_VARIABLE}={mark}".encode()))


def _kill_all(processes: Iterable[int]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)


def descendant_pids(process: int) -> list[int]:
    """Return the ids of all descendants of a running process."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in PROC_FOLDER.glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The process name is in parentheses and may contain parentheses; the parent is the second field after it.
            children[int(entry.read_bytes().rpartition(b")")[2].split()[1])].append(int(entry.parent.name))
    found, queue = [], [process]
    while queue:
        direct = children.pop(queue.pop(), [])
        found += direct
        queue += direct
    return found


def _pids_with_variable(variable: bytes) -> Iterator[int]:
    """Yield the ids of the processes with this `NAME=value` in their environment."""
    for entry in PROC_FOLDER.glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # the process of another user, or one that has exited
            if variable in entry.read_bytes().split(b"\0"):
                yield int(entry.parent.name)
