"""State of a worker process that a program can change, and its restoration after each program.

The file needs Python 3.8, the standard library and NumPy, and imports no other file of the project: worker.py loads it
in the interpreter that has the framework installed.

Most state is restored without a report. Changed floating-point state is restored and reported, because it changes the
numbers of later computations in the same process. If something cannot be restored, or if a thread of the program is
still running, the worker exits after its reply and the suite starts a new one.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # a tenth of the time of `signal`, which converts to enums
import _thread
import builtins
import contextlib
import ctypes
import decimal
import gc
import io
import json
import locale
import os
import platform
import random
import resource
import signal
import stat
import sys
import threading
import time
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:  # Python 3.8 cannot evaluate these annotations
    from collections.abc import Callable, Sequence
    from typing import Any

# Views of the memory of the two shared generators. Their getstate methods take fifty times as long as a comparison.
GENERATOR_OF_NUMPY = np.random.mtrand._rand._bit_generator
MERSENNE_OF_NUMPY = (ctypes.c_char * 2500).from_address(GENERATOR_OF_NUMPY.ctypes.state_address)
MERSENNE_OF_PYTHON = (ctypes.c_char * random._inst.__sizeof__()).from_address(id(random._inst))
OBJECT_HEADER_BYTES = object.__basicsize__
"""Size of the object header. It contains the reference count, which changes without a change of the state."""
ERRORS_DESCRIPTOR = 200
"""Duplicate descriptor of standard error. Its high number protects it from programs that close descriptors."""
FLOATING_POINT_ENVIRONMENT_BYTES = 256
"""Size of a buffer for the C type fenv_t, which has 32 bytes on x86-64 and 8 bytes on 64-bit ARM."""
HALF_ULP, MIN_NORMAL, MIN_SUBNORMAL, SCALE, ONE, HALF = 2.0**-54, sys.float_info.min, 5e-324, 2.0**60, 1.0, 0.5
"""Operands of the computations that show the floating-point state. Python evaluates constants at compile time."""
X86_ENVIRONMENT_BYTES, X87_CONTROL, MXCSR = 32, slice(0, 2), slice(28, 32)
"""Size of fenv_t on x86-64, and the positions of its two control words."""
X87_CONTROL_MASK, MXCSR_MASK = 0x0F3F, 0xFFC0
"""Bits that control traps, precision and rounding. The other bits are flags of past exceptions."""
LIMITS = (
    resource.RLIMIT_AS,
    resource.RLIMIT_CPU,
    resource.RLIMIT_DATA,
    resource.RLIMIT_FSIZE,
    resource.RLIMIT_NOFILE,
    resource.RLIMIT_NPROC,
    resource.RLIMIT_STACK,
)
"""Resource limits that can make a later program fail."""
HANDLED_SIGNALS = (
    signal.SIGABRT,
    signal.SIGALRM,
    signal.SIGCHLD,
    signal.SIGFPE,
    signal.SIGINT,
    signal.SIGPIPE,
    signal.SIGSEGV,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
C_SIGNALS = (signal.SIGCHLD, signal.SIGPIPE)
"""Signals whose handler in the C library is compared too. Ignored children have no exit status."""
SIGNAL_ACTION_BYTES, HANDLER_BYTES = 256, 8
"""Size of a buffer for the C type sigaction, and of the handler at its start."""
VERSION_BYTES = 8
"""Size of the version of a dictionary."""
TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
THREAD_EXIT_SECONDS = 0.05
"""Seconds that a new thread gets to end after the program has returned."""
UNVERSIONED_MODULES = (builtins, contextlib, json, os, random, time, warnings, np, np.random)
"""Modules whose functions are compared after each program if dictionaries have no version, as in Python 3.14."""
LATER_MODULES = (
    "asyncio", "asyncio.events", "concurrent.futures.thread", "copy", "dataclasses", "fractions", "logging", "shutil",
    "socket", "statistics", "string", "subprocess", "tempfile",
)  # fmt: skip
"""Modules of the standard library that this file does not import. Their functions are restored if the setup did."""
MAX_DESCRIPTORS = 128
"""Number of open descriptors above which the process is replaced. Later programs need some, up to the limit."""
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


def seed_generators(_state: Any = None) -> None:
    """Seed the shared generators of NumPy and Python with 0."""
    if np.random.mtrand._rand._bit_generator is not GENERATOR_OF_NUMPY:
        vars(np.random)["set_bit_generator"](GENERATOR_OF_NUMPY)
    np.random.seed(0)
    random.seed(0)


def cached_normal() -> Any:
    """Return the memory of the normal number that the shared generator of NumPy has cached. Draws come in pairs."""
    generator = np.random.mtrand._rand
    memory = (ctypes.c_char * generator.__sizeof__()).from_address(id(generator))
    np.random.seed(0)
    before = memory.raw
    np.random.randn()
    changed = [place for place, (old, new) in enumerate(zip(before, memory.raw)) if old != new]  # noqa: B905
    np.random.seed(0)
    return (ctypes.c_char * (changed[-1] + 1 - changed[0])).from_address(id(generator) + changed[0])


NORMAL_OF_NUMPY = cached_normal()


def generator_memory() -> Any:
    """Return the memory and the identity of the shared generators, to detect changes of their state."""
    of_numpy = np.random.mtrand._rand._bit_generator, MERSENNE_OF_NUMPY.raw, NORMAL_OF_NUMPY.raw
    return of_numpy, MERSENNE_OF_PYTHON.raw[OBJECT_HEADER_BYTES:], vars(random._inst)["gauss_next"]


def is_open(descriptor: int) -> bool:
    """Whether a descriptor is open."""
    try:
        os.get_inheritable(descriptor)
    except OSError:
        return False
    return True


def is_original_descriptor(descriptor: int) -> bool:
    """Whether a descriptor is open and was set by set_streams. Descriptors that Python opens are not inheritable."""
    try:
        return os.get_inheritable(descriptor)
    except OSError:
        return False


def opened_file(descriptor: int) -> Any:
    """Return the device and the number of the file of a descriptor, None if it is closed."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def stream_state() -> Any:
    """Return the standard streams, their closed flags and descriptors, to detect changes."""
    streams = sys.stdout, sys.stderr
    closed = [getattr(stream, "closed", True) for stream in streams]
    files = is_original_descriptor(0), opened_file(1), opened_file(2), is_open(ERRORS_DESCRIPTOR)
    return streams, closed, files


