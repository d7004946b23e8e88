"""Find what a worker owns that a program in another process may miss."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from conformance.system.processes import PROC_FOLDER, child_pids, descendant_pids, resident_bytes

MAX_NEW_THREADS = 64
"""Number of threads that a framework may start during its first programs."""


def owned_resource(
    supervisor: int, at_start: Collection[str], temporary_folder: Path, semaphores_at_start: Collection[str]
) -> str:
    """Return what a worker owns, "" if nothing: other processes, sockets, locks, new files, timers or shared memory.

    at_start: what it had after its setup, see `open_resources` in worker_state/forks.py. semaphores_at_start: see
    `semaphore_sets`. The system does not record which process has changed a semaphore, so that a new set counts for
    each worker.
    """
    if not PROC_FOLDER.is_dir():
        return "unknown resources"
    parent, worker = _processes(supervisor)
    if not worker:
        return ""  # it has not started
    try:
        # A process that has ended has no memory. It may remain until the worker ends.
        if any(map(resident_bytes, {*descendant_pids(supervisor)} - {parent, worker})):
            return "a process"
        if os.listdir(temporary_folder):
            return "a temporary file"
        has_semaphore = bool(semaphore_sets() - {*semaphores_at_start})
        own = _own_resource(PROC_FOLDER / str(worker), {*at_start, *_pipes_of(supervisor)})
        return own or "a semaphore" * has_semaphore
    except OSError:
        return "unknown resources"


def semaphore_sets() -> set[str]:
    """Return the ids of the semaphore sets (System V) of the system. A process can change one until it exits."""
    try:
        lines = (PROC_FOLDER / "sysvipc/sem").read_text(encoding="ascii").splitlines()
    except OSError:  # the kernel is built without them
        return set()
    return {line.split()[1] for line in lines[1:]}


def resources_of_worker(supervisor: int) -> list[str]:
    """Return the open files and the shared memory of a worker in another language, which does not report them."""
    _, worker = _processes(supervisor)
    process = PROC_FOLDER / str(worker)
    try:
        files = [os.readlink(descriptor) for descriptor in (process / "fd").iterdir()]
        shared = [name for name, permissions in _mappings(process) if _is_shared(permissions)]
        return sorted({os.devnull, *files, *shared})
    except OSError:  # it has exited, or the system has no /proc
        return []


def _processes(supervisor: int) -> tuple[int, int]:
    """Return the parent of a worker, and the worker; 0 if it has not started."""
    parent = next(iter(child_pids(supervisor)), 0)
    return parent, next(iter(child_pids(parent)), 0) if parent else 0


def _mappings(process: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the permissions of each mapped range of addresses."""
    for line in (process / "maps").read_bytes().splitlines():
        _, permissions, _, _, _, *names = line.split(None, 5)
        yield os.fsdecode(b"".join(names)), permissions


def _is_shared(permissions: bytes) -> bool:
    return b"w" in permissions and b"s" in permissions


def _has_file_lock(process: Path) -> bool:
    """Whether a process owns a lock of a file. A mapping keeps the lock of a file whose descriptor is closed."""
    with suppress(OSError):  # a container may hide this file
        locks = (PROC_FOLDER / "locks").read_text(encoding="ascii").splitlines()
        return any(line.split()[4] == process.name for line in locks if "->" not in line)
    return False


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
    if _has_file_lock(process):
        return "a lock"
    return _own_memory(process, known) or ("threads" if len(tasks) > MAX_NEW_THREADS else "")


def _own_memory(process: Path, known: Collection[str]) -> str:
    for name, permissions in _mappings(process):
        if (_is_shared(permissions) and name not in known) or name.endswith("[aio]"):
            return "shared memory"
        # A deleted file exists as long as it is mapped. Compiled code may be such a file, too.
        if name.endswith(" (deleted)") and not _is_shared(permissions) and b"x" not in permissions:
            return "a deleted file"
    return ""
