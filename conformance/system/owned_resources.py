"""Find what a worker owns that a program in another process may miss."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from conformance.system.processes import PROC_FOLDER, child_pids, descendant_pids, resident_bytes

MAX_NEW_THREADS = 64
"""Number of threads that a framework may start during its first programs."""


def owned_resource(supervisor: int, at_start: Collection[str], temporary_folder: Path) -> str:
    """Return what a worker owns, "" if nothing: other processes, sockets, locks, new files, timers or shared memory.

    at_start: what it had after its setup, see `open_resources` in worker_state/forks.py.
    """
    if not PROC_FOLDER.is_dir():
        return "unknown resources"
    parent = next(iter(child_pids(supervisor)), 0)
    worker = next(iter(child_pids(parent)), 0) if parent else 0
    if not worker:
        return ""  # it has not started
    try:
        # A process that has ended has no memory. It may remain until the worker ends.
        if any(map(resident_bytes, {*descendant_pids(supervisor)} - {parent, worker})):
            return "a process"
        if os.listdir(temporary_folder):
            return "a temporary file"
        return _own_resource(PROC_FOLDER / str(worker), {*at_start, *_pipes_of(supervisor)})
    except OSError:
        return "unknown resources"


def _pipes_of(supervisor: int) -> list[str]:
    """Return the pipes of the protocol, which the worker opens while it reads or writes."""
    return [os.readlink(PROC_FOLDER / f"{supervisor}/fd/{number}") for number in (0, 1)]


def _own_resource(process: Path, known: Collection[str]) -> str:
    tasks = list((process / "task").iterdir())
    # A thread can have its own files.
    for task in tasks:
        for descriptor in (task / "fd").iterdir():
            with suppress(FileNotFoundError):  # it has just been closed
                file = os.readlink(descriptor)
                if file.startswith("socket:") or file not in known:
                    return "a socket" if file.startswith("socket:") else "an open file"
                if b"\nlock:" in (task / "fdinfo" / descriptor.name).read_bytes():
                    return "a lock"
    with suppress(FileNotFoundError):  # the kernel may be built without this file
        if (process / "timers").read_bytes():
            return "a timer"
    for line in (process / "maps").read_bytes().splitlines():
        _, permissions, _, _, _, *names = line.split(None, 5)
        name = os.fsdecode(b"".join(names))
        if (b"w" in permissions and b"s" in permissions and name not in known) or name.endswith("[aio]"):
            return "shared memory"
    return "threads" if len(tasks) > MAX_NEW_THREADS else ""