def set_streams(state: Any) -> None:
    """Reopen the standard streams: an empty input, and both outputs on standard error.

    state: of stream_state, None for new streams. Streams that are closed are new ones, too.
    """
    empty = os.open(os.devnull, os.O_RDONLY)
    for source, descriptor in ((empty, 0), (ERRORS_DESCRIPTOR, 1), (ERRORS_DESCRIPTOR, 2)):
        # os.open reuses the number of a closed standard stream. os.dup2 to the same number changes nothing, not even
        # the flag by which is_original_descriptor recognizes the stream.
        if source == descriptor:
            os.set_inheritable(descriptor, True)
        os.dup2(source, descriptor)
    if empty > 2:  # otherwise os.open reused the number of a closed standard stream  # noqa: PLR2004
        os.close(empty)
    if state and not any(getattr(stream, "closed", True) for stream in state[0]):
        sys.stdout, sys.stderr = state[0]
        return
    # A program may close sys.stdout, which must not close the descriptor. Messages of frameworks may contain any text.
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(io.FileIO(descriptor, "w", closefd=False), "utf-8", "backslashreplace", write_through=True)
        for descriptor in (1, 2)
    )


def working_directory() -> str:
    """Return the working directory, "" if it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def environment_copy() -> Any:
    """Return a copy of the encoded environment. A decoded copy takes a hundred times as long."""
    return vars(os.environ)["_data"].copy()


def set_environment(variables: Any) -> None:
    """Replace the environment variables with an encoded copy of them."""
    os.environ.clear()
    os.environ.update({os.fsdecode(name): os.fsdecode(value) for name, value in variables.items()})
    time.tzset()


def set_filters(filters: Any) -> None:
    """Replace the warning filters."""
    warnings.resetwarnings()  # also invalidates the cached decisions of the previous filters
    vars(warnings)["filters"][:] = filters


IMPORT_PLACES = ("path", "meta_path", "path_hooks")
MODULES, IMPORTERS = sys.modules, sys.path_importer_cache
EARLY_MODULES = tuple(sys.modules)
"""Names of the modules that are loaded before the framework."""


def import_places() -> Any:
    """Return the lists that imports use, copies of them, and whether two dictionaries are the original ones."""
    lists = sys.path, sys.meta_path, sys.path_hooks
    originals = sys.modules is MODULES, sys.path_importer_cache is IMPORTERS
    return lists, [one.copy() for one in lists], originals


def set_import_places(places: Any) -> None:
    """Set the lists and dictionaries that imports use. Cached importers may be those of other lists."""
    for name, one, content in zip(IMPORT_PLACES, *places[:2]):  # noqa: B905 - Python 3.8 has no `strict`
        one[:] = content
        setattr(sys, name, one)
    sys.modules, sys.path_importer_cache = MODULES, IMPORTERS
    IMPORTERS.clear()


def set_limits(limits: Any) -> None:
    """Set the resource limits in LIMITS."""
    for number, limit in zip(LIMITS, limits):  # noqa: B905 - Python 3.8 has no `strict`
        if resource.getrlimit(number) != limit:
            resource.setrlimit(number, limit)


def set_handlers(handlers: Any) -> None:
    """Set the signal handlers in HANDLED_SIGNALS. None is a handler that Python did not install."""
    for number, handler in zip(HANDLED_SIGNALS, handlers):  # noqa: B905 - Python 3.8 has no `strict`
        if _signal.getsignal(number) != handler and handler is not None:
            _signal.signal(number, handler)


def temporary_folder() -> Any:
    """Return the value of `tempfile.tempdir`, None if tempfile is not imported, and whether TMPDIR is a folder."""
    try:
        exists = stat.S_ISDIR(os.lstat(TEMPORARY_FOLDER).st_mode)
    except OSError:
        exists = False
    return getattr(sys.modules.get("tempfile"), "tempdir", None), exists


def set_temporary_folder(state: Any) -> None:
    """Set `tempfile.tempdir`, and make the folder again. With None, tempfile finds the folder when it needs it."""
    folder, exists = state
    if "tempfile" in sys.modules:
        sys.modules["tempfile"].tempdir = folder  # type: ignore[attr-defined]
    if exists and not temporary_folder()[1]:
        with suppress(OSError):  # a file or a link
            os.unlink(TEMPORARY_FOLDER)
        os.mkdir(TEMPORARY_FOLDER, 0o700)


def c_handlers() -> Any:
    """Return the handlers of C_SIGNALS in the C library. A program can set them without Python."""
    return [C_LIBRARY.sigaction(number, None, action) or action[:HANDLER_BYTES] for number, action in C_ACTIONS]


def set_c_handlers(handlers: Any) -> None:
    """Set the handlers of C_SIGNALS, with the flags and the mask of this process."""
    for (number, action), handler in zip(C_ACTIONS, handlers):  # noqa: B905 - Python 3.8 has no `strict`
        C_LIBRARY.sigaction(number, None, action)
        action[:HANDLER_BYTES] = handler
        C_LIBRARY.sigaction(number, action, None)


def garbage_collector() -> Any:
    """Return the callbacks of the garbage collector, whether it is enabled, and its thresholds."""
    return list(gc.callbacks), gc.isenabled(), gc.get_threshold()


def set_garbage_collector(state: Any) -> None:
    """Set callbacks, switch and thresholds of the garbage collector."""
    gc.callbacks[:], enabled, thresholds = state
    gc.set_threshold(*thresholds)
    (gc.enable if enabled else gc.disable)()


def collection_count() -> int:
    """Return how often the garbage collector has run."""
    return sum(generation["collections"] for generation in gc.get_stats())


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


def decimal_contexts() -> Any:
    """Return the settings of the context of `decimal` and of its default. Flags are results of computations."""
    return [
        (c.prec, c.rounding, c.Emin, c.Emax, c.capitals, c.clamp, c.traps.copy())
        for c in (decimal.getcontext(), decimal.DefaultContext)
    ]


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


def has_free_descriptors() -> bool:
    """Whether there is a free descriptor that is not above MAX_DESCRIPTORS."""
    try:
        descriptor = os.dup(0)
    except OSError:
        return False
    os.close(descriptor)
    return descriptor <= MAX_DESCRIPTORS


def count_audit_hook(hook: Any) -> None:
    """Add an audit hook. It cannot be removed, so that a process with a hook of a program is replaced."""
    PERMANENT_HOOKS.append(hook)
    ADD_AUDIT_HOOK(hook)


def count_fork_hooks(**hooks: Any) -> None:
    """Add functions that run when the process forks. They cannot be removed. Those of modules are not counted."""
    for hook in hooks.values():
        module = sys.modules.get(getattr(hook, "__module__", None) or "")
        if getattr(hook, "__globals__", None) not in (None, getattr(module, "__dict__", None)):
            PERMANENT_HOOKS.append(hook)
    REGISTER_AT_FORK(**hooks)


NUMPY_CONTEXT = getattr(sys.modules.get("numpy._core.umath"), "_extobj_contextvar", None)
"""Since NumPy 2, the context variable with these settings, which is read fifty times as fast. Each change sets it."""
C_LIBRARY = ctypes.CDLL(None)
C_ACTIONS = [(number, ctypes.create_string_buffer(SIGNAL_ACTION_BYTES)) for number in C_SIGNALS]
TEMPORARY_FOLDER = os.environ.get("TMPDIR", "")
THREADING = vars(threading)
PERMANENT_HOOKS: list[Any] = []
ADD_AUDIT_HOOK, REGISTER_AT_FORK = sys.addaudithook, os.register_at_fork
sys.addaudithook, os.register_at_fork = count_audit_hook, count_fork_hooks
GET_MAX_DIGITS: Callable[[], int] = getattr(sys, "get_int_max_str_digits", int)
SET_MAX_DIGITS: Callable[[int], Any] = getattr(sys, "set_int_max_str_digits", int)
LAZY_MODULES, WARNING_LEVEL = ("asyncio.events", "_socket", "logging"), 30
"""Modules with settings, and the default level of `logging`."""
DECIMAL_SETTINGS = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp", "traps")


def file_mode_mask() -> int:
    """Return the file mode creation mask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def dictionary_version(names: Any) -> Any:
    """Return the memory of the version of a dictionary, which CPython before 3.14 increases with each change."""
    return (ctypes.c_char * VERSION_BYTES).from_address(
        id(names) + OBJECT_HEADER_BYTES + ctypes.sizeof(ctypes.c_ssize_t)
    )


