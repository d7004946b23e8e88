"""Programs that use resources of the system which the list of a process does not contain, or that fork very fast."""

from .surroundings import ANY
from .unchecked import Attack

LIBRARY = "library = ctypes.CDLL(None, use_errno=True)\n"
CHAIN = f"""\
{LIBRARY}library.time.restype = ctypes.c_long
end = time.time() + {{seconds}}
if library.fork() == 0:
    while library.time(None) < end:
        library.setsid()
        library.usleep({{microseconds}})
        if library.fork():
            library._exit(0)
    library._exit(0)"""
"""A process whose child, in a session of its own, replaces it again and again."""
SOCKETS_IN_QUEUES = """\
import array, socket
def send(by, *sent):
    by.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [one.fileno() for one in sent]))])
first, second = socket.socketpair()
server = socket.socket()
server.bind(("127.0.0.1", {port}))
send(first, server, second)
server.close()
first.close()
time.sleep(0.2)  # the system searches for such sockets after each close
second.close()"""
"""A socket in the queue of a socket that is only in its own queue."""
PENDING_SIGNALS = f"""\
{LIBRARY}ready = threading.Event()
def wait():
    signal.pthread_sigmask(signal.SIG_BLOCK, [40])
    for _ in range({{count}}):
        library.pthread_sigqueue(ctypes.c_ulong(threading.get_ident()), 40, None)
    ready.set()
    time.sleep(60)
np.waiting = threading.Thread(target=wait, daemon=True)
np.waiting.start()
ready.wait()"""
IMMUTABLE_FILE = """\
import fcntl, tempfile
try:
    fcntl.ioctl(tempfile.NamedTemporaryFile(delete=False), 0x40086602, bytes([0x10, 0, 0, 0, 0, 0, 0, 0]))
except OSError:
    pass"""
DELETED_CODE = f"""\
import mmap, tempfile
{LIBRARY}with tempfile.NamedTemporaryFile() as file:
    file.write(bytes(4096))
    file.flush()
    library.mmap.restype = ctypes.c_void_p
    library.mmap(None, ctypes.c_size_t(4096), 5, 2, file.fileno(), ctypes.c_long(0))"""
KEY = (
    LIBRARY
    + """\
import platform
if platform.machine() == "x86_64":
    library.syscall(248, b"user", b"conformance", b"x", ctypes.c_size_t(1), ctypes.c_long(-5))"""
)

RESOURCE_ATTACKS = {
    "forks-and-exits-fast": Attack(CHAIN.format(seconds=60, microseconds=0), ANY),
    "forks-and-exits-each-millisecond": Attack(CHAIN.format(seconds=60, microseconds=1000), ANY),
    "forks-and-exits-and-fails": Attack(
        CHAIN.format(seconds=60, microseconds=300) + "\nraise ValueError('unexpected')", ANY
    ),
    "leaves-sockets-in-queues": Attack(SOCKETS_IN_QUEUES.format(port=0)),
    "leaves-pending-signals": Attack(PENDING_SIGNALS.format(count=5000), ANY),
    "leaves-an-immutable-file": Attack(IMMUTABLE_FILE),
    "leaves-deleted-code": Attack(DELETED_CODE),
    "leaves-a-key": Attack(KEY),
    "reserves-processor-time": Attack(
        LIBRARY + "import struct, platform\nif platform.machine() == 'x86_64':\n"
        "    policy = struct.pack('IIQiIQQQ', 48, 6, 0, 0, 0, 9 * 10**8, 10**9, 10**9)\n"
        "    library.syscall(314, 0, policy, 0)",
        ANY,
    ),
}  # fmt: skip
"""Attacks by name."""
