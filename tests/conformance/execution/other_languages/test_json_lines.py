"""Workers that speak JSON lines: what they return, and what their errors, forged replies and crashes cost."""

import io
import json
import sys
import time

import numpy as np
import pytest

from conformance.adapters.api import Program, WorkerCommand
from conformance.execution import connection
from conformance.execution.job import Job, Limits, WorkerFailed
from conformance.execution.lone_worker import LoneWorker
from conformance.execution.other_languages.json_lines import MALFORMED, encode_frame, read_frame
from conformance.execution.worker_process import UNEXPECTED_FRAME_MESSAGE, Worker
from conformance.system.owned_resources import resources_of_worker
from tests.support.fake_backends import backend
from tests.support.semaphores import unshared_semaphores
from tests.support.started_workers import PYTHON, X, gone, soon

WORKER = """\
import json, os, sys, time

def send(**reply):
    print(json.dumps(reply), flush=True)

for line in sys.stdin:
    request = json.loads(line)
    id = request["request"]
    if "hello" in request:
        exec(request["setup"])
        send(request=id, hello=1, versions={"fake": "1.5"})
    else:
        arrays = request["arrays"]
        exec(request["program"])
"""
"""A worker whose programs are Python statements that write the reply themselves, as a worker in any language does."""
RIGHT = "send(request=id, arrays=arrays)"
REJECTS = 'send(request=id, error={"type": "RangeError", "message": "no"})'
MISSPELLED = 'send(request=id, error={"kind": "program", "type": "ReferenceError", "message": "no", "line": 1})'
GIVES_UP = 'send(request=id, error={"kind": "crashed", "type": "Memory", "message": "full"})'
FORGED = f'send(request="0" * 16, arrays=arrays)\n{RIGHT}'
DOUBLED = f"{RIGHT}\n{RIGHT}"
MALFORMED_LINES = [
    "print('Loading...', flush=True)",
    "print('{', flush=True)",
    "print('[' * 100000, flush=True)",
    "print('null', flush=True)",
    "send(request=id)",
    "send(request=id, arrays=[{}])",
    "send(request=id, arrays=[{**arrays[0], 'shape': [1, 1, 5]}])",
    "send(request=id, arrays=[{**arrays[0], 'shape': [True, 1, 4]}])",
    "send(request=id, arrays=[{**arrays[0], 'shape': [int('9' * 4000)] * 2000, 'data': ''}])",
    "send(request=id, arrays=[{**arrays[0], 'shape': [1] * 65}])",
    "send(request=id, arrays=[{**arrays[0], 'dtype': 'object'}])",
    "send(request=id, arrays=[{**arrays[0], 'data': '!'}])",
    "send(request=id, error={'kind': 'other', 'type': '', 'message': ''})",
    "send(request=id, error='text')",
    "send(request=id, arrays=[{**arrays[0], 'shape': [0], 'data': '===='}])",
    "send(request=id, arrays=[{**arrays[0], 'shape': [0], 'data': '='}])",
    "send(request=id, arrays=[{**arrays[0], 'data': arrays[0]['data'] + '===='}])",
    "send(request=id, arrays=arrays, seconds='long')",
    "send(request=id, arrays=arrays, seconds='1')",
    "send(request=id, arrays=arrays, seconds=True)",
]


@pytest.fixture
def new_worker(tmp_path):
    """Return a function that makes a worker whose process speaks JSON lines; all are killed."""
    made = []
    path = tmp_path / "worker.py"
    path.write_text(WORKER, "utf-8")

    def make(setup="", limit=10.0, kind=Worker, command=(PYTHON, "-u", str(path)), **keywords):
        fake = backend(setup=setup, packages=("fake",), worker=WorkerCommand(command))
        made.append(kind(fake, sys.executable, Limits(case_seconds=limit), **keywords))
        return made[-1]

    yield make
    for worker in made:
        worker.kill()


def job(text):
    return Job(Program("fake.surface", "native", text), (X,))


def outcomes(worker, *texts):
    """Run programs, then one that must return its input."""
    *found, last = worker.outcomes([job(text) for text in (*texts, RIGHT)])
    assert last.kind == "returned", last
    assert np.array_equal(last.arrays[0], X)
    return found


def test_programs_run_in_one_process_and_their_versions_are_recorded(new_worker):
    worker = new_worker()
    found = outcomes(worker, RIGHT, RIGHT)
    assert [one.kind for one in found] == ["returned", "returned"]
    assert len({one.process for one in found}) == 1
    assert worker.environment["packages"] == {"fake": "1.5"}


def test_measured_seconds_are_those_of_the_reply(new_worker):
    (found,) = outcomes(new_worker(), "send(request=id, arrays=arrays, seconds=2.5)")
    assert found.seconds == 2.5


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (REJECTS, "rejected", "RangeError: no"),
        (MISSPELLED, "crashed", "error in the program: ReferenceError: no"),
        (GIVES_UP, "crashed", "Memory: full"),
        ("os.abort()", "crashed", "signal 6"),
        ("sys.exit('the last words')", "crashed", "last output: the last words"),
        ("time.sleep(60)", "timed_out", "no answer within 1 s"),
    ],
)
def test_error_costs_one_case(new_worker, text, kind, message):
    before, found, after = outcomes(new_worker(limit=1), RIGHT, text, RIGHT)
    assert (before.kind, found.kind, after.kind) == ("returned", kind, "returned")
    assert message in found.message


