"""Command line with limits of time and memory, and an audit hook that records written files and started processes."""

import contextlib
import io
import os
import resource
import signal
import sys
import tempfile
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from conformance import cli
from conformance.adapters.api import declarations
from conformance.judging import ledger

SECONDS = 20
"""Limit of processor time for a command, in seconds. Commands normally take a hundredth of it."""
ROOM = 2 << 30
STARTS = {
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "subprocess.Popen",
    "pickle.find_class",
    "socket.connect",
}
WRITES = {"os.remove", "os.rename", "os.mkdir", "os.rmdir", "shutil.rmtree", "os.link", "os.symlink", "os.truncate"}


@dataclass
class Watch:
    """Recorder of forbidden events. folder: the only folder in which files may be written."""

    folder: str = ""
    seen: list = field(default_factory=list)

    def hook(self, event, arguments):
        """Record an audit event of the interpreter if it is forbidden."""
        if not self.folder:
            return
        if event in STARTS:
            self.seen.append((event, arguments))
        written = arguments[:1] if event in WRITES else ()
        if event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            written = arguments[:1]
        for path in written:
            if isinstance(path, (str, bytes)) and not self._inside(os.fsdecode(path)):
                self.seen.append((event, path))

    def _inside(self, path):
        return os.path.realpath(path).startswith(self.folder) or path == os.devnull


WATCH = Watch()
sys.addaudithook(WATCH.hook)


def _stop(_signal, _frame):
    raise TimeoutError(f"no end after {SECONDS} seconds")


def _read(_files, load, _classes):
    return load()


@contextlib.contextmanager
def bounded(folder):
    """Apply the limits to the block. Files may be written only in the folder.

    The caches of the suite's own declarations and ledger are bypassed, because their files are outside the folder.
    Temporary files are written in it. A module that the command imports first is not written as bytecode.
    """
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGVTALRM, _stop)
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, hard))
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    WATCH.folder, WATCH.seen = os.path.realpath(folder), []
    try:
        with (
            mock.patch.object(ledger, "cached_data", _read),
            mock.patch.object(declarations, "cached_data", _read),
            mock.patch.object(sys, "dont_write_bytecode", True),
            mock.patch.object(tempfile, "tempdir", str(folder)),
        ):
            yield WATCH
    finally:
        WATCH.folder = ""
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGVTALRM, before)
    assert WATCH.seen == [], WATCH.seen


def command(folder, *arguments):
    """Run the command line; return exit status, standard output and standard error, without control characters."""
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n") for _ in range(2)]
    with bounded(folder), contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        try:
            cli.main([str(argument) for argument in arguments])
        except SystemExit as left:
            status = left.code or 0
    out, error = (_written(stream) for stream in streams)
    assert status in {0, 1, 2, 3}, (status, error)
    errors = [line for line in error.splitlines() if line.startswith("conformance: ")]
    assert not errors if status < 2 else errors or (status == 3 and out), (status, error)
    assert "Traceback" not in error, error
    check_printable(out)
    check_printable(error)
    for line in error.splitlines():
        assert len(line) < 2000, line
    return status, out, error


def _written(stream):
    stream.flush()
    return stream.buffer.getvalue().decode()


@contextlib.contextmanager
def silenced():
    """Suppress standard output and the exit status of a command."""
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        yield


def check_printable(text):
    """Check that a text has no control or formatting characters except newlines."""
    found = {sign for sign in text if unicodedata.category(sign) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and sign != "\n"}
    assert not found, found