def have_versions() -> bool:
    """Whether dictionaries have a version."""
    names: dict[str, int] = {}
    before = dictionary_version(names).raw
    names["key"] = 0
    return bool(platform.python_implementation() == "CPython" and dictionary_version(names).raw != before)


class ModuleFunctions:
    """The functions, classes and floats of modules that are loaded before the framework, and these modules.

    Programs and frameworks use them. The versions of the dictionaries show which modules have changed.
    tables: the dictionary of each module, and the names in it that are restored.
    """

    def find_modules(self) -> None:
        """Set the tables."""
        self._has_versions = have_versions()
        loaded = [sys.modules[name] for name in (*EARLY_MODULES, *LATER_MODULES) if name in sys.modules]
        modules = [vars(module) for module in (loaded if self._has_versions else UNVERSIONED_MODULES)]
        self.tables: list[tuple[dict[str, Any], Sequence[str]]] = [
            (MODULES, EARLY_MODULES),
            (IMPORTERS, tuple(IMPORTERS)),
            (vars(json), ("_default_decoder", "_default_encoder")),
            (vars(random), ("_inst",)),
            (vars(np), ("mgrid",)),
            *(
                (names, [key for key, value in names.items() if callable(value) or type(value) is float])
                for names in modules
            ),
        ]
        self._versions = [dictionary_version(names) for names, _ in self.tables]
        self._seen = b""
        self._found: list[tuple[Any, ...]] = [()] * len(self.tables)

    def read(self) -> Any:
        """Return the functions of each module. The same objects if no module has changed."""
        seen = b"".join(self._versions)
        if seen != self._seen or not self._has_versions:
            self._found = self._found.copy()
            for number, (names, keys) in enumerate(self.tables):
                place = slice(number * VERSION_BYTES, (number + 1) * VERSION_BYTES)
                if seen[place] != self._seen[place] or not self._has_versions:
                    self._found[number] = tuple(map(names.get, keys))
            self._seen = seen
        return [self._found]

    def write(self, state: Any) -> None:
        """Set the functions of each module."""
        for (names, keys), functions, found in zip(self.tables, state[0], self._found):  # noqa: B905
            if functions != found:
                names.update(item for item in zip(keys, functions) if item[1] is not None)  # noqa: B905


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
"""State that takes longer to read, most of it with a system call. For backends of the suite, it is checked after every
16th program only."""
if hasattr(os, "sched_getaffinity"):  # Linux
    SYSTEM_STATE = (
        *SYSTEM_STATE,
        StateItem("processors", lambda: os.sched_getaffinity(0), lambda cores: os.sched_setaffinity(0, cores)),
        StateItem("filter of system calls", lambda: C_LIBRARY.prctl(GET_SECCOMP, 0, 0, 0, 0), bool),
    )
