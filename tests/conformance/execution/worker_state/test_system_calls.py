"""System calls that programs of other packages cannot use."""

import errno
import platform
import sys

import pytest

from conformance.execution.job import Job
from conformance.execution.lone_worker import LoneWorker
from conformance.execution.worker_state.system_calls import ARCHITECTURES, REFUSED_CALLS, refuse_calls
from tests.support.fake_backends import SETUP, backend, program
from tests.support.started_workers import PYTHON, X, outcomes, started

MACHINE = platform.machine()
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or MACHINE not in ARCHITECTURES, reason="the filter needs Linux on x86-64 or aarch64"
)
CALL = """\
import ctypes
library = ctypes.CDLL(None, use_errno=True)
result = library.syscall(ctypes.c_long({number}), *map(ctypes.c_long, {arguments}))
x = x * 0 + (ctypes.get_errno() if result == -1 else 0)"""


FIRST_ARGUMENTS = {"seccomp": (9,), "prctl": (22, 2)}
"""Arguments with which the system itself would return another error. For the other calls, null pointers have one."""


def call_text(call, value=None):
    """Return a program that makes a call and returns the number of its error. value: of the argument that decides."""
    values = [*FIRST_ARGUMENTS.get(call.name, ()), *(0,) * 6]
    if call.values:
        values[call.argument] = value or call.values[0]
    return CALL.format(number=getattr(call, MACHINE), arguments=values[:6])


def error_of(worker, text):
    """Return the error number that a program returns."""
    (found,) = worker.outcomes([Job(program(text), [X])])
    assert found.kind == "returned", found
    return int(found.arrays[0].max())


@pytest.mark.parametrize("call", REFUSED_CALLS, ids=[call.name for call in REFUSED_CALLS])
def test_call_is_refused(call):
    with started() as worker:
        assert error_of(worker, call_text(call)) == call.error


@pytest.mark.parametrize("trusted", [False, True])
def test_worker_of_a_backend_of_the_suite_has_no_filter(trusted):
    def filters(file):
        return next(int(line.split()[1]) for line in file if line.startswith("Seccomp_filters:"))

    with open("/proc/self/status") as file:
        own = filters(file)
    text = "line = next(line for line in open('/proc/self/status') if line.startswith('Seccomp_filters:'))"
    with started(trusted=trusted) as worker:
        assert error_of(worker, f"{text}\nx = x * 0 + int(line.split()[1])") == own + (not trusted)


@pytest.mark.parametrize("call", [call for call in REFUSED_CALLS if call.values], ids=lambda call: call.name)
def test_other_values_of_the_argument_are_allowed(call):
    harmless = {"ioctl": 0x5451, "prctl": 3}[call.name]  # FIOCLEX, PR_GET_DUMPABLE
    with started() as worker:
        assert error_of(worker, call_text(call, value=harmless)) == 0


@pytest.mark.parametrize("where", ["if os.fork() == 0:\n    {}\n    os._exit(0)", "import threading\n{}"])
def test_filter_is_not_a_change_of_the_state(where):
    text = where.format("os.getpid()")
    with started() as worker:
        process = worker.connection.process.pid
        assert [found.kind for found in worker.outcomes([Job(program(text), [X])] * 9)] == ["returned"] * 9
        assert worker.connection.process.pid == process


def test_thread_of_the_setup_has_the_filter():
    (call,) = (call for call in REFUSED_CALLS if call.name == "io_uring_setup")
    text = call_text(call).replace("\n", "\n        ")
    setup = f"""{SETUP}import queue, threading
requests, replies = queue.Queue(), queue.Queue()
def answer():
    while True:
        x = requests.get()
        {text}
        replies.put(x)
threading.Thread(target=answer, daemon=True).start()
"""
    with started(setup=setup) as worker:
        assert error_of(worker, "requests.put(x)\nx = replies.get()") == call.error


def test_program_alone_has_the_filter():
    (call,) = (call for call in REFUSED_CALLS if call.name == "mount")
    worker = LoneWorker(backend(), PYTHON)
    try:
        (found,) = worker.run_alone(Job(program(call_text(call)), [X]))
        assert worker.has_forks
    finally:
        worker.kill()
    assert int(found.arrays[0].max()) == errno.EPERM


SMALL_FILTER = """import ctypes, struct, threading
def filtered(_):
    library = ctypes.CDLL(None)
    allow = ctypes.create_string_buffer(struct.pack("=HBBI", 6, 0, 0, 0x7FFF0000), 8)
    header = ctypes.create_string_buffer(struct.pack("@HP", 1, ctypes.addressof(allow)))
    library.prctl(38, 1, 0, 0, 0)
    library.prctl(22, 2, header, 0, 0)
    ready.set()
    threading.Event().wait()
ready = threading.Event()
threading.Thread(target=filtered, args=(0,), daemon=True).start()
ready.wait()
"""


def test_failed_filter_is_reported_in_one_line(capfd):
    """All threads need the same filter. The setup of this backend has one in a single thread."""
    with started(setup=SETUP + SMALL_FILTER, name="filtered") as worker:
        assert [one.kind for one in worker.outcomes([Job(program("pass"), [X])])] == ["returned"]
    (line,) = capfd.readouterr().err.splitlines()
    start, _, thread = line.partition("thread ")
    assert start == "conformance: backend filtered: programs may make all system calls: seccomp: "
    assert thread.split(maxsplit=1)[1] == "of the framework has a filter of its own"


def test_installed_filter_prints_nothing(capfd):
    with started() as worker:
        assert [one.kind for one in worker.outcomes([Job(program("pass"), [X])])] == ["returned"]
    assert capfd.readouterr().err == ""


def test_machine_without_numbers_has_no_filter(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert refuse_calls() == "the filter needs 64-bit Linux on x86_64 or aarch64"


def test_compiler_runs_below_the_filter():
    text = "import subprocess\nassert subprocess.run(['sh', '-c', 'echo | cat']).returncode == 0"
    assert [one.kind for one in outcomes(text)] == ["returned"]
