"""Worker process, directly and through its client: any failure of a program costs one case."""

import ast
import io
import re
import shutil
import subprocess
import sys
import threading
import time
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from conformance.execution import worker as worker_file, worker_process
from conformance.execution.connection import Connection
from conformance.execution.job import Job, WorkerFailed
from conformance.execution.job_pace import MIN_QUEUED_JOBS
from conformance.execution.worker_process import Worker
from conformance.judging.repeats import SAME_IN_NEW_PROCESS
from reports.results.vocabulary import PROGRAM_ERROR_PREFIX
from tests.support.fake_backends import SETUP, backend, program
from tests.support.nightly import only_nightly
from tests.support.started_workers import PYTHON, X, gone, outcomes, started

SOURCE = Path(worker_file.__file__)
SOURCES = (SOURCE, *SOURCE.with_name("worker_state").glob("*.py"))


@pytest.fixture
def processes_started(monkeypatch):
    """The process ids of all started workers."""
    pids = []

    class RecordedConnection(Connection):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            pids.append(self.process.pid)

    monkeypatch.setattr(worker_process, "Connection", RecordedConnection)
    return pids


@pytest.fixture(scope="module")
def shared():
    """One worker for programs that do not end it."""
    with started() as worker:
        yield worker


def ran(worker, body, *inputs):
    outcome, after = worker.outcomes([Job(program(body), inputs or (X,)), Job(program("pass"), (X,))])
    assert np.array_equal(after.arrays[0], X)
    return outcome


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("processor : 0\nflags\t\t: fpu sse2 avx2 avx512_fp16 avx2 vmx\nflags : amx_tile\n", ["avx2", "avx512_fp16"]),
        ("Features : fp asimd sve crc32\n", ["asimd", "sve"]),
        ("model name : none\n", []),
    ],
)
def test_vector_features_are_read_from_cpuinfo(monkeypatch, text, found):
    monkeypatch.setattr("builtins.open", lambda *_, **__: io.StringIO(text))
    assert worker_file.cpu_features() == found


def test_system_without_cpuinfo_has_no_vector_features(monkeypatch):
    monkeypatch.setattr("builtins.open", lambda *_, **__: (_ for _ in ()).throw(FileNotFoundError("/proc/cpuinfo")))
    assert worker_file.cpu_features() == []


def test_program_receives_inputs_and_returns_its_result(shared):
    outcome = ran(shared, "x = x + 1")
    assert (outcome.kind, outcome.message) == ("returned", "")
    assert np.array_equal(outcome.arrays[0], X + 1)
    assert 0 <= outcome.seconds < 5


@pytest.mark.parametrize(
    "body",
    [
        "print('hello')",
        "os.write(1, b'z' * 1_000_000)",
        "sys.stderr.write('e' * 3_000_000)",
        "sys.stderr.write('line\\n' * 300_000)",
        "sys.stdout.write('no end of line')",
        "os.system('echo from a child')",
        "sys.stdin.read()",
        "os.close(2)",
    ],
)
def test_output_and_input_of_a_program_do_not_enter_the_protocol(body):
    (outcome,) = outcomes(body)
    assert outcome.kind == "returned"
    assert np.array_equal(outcome.arrays[0], X)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("os.abort()", "signal 6 (Aborted)"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "signal 9 (Killed)"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "signal 11 (Segmentation fault)"),
        ("os._exit(5)", "exited with status 5"),
        ("os._exit(0)", "exited with status 0"),
        ("sys.stderr.write('last words\\n'); os.abort()", "last output: last words"),
    ],
)
def test_death_of_the_worker_costs_one_case(body, message):
    (outcome,) = outcomes(body)
    assert outcome.kind == "crashed"
    assert message in outcome.message


def test_each_death_is_reported_for_its_own_case():
    bodies = ["x = x + 1", "os.abort()", "x = x + 2", "os._exit(3)", "os.abort()", "x = x + 3"]
    found = outcomes(*bodies)
    assert [outcome.kind for outcome in found] == ["returned", "crashed", "returned", "crashed", "crashed", "returned"]
    assert [float(o.arrays[0][0, 0, 0]) for o in found if o.arrays] == [1, 2, 3]


@pytest.mark.parametrize("body", ["time.sleep(60)", "while True: pass", "signal.pause()"])
def test_hanging_program_costs_one_case_and_its_time_limit(body):
    start = time.monotonic()
    (outcome,) = outcomes(body, limit=1)
    assert outcome.kind == "timed_out"
    assert "1 s" in outcome.message
    assert time.monotonic() - start < 20  # twice the limit of 1 s, and two starts


