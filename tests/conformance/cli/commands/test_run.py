"""`conformance run`."""

import sys
from importlib.util import find_spec

import pytest

from conformance.adapters import registry
from conformance.adapters.api import source_text
from conformance.adapters.numpy import pooling as loops
from reports.results import reader
from tests.support.fake_backends import ALWAYS_WRONG, CRASHES, HANGS, backend, family, surface

pytestmark = pytest.mark.usefixtures("own_folder")


@pytest.mark.skipif(find_spec("torch") is not None, reason="the framework is installed here")
def test_missing_framework_is_an_error_with_an_install_hint(conformance):
    status, _, error = conformance("run", "--backend", "torch")
    assert (status, len(error)) == (3, 1)
    assert "No module named 'torch'" in error[0]
    assert f"({sys.executable} -m pip install 'torch==" in error[0]


CASE = "max_pool/book-loops"


@pytest.mark.parametrize("blocked", ["out", "out/results"])
def test_output_folder_that_cannot_be_written_is_one_line(conformance, tmp_path, blocked):
    path = tmp_path / blocked
    path.parent.mkdir(exist_ok=True)
    path.write_text("a file", "utf-8")
    status, _, error = conformance("run", "--backend", "numpy", "--case", CASE, "--out", "out")
    assert (status, len(error)) == (2, 1)
    assert "out" in error[0]


def test_run_writes_a_results_file_and_prints_its_path(conformance, tmp_path):
    status, out, error = conformance("run", "--backend", "numpy", "--operator", "min_pool", "--out", "here")
    path = tmp_path / "here" / "results" / "numpy.jsonl"
    assert (status, error) == (0, [])
    assert f"results: {path.relative_to(tmp_path)}" in out
    loaded = reader.load_report([path]).backends[0]
    assert loaded.complete
    assert {result.case.split("/")[0] for result in loaded.results} == {"min_pool"}


@pytest.mark.skipif(registry.default_backends() != [registry.BUILT_IN_BACKEND], reason="a framework is installed here")
def test_run_falls_back_on_the_built_in_backend(conformance, tmp_path):
    status, _, _ = conformance("run")
    assert status == 0
    loaded = reader.load_report([tmp_path / "build/conformance/results/numpy.jsonl"]).backends[0]
    assert loaded.complete
    assert {result.status for result in loaded.results} <= {"pass", "known", "unsupported"}


def test_resume_of_a_complete_run_passes_and_changes_nothing(conformance, tmp_path):
    arguments = ("run", "--backend", "numpy", "--operator", "min_pool", "--out", "here")
    conformance(*arguments)
    before = (tmp_path / "here/results/numpy.jsonl").read_bytes()
    assert conformance(*arguments, "--resume")[0] == 0
    assert (tmp_path / "here/results/numpy.jsonl").read_bytes() == before


X = "x: {values: arange, shape: [1, 1, 4, 4]}"


PLAIN = f"id: a, {X}, window: 2"


def test_case_with_a_wrong_expected_number_fails_the_run(conformance, tmp_path):
    good = f"{PLAIN}, expect: [[[[5, 7], [13, 15]]]]"
    assert conformance("run", "--backend", "numpy", "--cases", family(tmp_path, good))[0] == 0
    status, _, _ = conformance("run", "--backend", "numpy", "--cases", family(tmp_path, good.replace("15", "14")))
    assert status in {1, 2}


def test_adapter_that_pads_on_the_wrong_side_fails_the_run(conformance, monkeypatch):
    case = "max_pool/book-padding-above-and-left-negative"
    arguments = ("run", "--no-cache", "--backend", "numpy", "--case", case)
    assert conformance(*arguments)[0] == 0

    def swapped(values):
        return (
            source_text.tuple_of([1 - value for value in values])
            if set(values) == {1}
            else source_text.tuple_of(values)
        )

    monkeypatch.setattr(loops, "tuple_of", swapped)
    status, out, _ = conformance(*arguments)
    assert status == 1
    assert "fail" in out


@pytest.fixture
def fake_backend(monkeypatch):
    """Return a function that replaces the built-in backend by a fake one."""

    def replace(*surfaces, **texts):
        fake = backend(*surfaces, name="numpy", **texts)
        monkeypatch.setattr(registry, "get_backend", lambda *_: fake)

    return replace


@pytest.mark.parametrize(
    ("body", "status"), [(None, 0), (ALWAYS_WRONG, 1), (CRASHES, 1), (HANGS, 1), ("raise ValueError", 1), ("nope()", 2)]
)
def test_exit_status_depends_on_unexpected_results(conformance, fake_backend, tmp_path, body, status):
    fake_backend(surface("s", body))
    path = family(tmp_path, PLAIN)
    assert conformance("run", "--backend", "numpy", "--cases", path, "--timeout", "1")[0] == status


def test_run_without_a_supported_case_is_incomplete(conformance, fake_backend, tmp_path):
    fake_backend(surface("s"))
    path = family(tmp_path, PLAIN, operator="avg_pool")
    status, _, error = conformance("run", "--backend", "numpy", "--cases", path)
    assert (status, len(error)) == (3, 1)


def test_run_with_a_missing_backend_is_incomplete_and_writes_results_of_the_other(conformance, tmp_path):
    arguments = ("--backend", "numpy", "--backend", "torch=/nowhere/python", "--operator", "min_pool")
    status, out, error = conformance("run", *arguments)
    assert (status, len(error)) == (3, 1)
    assert "torch" in error[0]
    assert "results: " in out
    assert (tmp_path / "build/conformance/results/numpy.jsonl").exists()
