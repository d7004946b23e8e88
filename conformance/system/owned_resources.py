"""Find what a worker owns that a program in another process may miss."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from conformance.system.processes import PROC_FOLDER, child_pids, descendant_pids, is_running

MAX_NEW_THREADS = 64
"""Number of threads that a framework may start during its first programs."""


def owned_resource(
    supervisor: int, at_start: Collection[str], temporary_folder: Path, semaphores_at_start: Collection[str]
) -> str:
    """Return what a worker owns, "" if nothing: other processes, sockets, locks, new files, timers or shared memory.

    at_start: what it had after its setup, see `open_resources` in worker_state/forks.py. semaphores_at_start: see
    `unchanged_semaphores`. The system does not record which process has changed a semaphore, so that a new or changed
    set counts for each worker.
    """
    if not PROC_FOLDER.is_dir():
        return "unknown resources"
    parent, worker = _processes(supervisor)
    if not worker:
        return ""  # it has not started
    try:
        # A process that has ended may remain until the worker ends.
        if any(map(is_running, {*descendant_pids(supervisor)} - {parent, worker})):
            return "a process"
        if os.listdir(temporary_folder):
            return "a temporary file"
        has_semaphore = not semaphore_sets().keys() <= {*semaphores_at_start}
        own = _own_resource(PROC_FOLDER / str(worker), {*at_start, *_pipes_of(supervisor)})
        return own or "a semaphore" * has_semaphore
    except OSError:
        return "unknown resources"


def semaphore_sets() -> dict[str, int]:
    """Return the semaphore sets (System V) of the system with the second of their last change.

    The key is the id of a set and this second. A process can change a semaphore until it exits.
    """
    try:
        header, *lines = (PROC_FOLDER / "sysvipc/sem").read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):  # the kernel is built without them
        return {}
    columns = header.split()
    sets = (dict(zip(columns, line.split(), strict=True)) for line in lines)
    return {f"{one['semid']} {one['otime']}": int(one["otime"]) for one in sets}


def unchanged_semaphores() -> list[str]:
    """Return the keys of the semaphore sets that have not changed in this second. A later change has another key."""
    now = int(time.time())
    return [key for key, second in semaphore_sets().items() if second < now]


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
    try:
        locks = (PROC_FOLDER / "locks").read_text(encoding="ascii").splitlines()
    except OSError:  # a container may hide this file
        return False
    owners = {tuple(line.split()[4:6]) for line in locks if "->" not in line}
    # The owner of a lock that belongs to an open file is -1, or the process that took it, which may have ended.
    mapped = {f"{device}:{inode}" for device, inode in _mapped_files(process)} if owners else set()
    return any(owner == process.name or file in mapped for owner, file in owners)


def _mapped_files(process: Path) -> Iterator[tuple[str, str]]:
    """Yield device and inode of each mapped range of addresses."""
    for line in (process / "maps").read_text("utf-8", "replace").splitlines():
        _, _, _, device, inode, *_ = line.split(None, 5)
        yield device, inode


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
        if name.startswith("socket:"):  # of TCP; its descriptor may be closed
            return "a socket"
        if (_is_shared(permissions) and name not in known) or name.endswith("[aio]"):
            return "shared memory"
        # A deleted file exists as long as it is mapped. Compiled code may be such a file, too.
        if name.endswith(" (deleted)") and not _is_shared(permissions) and b"x" not in permissions:
            return "a deleted file"
    return ""