def test_child_processes_of_a_program_are_killed(tmp_path):
    note = tmp_path / "pid"
    body = f"import subprocess\nopen({str(note)!r}, 'w').write(str(subprocess.Popen(['sleep', '100']).pid))"
    outcomes(body)
    assert gone(int(note.read_text()))


@pytest.mark.parametrize(
    ("body", "message"), [("sys.exit(3)", "SystemExit: 3"), ("raise KeyboardInterrupt", "Keyboard")]
)
def test_exit_is_a_crash_that_the_worker_survives(shared, body, message):
    outcome = ran(shared, body)
    assert outcome.kind == "crashed"
    assert message in outcome.message


@pytest.mark.parametrize(
    "body",
    [
        *("nope()", "import nope_nope", "x = (", "from os import nope", "    x = 1\n  x = 2", "def f(): return y\nf()"),
        *("np.nope", "import fractions\nfractions.nope", "x.nope", "y = y + 1"),  # numpy has a __getattr__ of its own
    ],
)
def test_error_in_the_program_is_a_crash_not_a_rejection(shared, body):
    outcome = ran(shared, body)
    assert outcome.kind == "crashed"
    assert re.fullmatch(PROGRAM_ERROR_PREFIX + r"\w+: .*, line \d+", outcome.message)


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("import shlex\nshlex.split(3)", "AttributeError: 'int' object has no attribute 'read'"),
        ("eval('nope')", "NameError: name 'nope' is not defined"),
        ("import ast\nast.parse('x = (')", "SyntaxError: "),
        ("import importlib\nimportlib.import_module('nope')", "ModuleNotFoundError: No module named 'nope'"),
    ],
)
def test_the_same_exceptions_raised_by_other_code_are_rejections(shared, body, name):
    outcome = ran(shared, body)
    assert outcome.kind == "rejected"
    assert outcome.message.startswith(name)


@pytest.mark.parametrize(
    "error", ["ValueError('no')", "RuntimeError()", "TypeError('no')", "NotImplementedError('no')"]
)
def test_exception_is_a_rejection_with_its_message(shared, error):
    outcome = ran(shared, f"raise {error}")
    assert outcome.kind == "rejected"
    assert outcome.message.startswith(error.split("(")[0])


def test_long_exception_message_is_truncated(shared):
    assert len(ran(shared, "raise ValueError('x' * 10**6)").message) <= 2000


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("x = [1, 2]", "list"),
        ("x = None", "NoneType"),
        ("x = 1.0", "float"),
        ("x = np.array([None])", "object"),
        ("x = np.array(['a'])", "str"),
        ("x = x.astype(complex)", "complex128"),
        ("x = np.array(['2020'], 'M8[D]')", "datetime64"),
        ("x = np.zeros(2, [('a', 'i4')])", "void"),
    ],
)
def test_invalid_result_is_described_and_not_sent(shared, body, what):
    outcome = ran(shared, body)
    assert (outcome.kind, outcome.arrays) == ("returned", ())
    assert what in outcome.message


@pytest.mark.parametrize("body", ["x = x, x", "x = (x, x.astype(np.int8))"])
def test_tuple_comes_back_as_several_arrays(shared, body):
    assert len(ran(shared, body).arrays) == 2


@pytest.mark.parametrize(
    "body", ["x = x.astype('>f4')", "x = x[:, :, ::-1][:, :, ::-1]", "x = np.asfortranarray(x)", "x = np.matrix(x[0])"]
)
def test_byte_order_and_memory_layout_do_not_matter(shared, body):
    array = ran(shared, body).arrays[0]
    assert array.dtype == np.float32
    assert array.ravel().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("body", ["x = x[:, :, :0]", "x = np.array(7, np.float32)"])
def test_empty_and_scalar_arrays_keep_their_shape(shared, body):
    assert ran(shared, body).arrays[0].shape in {(1, 1, 0), ()}


def test_numpy_is_defined_although_the_setup_does_not_import_it():
    with started(setup="") as worker:
        assert np.array_equal(ran(worker, "x = np.negative(x)").arrays[0], -X)


def test_writes_into_inputs_do_not_affect_other_programs(shared):
    body = "x[:] = 9"
    first, second = shared.outcomes([Job(program(body), (X,)), Job(program("pass"), (X,))])
    assert np.array_equal(first.arrays[0], np.full_like(X, 9))
    assert np.array_equal(second.arrays[0], X)
    assert X[0, 0, 3] == 3


def test_global_names_of_a_program_are_undefined_in_the_next(shared):
    ran(shared, "global left\nleft = 1")
    assert "NameError" in ran(shared, "x = x + left").message


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float64"])
def test_arrays_of_each_dtype_are_sent_and_returned(shared, dtype):
    array = np.array([[[0, 1, 1, 0]]], dtype)
    found = ran(shared, "pass", array).arrays[0]
    assert found.dtype == array.dtype
    assert np.array_equal(found, array)


