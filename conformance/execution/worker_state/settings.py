"""Settings of NumPy, of the interpreter and of modules of the standard library."""

from __future__ import annotations

import ctypes
import decimal
import gc
import sys
import threading
import warnings
from typing import TYPE_CHECKING
from weakref import ref  # a program may replace the name in its module

import numpy as np

from .generators import OBJECT_HEADER_BYTES

if TYPE_CHECKING:  # Python 3.8 cannot evaluate these annotations
    from collections.abc import Callable
    from typing import Any


def set_filters(filters: Any) -> None:
    """Replace the warning filters."""
    warnings.resetwarnings()  # also invalidates the cached decisions of the previous filters
    vars(warnings)["filters"][:] = filters


def garbage_collector() -> Any:
    """Return the callbacks of the garbage collector, whether it is enabled, and its thresholds."""
    return list(gc.callbacks), gc.isenabled(), gc.get_threshold()


def set_garbage_collector(state: Any) -> None:
    """Set callbacks, switch and thresholds of the garbage collector."""
    gc.callbacks[:], enabled, thresholds = state
    gc.set_threshold(*thresholds)
    (gc.enable if enabled else gc.disable)()


class Unreachable:
    """An object in a cycle of references to itself."""

    __slots__ = ("__weakref__", "itself")
    itself: Unreachable


class CollectionMark:
    """Shows whether the garbage collector has run: each collection removes young objects in cycles.

    The statistics of the garbage collector take three times as long to read.
    """

    __slots__ = ("_young",)

    def __init__(self) -> None:
        young = Unreachable()
        young.itself = young
        self._young = ref(young)

    def has_run(self) -> bool:
        """Whether the garbage collector has run. It may be called once."""
        young = self._young()
        if young is None:
            return True
        del young.itself  # it is removed now, and is no garbage of the program
        return False


def numpy_settings() -> Any:
    """Return what NumPy does about errors of computations, and the size of its buffers, which changes sums."""
    return np.geterr(), np.geterrcall(), np.getbufsize()


def set_numpy_settings(settings: Any) -> None:
    """Set the treatment of errors and the size of the buffers of NumPy."""
    errors, call, size = settings
    np.seterrcall(call)
    np.setbufsize(size)
    np.seterr(**errors)


def set_operators(operators: Any) -> None:
    """Set the ufuncs of the operators of arrays."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy 1.23 to 1.26 warn
        SET_NUMERIC_OPS(**operators)


def settings_of_python() -> Any:
    """Return settings of the interpreter, and of modules that may not be loaded."""
    events, socket, logging = map(sys.modules.get, LAZY_MODULES)
    return (
        (sys.getswitchinterval(), GET_MAX_DIGITS(), sys.get_coroutine_origin_tracking_depth()),
        sys.get_asyncgen_hooks(),
        (events._get_running_loop(), events._event_loop_policy) if events else (None, None),
        socket.getdefaulttimeout() if socket else None,
        (logging.root.manager.disable, logging.root.level, logging.root.handlers.copy())
        if logging
        else (0, WARNING_LEVEL, []),
    )


def set_settings_of_python(settings: Any) -> None:
    """Set the settings of the interpreter and of modules."""
    (interval, digits, depth), hooks, (loop, policy), timeout, (disabled, level, handlers) = settings
    sys.setswitchinterval(interval)
    SET_MAX_DIGITS(digits)
    sys.set_coroutine_origin_tracking_depth(depth)
    sys.set_asyncgen_hooks(*hooks)
    events, socket, logging = map(sys.modules.get, LAZY_MODULES)
    if events:
        events._set_running_loop(loop)
        events._event_loop_policy = policy  # type: ignore[attr-defined]
    if socket:
        socket.setdefaulttimeout(timeout)
    if logging:
        logging.disable(disabled)
        logging.root.setLevel(level)
        logging.root.handlers[:] = handlers


class DecimalContexts:
    """The settings of the context of `decimal` and of its default. They are read again if their memory has changed."""

    def __init__(self) -> None:
        self._contexts: tuple[Any, ...] = ()
        self._memory: list[Any] = []
        self._seen: list[bytes] = []
        self._settings: list[tuple[Any, ...]] = []

    def read(self) -> Any:
        """Return the settings. Flags are results of computations."""
        contexts = decimal.getcontext(), decimal.DefaultContext
        if contexts != self._contexts:
            self._contexts, self._memory = contexts, [memory_of(context) for context in contexts]
        seen = [memory.raw for memory in self._memory]
        if seen != self._seen or not HAS_C_DECIMAL:
            self._seen = seen
            self._settings = [
                (c.prec, c.rounding, c.Emin, c.Emax, c.capitals, c.clamp, c.traps.copy()) for c in contexts
            ]
        return self._settings


def memory_of(thing: Any) -> Any:
    """Return the memory of an object without its header."""
    size = type(thing).__basicsize__ - OBJECT_HEADER_BYTES
    return (ctypes.c_char * size).from_address(id(thing) + OBJECT_HEADER_BYTES)


def set_decimal_contexts(contexts: Any) -> None:
    """Set the context of `decimal` and its default."""
    for context, values in zip((decimal.getcontext(), decimal.DefaultContext), contexts):  # noqa: B905
        for name, value in zip(DECIMAL_SETTINGS, values):  # noqa: B905 - Python 3.8 has no `strict`
            setattr(context, name, value)


def set_tracers(tracers: Any) -> None:
    """Set the trace and the profile function of this thread and of new threads."""
    sys.settrace(tracers[0])
    sys.setprofile(tracers[1])
    threading.settrace(tracers[2])
    threading.setprofile(tracers[3])


NUMPY_CONTEXT = getattr(sys.modules.get("numpy._core.umath"), "_extobj_contextvar", None)
"""Since NumPy 2, the context variable with these settings, which is read fifty times as fast. Each change sets it."""
NUMPY_FORMAT = getattr(sys.modules.get("numpy._core.printoptions"), "format_options", None)
"""Since NumPy 2.1, the context variable with the print options."""
THREADING = vars(threading)
GET_MAX_DIGITS: Callable[[], int] = getattr(sys, "get_int_max_str_digits", int)
SET_MAX_DIGITS: Callable[[int], Any] = getattr(sys, "set_int_max_str_digits", int)
LAZY_MODULES, WARNING_LEVEL = ("asyncio.events", "_socket", "logging"), 30
"""Modules with settings, and the default level of `logging`."""
HAS_C_DECIMAL = "_decimal" in sys.modules
DECIMAL_CONTEXTS = DecimalContexts()
DECIMAL_SETTINGS = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp", "traps")
SET_NUMERIC_OPS: Any = getattr(np, "set_numeric_ops", None)
