"""Programs that change state of their process that the worker does not compare. Later results are confirmed alone."""

from typing import NamedTuple

PASS, FAIL, CRASHED, TIMED_OUT, FLAKY = (
    frozenset({status}) for status in ("pass", "fail", "crashed", "timed_out", "flaky")
)


class Attack(NamedTuple):
    """A program part after the correct result `x`, the statuses of its case, and the state that is reported."""

    text: str
    statuses: frozenset[str] = PASS
    changed: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of the program."""
        return tuple(self.text.splitlines())


DICTIONARY = "import gc\nnames = gc.get_referents({type}.__dict__)[0]\n"
MODIFIED = "\nctypes.pythonapi.PyType_Modified(ctypes.py_object({type}))"
FLOAT_ABSOLUTE = """\
numbers = ctypes.c_size_t.from_address(id(float) + 96).value
ctypes.c_size_t.from_address(numbers + 64).value = ctypes.c_size_t.from_address(numbers + 56).value"""
OVERWRITE_FUNCTION = """\
import platform
library = ctypes.CDLL(None)
place = ctypes.cast(library.toupper, ctypes.c_void_p).value
if platform.machine() == "x86_64":
    library.mprotect(ctypes.c_void_p(place & -4096), 8192, 7)
    ctypes.memmove(place, bytes((0x31, 0xC0, 0xC3)), 3)  # return 0"""
NATIVE_THREAD = """\
def later(_):
    time.sleep(0.2)
    {action}
    return 0
callback = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)(later)
sys.modules["ctypes"].callback = callback
ctypes.CDLL(None).pthread_create(ctypes.byref(ctypes.c_size_t()), None, callback, None)"""
MONITOR = """\
def raise_error(*_):
    raise ValueError("monitored")
monitoring = getattr(sys, "monitoring", None)
if monitoring:
    monitoring.use_tool_id(4, "hostile")
    monitoring.register_callback(4, monitoring.events.{event}, raise_error)
    monitoring.set_events(4, monitoring.events.{event})"""