def test_bfloat16_input_arrives_as_uint16(shared):
    array = np.array([[[1, 2.5]]], ml_dtypes.bfloat16)
    found = ran(shared, "assert x.dtype == np.uint16", array).arrays[0]
    assert np.array_equal(found.view(ml_dtypes.bfloat16), array)


@pytest.mark.parametrize("leave", ["x.view([('bfloat16', np.uint16)])", "x.view(ml_dtypes.bfloat16)"])
def test_bfloat16_result_is_sent_as_named_words(shared, leave):
    array = np.array([[[1, 2.5]]], ml_dtypes.bfloat16)
    found = ran(shared, f"import ml_dtypes\nx = {leave}", array).arrays[0]
    assert found.dtype == ml_dtypes.bfloat16
    assert np.array_equal(found, array)


def test_structured_array_with_several_fields_is_invalid(shared):
    found = ran(shared, "x = np.zeros(1, [('bfloat16', np.uint16), ('b', np.uint16)])")
    assert found.message == "returned an array of void32, not an array of numbers"


def test_several_inputs_keep_their_order(shared):
    text = program("pass").text.replace("run(x)", "run(a, x, b)").replace("return x", "return np.stack([a, x, b])")
    job = Job(type(program("pass"))("s", "native", text), (X, X + 1, X + 2))
    (outcome,) = shared.outcomes([job])
    assert outcome.arrays[0][:, 0, 0, 0].tolist() == [0, 1, 2]


def test_many_outcomes_have_the_order_of_the_jobs(shared):
    count = 5 * MIN_QUEUED_JOBS + 1
    found = shared.outcomes(Job(program("pass"), (np.full((1, 1, 1), n, np.int64),)) for n in range(count))
    assert [int(outcome.arrays[0].item()) for outcome in found] == list(range(count))


def test_large_arrays_in_both_directions_do_not_block():
    large = np.arange(3_000_000, dtype=np.float32)
    found = outcomes(*["x = x + 0"] * (MIN_QUEUED_JOBS + 2), inputs=(large,), limit=30)
    assert all(np.array_equal(outcome.arrays[0], large) for outcome in found)


def test_reset_runs_after_each_case(shared):
    del shared
    with started(setup=SETUP + "count = [0]\n", reset="count[0] += 1\n") as worker:
        found = worker.outcomes([Job(program("x = x + count[0]"), (X,)) for _ in range(3)])
        assert [float(outcome.arrays[0][0, 0, 0]) for outcome in found] == [1, 2, 3]