SET_NUMERIC_OPS: Any = getattr(np, "set_numeric_ops", None)
if SET_NUMERIC_OPS:  # NumPy 1
    SYSTEM_STATE = (*SYSTEM_STATE, StateItem("operators of arrays", SET_NUMERIC_OPS, set_operators))
PROCESS_STATE = (*PROGRAM_STATE, *SYSTEM_STATE)
TRUSTED_INTERVAL = 16
"""Number of programs between two checks of SYSTEM_STATE in a worker of a backend of the suite."""


class FloatingPointState:
    """Rounding mode and treatment of subnormal numbers, in the control registers of this thread."""

    NAMES = ("rounding mode", "rounding mode", "rounding mode", "rounding mode", "flush-to-zero", "denormals-are-zero")

    def __init__(self) -> None:
        self._library = C_LIBRARY
        self._buffer = ctypes.create_string_buffer(FLOATING_POINT_ENVIRONMENT_BYTES)
        self._saved = ctypes.create_string_buffer(FLOATING_POINT_ENVIRONMENT_BYTES)
        # The registers themselves also contain flags of past exceptions, which change all the time.
        self._get_rounding = getattr(self._library, "fegetround", int)
        self._has_x86_registers = platform.machine() in {"x86_64", "AMD64"} and hasattr(self._library, "fegetenv")
        self._initial = self._computed()
        self._initial_control = self._control()
        if hasattr(self._library, "fegetenv"):
            self._library.fegetenv(self._saved)

    def _computed(self) -> tuple[float, ...]:
        """Return results that depend on the state: the sums on the rounding mode, the products on the flags."""
        # fegetround reads the x87 unit on x86, which computes long double; Python's floats are computed by SSE.
        sums = (ONE + HALF_ULP, ONE - HALF_ULP * HALF, -ONE - HALF_ULP)
        return (self._get_rounding(), *sums, MIN_NORMAL * HALF, MIN_SUBNORMAL * SCALE)

    def _control(self) -> tuple[int, ...]:
        """Return the control bits of both registers on x86; other processors have no traps or precision to change."""
        if not self._has_x86_registers:
            return ()
        self._library.fegetenv(self._buffer)
        words = self._buffer.raw
        x87, mxcsr = int.from_bytes(words[X87_CONTROL], "little"), int.from_bytes(words[MXCSR], "little")
        return x87 & X87_CONTROL_MASK, mxcsr & MXCSR_MASK

    def restore(self) -> tuple[list[str], bool]:
        """Return the names of the changed state, and whether it could be restored."""
        computed, control = self._computed(), self._control()
        if computed == self._initial and control == self._initial_control:
            return [], True
        pairs = zip(self.NAMES, computed, self._initial)  # noqa: B905 - Python 3.8 has no `strict`
        changed = dict.fromkeys(name for name, now, before in pairs if now != before)
        if hasattr(self._library, "fesetenv"):
            self._library.fesetenv(self._saved)
        names = list(changed) or ["traps or precision of floating-point numbers"]
        return names, self._computed() == self._initial and self._control() == self._initial_control


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


class ProcessState:
    """The state of the process before a program.

    trusted: whether SYSTEM_STATE is checked after every TRUSTED_INTERVAL programs instead of each.
    """

    def __init__(self, trusted: bool = False) -> None:
        self._floating_point = FloatingPointState()
        self._threads = RunningThreads()
        self._hook_count = len(PERMANENT_HOOKS)
        self._collections = 0
        MODULE_FUNCTIONS.find_modules()
        self._interval, self._program_count = TRUSTED_INTERVAL if trusted else 1, 0
        self._initial = [item.read() for item in PROCESS_STATE]

    def restore(self) -> tuple[list[str], str]:
        """Restore the state after a program. Only changed state is written, for speed.

        Return the names of changed floating-point state, and why the process must not run another program ("": it
        may).
        """
        self._program_count += 1
        items = PROGRAM_STATE if self._program_count % self._interval else PROCESS_STATE
        if items is PROCESS_STATE:
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
        written, problems = False, []
        for item, initial in zip(items, self._initial):  # noqa: B905 - Python 3.8 has no `strict`
            if item.read() != initial:
                written = True
                with suppress(OSError, ValueError):
                    item.write(initial)
                if item.read() != initial:
                    problems.append(item.name)
        return written, problems
