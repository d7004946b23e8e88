"""Threads that a program has left."""

from __future__ import annotations

import _thread
import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # Python 3.8 cannot evaluate these annotations
    pass


THREAD_EXIT_SECONDS = 0.05
"""Seconds that a new thread gets to end after the program has returned."""


class RunningThreads:
    """The threads that Python has started. Idle threads of an executor do not affect later programs."""

    def __init__(self) -> None:
        self._remember()

    def _remember(self) -> None:
        # Threads of the module _thread are counted, but have no object.
        self._count, self._objects = _thread._count(), set(vars(threading)["_active"])
        self._frames = set(sys._current_frames())

    def new_thread(self) -> str:
        """Return the name of a new thread that does not end soon and is not idle, "" if there is none."""
        if _thread._count() == self._count and vars(threading)["_active"].keys() == self._objects:
            return ""
        deadline = time.monotonic() + THREAD_EXIT_SECONDS
        while busy := self._busy_thread():
            if time.monotonic() > deadline:
                return busy
            time.sleep(THREAD_EXIT_SECONDS / 10)
        self._remember()
        return ""

    def _busy_thread(self) -> str:
        # An idle thread of an executor waits in this function for its next task.
        executor = sys.modules.get("concurrent.futures.thread")
        waiting = getattr(getattr(executor, "_worker", None), "__code__", None)
        frames = sys._current_frames().items()
        idle = {ident for ident, frame in frames if ident not in self._frames and frame.f_code is waiting}
        names = {t.ident: t.name for t in threading.enumerate() if t.ident not in self._objects | idle}
        unnamed = "without a name" if _thread._count() - self._count > len(idle) else ""
        return next(iter(names.values()), unnamed)
