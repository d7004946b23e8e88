"""Programs that damage their process: what each does, and the statuses that its own case may have."""

from .resources import RESOURCE_ATTACKS
from .surroundings import SURROUNDING_ATTACKS
from .unchecked import CRASHED, FAIL, FLAKY, PASS, TIMED_OUT, UNCHECKED_ATTACKS, Attack

SLOW = frozenset({"slow"})
FRAME = """\
import json, struct
head = json.dumps({"request": "0" * 16, "outcome": "returned", "message": "", "seconds": 0.5, "certain": False,
                   "changed": [], "exit": "", "arrays": [{"dtype": "float32", "shape": [1, 1, 1]}]}).encode()
frame = struct.pack(">QQ", len(head), 4) + head + bytes(4)"""
SUPERVISOR = """\
supervisor = int(open(f"/proc/{os.getppid()}/stat").read().rpartition(")")[2].split()[1])"""
CONTROL_REGISTER = """\
library = ctypes.CDLL("libm.so.6")
saved = (ctypes.c_uint32 * 64)()
library.fegetenv(saved)
saved[7] |= {bits}
library.fesetenv(saved)"""
MAIN_THREAD = "threading.main_thread().ident"
RAISE_IN_MAIN = (
    f"ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong({MAIN_THREAD}), ctypes.py_object(ValueError))"
)
REMOVE_FOLDER = "import subprocess, tempfile\nfolder = tempfile.gettempdir()\nsubprocess.run(['rm', '-rf', folder])"
TRAPS = "traps or precision of floating-point numbers"
FINALIZER = "class Object:\n    def __del__(self):\n        np.seterr(all='raise')\n"
SYSTEM_CALL_FILTER = """\
import struct
library = ctypes.CDLL(None)
steps = [(32, 0, 0, 0), (21, 1, 0, 83), (6, 0, 0, 0x7FFF0000), (6, 0, 0, 0x5000D)]  # no mkdir on x86-64
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
library.prctl(38, 1, 0, 0, 0)
library.prctl(22, 2, struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code)), 0, 0)"""
SLEEPER = 'import subprocess\nsubprocess.Popen(["sleep", "100"]{further})'


