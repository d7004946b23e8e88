"""Find what a worker owns that a program in another process may miss."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from conformance.system.processes import PROC_FOLDER, child_pids, descendant_pids, is_running

MAX_NEW_THREADS = 64
"""Number of threads that a framework may start during its first programs."""
CHAIN_CHECKS, CHAIN_CHECK_SECONDS = 3, 0.001
"""Number of searches for a new child of a supervisor, and the seconds before each."""
PENDING_SIGNALS = (b"SigPnd:", b"ShdPnd:")
"""Lines of the status of a thread with its pending signals and those of its process, as bits."""


def owned_resource(
    supervisor: int, at_start: Collection[str], temporary_folder: Path, semaphores_at_start: Collection[str]
) -> str:
    """Return what a worker owns, "" if nothing: a process, socket, lock, new file, timer, signal or memory.

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
        if _has_other_process(supervisor, {parent, worker}):
            return "a process"
        if os.listdir(temporary_folder):
            return "a temporary file"
        has_semaphore = not semaphore_sets().keys() <= {*semaphores_at_start}
        own = _own_resource(PROC_FOLDER / str(worker), {*at_start, *_pipes_of(supervisor)})
        return own or "a semaphore" * has_semaphore
    except OSError:
        return "unknown resources"


def _has_other_process(supervisor: int, own: Collection[int]) -> bool:
    """Whether a descendant of a supervisor is running."""
    # A process that has ended may remain until the worker ends.
    if any(map(is_running, {*descendant_pids(supervisor)}.difference(own))):
        return True
    # A chain of processes that fork and exit has a child of the supervisor at any time, with a new id.
    before = {*child_pids(supervisor)}
    for _ in range(CHAIN_CHECKS):
        time.sleep(CHAIN_CHECK_SECONDS)
        if {*child_pids(supervisor)} - before:
            return True
    return False


def release_closed_sockets() -> None:
    """Release sockets that only the queues of closed sockets contain. The system searches for them at each close."""
    for one in socket.socketpair():
        one.close()


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
    """Return what `open_resources` returns, for a worker in another language, which does not report it."""
    _, worker = _processes(supervisor)
    process = PROC_FOLDER / str(worker)
    try:
        files = [os.readlink(descriptor) for descriptor in (process / "fd").iterdir()]
        shared = [
            name for name, permissions in _mappings(process) if _is_shared(permissions) or name.endswith(" (deleted)")
        ]
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
                if _is_message_queue(file):
                    return "a message queue"
                if b"\nlock:" in (task / "fdinfo" / descriptor.name).read_bytes():
                    return "a lock"
    with suppress(FileNotFoundError):  # the kernel may be built without this file
        if (process / "timers").read_bytes():
            return "a timer"
    if _has_file_lock(process):
        return "a lock"
    return _own_memory(process, known) or _own_threads(tasks)


def _own_threads(tasks: Sequence[Path]) -> str:
    if any(map(_has_pending_signal, tasks)):
        return "a pending signal"
    return "threads" if len(tasks) > MAX_NEW_THREADS else ""


def _has_pending_signal(task: Path) -> bool:
    """Whether signals wait for a thread or its process. The system limits their number for each user."""
    lines = (task / "status").read_bytes().splitlines()
    return any(int(line.split()[1], 16) for line in lines if line.startswith(PENDING_SIGNALS))


def _is_message_queue(file: str) -> bool:
    """Whether the target of a descriptor is a message queue. Its name is not that of a file.

    Each process that opens its name has the same queue, so that it counts if the setup has opened it, too.
    """
    return file.startswith("/") and not file.endswith(" (deleted)") and not os.path.lexists(file)


def _own_memory(process: Path, known: Collection[str]) -> str:
    for name, permissions in _mappings(process):
        if name.startswith("socket:"):  # of TCP; its descriptor may be closed
            return "a socket"
        # A file with a name is shared by each process that maps it, so that it counts if the setup has mapped it, too.
        if (_is_shared(permissions) and (name not in known or os.path.isfile(name))) or name.endswith("[aio]"):
            return "shared memory"
        # A deleted file exists as long as it is mapped.
        if name.endswith(" (deleted)") and name not in known:
            return "a deleted file"
    return ""
