"""A pure function of many things, on all cores, in order; the same answers as one after the other."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.process import BaseProcess
from typing import TypeVar

from conformance import ConformanceError

Item = TypeVar("Item")
ItemResult = TypeVar("ItemResult")

CHUNK_SIZE = 4
"""Things that a process takes at a time: few, as some take as long as a thousand others."""
MIN_PARALLEL_ITEMS = 200
"""Fewer things than these are not worth the start of processes, which takes half a second."""


def core_count() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_parallel(
    function: Callable[[Item], ItemResult], things: Sequence[Item], jobs: int | None = None
) -> Iterator[ItemResult]:
    """Yield what the function says of each thing, in order.

    jobs: how many processes; None means one for each core. A new interpreter is started for each, so that it is the
    same on every system: the function must be one of a module, and things and answers must be such as pickle takes.
    Raises ConformanceError if a process dies.
    """
    jobs = min(jobs or core_count(), len(things) // CHUNK_SIZE)
    if jobs < 2 or len(things) < MIN_PARALLEL_ITEMS:  # noqa: PLR2004 - one process is no company
        yield from map(function, things)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, context, initializer=follow_parent)
    try:
        yield from pool.map(function, things, chunksize=CHUNK_SIZE)
    except BrokenProcessPool:
        raise ConformanceError("a process of the check died; --jobs 1 shows on which case") from None
    finally:
        pool.shutdown(cancel_futures=True)


def follow_parent() -> None:
    """Leave Ctrl-C to the process that started this one, and go when that one goes, however it went."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, args=(multiprocessing.parent_process(),), daemon=True).start()


def _exit_with_parent(parent: BaseProcess | None) -> None:
    if parent is not None:
        parent.join()
        os._exit(1)
