"""State of the process that is compared and restored after each program."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # a tenth of the time of `signal`, which converts to enums
import gc
import locale
import os
import signal
import sys
import threading
import warnings
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .c_library import C_LIBRARY, GET_LOCALE, NO_TIME, SET_TIMER
from .floating_point import FloatingPointState
from .generators import generator_memory, seed_generators
from .modules import PERMANENT_HOOKS, ModuleFunctions, import_places, set_import_places
from .settings import (
    DECIMAL_CONTEXTS,
    NUMPY_CONTEXT,
    NUMPY_FORMAT,
    SET_NUMERIC_OPS,
    THREADING,
    CollectionMark,
    garbage_collector,
    numpy_settings,
    set_decimal_contexts,
    set_filters,
    set_garbage_collector,
    set_numpy_settings,
    set_operators,
    set_settings_of_python,
    set_tracers,
    settings_of_python,
)
from .streams import set_streams, stream_state
from .system import (
    LIMITS,
    RARE_LIMITS,
    c_handlers,
    file_mode_mask,
    resource_limits,
    set_c_handlers,
    set_handlers,
    set_limits,
    set_temporary_folder,
    signal_handlers,
    temporary_folder,
    working_directory,
)
from .threads import RunningThreads

if TYPE_CHECKING:  # Python 3.8 cannot evaluate these annotations
    from collections.abc import Callable, Sequence
    from typing import Any


PROCESSOR_TIMERS = (int(signal.ITIMER_VIRTUAL), int(signal.ITIMER_PROF))
"""Timers of processor time. The timer of real time is that of `alarm`."""
MAX_COLLECTIONS = 10
"""Maximum number of garbage collections after a program. Finalizers may leave new garbage."""
MAX_PASSES = 3
"""Maximum number of comparisons of the state after a program. Restoring it may run a finalizer that changes it."""
GET_SECCOMP = 21
"""Linux constant PR_GET_SECCOMP: whether the process has a filter of system calls, which it cannot remove."""


class StateItem(NamedTuple):
    """A part of the process state: its name, and functions that read it and write it back."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], Any]


MODULE_FUNCTIONS = ModuleFunctions()
PROGRAM_STATE: Sequence[StateItem] = (
    StateItem("generators", generator_memory, seed_generators),
    StateItem("functions", MODULE_FUNCTIONS.read, MODULE_FUNCTIONS.write),
    StateItem(
        "trace functions",
        # Since Python 3.10, `threading` has functions to read them, too.
        lambda: (sys.gettrace(), sys.getprofile(), THREADING["_trace_hook"], THREADING["_profile_hook"]),
        set_tracers,
    ),
    StateItem("environment", MODULE_FUNCTIONS.environment, MODULE_FUNCTIONS.set_environment),
    StateItem(
        "settings of NumPy",
        NUMPY_CONTEXT.get if NUMPY_CONTEXT else numpy_settings,
        NUMPY_CONTEXT.set if NUMPY_CONTEXT else set_numpy_settings,
    ),
    StateItem(
        "print options",
        NUMPY_FORMAT.get if NUMPY_FORMAT else np.get_printoptions,
        NUMPY_FORMAT.set if NUMPY_FORMAT else lambda options: np.set_printoptions(**options),
    ),
    StateItem("settings of Python", settings_of_python, set_settings_of_python),
    StateItem("garbage collector", garbage_collector, set_garbage_collector),
    StateItem("stack size of threads", threading.stack_size, threading.stack_size),
    StateItem("warning filters", lambda: list(warnings.filters), set_filters),
    StateItem("recursion limit", sys.getrecursionlimit, sys.setrecursionlimit),
    StateItem("module search", import_places, set_import_places),
    StateItem("signal handlers", signal_handlers, set_handlers),
)
"""State of Python and NumPy, which can change the results of later programs. It is checked after each program."""
SYSTEM_STATE: Sequence[StateItem] = (
    StateItem("decimal contexts", DECIMAL_CONTEXTS.read, set_decimal_contexts),
    StateItem("standard streams", stream_state, set_streams),
    StateItem("working directory", working_directory, os.chdir),
    StateItem("resource limits", partial(resource_limits, LIMITS), partial(set_limits, LIMITS)),
    StateItem("signal handlers of the C library", c_handlers, set_c_handlers),
    StateItem(
        "blocked signals",
        partial(_signal.pthread_sigmask, _signal.SIG_BLOCK, ()),
        partial(_signal.pthread_sigmask, _signal.SIG_SETMASK),
    ),
    StateItem("temporary folder or open descriptors", temporary_folder, set_temporary_folder),
    StateItem("file mode mask", file_mode_mask, os.umask),
    StateItem(
        "locale",
        partial(GET_LOCALE, locale.LC_ALL, None),
        lambda name: locale.setlocale(locale.LC_ALL, name.decode()),
    ),
)
"""State that takes longer to read, most of it with a system call."""
RARE_STATE: Sequence[StateItem] = (
    StateItem("rare resource limits", partial(resource_limits, RARE_LIMITS), partial(set_limits, RARE_LIMITS)),
    StateItem(
        "priority",
        partial(os.getpriority, os.PRIO_PROCESS, 0),
        partial(os.setpriority, os.PRIO_PROCESS, 0),
    ),
)
"""State that programs change rarely."""
if hasattr(os, "sched_getaffinity"):  # Linux
    RARE_STATE = (
        *RARE_STATE,
        StateItem("processors", partial(os.sched_getaffinity, 0), partial(os.sched_setaffinity, 0)),
        StateItem("filter of system calls", partial(C_LIBRARY.prctl, GET_SECCOMP), bool),
    )
