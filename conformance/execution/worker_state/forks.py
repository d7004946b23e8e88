"""Whether programs can run in forks of a process: a fork must share no state with its parent."""

from __future__ import annotations

import os

from .streams import PROGRAM_DESCRIPTORS
from .system import TEMPORARY_FOLDER

OPEN_FILES = "/proc/self/fd"


def can_fork(kills_orphans: bool) -> bool:
    """Whether programs can run in forks: on Linux, with one thread, which a fork has, too, and without children.

    Files that the setup has left open, its shared memory and its temporary files would be the same in all forks.
    kills_orphans: whether the processes that a fork leaves become children of this process. Otherwise they would become
    children of the supervisor, which kills them late.
    """
    try:
        if not kills_orphans or len(os.listdir("/proc/self/task")) > 1 or has_shared_files() or shared_memory():
            return False
        os.waitpid(-1, os.WNOHANG)  # raises ChildProcessError if there are no children
    except ChildProcessError:
        return True
    except OSError:
        pass
    return False


def open_resources() -> list[str]:
    """Return the open files of the process, /dev/null, and the names of its shared memory and deleted mapped files."""
    found = {os.devnull}
    if not os.path.isdir(OPEN_FILES):
        return []
    for name in os.listdir(OPEN_FILES):
        try:
            found.add(os.readlink(f"{OPEN_FILES}/{name}"))
        except FileNotFoundError:  # the descriptor with which the folder was read
            continue
    return sorted(found | set(shared_memory()) | set(deleted_files()))


def has_shared_files() -> bool:
    """Whether the process has open files, apart from the standard streams and /dev/null, or temporary files."""
    for name in os.listdir(OPEN_FILES):
        try:
            if int(name) not in PROGRAM_DESCRIPTORS and os.readlink(f"{OPEN_FILES}/{name}") != os.devnull:
                return True
        except FileNotFoundError:  # the descriptor with which the folder was read
            continue
    return bool(TEMPORARY_FOLDER and os.listdir(TEMPORARY_FOLDER))


def shared_memory() -> list[str]:
    """Return the names of the memory that the process can write and that it shares with its forks."""
    return [name for name, permissions in mappings() if "w" in permissions and "s" in permissions]


def deleted_files() -> list[str]:
    """Return the names of the mapped files that are deleted."""
    return [name for name, _ in mappings() if name.endswith(" (deleted)")]


def mappings() -> list[tuple[str, str]]:
    """Return the name and the permissions of each mapped range of addresses."""
    with open("/proc/self/maps", "rb") as stream:
        lines = [line.split(None, 5) for line in stream]
    return [(os.fsdecode(b"".join(line[5:]).rstrip()), line[1].decode()) for line in lines]
