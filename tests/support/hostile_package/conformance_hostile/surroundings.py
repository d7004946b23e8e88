"""Programs that damage other processes, the processor, objects in memory and the worker itself, or end later."""

from .unchecked import CRASHED, FAIL, PASS, TIMED_OUT, Attack

ANY = PASS | FAIL | CRASHED | TIMED_OUT | frozenset({"flaky", "slow"})
"""The status of such a program depends on the interpreter, on rights of the user, and on the process that runs it."""
MACHINE_CODE = """\
import mmap, platform
def execute(code):
    area = mmap.mmap(-1, 4096, prot=7)
    area.write(bytes.fromhex(code + "c3"))
    np.area = area
    return ctypes.CFUNCTYPE(ctypes.c_size_t)(ctypes.addressof(ctypes.c_char.from_buffer(area)))
if platform.machine() == "x86_64":
    execute("{code}")()"""
RAISES = "\nraise ValueError('unexpected, so that the program runs alone, too')"
LIMIT_OF_PARENT = "import resource\nresource.prlimit(os.getppid(), resource.RLIMIT_{name}, ({limit}, {limit}))" + RAISES
PATCHED_TYPE = """\
import gc
names = gc.get_referents({type}.__dict__)[0]
names['{name}'] = {value}
ctypes.pythonapi.PyType_Modified(ctypes.py_object({type}))"""
LATER = "process, folder = os.getpid(), os.environ['TMPDIR']\nif os.fork() == 0:\n    {action}\n    os._exit(0)"
TIMER = """\
class Event(ctypes.Structure):
    _fields_ = [("value", ctypes.c_void_p), ("number", ctypes.c_int), ("kind", ctypes.c_int), ("_", ctypes.c_char * 48)]
timer, library = ctypes.c_void_p(), ctypes.CDLL("librt.so.1")
library.timer_create(1, ctypes.byref(Event(None, {signal}, 0)), ctypes.byref(timer))
library.timer_settime(timer, 0, (ctypes.c_long * 4)(0, 50_000_000, 0, 90_000_000), None)"""
OBJECTS_OF_WORKER = "import gc\nfor one in gc.get_objects():\n    if type(one).__name__ == '{type}':\n        {action}"
REMOVE_FOLDERS = """\
import glob, shutil
for one in glob.glob(os.path.dirname(os.environ["TMPDIR"].rstrip("/")) + "/*"):
    shutil.rmtree(one, ignore_errors=True)"""
PENDING_CALL = """\
function = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(lambda _: {action})
np.function = function
for _ in range({count}):
    ctypes.pythonapi.Py_AddPendingCall(function, None)"""
WRITE_TO_PARENT = """\
memory = os.open(f"/proc/{os.getppid()}/mem", os.O_RDWR)
for line in open(f"/proc/{os.getppid()}/maps"):
    if "[heap]" in line:
        os.pwrite(memory, bytes(32768), int(line.split("-")[0], 16) + 65536)"""
ERROR = "class Error(Exception):\n    def __str__(self):\n        {action}\nraise Error"