@pytest.mark.parametrize(
    ("setup", "message"),
    [
        ("import nope_nope", "ModuleNotFoundError: No module named 'nope_nope'"),
        ("raise SystemExit(4)", "SystemExit: 4"),
        ("import os; os._exit(4)", "exited with status 4"),
        ("import os; os.abort()", "signal 6"),
        ("x = (", "SyntaxError"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_failed_setup_is_reported_and_leaves_no_process(setup, message, processes_started):
    worker = Worker(backend(setup=setup), PYTHON)
    with pytest.raises(WorkerFailed, match="setup: ") as failed:
        worker.start()
    assert message in str(failed.value)
    assert [gone(pid) for pid in processes_started] == [True]


@pytest.mark.parametrize("python", ["/nowhere/python", "/etc/passwd", "/etc", "/bin/true", "/bin/cat"])
def test_invalid_interpreter_is_reported_in_one_line(python):
    with pytest.raises(WorkerFailed) as failed:
        Worker(backend(), python).start()
    assert "\n" not in str(failed.value)


def test_versions_are_those_of_the_interpreter_of_the_worker(shared):
    code = "import numpy, platform; print(platform.python_version(), numpy.__version__)"
    python, numpy = subprocess.check_output([PYTHON, "-c", code], text=True).split()
    assert (shared.environment["python"], shared.environment["packages"]) == (python, {"numpy": numpy})


def test_threads_of_the_client_end_with_the_worker():
    before = threading.active_count()
    outcomes("os.abort()", "os.abort()")
    for _ in range(100):
        if threading.active_count() <= before:
            break
        time.sleep(0.02)
    assert threading.active_count() <= before


def test_worker_file_is_python_3_8():
    assert len(SOURCES) > 5
    for path in SOURCES:
        ast.parse(path.read_text("utf-8"), feature_version=(3, 8))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_files_of_the_worker_import_the_standard_library_and_numpy_alone(path):
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    froms = [node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    roots = {str(name).split(".")[0] for name in (*froms, *names)}
    assert roots - set(sys.stdlib_module_names) <= {"numpy"}


def test_folder_of_the_worker_is_not_on_the_path(shared):
    outcome = ran(shared, "assert not any(path.endswith('conformance') for path in sys.path), sys.path")
    assert outcome.kind == "returned"


@pytest.mark.parametrize("error", ["MemoryError", "RecursionError"])
def test_exhausted_machine_is_a_crash_not_a_rejection(shared, error):
    (outcome,) = shared.outcomes([Job(program(f"raise {error}('too much')"), [X])])
    assert (outcome.kind, outcome.message) == ("crashed", f"{error}: too much; {SAME_IN_NEW_PROCESS}")


def test_worker_that_dies_in_the_last_case_is_not_replaced():
    with started() as worker:
        (outcome,) = worker.outcomes([Job(program("os.abort()"), [X])])
        assert outcome.kind == "crashed"
        assert worker.connection is None


def test_jobs_queued_at_a_dead_worker_are_run_again_in_order():
    bodies = [
        "x = x + 1",
        "os.abort()",
        "x = x + 2",
        "os.abort()",
        *(f"x = x + {n}" for n in range(3, 3 + 2 * MIN_QUEUED_JOBS)),
    ]
    with started() as worker:
        found = list(worker.outcomes([Job(program(body), [X]) for body in bodies]))
    assert [outcome.kind == "crashed" for outcome in found] == ["abort" in body for body in bodies]
    firsts = [outcome.arrays[0].ravel()[0] for outcome in found if outcome.kind == "returned"]
    assert firsts == list(range(1, 3 + 2 * MIN_QUEUED_JOBS))


@pytest.mark.parametrize(
    ("attribute", "version"), [("1.2", "1.2"), (None, metadata.version("click"))], ids=["attribute", "metadata"]
)
def test_version_is_from_the_package_or_from_its_metadata(monkeypatch, attribute, version):
    monkeypatch.setitem(sys.modules, "click", SimpleNamespace(**({"__version__": attribute} if attribute else {})))
    assert worker_file.package_versions(["click"]) == {"click": version}


def test_version_of_a_missing_package_is_unknown(monkeypatch):
    monkeypatch.setitem(sys.modules, "no_such_package", SimpleNamespace())
    monkeypatch.delitem(sys.modules, "click")
    assert worker_file.package_versions(["no_such_package", "click"]) == {
        "no_such_package": "unknown",
        "click": "unknown",
    }


def test_temporary_files_are_removed_although_another_process_removes_some_of_them(tmp_path, monkeypatch):
    def interrupted(_folder):
        raise FileNotFoundError

    monkeypatch.setattr(shutil, "rmtree", interrupted)
    (tmp_path / "worker/folder").mkdir(parents=True)
    worker_file.remove_temporary_files(str(tmp_path / "worker"))
    assert list(tmp_path.iterdir()) == []


def test_program_that_cannot_be_compiled_has_the_same_outcome_each_time():
    bad = Job(program("x = = 1"), (X,))
    with started() as worker:
        found = [*worker.outcomes([bad, bad])]
    assert [(one.kind, one.message) for one in found] == [
        ("crashed", f"{PROGRAM_ERROR_PREFIX}SyntaxError: invalid syntax, line 2")
    ] * 2


def distinct(count, start=0):
    """Yield jobs with different programs."""
    return (Job(program(f"y = {number}"), (X,)) for number in range(start, start + count))


def test_old_programs_are_released_and_sent_again():
    """The finalizer of what the first program leaves in its names changes the rounding mode."""
    left = """global left
import ctypes
class Left:
    def __del__(self, change=ctypes.CDLL('libm.so.6').fesetround):
        change(0x400)
left = Left()"""
    first = Job(program(left), (X,))
    count = worker_file.MAX_COMPILED_PROGRAMS
    with started() as worker:
        process = worker.launch().process.pid
        found = [*worker.outcomes([first, *distinct(count + 8), first])]
        assert worker.connection.process.pid == process
    assert {(one.kind, one.changed_state) for one in found} == {("returned", ())}


@only_nightly
@pytest.mark.parametrize("trusted", [False, True])
def test_memory_does_not_grow_with_the_number_of_programs(trusted):
    count = worker_file.MAX_COMPILED_PROGRAMS + 4
    with started(trusted=trusted) as worker:
        sizes = []
        for start in range(0, 4 * count, count):
            assert {one.kind for one in worker.outcomes(distinct(count, start))} == {"returned"}
            sizes.append(worker.connection.measure_memory())
    assert sizes[-1] - sizes[0] < 1 << 20
