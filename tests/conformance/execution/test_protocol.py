"""Frames between the suite and a worker, and checks of replies."""

import io

import numpy as np
import pytest

from conformance.execution import worker
from conformance.execution.protocol import (
    encode_frame,
    is_program_reply,
    is_start_reply,
    read_frame,
    start_failure_message,
)
from conformance.judging.verdict import ProgramOutcome
from reports.results import Outcome

ARRAYS = [np.arange(6, dtype=np.float32).reshape(2, 3), np.array(7, dtype=np.int64), np.zeros((0, 2), dtype=bool)]
START = {
    "ready": True,
    "python": "3.11.7",
    "packages": {"numpy": "2.4.6"},
    "cpu": ["avx2"],
    "forks": False,
    "resources": [],
    "unfiltered": "",
}
REPLY = {"outcome": "returned", "message": "", "seconds": 0.5, "certain": False, "changed": [], "exit": ""}


@pytest.mark.parametrize("read", [read_frame, worker.read_frame])
def test_frame_is_read_back_by_both_sides(read):
    header, arrays = read(io.BytesIO(encode_frame({"program": "p"}, ARRAYS)))
    assert header["program"] == "p"
    assert [(one.dtype, one.shape, one.tolist()) for one in arrays] == [
        (one.dtype, one.shape, one.tolist()) for one in ARRAYS
    ]


@pytest.mark.parametrize("missing", [1, 8, 40])
def test_frame_of_a_worker_that_died_while_writing_is_invalid(missing):
    assert read_frame(io.BytesIO(encode_frame({}, ARRAYS)[:-missing])) is None


@pytest.mark.parametrize("shape", [[True], [-1], "1", [1.0], [1] * 65, [1 << 60], [1 << 60] * 200_000])
def test_shape_that_is_no_list_of_sizes_is_invalid(shape):
    content = encode_frame({}, [np.ones(1, dtype=np.float32)])
    header, body = worker.FRAME_LENGTHS.unpack(content[:16]), content[-4:]
    text = b'{"arrays": [{"dtype": "float32", "shape": %s}]}' % str(shape).replace("T", "t").replace("'", '"').encode()
    assert header[1] == len(body)
    assert read_frame(io.BytesIO(worker.FRAME_LENGTHS.pack(len(text), len(body)) + text + body)) is None


@pytest.mark.parametrize(
    "change",
    [
        {"ready": 1},
        {"python": None},
        {"packages": []},
        {"packages": {"numpy": 2}},
        {"cpu": [1]},
        {"cpu": "avx2"},
        {"unfiltered": None},
        {"unfiltered": "two\nlines"},
        {"unfiltered": "x" * 401},
    ],
)
def test_start_reply_with_a_wrong_field_is_invalid(change):
    assert is_start_reply(START)
    assert not is_start_reply({**START, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": "timed_out"},
        {"outcome": []},
        {"message": None},
        {"seconds": 1},
        {"seconds": float("inf")},
        {"seconds": 1e308},
        {"seconds": -0.5},
        {"certain": 0},
        {"changed": ["rounding mode", 0]},
        {"changed": "rounding mode"},
        {"exit": None},
    ],
)
def test_program_reply_with_a_wrong_field_is_invalid(change):
    assert is_program_reply(REPLY)
    assert not is_program_reply({**REPLY, **change})


def test_failed_start_has_a_hint():
    died = ProgramOutcome(Outcome.CRASHED, message="the process exited with status 1; last output: no module")
    assert start_failure_message(died, "").endswith("(a worker needs Python 3.8 or newer, and NumPy)")
    late = ProgramOutcome(Outcome.TIMED_OUT, message="no answer within 2 s")
    assert "--start-timeout sets this limit; last output: x" in start_failure_message(late, "; last output: x")
