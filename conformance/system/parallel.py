"""Parallel map over processes that preserves the order of the items."""

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
"""Number of items sent to a process at a time. Small, because some items take as long as a thousand others."""
MIN_PARALLEL_ITEMS = 200
"""Minimum number of items for which processes are started, which takes half a second."""


def core_count() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_parallel(
    function: Callable[[Item], ItemResult], items: Sequence[Item], jobs: int | None = None
) -> Iterator[ItemResult]:
    """Yield the result of the function for each item, in order.

    jobs: number of processes; None means one per core. Each process is a new interpreter (start method `spawn`), which
    behaves the same on every operating system. The function must be a module-level function, and items and results
    must be picklable. Raises ConformanceError if a process dies.
    """
    jobs = min(jobs or core_count(), len(items) // CHUNK_SIZE)
    if jobs < 2 or len(items) < MIN_PARALLEL_ITEMS:  # noqa: PLR2004 - one process runs nothing in parallel
        yield from map(function, items)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, context, initializer=follow_parent)
    try:
        yield from pool.map(function, items, chunksize=CHUNK_SIZE)
    except BrokenProcessPool:
        raise ConformanceError("a process of the check died; run with --jobs 1 to find the case") from None
    finally:
        pool.shutdown(cancel_futures=True)


def follow_parent() -> None:
    """Ignore SIGINT, which the parent process handles, and exit when the parent process exits or is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, args=(multiprocessing.parent_process(),), daemon=True).start()


def _exit_with_parent(parent: BaseProcess | None) -> None:
    if parent is not None:
        parent.join()
        os._exit(1)