if SET_NUMERIC_OPS:  # NumPy 1
    SYSTEM_STATE = (*SYSTEM_STATE, StateItem("operators of arrays", SET_NUMERIC_OPS, set_operators))
PROCESS_STATE = (*PROGRAM_STATE, *SYSTEM_STATE, *RARE_STATE)
RARE_INTERVAL = 4
"""Number of programs between two comparisons of each item of RARE_STATE."""
CHECKS = [(*PROGRAM_STATE, *SYSTEM_STATE, *RARE_STATE[start::RARE_INTERVAL]) for start in range(RARE_INTERVAL)]
"""State that is compared after each program, in turn, in a worker of a backend of another package.

If anything of it has changed, the whole state is restored.
"""
CHECKS_OF_SUITE = [PROCESS_STATE, *[PROGRAM_STATE] * 15]
"""The same in a worker of a backend of the suite. If anything has changed, the compared state is restored."""


def stop_timers() -> None:
    """Stop the timers of a program, which would kill the worker during a later program."""
    _signal.alarm(0)
    for timer in PROCESSOR_TIMERS:
        SET_TIMER(timer, NO_TIME, None)
    if "faulthandler" in sys.modules:
        sys.modules["faulthandler"].cancel_dump_traceback_later()


class ProcessState:
    """The state of the process before a program.

    trusted: whether the backend belongs to the suite. If it does, finalizers of objects in cycles run only before the
    whole state is compared.
    """

    def __init__(self, trusted: bool = False) -> None:
        self._floating_point = FloatingPointState()
        self._threads = RunningThreads()
        self._hook_count = len(PERMANENT_HOOKS)
        MODULE_FUNCTIONS.find_modules()
        self._program_count = 0
        self._initial = {item.name: item.read() for item in PROCESS_STATE}
        # The functions that read the items, because access to an attribute of each item would take a microsecond.
        self._checks = [
            ([item.read for item in items], [self._initial[item.name] for item in items], items)
            for items in (CHECKS_OF_SUITE if trusted else CHECKS)
        ]
        self._check_count = len(self._checks)  # a program can replace `len`
        self._collection_mark: CollectionMark | None = None

    def restore(self) -> tuple[list[str], str]:
        """Restore the state after a program. Only changed state is written, for speed.

        Return the names of changed floating-point state, and why the process must not run another program ("": it
        may).
        """
        self._program_count += 1
        read, initial, items = self._checks[self._program_count % self._check_count]
        if items is not PROGRAM_STATE:
            # Finalizers of objects in cycles run now. Otherwise they may change the state during a later program. Only
            # objects that were in use during a collection are old.
            generation = 2 if self._collection_mark is None or self._collection_mark.has_run() else 0
            for _ in range(MAX_COLLECTIONS):
                if not gc.collect(generation):
                    break
            else:
                return self._floating_point.restore()[0], "finalizers leave new objects in cycles"
            self._collection_mark = CollectionMark()
        changed: list[str] = []
        problems: list[str] = []
        if self._floating_point.has_changed() or [function() for function in read] != initial:
            changed, problems = self._restore_all(items if items is PROGRAM_STATE else PROCESS_STATE)
        if items is not PROGRAM_STATE:
            stop_timers()
        if len(PERMANENT_HOOKS) != self._hook_count:
            return changed, "a hook was added that cannot be removed"
        if thread := self._threads.new_thread():
            return changed, f"thread {thread!r} is still running"
        return changed, f"could not restore: {', '.join(problems)}" if problems else ""

    def _restore_all(self, items: Sequence[StateItem]) -> tuple[list[str], list[str]]:
        """Restore the state until nothing changes. Return the names of changed floating-point state, and problems."""
        changed: dict[str, None] = {}
        for _ in range(MAX_PASSES):
            names, restored = self._floating_point.restore()
            changed.update(dict.fromkeys(names))
            written, problems = self._restore_items(items)
            problems += [] if restored else names
            if problems or not (names or written):
                return [*changed], problems
        return [*changed], ["state that changes again"]

    def _restore_items(self, items: Sequence[StateItem]) -> tuple[bool, list[str]]:
        """Restore the items that have changed. Return whether there were any, and those that cannot be restored."""
        written, problems = False, []
        for item in items:
            initial = self._initial[item.name]
            if item.read() != initial:
                written = True
                with suppress(OSError, ValueError):
                    item.write(initial)
                if item.read() != initial:
                    problems.append(item.name)
        return written, problems