UNCHECKED_ATTACKS = {
    # Attributes of classes, and functions that are changed in place
    "patches-the-start-of-threads": Attack("threading.Thread.start = lambda *_: None"),
    "patches-the-join-of-threads": Attack("threading.Thread.join = None"),
    "replaces-the-code-of-a-method": Attack("threading.Thread.run.__code__ = (lambda self: None).__code__"),
    "replaces-the-code-of-a-function": Attack(
        "function = np.lib.stride_tricks.sliding_window_view\n"
        "getattr(function, '__wrapped__', function).__code__ = (lambda x, *_, **__: x).__code__"
    ),
    "replaces-the-defaults-of-a-function": Attack(
        "function = np.median\ngetattr(function, '__wrapped__', function).__defaults__ = (0, None, True, True)"
    ),
    "patches-loggers": Attack("import logging\nlogging.Logger.warning = None"),
    "patches-the-json-decoder": Attack(
        "import json\njson.JSONDecoder.raw_decode = lambda *_: ({}, 0)", PASS | CRASHED
    ),
    "patches-the-json-encoder": Attack(
        "import json\njson.JSONEncoder.iterencode = lambda *_, **__: ['{}']", PASS | CRASHED
    ),
    "patches-sockets": Attack("import socket\nsocket.socket.close = None"),
    "patches-event-loops": Attack("import asyncio\nasyncio.BaseEventLoop.run_forever = None"),
    "patches-the-environment": Attack(
        "def get(*_):\n    raise KeyError\ntype(os.environ).__getitem__ = type(os.environ).__iter__ = get",
        PASS | FAIL | CRASHED,
    ),
    "patches-paths": Attack("import pathlib\npathlib.PurePath.__truediv__ = None"),
    "patches-fractions": Attack("import fractions\nfractions.Fraction.__add__ = lambda *_: 0"),
    "patches-names-of-temporary-files": Attack("import tempfile\ntempfile._RandomNameSequence.__next__ = None"),
    "patches-warnings": Attack("import warnings\nwarnings.catch_warnings.__enter__ = None"),
    "patches-contexts-of-numpy": Attack(
        "try:\n    np.errstate.__enter__ = lambda *_: 1 / 0\nexcept TypeError:\n    pass", PASS | FAIL | CRASHED
    ),
    "patches-vectorize": Attack("np.vectorize.__call__ = lambda *_: 0"),
    "patches-polynomials": Attack("np.polynomial.Polynomial.__call__ = lambda *_: 0"),
    "patches-loaders": Attack("import importlib.machinery\nimportlib.machinery.SourceFileLoader.get_code = None"),
    "patches-finders": Attack(
        "import importlib.machinery\nimportlib.machinery.FileFinder.find_spec = lambda *_: None"
    ),
    # Types that are written in C
    "patches-text": Attack(
        DICTIONARY.format(type="str") + "names['swapcase'] = lambda text: text" + MODIFIED.format(type="str")
    ),
    "patches-arrays": Attack(
        DICTIONARY.format(type="np.ndarray") + "names['round'] = lambda x: x * 0" + MODIFIED.format(type="np.ndarray")
    ),
    "patches-the-bytes-of-arrays": Attack(
        DICTIONARY.format(type="np.ndarray")
        + "names['tobytes'] = lambda x: bytes(x.nbytes)"
        + MODIFIED.format(type="np.ndarray"),
        PASS | FAIL | CRASHED,
    ),
    "patches-the-absolute-value": Attack(FLOAT_ABSOLUTE),
    "overwrites-a-small-integer": Attack(
        "ctypes.c_uint32.from_address(id(201) + 24).value = 202", PASS | FAIL | CRASHED | TIMED_OUT | FLAKY
    ),
    "overwrites-a-constant": Attack("import math\nctypes.c_double.from_address(id(math.pi) + 16).value = 3"),
    "overwrites-a-function-of-c": Attack(OVERWRITE_FUNCTION),
    # Variables of modules and of objects
    "changes-finfo": Attack("np.finfo(np.float32).eps = np.float32(1)"),
    "changes-newaxis": Attack("np.newaxis = 0"),
    "changes-index-expressions": Attack("np.s_ = np.r_ = np.c_ = None"),
    "changes-texts": Attack("import string\nstring.digits = os.sep = os.linesep = 'x'"),
    "changes-facts-of-the-system": Attack(
        "sys.byteorder, sys.maxsize, sys.float_info, sys.platform = 'big', 1, None, 'none'", PASS | CRASHED | FAIL
    ),
    "ends-the-names-of-temporary-files": Attack("import tempfile\ntempfile._name_sequence = iter(())"),
    "changes-the-prefix-of-temporary-files": Attack("import tempfile\ntempfile.template = '/does/not/exist'"),
    "has-no-last-resort": Attack("import logging\nlogging.lastResort = 0"),
    "adds-a-handler-to-a-logger": Attack(
        "import logging\nclass Handler(logging.Handler):\n    def handle(self, _):\n        raise ValueError\n"
        "logging.getLogger('innocent').addHandler(Handler())"
    ),
    "filters-a-logger": Attack("import logging\nlogging.getLogger('innocent').addFilter(lambda _: 1 // 0)"),
    "debugs-garbage": Attack("import gc\ngc.set_debug(gc.DEBUG_SAVEALL)"),
    "blocks-a-module": Attack("sys.modules['netrc'] = None"),
    "replaces-a-later-module": Attack("import colorsys\nsys.modules['netrc'] = colorsys"),
    "collects-flags-of-decimals": Attack("import decimal\ndecimal.getcontext().flags[decimal.Inexact] = True"),
    "adds-a-name-to-builtins": Attack("import builtins\nbuiltins.undefined = 3"),
    "adds-a-name-to-numpy": Attack("np.undefined = 3"),
    # Tables and caches
    "registers-an-abstract-class": Attack("import numbers\nnumbers.Integral.register(str)"),
    "registers-a-pickling": Attack("import copyreg\ncopyreg.pickle(complex, lambda _: (int, (3,)))"),
    "replaces-a-copy": Attack("import copy\ncopy._deepcopy_dispatch[list] = lambda *_: []"),
    "fills-the-cache-of-encodings": Attack(
        "import codecs, encodings\nencodings._cache['cp1251'] = codecs.lookup('utf-8')"
    ),
    "fills-the-cache-of-patterns": Attack(
        "import re\nfor cache in (re._cache, getattr(re, '_cache2', {})):\n    cache[str, 'a+', 0] = re.compile('b+')"
    ),
    "replaces-an-error-handler": Attack("import codecs\ncodecs.register_error('namereplace', lambda e: ('', e.end))"),
    "replaces-lines-of-files": Attack(
        "import linecache\nlinecache.getlines = lambda *_: ['wrong']\nlinecache.cache.clear()"
    ),
    # Settings of the C library and the system
    "sets-the-time-zone-in-c": Attack("ctypes.CDLL(None).setenv(b'TZ', b'XYZ-5', 1)\ntime.tzset()"),
    "ignores-alarms-in-c": Attack("ctypes.CDLL(None).signal(14, ctypes.c_void_p(1))"),
    "sleeps-late": Attack("ctypes.CDLL(None).prctl(29, ctypes.c_ulong(10**9), 0, 0, 0)"),
    "is-not-dumpable": Attack("ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)", PASS | CRASHED),
    "fills-new-memory": Attack("ctypes.CDLL(None).mallopt(-6, 255)"),
    "is-a-batch-process": Attack("os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))"),
    "changes-the-root": Attack("import tempfile\nos.chroot(tempfile.gettempdir())", PASS | FAIL | CRASHED),
    "changes-the-user": Attack("os.setuid(65534)", PASS | FAIL | CRASHED),
    "does-not-wait-for-output": Attack("os.set_blocking(200, False)"),
    # Events that come later
    "monitors-lines": Attack(MONITOR.format(event="LINE"), PASS | FAIL | CRASHED | TIMED_OUT),
    "monitors-returns": Attack(MONITOR.format(event="PY_RETURN"), PASS | FAIL | CRASHED | TIMED_OUT),
    "native-thread-aborts-later": Attack(NATIVE_THREAD.format(action="os.abort()")),
    "native-thread-patches-later": Attack(
        NATIVE_THREAD.format(action="sys.modules['math'].floor = sys.modules['gc'].collect = None")
    ),
    "native-thread-redirects-later": Attack(NATIVE_THREAD.format(action="os.closerange(0, 256)")),
    "traces-at-the-next-call": Attack(
        "def change(*_):\n    sys.modules['math'].floor = None\nsys.modules['json'].JSONDecoder.decode = change",
        PASS | CRASHED,
    ),
    "finalizer-of-a-thread": Attack("import weakref\nweakref.finalize(threading.main_thread(), os.abort)"),
    "aborts-at-the-end-of-a-stream": Attack("import atexit, weakref\natexit.register(os.abort)"),
    # Locks, of which one has no owner any more
    "locks-the-generator": Attack("np.random.mtrand._rand._bit_generator.lock.acquire()", PASS | TIMED_OUT),
    "locks-the-threads": Attack("threading._active_limbo_lock.acquire()", PASS | TIMED_OUT | CRASHED | FAIL),
    # Outside the process
    "leaves-a-file-that-is-read-later": Attack(
        "import tempfile\nopen(os.path.join(tempfile.gettempdir(), 'marker'), 'w').close()"
    ),
}  # fmt: skip
"""Attacks by name."""
