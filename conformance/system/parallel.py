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

Thing = TypeVar("Thing")
Answer = TypeVar("Answer")

CHUNK = 4
"""Things that a process takes at a time: few, as some take as long as a thousand others."""
WORTH = 200
"""Fewer things than these are not worth the start of processes, which takes half a second."""


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def each(function: Callable[[Thing], Answer], things: Sequence[Thing], jobs: int | None = None) -> Iterator[Answer]:
    """Yield what the function says of each thing, in order.

    jobs: how many processes; None means one for each core. A new interpreter is started for each, so that it is the
    same on every system: the function must be one of a module, and things and answers must be such as pickle takes.
    Raises ConformanceError if a process dies.
    """
    jobs = min(jobs or cores(), len(things) // CHUNK)
    if jobs < 2 or len(things) < WORTH:  # noqa: PLR2004 - one process is no company
        yield from map(function, things)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, context, initializer=follow)
    try:
        yield from pool.map(function, things, chunksize=CHUNK)
    except BrokenProcessPool:
        raise ConformanceError("a process of the check died; --jobs 1 shows on which case") from None
    finally:
        pool.shutdown(cancel_futures=True)


def follow() -> None:
    """Leave Ctrl-C to the process that started this one, and go when that one goes, however it went."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_outlive, args=(multiprocessing.parent_process(),), daemon=True).start()


def _outlive(parent: BaseProcess | None) -> None:
    if parent is not None:
        parent.join()
        os._exit(1)