ATTACKS = {
    # Processes that answer too
    "fork-and-both-return": Attack("os.fork()"),
    "forked-child-raises": Attack("if os.fork() == 0:\n    raise ValueError('in the child')"),
    "forked-child-exits": Attack("if os.fork() == 0:\n    sys.exit(0)"),
    "forked-child-fails-in-the-program": Attack("if os.fork() == 0:\n    undefined_name"),
    "forked-by-the-c-library": Attack("ctypes.CDLL(None).fork()"),
    "daemon-returns": Attack("if os.fork() == 0:\n    os.setsid()\n    os.fork()\n    time.sleep(0.1)"),
    "forked-child-returns-late": Attack("if os.fork() == 0:\n    time.sleep(0.2)"),
    "three-forks": Attack("os.fork()\nos.fork()\nos.fork()"),
    # Writing into the protocol
    "frame-on-every-descriptor": Attack(
        f"{FRAME}\nfor descriptor in range(256):\n    try:\n        os.write(descriptor, frame)\n"
        "    except OSError:\n        pass"
    ),
    # If the program is run again alone, its parent is another process, and the suite does not read what that writes.
    "frame-on-the-supervisor": Attack(
        f'{FRAME}\n{SUPERVISOR}\nos.write(os.open(f"/proc/{{supervisor}}/fd/1", os.O_WRONLY), frame)', CRASHED | PASS
    ),
    "garbage-on-the-supervisor": Attack(
        SUPERVISOR + '\nos.write(os.open(f"/proc/{supervisor}/fd/1", os.O_WRONLY), bytes(16))', CRASHED | PASS
    ),
    "late-frame-of-a-child": Attack(
        f"{SUPERVISOR}\n{FRAME}\nif os.fork() == 0:\n    time.sleep(0.05)\n"
        '    os.write(os.open(f"/proc/{supervisor}/fd/1", os.O_WRONLY), frame)\n    os._exit(0)'
    ),
    "closes-every-descriptor": Attack("os.closerange(0, 1000)"),
    "closes-all-but-the-standard-streams": Attack("os.closerange(3, 1000)"),
    "closes-the-errors": Attack("os.close(2)\nos.close(200)"),
    "opens-every-descriptor": Attack(
        "try:\n    while True:\n        os.open('/dev/null', 0)\nexcept OSError:\n    pass", CRASHED
    ),
    "floods-the-output": Attack("sys.stdout.write('o' * 3_000_000)\nsys.stderr.write('e' * 3_000_000)"),
    # Floating-point state
    "rounds-up": Attack('ctypes.CDLL("libm.so.6").fesetround(0x800)', changed=("rounding mode",)),
    "rounds-down": Attack('ctypes.CDLL("libm.so.6").fesetround(0x400)', changed=("rounding mode",)),
    "rounds-to-zero": Attack('ctypes.CDLL("libm.so.6").fesetround(0xC00)', changed=("rounding mode",)),
    "flushes-to-zero": Attack(CONTROL_REGISTER.format(bits="0x8000"), changed=("flush-to-zero",)),
    "subnormals-are-zero": Attack(CONTROL_REGISTER.format(bits="0x40"), changed=("denormals-are-zero",)),
    "errors-of-numpy": Attack("np.seterr(all='raise')"),
    # State of the process
    "no-more-files": Attack("import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (20, 4096))"),
    "no-more-files-for-ever": Attack("import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))"),
    "no-writes": Attack("import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))"),
    "no-imports": Attack("sys.path[:] = []"),
    "ignores-terminations": Attack("signal.signal(signal.SIGTERM, signal.SIG_IGN)"),
    "replaces-the-child-handler": Attack("signal.signal(signal.SIGCHLD, signal.SIG_IGN)"),
    "blocks-signals": Attack("signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())"),
    "lowest-priority": Attack("os.nice(10)"),
    "one-processor": Attack("os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"),
    "no-temporary-folder": Attack("import tempfile\ntempfile.tempdir = '/does/not/exist'"),
    "leaves-temporary-files": Attack(
        "import tempfile\ntempfile.mkstemp()\nos.chmod(tempfile.mkdtemp(dir=tempfile.mkdtemp()), 0)"
    ),
    "leaves-a-temporary-file-and-its-supervisor": Attack(
        "import tempfile\ntempfile.mkstemp()\nos.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(60)", CRASHED
    ),
    "changes-the-folder": Attack("os.chdir('/')"),
    "empties-the-environment": Attack("os.environ.clear()"),
    "file-mode-mask": Attack("os.umask(0o777)"),
    "seeds-the-generators": Attack("np.random.seed(3)"),
    "turns-warnings-into-errors": Attack("import warnings\nwarnings.simplefilter('error')"),
    "changes-the-locale": Attack("import locale\nlocale.setlocale(locale.LC_ALL, 'C')"),
    "recursion-limit": Attack("sys.setrecursionlimit(200)"),
    # Patched functions
    "patches-numpy": Attack("np.frombuffer = np.asarray = np.zeros = None"),
    "patches-builtins": Attack("import builtins\nbuiltins.len = builtins.open = builtins.isinstance = None", FAIL),
    "patches-json": Attack("import json\njson.dumps = lambda *_: '{}'"),
    "patches-os": Attack("os.write = os.getpid = os.open = lambda *_: 0", CRASHED),
    "traces": Attack("def trace(*_):\n    raise KeyError('traced')\nsys.settrace(trace)", FAIL),
    "profiles": Attack(
        "def profile(frame, event, _):\n    if event == 'call':\n        raise KeyError('profiled')\n"
        "sys.setprofile(profile)",
        FAIL,
    ),
    "patches-a-module-of-numpy": Attack("np.lib.stride_tricks.sliding_window_view = lambda x, *_: x"),
    "patches-struct-and-clocks": Attack(
        "import struct\nstruct.pack = struct.unpack = time.monotonic = time.perf_counter = lambda *_: -1",
        CRASHED | PASS,
    ),
    "patches-signal": Attack("signal.signal = signal.getsignal = lambda *_: None"),
    "patches-ctypes": Attack("ctypes.CDLL = ctypes.c_int = ctypes.byref = None"),
    "patches-the-generators": Attack("np.random.seed = np.random.get_state = np.random.set_state = None"),
    "patches-the-threads": Attack(
        "threading.enumerate = lambda: []\nthreading._active = {}\n"
        "threading.Thread(target=time.sleep, args=(100,), daemon=True).start()",
        PASS | FAIL,
    ),
    "patches-the-worker": Attack(
        "frame = sys._getframe()\nwhile frame:\n    for name, value in list(frame.f_globals.items()):\n"
        "        if getattr(value, '__module__', None) == '__main__':\n            frame.f_globals[name] = len\n"
        "    frame = frame.f_back",
        CRASHED,
    ),
    "clears-its-globals": Attack("globals().clear()"),
    "replaces-its-code": Attack("run.__code__ = (lambda x: x * 0).__code__"),
    "removes-all-modules": Attack("for name in list(sys.modules):\n    del sys.modules[name]", CRASHED),
    "removes-the-import": Attack(
        "import builtins\nsys.meta_path.clear()\nbuiltins.__import__ = None", PASS | FAIL | CRASHED
    ),
    "hooks-that-exit": Attack(
        "sys.excepthook = threading.excepthook = sys.unraisablehook = lambda *_: os._exit(3)\nsys.displayhook = None"
    ),
    "audits": Attack(
        "def audit(*_):\n    raise RuntimeError('audited')\nsys.addaudithook(audit)", CRASHED | TIMED_OUT | FLAKY
    ),
    "collects-no-garbage": Attack("import gc\ngc.disable()\ngc.callbacks.append(lambda *_: 1 // 0)"),
    "decimals-of-one-digit": Attack("import decimal\ndecimal.getcontext().prec = decimal.DefaultContext.prec = 1"),
    # Returned objects
    "returns-a-subclass": Attack(
        "class Array(np.ndarray):\n    dtype = 'none'\n    nbytes = 3\n    tobytes = None\nx = x.view(Array)",
        FAIL | CRASHED,
    ),
    "returns-a-wrong-shape": Attack(
        "class Array(np.ndarray):\n    shape = (1, 1, 1)\nx = np.zeros(1000, np.float32).view(Array)", FAIL
    ),
    "returns-terabytes": Attack("x = np.broadcast_to(np.float32(1), (10**6, 10**6))", FAIL),
    "returns-a-removed-file": Attack(
        "import tempfile\nfile = tempfile.TemporaryFile()\nfile.truncate(1 << 20)\n"
        "x = np.memmap(file, np.float32)\nfile.truncate(0)\nfile.close()",
        CRASHED,
    ),
    "returns-foreign-memory": Attack(
        "class Array:\n    __array_interface__ = dict(shape=(9,), typestr='<f4', data=(16, False), version=3)\n"
        "x = Array()",
        FAIL,
    ),
    "returns-a-tuple-that-exits": Attack(
        "class Tuple(tuple):\n    def __iter__(self):\n        raise SystemExit(0)\n    __len__ = __iter__\n"
        "x = Tuple([x])",
        CRASHED | FAIL,
    ),
    "returns-a-list-of-itself": Attack("x = []\nx.append(x)", FAIL),
    "changes-the-result-later": Attack(
        "def change(array=x):\n    while True:\n        array += 1\n"
        "threading.Thread(target=change, daemon=True).start()",
        PASS | FAIL,
    ),
    "destructor-that-exits": Attack(
        "class Object:\n    def __del__(self):\n        os._exit(9)\na = Object()\na.itself = a\ndel a", PASS | CRASHED
    ),
    "exception-without-text": Attack(
        "class Error(BaseException):\n    def __str__(self):\n        raise self\n    __repr__ = __str__\nraise Error",
        CRASHED,
    ),
    "exception-of-many-characters": Attack("raise ValueError('x' * 50_000_000)", FAIL),
    # Threads, and exceptions that arrive later
    "leaves-a-thread": Attack("threading.Thread(target=time.sleep, args=(100,), daemon=True).start()"),
    "thread-raises-later": Attack("threading.Timer(0.1, lambda: 1 // 0).start()"),
    "thread-aborts-later": Attack("threading.Timer(0.2, os.abort).start()"),
    "thread-raises-in-the-main-thread": Attack(f"threading.Timer(0.2, lambda: {RAISE_IN_MAIN}).start()"),
    "exception-is-pending": Attack(RAISE_IN_MAIN, FAIL | CRASHED),
    "thread-of-the-interpreter": Attack("import _thread\n_thread.start_new_thread(time.sleep, (100,))"),
    "alarm": Attack("signal.setitimer(signal.ITIMER_REAL, 0.1)"),
    "processor-timers": Attack(
        "signal.setitimer(signal.ITIMER_VIRTUAL, 0.01)\nsignal.setitimer(signal.ITIMER_PROF, 0.01)"
    ),
    "alarm-of-the-c-library": Attack("ctypes.CDLL(None).alarm(1)"),
    "exits-after-a-trace": Attack("import faulthandler\nfaulthandler.dump_traceback_later(0.05, exit=True)"),
    "hangs-at-exit": Attack("import atexit\natexit.register(time.sleep, 100)"),
    "thread-that-prevents-the-exit": Attack("threading.Thread(target=time.sleep, args=(100,)).start()"),
    "leaves-a-pool": Attack(
        "import multiprocessing\npool = multiprocessing.get_context('fork').Pool(2)\npool.map(abs, [1, 2])\n"
        "globals()['pool'] = pool",
        PASS | FLAKY | TIMED_OUT,
    ),
    "leaves-a-child": Attack(SLEEPER.format(further="")),
    "leaves-a-child-in-another-session": Attack(SLEEPER.format(further=", start_new_session=True, env={}")),
    "leaves-a-child-in-another-session-and-kills-its-parent": Attack(
        SLEEPER.format(further=", start_new_session=True, env={}") + "\nos.kill(os.getppid(), 9)\ntime.sleep(60)",
        CRASHED,
    ),
    "lowers-the-priority-of-its-group": Attack("os.setpriority(os.PRIO_PGRP, 0, 15)"),
    # Ends
    "aborts": Attack("os.abort()", CRASHED),
    "exits": Attack("os._exit(0)", CRASHED),
    "raises-system-exit": Attack("sys.exit(3)", CRASHED),
    "becomes-another-program": Attack("os.execv('/bin/true', ['true'])", CRASHED),
    "kills-its-parent": Attack("os.kill(os.getppid(), 9)\ntime.sleep(60)", CRASHED),
    "kills-the-supervisor": Attack(f"{SUPERVISOR}\nos.kill(supervisor, 9)\ntime.sleep(60)", CRASHED),
    "kills-its-session": Attack("os.killpg(os.getsid(0), 9)", CRASHED),
    "kills-its-group": Attack("os.killpg(0, 9)", CRASHED),
    "overflows-the-stack": Attack(
        "sys.setrecursionlimit(10**9)\ndef deeper(n):\n    return [deeper(n + 1)]\ndeeper(0)",
        CRASHED | TIMED_OUT | FLAKY,
    ),
    "stops-its-parent": Attack("os.kill(os.getppid(), signal.SIGSTOP)"),
    "stops-the-supervisor": Attack(f"{SUPERVISOR}\nos.kill(supervisor, signal.SIGSTOP)"),
    "stops-its-parent-and-exits": Attack("os.kill(os.getppid(), signal.SIGSTOP)\nos._exit(3)", CRASHED),
    "becomes-a-session": Attack("if os.getsid(0) != os.getpid():\n    os.setpgid(0, 0)"),
    "has-no-death-signal": Attack("ctypes.CDLL(None).prctl(1, 0)"),
    # The filter of the worker refuses it where there is one.
    "allows-no-system-call": Attack("ctypes.CDLL(None).prctl(22, 1, 0, 0, 0)", CRASHED | PASS),
    "stops-itself": Attack("os.kill(os.getpid(), signal.SIGSTOP)", TIMED_OUT),
    "hangs-with-the-interpreter-lock": Attack("ctypes.PyDLL(None).sleep(60)", TIMED_OUT),
    "exhausts-the-memory": Attack(
        "eaten = []\nwhile True:\n    eaten.append(np.ones(500_000))", CRASHED | TIMED_OUT | FLAKY
    ),
    # Temporary folder of the worker
    "makes-deep-folders": Attack(
        "import tempfile\nos.chdir(tempfile.mkdtemp())\nfor _ in range(1100):\n    os.mkdir('d')\n    os.chdir('d')"
    ),
    "makes-an-unwritable-folder": Attack(
        "import tempfile\nfolder = tempfile.mkdtemp()\nopen(folder + '/file', 'w').close()\nos.chmod(folder, 0o500)"
    ),
    # The deep folders may be in it, and take seconds to remove.
    "removes-the-temporary-folder": Attack(REMOVE_FOLDER, PASS | SLOW),
    "replaces-the-temporary-folder": Attack(f"{REMOVE_FOLDER}\nopen(folder, 'w').close()", PASS | SLOW),
    "links-the-temporary-folder": Attack(f"{REMOVE_FOLDER}\nos.symlink('/proc/self/cwd', folder)", PASS | SLOW),
    # More state that changes numbers
    "traps-invalid-operations": Attack("ctypes.CDLL('libm.so.6').feenableexcept(1)", changed=(TRAPS,)),
    "computes-long-double-in-single-precision": Attack(
        "library = ctypes.CDLL('libm.so.6')\nsaved = (ctypes.c_uint16 * 64)()\nlibrary.fegetenv(saved)\n"
        "saved[0] &= 0xFCFF\nlibrary.fesetenv(saved)",
        changed=(TRAPS,),
    ),
    "shrinks-the-buffers-of-numpy": Attack("np.setbufsize(16)"),
    "raises-on-errors-of-numpy": Attack("np.seterrcall(lambda *_: 1 / 0)\nnp.seterr(all='call')"),
    "rounds-up-in-a-finalizer": Attack(
        "class Cycle:\n    library = ctypes.CDLL('libm.so.6')\n    def __del__(self):\n"
        "        self.library.fesetround(0x800)\ncycle = Cycle()\ncycle.cycle = cycle\ndel cycle",
        PASS,
        ("rounding mode",),
    ),
    "rounds-up-in-the-garbage-collector": Attack(
        "import gc\nround_up = ctypes.CDLL('libm.so.6').fesetround\ngc.callbacks.append(lambda *_: round_up(0x800))",
        PASS | FLAKY,
        ("rounding mode",),
    ),
    "renames-a-dtype": Attack("np.sctypeDict['float32'] = np.sctypeDict['float16'] = np.float64"),
    # More state that makes a later program fail
    "dumps-a-traceback-later": Attack("import faulthandler\nfaulthandler.dump_traceback_later(0.15, exit=True)"),
    "ignores-children-in-c": Attack("ctypes.CDLL(None).signal(17, ctypes.c_void_p(1))"),
    "shrinks-the-stacks-of-threads": Attack("threading.stack_size(32768)"),
    "adds-an-audit-hook": Attack(
        "def hook(event, arguments):\n    if event == 'compile':\n        raise ValueError\nsys.addaudithook(hook)"
    ),
    "replaces-the-json-decoder": Attack("import json\njson._default_decoder = json.JSONDecoder(parse_int=float)"),
    "patches-contextlib": Attack("import contextlib\ncontextlib.suppress = None", PASS),
    "blocks-imports": Attack(
        "class Finder:\n    @staticmethod\n    def find_spec(*_):\n        raise ImportError\n"
        "sys.meta_path.insert(0, Finder)"
    ),
    # Finalizers that run after the program
    "finalizer-of-the-result": Attack(
        "class Array(np.ndarray):\n    def __del__(self):\n        np.seterr(all='raise')\nx = x.view(Array)"
    ),
    "finalizer-of-the-input": Attack("import weakref\nweakref.finalize(x.base, np.seterr, all='raise')"),
    "finalizer-of-an-old-object": Attack(
        f"{FINALIZER}import gc\ncycle = Object()\ncycle.cycle = cycle\ngc.collect()\ndel cycle"
    ),
    "finalizer-of-a-generator": Attack(
        "def generate(cycle):\n    try:\n        yield\n    finally:\n        np.seterr(all='raise')\n"
        "import gc\ncycle = []\ncycle.append(generate(cycle))\nnext(cycle[0])\ngc.collect()\ndel cycle"
    ),
    # Finalizers of objects that the state refers to, until it is restored
    "finalizer-of-an-error-handler": Attack(
        "class Handler:\n    library = ctypes.CDLL('libm.so.6')\n    def __call__(self, *_):\n        pass\n"
        "    def __del__(self):\n        self.library.fesetround(0x800)\nnp.seterrcall(Handler())",
        PASS,
        ("rounding mode",),
    ),
    "finalizer-of-a-warning-function": Attack(
        "import random, warnings\nclass Shower:\n    def show(self, *_):\n        pass\n"
        "    def __del__(self):\n        np.random.seed(5)\n        random.seed(5)\n"
        "warnings.showwarning = Shower().show"
    ),
    # The shared generators, and the time zone
    "replaces-the-generator-of-numpy": Attack(
        "getattr(np.random, 'set_bit_generator', lambda _: None)(np.random.PCG64(5))"
    ),
    "leaves-a-cached-normal-number": Attack(
        "state = np.random.get_state()[1:3]\nnp.random.randn()\nnew = np.random.get_state()\n"
        "np.random.set_state(('MT19937', *state, *new[3:]))"
    ),
    "leaves-a-cached-normal-number-of-python": Attack(
        "import random\nversion, state, _ = random.getstate()\nrandom.setstate((version, state, 5.0))"
    ),
    "sets-the-time-zone": Attack("os.environ['TZ'] = 'XYZ-5'\ntime.tzset()"),
    # Other functions, and state of the import system
    "patches-other-functions-of-numpy": Attack("np.median = np.linalg.norm = np.fft.fft = None\ndel np.einsum"),
    "replaces-the-operators-of-numpy-1": Attack(
        "if hasattr(np, 'set_numeric_ops'):\n    np.set_numeric_ops(add=np.subtract)"
    ),
    "patches-the-internals-of-numpy": Attack(
        "for name in ('numpy._core._methods', 'numpy.core._methods'):\n    if name in sys.modules:\n"
        "        sys.modules[name]._mean = sys.modules[name].umr_sum = sys.modules[name]._amax = None"
    ),
    "patches-the-standard-library": Attack(
        "import collections, functools, io, math, operator, re, weakref\n"
        "math.floor = re.compile = functools.partial = collections.namedtuple = operator.add = weakref.ref = None\n"
        "io.StringIO = os.path.join = sys._getframe = None"
    ),
    "replaces-the-places-of-imports": Attack("sys.path = []\nsys.path_hooks = []\nsys.meta_path = []"),
    "replaces-the-importers": Attack("sys.path_importer_cache.update(dict.fromkeys(sys.path))"),
    "replaces-modules": Attack("sys.modules['random'] = sys.modules['json'] = None"),
    "replaces-all-modules": Attack("sys.modules = {}"),
    # Settings
    "prints-one-digit": Attack("np.set_printoptions(precision=1, formatter={'float': lambda _: 'none'})"),
    "converts-few-digits": Attack("getattr(sys, 'set_int_max_str_digits', int)(640)"),
    "traces-new-threads": Attack("def trace(*_):\n    raise KeyError\nthreading.settrace(trace)"),
    "leaves-a-running-event-loop": Attack("import asyncio\nasyncio._set_running_loop(asyncio.new_event_loop())"),
    "logs-nothing": Attack("import logging\nlogging.disable(logging.CRITICAL)\nlogging.root.handlers.append(None)"),
    "waits-for-no-socket": Attack("import socket\nsocket.setdefaulttimeout(1e-6)"),
    "runs-a-function-in-forks": Attack("os.register_at_fork(after_in_child=lambda: os._exit(1))"),
    "filters-system-calls": Attack(SYSTEM_CALL_FILTER),
    # Streams, descriptors and the supervisor
    "replaces-the-output": Attack(
        "class Output:\n    name, closed = sys.stdout.name, False\n    def write(self, _):\n        raise OSError\n"
        "sys.stdout = Output()"
    ),
    "redirects-the-output": Attack("os.dup2(os.open('/dev/full', os.O_WRONLY), 1)\nos.dup2(1, 2)"),
    "redirects-all-outputs": Attack(
        "full = os.open('/dev/full', os.O_WRONLY)\nfor descriptor in (1, 2, 200):\n    os.dup2(full, descriptor)"
    ),
    "leaves-descriptors-open": Attack("for _ in range(600):\n    os.open('/dev/null', 0)"),
    "terminates-the-supervisor": Attack(f"{SUPERVISOR}\nos.kill(supervisor, signal.SIGTERM)"),
    **UNCHECKED_ATTACKS,
    **SURROUNDING_ATTACKS,
    **RESOURCE_ATTACKS,
}  # fmt: skip
"""Attacks by name, in the order of the strides that select them."""
