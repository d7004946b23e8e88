"""Fuzzed frames of a worker: each becomes an outcome, or the worker counts as lost."""

import io
import json

import numpy as np
import pytest
from hypothesis import given, strategies as st

from conformance.execution.job import Job, Limits, WorkerFailed
from conformance.execution.protocol import read_frame
from conformance.execution.worker import FRAME_LENGTHS
from conformance.execution.worker_process import Worker
from tests.support.fake_backends import backend, program
from tests.support.guarded_command import bounded
from tests.support.mutated_documents import bytes_changed, changed, dumped, hostile

X = np.arange(6, dtype=np.float32)
READY = {
    "ready": True,
    "python": "3.11.7",
    "packages": {},
    "cpu": ["avx2"],
    "forks": False,
    "resources": [],
    "unfiltered": "",
    "arrays": [],
}
REPLY = {"outcome": "returned", "message": "", "seconds": 0.1, "certain": False, "changed": [], "exit": ""}
REPLIES = [
    {**REPLY, "arrays": [{"dtype": "float32", "shape": [1, 1, 6]}]},
    {**REPLY, "outcome": "crashed", "message": "MemoryError: no", "arrays": []},
]


def packed(text, body=b""):
    """Return a frame."""
    return FRAME_LENGTHS.pack(len(text), len(body)) + text + body


class Recorded:
    """Replaces Connection: a process that has already sent all its frames."""

    def __init__(self, *contents):
        self.frames = [read_frame(io.BytesIO(content)) for content in contents]
        self.memory_limit = self.memory_bytes = self.excess_bytes = 0
        self.process = type("Process", (), {"pid": 1})

    def note_setup(self, header):
        self.forks, self.resources_at_start = header["forks"], header["resources"]

    def send(self, header, arrays=()):
        pass

    def receive(self, _limit):
        return self.frames.pop(0) if self.frames else None

    def measure_memory(self):
        return 0

    def exit_cause(self):
        return "signal 9"

    def last_output(self):
        return ""

    def stop(self):
        pass

    kill = stop


def outcomes(monkeypatch, *contents):
    """Run one job on a worker that sends these frames."""
    monkeypatch.setattr("conformance.execution.worker_process.Connection", lambda *_: Recorded(*contents))
    return list(Worker(backend(), "python", Limits(), retry=False).outcomes([Job(program("pass"), [X])]))


def judged(folder, monkeypatch, *contents):
    """Run one job on such a worker. Check that it fails to start or yields one outcome of a valid kind."""
    with bounded(folder):
        try:
            (found,) = outcomes(monkeypatch, *contents)
        except WorkerFailed:
            return
    assert found.kind in {"returned", "rejected", "crashed", "timed_out"}
    assert isinstance(found.message, str)
    assert isinstance(found.seconds, float)
    json.dumps([found.message, found.seconds], allow_nan=False)


def test_unchanged_frames_are_an_outcome(monkeypatch):
    (found,) = outcomes(monkeypatch, packed(dumped(READY)), packed(dumped(REPLIES[0]), X.tobytes()))
    assert np.array_equal(found.arrays[0].ravel(), X)


@pytest.mark.parametrize("size", [2**33, 2**63, 2**64 - 1])
def test_frame_with_a_huge_length_is_invalid(size):
    assert read_frame(io.BytesIO(FRAME_LENGTHS.pack(2, size) + b"{}")) is None


@hostile(400)
@given(document=changed([READY]))
def test_changed_first_frame(folder, monkeypatch, document):
    judged(folder, monkeypatch, packed(dumped(document)), packed(dumped(REPLIES[0]), X.tobytes()))


@hostile(1600)
@given(document=changed(REPLIES))
def test_changed_reply(folder, monkeypatch, document):
    judged(folder, monkeypatch, packed(dumped(READY)), packed(dumped(document), X.tobytes()))


@hostile(400)
@given(content=bytes_changed([packed(dumped(reply), X.tobytes()) for reply in REPLIES]), first=st.booleans())
def test_frame_with_other_bytes(folder, monkeypatch, content, first):
    judged(folder, monkeypatch, *([content] if first else [packed(dumped(READY)), content]))
