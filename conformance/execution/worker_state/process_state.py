"""State of the process that is compared and restored after each program."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # a tenth of the time of `signal`, which converts to enums
import gc
import locale
import os
import resource
import signal
import sys
import threading
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .c_library import C_LIBRARY
from .floating_point import FloatingPointState
from .generators import generator_memory, seed_generators
from .modules import PERMANENT_HOOKS, ModuleFunctions, import_places, set_import_places
from .settings import (
    NUMPY_CONTEXT,
    SET_NUMERIC_OPS,
    THREADING,
    collection_count,
    decimal_contexts,
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
from .streams import has_free_descriptors, set_streams, stream_state
from .system import (
    HANDLED_SIGNALS,
    LIMITS,
    c_handlers,
    environment_copy,
    file_mode_mask,
    set_c_handlers,
    set_environment,
    set_handlers,
    set_limits,
    set_temporary_folder,
    temporary_folder,
    working_directory,
)
from .threads import RunningThreads

if TYPE_CHECKING:  # Python 3.8 cannot evaluate these annotations
    from collections.abc import Callable, Sequence
    from typing import Any


TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
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
    StateItem("environment", environment_copy, set_environment),
    StateItem(
        "settings of NumPy",
        NUMPY_CONTEXT.get if NUMPY_CONTEXT else numpy_settings,
        NUMPY_CONTEXT.set if NUMPY_CONTEXT else set_numpy_settings,
    ),
    StateItem("print options", np.get_printoptions, lambda options: np.set_printoptions(**options)),
    StateItem("settings of Python", settings_of_python, set_settings_of_python),
    StateItem("garbage collector", garbage_collector, set_garbage_collector),
    StateItem("stack size of threads", threading.stack_size, threading.stack_size),
    StateItem("warning filters", lambda: list(warnings.filters), set_filters),
    StateItem("recursion limit", sys.getrecursionlimit, sys.setrecursionlimit),
    StateItem("module search", import_places, set_import_places),
    StateItem("signal handlers", lambda: [_signal.getsignal(number) for number in HANDLED_SIGNALS], set_handlers),
)
"""State of Python and NumPy, which can change the results of later programs. It is checked after each program."""
SYSTEM_STATE: Sequence[StateItem] = (
    StateItem("decimal contexts", decimal_contexts, set_decimal_contexts),
    StateItem("standard streams", stream_state, set_streams),
    StateItem("open descriptors", has_free_descriptors, bool),
    StateItem("working directory", working_directory, os.chdir),
    StateItem("resource limits", lambda: [resource.getrlimit(number) for number in LIMITS], set_limits),
    StateItem("signal handlers of the C library", c_handlers, set_c_handlers),
    StateItem(
        "blocked signals",
        lambda: _signal.pthread_sigmask(_signal.SIG_BLOCK, ()),
        lambda mask: _signal.pthread_sigmask(_signal.SIG_SETMASK, mask),
    ),
    StateItem(
        "priority",
        lambda: os.getpriority(os.PRIO_PROCESS, 0),
        lambda priority: os.setpriority(os.PRIO_PROCESS, 0, priority),
    ),
    StateItem("temporary folder", temporary_folder, set_temporary_folder),
    StateItem("file mode mask", file_mode_mask, os.umask),
    StateItem(
        "locale",
        lambda: locale.setlocale(locale.LC_ALL),
        lambda name: locale.setlocale(locale.LC_ALL, name),
    ),
)
"""State that takes longer to read, most of it with a system call."""
if hasattr(os, "sched_getaffinity"):  # Linux
    SYSTEM_STATE = (
        *SYSTEM_STATE,
        StateItem("processors", lambda: os.sched_getaffinity(0), lambda cores: os.sched_setaffinity(0, cores)),
        StateItem("filter of system calls", lambda: C_LIBRARY.prctl(GET_SECCOMP, 0, 0, 0, 0), bool),
    )
if SET_NUMERIC_OPS:  # NumPy 1
    SYSTEM_STATE = (*SYSTEM_STATE, StateItem("operators of arrays", SET_NUMERIC_OPS, set_operators))
PROCESS_STATE = (*PROGRAM_STATE, *SYSTEM_STATE)
TRUSTED_INTERVAL = 16
"""Number of programs between two checks of SYSTEM_STATE in a worker of a backend of the suite.

In a worker of a backend of another package it is checked after each program.
"""


class ProcessState:
    """The state of the process before a program.

    trusted: whether the backend belongs to the suite. If it does, finalizers of objects in cycles run only before a
    check of SYSTEM_STATE.
    """

    def __init__(self, trusted: bool = False) -> None:
        self._floating_point = FloatingPointState()
        self._threads = RunningThreads()
        self._hook_count = len(PERMANENT_HOOKS)
        self._collections = 0
        MODULE_FUNCTIONS.find_modules()
        self._trusted, self._program_count = trusted, 0
        self._interval = TRUSTED_INTERVAL if trusted else 1
        self._initial = [item.read() for item in PROCESS_STATE]
        self._initial_of_program = self._initial[: len(PROGRAM_STATE)]

    def restore(self) -> tuple[list[str], str]:
        """Restore the state after a program. Only changed state is written, for speed.

        Return the names of changed floating-point state, and why the process must not run another program ("": it
        may).
        """
        self._program_count += 1
        items = PROGRAM_STATE if self._program_count % self._interval else PROCESS_STATE
        if items is PROCESS_STATE or not self._trusted:
            # Finalizers of objects in cycles run now. Otherwise they may change the state during a later program. Only
            # objects that were in use during a collection are old.
            count = collection_count()
            generation, unreachable = (0 if count == self._collections else 2), 1
            self._collections = count
            while unreachable and self._collections < count + MAX_COLLECTIONS:
                unreachable = gc.collect(generation)
                self._collections += 1
            if unreachable:
                return self._floating_point.restore()[0], "finalizers leave new objects in cycles"
        changed: dict[str, None] = {}
        for _ in range(MAX_PASSES):
            names, restored = self._floating_point.restore()
            changed.update(dict.fromkeys(names))
            written, problems = self._restore_items(items)
            problems += [] if restored else names
            if problems or not (names or written):
                break
        else:
            problems = ["state that changes again"]
        # A timer of the program would kill the worker during a later program.
        for timer in TIMERS:
            _signal.setitimer(timer, 0)
        if "faulthandler" in sys.modules:
            sys.modules["faulthandler"].cancel_dump_traceback_later()
        if len(PERMANENT_HOOKS) != self._hook_count:
            return [*changed], "a hook was added that cannot be removed"
        if thread := self._threads.new_thread():
            return [*changed], f"thread {thread!r} is still running"
        return [*changed], f"could not restore: {', '.join(problems)}" if problems else ""

    def _restore_items(self, items: Sequence[StateItem]) -> tuple[bool, list[str]]:
        """Restore the items that have changed. Return whether there were any, and those that cannot be restored."""
        initial_state = self._initial if items is PROCESS_STATE else self._initial_of_program
        if [item.read() for item in items] == initial_state:
            return False, []
        written, problems = False, []
        for item, initial in zip(items, self._initial):  # noqa: B905 - Python 3.8 has no `strict`
            if item.read() != initial:
                written = True
                with suppress(OSError, ValueError):
                    item.write(initial)
                if item.read() != initial:
                    problems.append(item.name)
        return written, problems
