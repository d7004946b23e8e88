"""What a worker owns after a program, which another process may miss."""

import ctypes
import os

import pytest

from conformance.execution.job import Job
from tests.support.fake_backends import backend, program
from tests.support.hostile_package.conformance_hostile.resources import CHAIN, DELETED_CODE
from tests.support.semaphores import unshared_semaphores
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
MAPPING = """\
import ctypes, fcntl, tempfile
file = {open}
file.write(bytes(4096))
file.flush()
{lock}
library = ctypes.CDLL(None)
library.mmap.restype = ctypes.c_void_p
library.mmap(None, ctypes.c_size_t(4096), 1, 2, file.fileno(), ctypes.c_long(0))
{remove}
file.close()"""
# The mapping can only be read, and no other process has it. The file is not in the temporary folder of the worker.
LOCK_OF_A_MAPPING = MAPPING.format(
    open="open('/dev/shm/conformance-owned-lock', 'wb+')",
    lock="fcntl.flock(file, 2)",
    remove="os.remove(file.name)",
)
LOCK_OF_AN_OPEN_FILE = MAPPING.format(
    open="open('/dev/shm/conformance-owned-lock', 'wb+')",
    lock="import struct\nfcntl.fcntl(file, 37, struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 0, 0))",  # F_OFD_SETLK
    remove="os.remove(file.name)",
)
LOCK_OF_A_CHILD = MAPPING.format(
    open="open('/dev/shm/conformance-owned-lock', 'wb+')",
    lock="if os.fork() == 0:\n    fcntl.flock(file, 2)\n    os._exit(0)\nos.wait()",
    remove="os.remove(file.name)",
)
DELETED_FILE = MAPPING.format(open="tempfile.TemporaryFile()", lock="", remove="")
MAPPED_SOCKET = """\
import ctypes, socket
server = socket.create_server(("127.0.0.1", 0))
library = ctypes.CDLL(None)
library.mmap.restype = ctypes.c_void_p
address = library.mmap(None, ctypes.c_size_t(4096), 1, 1, server.fileno(), ctypes.c_long(0))
assert address != ctypes.c_void_p(-1).value
server.close()"""
PROCESS_WITHOUT_FIRST_THREAD = """\
import ctypes, threading
if os.fork() == 0:
    threading.Thread(target=time.sleep, args=[60]).start()
    ctypes.CDLL(None).pthread_exit(None)
time.sleep(0.2)"""
SEMAPHORE = """\
import ctypes
library = ctypes.CDLL(None, use_errno=True)
key = library.semget(0, 1, 0o1600)
library.semctl(key, 0, 16, 1)
library.semop(key, (ctypes.c_short * 3)(0, -1, 0x1000), ctypes.c_size_t(1))
os.semaphore = key"""
IMPORTS = "import ctypes, threading\n"
# A thread of C, because a worker ends after a program that leaves a thread of Python.
PENDING_THREAD = """\
library = ctypes.CDLL(None)
ready = []
def wait(_):
    library.pthread_sigmask(0, bytes(4) + bytes([128]) + bytes(123), None)
    for _ in range(9):
        library.pthread_sigqueue(ctypes.c_ulong(library.pthread_self()), 40, None)
    ready.append(1)
    library.sleep(60)
    return 0
os.callback = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)(wait)
library.pthread_self.restype = ctypes.c_ulong
library.pthread_create(ctypes.byref(ctypes.c_size_t()), None, os.callback, None)
while not ready:
    time.sleep(0.01)"""
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
    LOCK_OF_A_MAPPING: "a lock",
    LOCK_OF_AN_OPEN_FILE: "a lock",
    LOCK_OF_A_CHILD: "a lock",
    PROCESS_WITHOUT_FIRST_THREAD: "a process",
    DELETED_FILE: "a deleted file",
    MAPPED_SOCKET: "a socket",
    SEMAPHORE: "a semaphore",
    DAEMON: "a process",
    NATIVE_THREAD: "a socket",
    TIMER: "a timer",
    IMPORTS + DELETED_CODE: "a deleted file",
    IMPORTS + PENDING_THREAD: "a pending signal",
    IMPORTS + CHAIN.format(seconds=60, microseconds=0): "a process",
    IMPORTS + CHAIN.format(seconds=60, microseconds=1000): "a process",
}


@pytest.fixture(autouse=True)
def semaphores():
    with unshared_semaphores():
        yield


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


@pytest.mark.parametrize(("body", "owned"), [("pass", ""), ("library.semop(key, {operation}, size)", "a semaphore")])
def test_change_of_an_earlier_semaphore_is_found(body, owned):
    library = ctypes.CDLL(None)
    key = library.semget(0, 1, 0o1600)
    assert key >= 0
    setup = f"{backend().setup}import ctypes\nlibrary, key, size = ctypes.CDLL(None), {key}, ctypes.c_size_t(1)\n"
    with started(setup=setup) as worker:
        body = body.format(operation="(ctypes.c_short * 3)(0, 1, 0x1000)")
        (found,) = worker.outcomes([Job(program(body), [X])])
        assert found.kind == "returned"
        assert worker.connection.owned_resource() == owned


NAMED = {
    "a message queue": """\
import ctypes
library = ctypes.CDLL(None)
queue = library.mq_open({name!r}.encode(), os.O_RDWR | os.O_CREAT, 0o600, None)
assert queue >= 0
library.mq_unlink({name!r}.encode())
queue = library.mq_open({name!r}.encode(), os.O_RDWR | os.O_CREAT, 0o600, None)""",
    "shared memory": """\
import mmap
with open({path!r}, "wb+") as file:
    file.truncate(4096)
    memory = mmap.mmap(file.fileno(), 4096)""",
}


@pytest.mark.parametrize(("owned", "opening"), NAMED.items(), ids=NAMED)
def test_what_the_setup_has_opened_and_others_can_open_counts(tmp_path, owned, opening):
    name = f"/conformance-owned-{os.getpid()}"
    opening = opening.format(name=name, path=str(tmp_path / "memory"))
    with started(setup=f"{backend().setup}{opening}\n") as worker:
        (found,) = worker.outcomes([Job(program("pass"), [X])])
        assert found.kind == "returned"
        assert worker.connection.owned_resource() == owned
    ctypes.CDLL(None).mq_unlink(name.encode())


def test_deleted_file_that_the_setup_has_mapped_is_not_counted():
    with started(setup=f"{backend().setup}{IMPORTS}{DELETED_CODE}\n") as worker:
        (found,) = worker.outcomes([Job(program("pass"), [X])])
        assert found.kind == "returned"
        assert worker.connection.owned_resource() == ""