SURROUNDING_ATTACKS = {
    # The parent: the supervisor, or another process if the program runs alone
    "parent-opens-no-files": Attack(LIMIT_OF_PARENT.format(name="NOFILE", limit=5), ANY),
    "parent-writes-no-files": Attack(LIMIT_OF_PARENT.format(name="FSIZE", limit=0), ANY),
    "parent-has-no-memory": Attack(LIMIT_OF_PARENT.format(name="AS", limit=1 << 20), ANY),
    "parent-has-no-time": Attack(LIMIT_OF_PARENT.format(name="CPU", limit=1), ANY),
    "parent-is-stopped": Attack("os.kill(os.getppid(), signal.SIGSTOP)" + RAISES, ANY),
    "parent-is-killed": Attack("os.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(0.1)" + RAISES, ANY),
    "parent-gets-many-signals": Attack(
        "for number in (1, 2, 3, 10, 12, 13, 14, 15, 24, 25, 30):\n    os.kill(os.getppid(), number)" + RAISES, ANY
    ),
    "parent-is-overwritten": Attack(WRITE_TO_PARENT + RAISES, ANY),
    "takes-the-requests-of-its-parent": Attack(
        "try:\n    os.read(os.open(f'/proc/{os.getppid()}/fd/0', os.O_RDONLY | os.O_NONBLOCK), 1 << 20)\n"
        "except OSError:\n    pass",
        ANY,
    ),
    "priority-of-the-group-is-low": Attack("os.setpriority(os.PRIO_PGRP, 0, 15)" + RAISES, ANY),
    "priority-of-the-group-is-low-and-exits": Attack("os.setpriority(os.PRIO_PGRP, 0, 15)\nos._exit(3)", ANY),
    "errors-do-not-wait-and-exits": Attack("os.set_blocking(2, False)\nos._exit(3)", ANY),
    "errors-do-not-wait": Attack("os.set_blocking(2, False)" + RAISES, ANY),
    # Files and children
    "removes-the-folders-of-all-workers": Attack(REMOVE_FOLDERS, ANY),
    "removes-the-folders-of-all-workers-and-fails": Attack(REMOVE_FOLDERS + RAISES, ANY),
    "child-kills-later": Attack(LATER.format(action="time.sleep(0.3); os.kill(process, 9)"), ANY),
    "child-stops-later": Attack(LATER.format(action="time.sleep(0.2); os.kill(process, signal.SIGSTOP)"), ANY),
    "child-interrupts-often": Attack(
        LATER.format(action="[(time.sleep(0.01), os.kill(process, signal.SIGINT)) for _ in range(100)]"), ANY
    ),
    "child-floods-the-errors": Attack(LATER.format(action="[os.write(2, b'e' * 65536) for _ in range(300)]"), ANY),
    "child-removes-files-later": Attack(
        LATER.format(action="import shutil; [(time.sleep(0.03), shutil.rmtree(folder, True)) for _ in range(20)]"), ANY
    ),
    "leaves-many-children": Attack(
        "for _ in range(60):\n    if os.fork() == 0:\n        time.sleep(50)\n        os._exit(0)", ANY
    ),
    # The processor
    "copies-backwards": Attack(MACHINE_CODE.format(code="fd"), ANY),
    "fills-the-stack-of-x87": Attack(MACHINE_CODE.format(code="d9e8" * 8), ANY),
    "leaves-the-state-of-mmx": Attack(MACHINE_CODE.format(code="0f6ec0"), ANY),
    "has-no-thread-register": Attack(
        "import platform\nif platform.machine() == 'x86_64':\n    ctypes.CDLL(None).syscall(158, 0x1002, 0)", ANY
    ),
    "executes-an-undefined-instruction": Attack(MACHINE_CODE.format(code="0f0b"), ANY),
    # Events that come later
    "calls-later": Attack(PENDING_CALL.format(action="1 // 0", count=1), ANY),
    "fails-later-many-times": Attack(PENDING_CALL.format(action="-1", count=32), ANY),
    "interrupts-later": Attack("import _thread\n_thread.interrupt_main()", ANY),
    "timer-of-the-system": Attack(TIMER.format(signal=12), ANY),
    "timer-of-the-system-that-kills": Attack(TIMER.format(signal=9), ANY),
    "aborts-in-forks": Attack(
        "function = np.function = ctypes.CFUNCTYPE(None)(os.abort)\n"
        "getattr(ctypes.CDLL(None), '__register_atfork', abs)(None, None, function, None)",
        ANY,
    ),
    "traces-all-frames": Attack(
        "def trace(*_):\n    raise KeyError\nsys.settrace(trace)\nframe = sys._getframe()\nwhile frame:\n"
        "    frame.f_trace = trace\n    frame = frame.f_back",
        ANY,
    ),
    # Objects in memory
    "replaces-the-loops-of-a-ufunc": Attack(
        "source = ctypes.c_void_p.from_address(id(np.subtract) + 40).value\n"
        "ctypes.c_void_p.from_address(id(np.add) + 40).value = source",
        ANY,
    ),
    "overwrites-an-interned-text": Attack("ctypes.memmove(id(sys.intern('median')) + 48, b'medixx', 6)", ANY),
    "overwrites-true": Attack("ctypes.c_uint32.from_address(id(True) + 24).value = 0", ANY),
    "overwrites-the-empty-tuple": Attack("ctypes.c_ssize_t.from_address(id(()) + 16).value = 1", ANY),
    "lists-do-not-append": Attack(PATCHED_TYPE.format(type="list", name="append", value="lambda *_: None"), ANY),
    "dictionaries-find-nothing": Attack(PATCHED_TYPE.format(type="dict", name="get", value="lambda *_: None"), ANY),
    "bytes-are-not-joined": Attack(PATCHED_TYPE.format(type="bytes", name="join", value="lambda *_: b''"), ANY),
    # The worker itself
    "worker-forgets-its-state": Attack(
        OBJECTS_OF_WORKER.format(type="ProcessState", action="one.restore = lambda: ([], '')"), ANY
    ),
    "worker-has-other-programs": Attack(
        OBJECTS_OF_WORKER.format(
            type="ProgramRunner", action="one._compiled.update(dict.fromkeys(one._compiled, lambda x: x * 0))"
        ),
        ANY,
    ),
    "worker-has-no-names": Attack(OBJECTS_OF_WORKER.format(type="ProgramRunner", action="one._names.clear()"), ANY),
    "worker-cannot-reply": Attack("vars(sys.modules['__main__']).update(write_frame=None, read_frame=None)", ANY),
    "worker-runs-no-program": Attack("vars(sys.modules['__main__']).update(run_program=lambda *_: 1 // 0)", ANY),
    # Namespaces
    "has-another-network": Attack("ctypes.CDLL(None).unshare(0x40000000)", ANY),
    "has-another-process-namespace": Attack("ctypes.CDLL(None).unshare(0x20000000)", ANY),
    "hides-the-processes": Attack(
        "library = ctypes.CDLL(None)\nif library.unshare(0x00020000) == 0:\n"
        "    library.mount(b'none', b'/', None, 1 << 18 | 1 << 14, None)\n"
        "    library.mount(b'none', b'/proc', b'tmpfs', 0, None)",
        ANY,
    ),
    # Replies
    "returns-many-arrays": Attack("x = (x,) * 100_000", ANY),
    "text-of-the-error-hangs": Attack(ERROR.format(action="while True: pass"), TIMED_OUT),
    "text-of-the-error-forks": Attack(ERROR.format(action="os.fork(); return ''"), FAIL),
    "time-is-no-number": Attack("time.perf_counter = lambda: float('nan')", ANY),
}  # fmt: skip
"""Attacks by name."""
