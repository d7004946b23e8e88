"""Errors in programs end a run with exit status 2 and one line for each operator and surface."""

import pytest

from conformance.adapters import registry
from conformance.execution import worker
from reports.results.vocabulary import PROGRAM_ERROR_PREFIX
from tests.support.fake_backends import backend, family, surface

X = "x: {values: arange, shape: [1, 1, 4, 4]}, window: 2"
CASES = [f"id: a, {X}", f"id: b, {X}, stride: 1"]


@pytest.fixture
def run(tmp_path, monkeypatch, conformance):
    def call(*surfaces, arguments=("run", "--backend", "numpy")):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(registry, "get_backend", lambda *_: backend(*surfaces, name="numpy"))
        return conformance(*arguments, "--cases", family(tmp_path, *CASES))

    return call


def test_first_error_of_each_surface_is_one_line_with_its_source(run, conformance):
    wrong, right = surface("numpy.loops", "y = 1\nx = tiny.max_pool(x)"), surface("numpy.right")
    status, out, errors = run(wrong, right)
    assert status == 2
    adapter = "adapter tests.support.fake_backends: surface.<locals>.<lambda>"
    assert errors == [
        f"conformance: surface numpy.loops: case max_pool/a: {adapter}: "
        "error in the program: NameError: name 'tiny' is not defined, line 3: x = tiny.max_pool(x)"
    ]
    assert "2 results failed because of an error in the program that the adapter wrote: numpy.loops (2)." in out
    assert "crashed the process" not in out
    assert conformance("report")[0] == 2


def test_crash_of_the_process_is_still_a_failure(run):
    status, out, errors = run(surface("numpy.loops", "os.abort()"))
    assert (status, errors) == (1, [])
    assert "2 results crashed the process: numpy.loops (2)." in out


def test_lowering_that_returns_nothing_ends_the_run_with_one_line(run):
    broken = surface("numpy.loops")
    broken.lowerings["max_pool"] = lambda _step: None
    status, out, errors = run(broken)
    assert (status, out, len(errors)) == (2, "", 1)
    assert errors[0].startswith("conformance: surface numpy.loops: case max_pool/a: adapter tests.")
    assert "returned None" in errors[0]


def test_worker_and_reports_use_the_same_words():
    assert worker.PROGRAM_ERROR_PREFIX == PROGRAM_ERROR_PREFIX
