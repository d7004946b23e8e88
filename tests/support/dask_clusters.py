"""Dask schedulers and workers in separate processes on the loopback interface, with connections that can be cut."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from conformance import IncompleteRun
from tests import ROOT

HERE = Path(__file__).parent
PATIENCE = 60


def until(found):
    """Wait until a function returns a true value; return it."""
    end = time.monotonic() + PATIENCE
    while not (value := found()):
        assert time.monotonic() < end, "timed out"
        time.sleep(0.05)
    return value


def process(*arguments):
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    variables = {**os.environ, "PYTHONPATH": path, "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "1s"}
    command = [sys.executable, "-m", "dask", *map(str, arguments)]
    return subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Cluster:
    """A scheduler, and the workers that a test starts and kills."""

    def __init__(self, folder):
        file = folder / "scheduler.json"
        self.processes = []
        self.folder = folder
        self._start("scheduler", "--host", "127.0.0.1", "--port", 0, "--no-dashboard", "--scheduler-file", file)
        self.address = until(lambda: file.exists() and file.read_text() and json.loads(file.read_text())["address"])

    def _start(self, *arguments):
        self.processes.append(process(*arguments))
        return self.processes[-1]

    def worker(self, address=None):
        """Start a worker with one thread, which connects at an address that leads to the scheduler."""
        return self._start(
            "worker", address or self.address, "--nthreads", 1, "--no-nanny", "--no-dashboard", "--host", "127.0.0.1",
            "--local-directory", self.folder, "--death-timeout", PATIENCE,
        )  # fmt: skip

    def end(self):
        for one in self.processes:
            one.kill()
            one.wait()


class Cable:
    """TCP proxy of a scheduler whose connections can be cut. New connections are accepted afterwards."""

    def __init__(self, address):
        host, port = address.removeprefix("tcp://").split(":")
        self.far = host, int(port)
        self.ends = []
        self.gone = False
        self.server = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self.server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self.server.accept()
            except OSError:
                return
            far = socket.create_connection(self.far)
            self.ends += [near, far]
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=carry, args=(one, other), daemon=True).start()
            if self.gone:  # accepted while it was being removed
                self.cut()

    def cut(self):
        ends, self.ends = self.ends, []
        for end in ends:
            shut(end)

    def remove(self):
        self.gone = True
        shut(self.server)  # after close alone, the accepting thread would accept one more connection
        self.server.close()
        self.cut()


def carry(one, other):
    try:
        while data := one.recv(1 << 16):
            other.sendall(data)
    except OSError:
        pass
    for end in (one, other):
        shut(end)
        end.close()


def shut(end):
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


def noted(folder, number):
    """Work item: write the process id to a file name, wait for the file `go`, return the square of the number."""
    (folder / f"{number}-begun-{os.getpid()}").touch()
    until((folder / "go").exists)
    return number * number


def raising(number):
    """Work item that raises an error of the suite."""
    raise IncompleteRun(f"no framework for {number}")


def ending(folder):
    """Work item that ends its process."""
    (folder / f"ended-{os.getpid()}").touch()
    os._exit(1)
