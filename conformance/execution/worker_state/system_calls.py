"""Filter of system calls for programs of other packages: what the suite can neither find nor end is refused.

Each refused call leaves something that /proc does not list, or that remains after the process. A program gets the
error of a kernel without the call, or of a process without the right. docs/robustness.md lists the frameworks that were
run with the filter.
Linux on x86-64 and aarch64; other systems have no filter. Source: `man 2 seccomp`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # Python 3.8 cannot evaluate these annotations
    from collections.abc import Sequence


class RefusedCall(NamedTuple):
    """A system call: its numbers on x86-64 and aarch64, the error, and the values of an argument that are refused.

    argument: the index of the argument whose low 32 bits are compared. Without values, each call is refused.
    """

    name: str
    x86_64: int
    aarch64: int
    error: int
    argument: int = 0
    values: Sequence[int] = ()


SET_SECCOMP = 22
"""Linux constant PR_SET_SECCOMP: prctl installs a filter."""
SET_FLAGS, SET_EXTENDED_FLAGS = 0x40086602, 0x401C5820
"""Linux constants FS_IOC_SETFLAGS and FS_IOC_FSSETXATTR: ioctl sets attributes of a file, such as immutable."""
REFUSED_CALLS = (
    # Sockets that only a ring has, and memory that is not mapped: /proc lists neither.
    RefusedCall("io_uring_setup", 425, 425, errno.ENOSYS),
    RefusedCall("io_setup", 206, 0, errno.ENOSYS),
    # The processor time that SCHED_DEADLINE reserves is missing for all processes. Its flags are behind a pointer.
    RefusedCall("sched_setattr", 314, 274, errno.EPERM),
    # An immutable file cannot be removed.
    RefusedCall("ioctl", 16, 29, errno.EPERM, 1, (SET_FLAGS, SET_EXTENDED_FLAGS)),
    RefusedCall("file_setattr", 469, 469, errno.ENOSYS),
    # Keys and mounted file systems remain after the process.
    RefusedCall("add_key", 248, 217, errno.ENOSYS),
    RefusedCall("request_key", 249, 218, errno.ENOSYS),
    RefusedCall("keyctl", 250, 219, errno.ENOSYS),
    RefusedCall("mount", 165, 40, errno.EPERM),
    RefusedCall("move_mount", 429, 429, errno.EPERM),
    # A second filter could not be removed. With this filter, the system does not report whether there is a second one.
    RefusedCall("seccomp", 317, 277, errno.ENOSYS),
    RefusedCall("prctl", 157, 167, errno.EINVAL, 0, (SET_SECCOMP,)),
)
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""Linux constants AUDIT_ARCH of the machines for which there are numbers."""
NUMBER_OFFSET, ARCHITECTURE_OFFSET, ARGUMENT_OFFSET, ARGUMENT_BYTES = 0, 4, 16, 8
"""Places in the C type seccomp_data, and the size of an argument in it."""
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
"""Instructions of BPF: load a word, skip instructions if it is equal, and return."""
ALLOW, ERROR = 0x7FFF0000, 0x00050000
"""Values that a filter returns. The number of the error is in the low 16 bits."""
SET_NO_NEW_PRIVILEGES, SET_FILTER = 38, 1
"""Linux constants PR_SET_NO_NEW_PRIVS, without which only root may install a filter, and SECCOMP_SET_MODE_FILTER."""
ALL_THREADS, ALLOW_SPECULATION = 1, 4
"""Linux constants SECCOMP_FILTER_FLAG_TSYNC and _SPEC_ALLOW. Without the latter, older kernels slow a process down."""


def refuse_calls(calls: Sequence[RefusedCall] = REFUSED_CALLS) -> str:
    """Refuse system calls in all threads of this process and in its later children. Return why not, "" if they are."""
    machine = platform.machine()
    if not sys.platform.startswith("linux") or machine not in ARCHITECTURES or sys.maxsize < 1 << 32:
        return f"the filter needs 64-bit Linux on {' or '.join(ARCHITECTURES)}"
    program = filter_program(ARCHITECTURES[machine], calls, machine)
    instructions = ctypes.create_string_buffer(program, len(program))
    # The C type sock_fprog: the number of instructions and their address.
    header = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(instructions)))
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return f"PR_SET_NO_NEW_PRIVS: {os.strerror(ctypes.get_errno())}"
    (seccomp,) = (getattr(call, machine) for call in REFUSED_CALLS if call.name == "seccomp")
    flags = ctypes.c_long(ALL_THREADS | ALLOW_SPECULATION)
    result = library.syscall(ctypes.c_long(seccomp), ctypes.c_long(SET_FILTER), flags, header)
    if result > 0:  # all threads need the same filter
        return f"seccomp: thread {result} of the framework has a filter of its own"
    return f"seccomp: {os.strerror(ctypes.get_errno())}" if result else ""


def filter_program(architecture: int, calls: Sequence[RefusedCall], machine: str) -> bytes:
    """Return the instructions of a filter. It allows all calls of another architecture, as of a program for 32 bits."""
    lines = [
        instruction(LOAD, ARCHITECTURE_OFFSET),
        instruction(JUMP_IF_EQUAL, architecture, if_equal=1),
        instruction(RETURN, ALLOW),
        instruction(LOAD, NUMBER_OFFSET),
    ]
    for call in calls:
        body = instructions_of_call(call)
        lines += [instruction(JUMP_IF_EQUAL, getattr(call, machine), if_not=len(body)), *body]
    return b"".join([*lines, instruction(RETURN, ALLOW)])


def instructions_of_call(call: RefusedCall) -> list[bytes]:
    """Return the instructions for a call whose number is that of the entry."""
    refuse = instruction(RETURN, ERROR | call.error)
    if not call.values:
        return [refuse]
    # The low half of the argument; both machines are little-endian.
    lines = [instruction(LOAD, ARGUMENT_OFFSET + ARGUMENT_BYTES * call.argument)]
    for value in call.values:
        lines += [instruction(JUMP_IF_EQUAL, value, if_not=1), refuse]
    return [*lines, instruction(RETURN, ALLOW)]


def instruction(code: int, value: int, *, if_equal: int = 0, if_not: int = 0) -> bytes:
    """Return an instruction: its code, the numbers of instructions that a jump skips, and its value."""
    return struct.pack("=HBBI", code, if_equal, if_not, value)
