"""What a worker owns after a program, which another process may miss."""

import pytest

from conformance.execution.job import Job
from tests.support.fake_backends import backend, program
from tests.support.started_workers import X, soon, started

KEEP = "os.kept = "
NATIVE_THREAD = """\
import ctypes, socket, threading
library = ctypes.CDLL(None)
os.socket, os.ready = socket.socket(), []
def keep(_):
    library.unshare(0x400)  # a table of files of its own
    os.ready.append(1)
    library.sleep(60)
    return 0
os.callback = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)(keep)
library.pthread_create(ctypes.byref(ctypes.c_size_t()), None, os.callback, None)
while not os.ready:
    time.sleep(0.01)
os.socket.close()"""
TIMER = """\
import ctypes
timer, library = ctypes.c_void_p(), ctypes.CDLL("librt.so.1")
library.timer_create(1, (ctypes.c_int * 16)(0, 0, 12, 1), ctypes.byref(timer))"""
DAEMON = """\
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(60)
    os._exit(0)
os.wait()"""
OWNED = {
    "pass": "",
    "os.close(os.open('/dev/null', 0))": "",
    f"{KEEP}os.open('/dev/null', 0)": "",
    "if os.fork() == 0:\n    os._exit(0)": "",
    f"import socket\n{KEEP}socket.socket()": "a socket",
    f"import fcntl, tempfile\n{KEEP}open(os.devnull)\nfcntl.flock({KEEP[:-3]}, 2)": "a lock",
    f"{KEEP}open(os.__file__)": "an open file",
    f"import ctypes\n{KEEP}ctypes.CDLL(None).inotify_init1(0)": "an open file",
    f"import mmap\n{KEEP}mmap.mmap(-1, 4096)": "shared memory",
    "import tempfile\ntempfile.mkstemp()": "a temporary file",
    "if os.fork() == 0:\n    time.sleep(60)": "a process",
    DAEMON: "a process",
    NATIVE_THREAD: "a socket",
    TIMER: "a timer",
}


@pytest.mark.parametrize(("body", "owned"), OWNED.items(), ids=[f"{n}-{what}" for n, what in enumerate(OWNED.values())])
def test_resource_of_a_program_is_found(body, owned):
    with started() as worker:
        (found,) = worker.outcomes([Job(program(body), [X])])
        assert found.kind == "returned"
        assert soon(lambda: worker.connection.owned_resource() == owned, 2), worker.connection.owned_resource()


def test_what_the_setup_has_opened_is_not_counted():
    setup = f"{backend().setup}import mmap\nfile, memory = open(os.__file__), mmap.mmap(-1, 4096)\n"
    with started(setup=setup) as worker:
        (found,) = worker.outcomes([Job(program("file.read(1)"), [X])])
        assert found.kind == "returned"
        assert worker.connection.owned_resource() == ""