@pytest.mark.parametrize("text", MALFORMED_LINES)
def test_malformed_reply_costs_one_case(new_worker, text):
    before, found, after = outcomes(new_worker(), RIGHT, text, RIGHT)
    assert (before.kind, found.kind, after.kind) == ("returned", "crashed", "returned")
    assert UNEXPECTED_FRAME_MESSAGE in found.message


@pytest.mark.parametrize("seconds", ["1e308", "-1", "1e999", "float('nan')", "10 ** 400"])
def test_impossible_time_costs_one_case(new_worker, seconds):
    text = f"send(request=id, arrays=arrays, seconds={seconds})"
    before, found, after = outcomes(new_worker(), RIGHT, text, RIGHT)
    assert (before.kind, found.kind, after.kind) == ("returned", "crashed", "returned")


def test_forged_reply_costs_one_case(new_worker):
    before, found, after = outcomes(new_worker(), RIGHT, FORGED, RIGHT)
    assert (before.kind, found.kind, after.kind) == ("returned", "crashed", "returned")


def test_doubled_reply_is_not_the_result_of_the_next_program(new_worker):
    first, second = outcomes(new_worker(), DOUBLED, REJECTS)
    assert (first.kind, second.kind) == ("returned", "rejected")


def test_standard_error_does_not_delay_replies(new_worker):
    (found,) = outcomes(new_worker(), f"sys.stderr.write('x' * 10_000_000)\n{RIGHT}")
    assert found.kind == "returned"


def test_program_that_runs_alone_has_its_own_process(new_worker):
    worker = new_worker(kind=LoneWorker)
    text = "send(request=id, arrays=arrays, seconds=os.getpid() / 1000)"
    (first,), (second,) = (worker.run_alone(job(text)) for _ in range(2))
    assert first.kind == second.kind == "returned"
    assert first.seconds != second.seconds


def test_processes_of_a_worker_end_with_it(new_worker, tmp_path):
    note = tmp_path / "note"
    child = "import subprocess\nchild = subprocess.Popen(['sleep', '60'])\n"
    text = f"{child}open({str(note)!r}, 'w').write(str(child.pid))"
    worker = new_worker()
    outcomes(worker, f"{text}\n{RIGHT}")
    pid = worker.connection.process.pid if worker.connection else 0
    worker.kill()
    assert gone(int(note.read_text()))
    assert not pid or soon(lambda: gone(pid))


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"setup": "raise SystemExit('not today')"}, "last output: not today"),
        (
            {"setup": "send(request=id, hello=2, versions={})\nraise SystemExit"},
            "version 2 of the protocol, not 1",
        ),
        ({"setup": 'send(request=id, error={"type": "E", "message": "no module"})'}, "setup: E: no module"),
        ({"setup": "send(request=id, hello=1, versions=3)"}, "invalid reply"),
        ({"setup": RIGHT.replace("arrays=arrays", "arrays=[]")}, "invalid reply"),
        ({"command": ("/no/such/program",)}, "the program /no/such/program is not installed"),
    ],
)
def test_failed_start_has_a_message(new_worker, keywords, message):
    with pytest.raises(WorkerFailed, match=message):
        new_worker(**keywords).start()


def test_missing_requirement_is_the_message_of_a_failed_start():
    worker = Worker(backend(worker=WorkerCommand((PYTHON,), lambda: "the package is not installed")))
    with pytest.raises(WorkerFailed, match="the package is not installed"):
        worker.start()


def test_arrays_keep_every_bit():
    array = np.array([[[np.nan, -0.0, np.inf, 1e-40]]], np.float32)
    line = encode_frame({"request": "a", "program": "d", "text": ""}, [array])
    request = json.loads(line)
    assert request["arrays"][0]["shape"] == [1, 1, 4]
    reply = json.dumps({"request": "a", "arrays": request["arrays"]}).encode()
    header, (back,) = read_frame(io.BytesIO(reply))
    assert header["request"] == "a"
    assert back.tobytes() == array.tobytes()


def test_end_of_the_replies_is_no_frame():
    assert read_frame(io.BytesIO(b"")) is None
    assert read_frame(io.BytesIO(b"{}")) is MALFORMED


@pytest.mark.parametrize(
    ("text", "owned"), [(RIGHT, ""), (f"import socket\nsys.kept = socket.socket()\n{RIGHT}", "a socket")]
)
def test_what_a_program_owns_is_found(new_worker, text, owned):
    worker = new_worker(setup="sys.log = open(sys.executable, 'rb')")
    with unshared_semaphores():
        (found,) = worker.outcomes([job(text)])
        assert found.kind == "returned"
        assert worker.connection.owned_resource() == owned


def test_resources_of_the_first_program_are_not_those_of_the_setup(new_worker, monkeypatch):
    def read_late(supervisor):
        time.sleep(0.5)  # the first program would have run if it had been sent
        return resources_of_worker(supervisor)

    monkeypatch.setattr(connection, "resources_of_worker", read_late)
    worker = new_worker()
    outcomes(worker, f"sys.kept = open(sys.executable, 'rb')\n{RIGHT}")
    assert worker.connection.owned_resource() == "an open file"
