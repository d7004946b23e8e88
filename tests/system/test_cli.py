"""The command line, mostly in this process; the tests need no framework."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from conformance import __version__, cli
from conformance.adapters import registry
from conformance.adapters.api import source_text
from conformance.adapters.numpy import pooling as loops
from conformance.catalogue import describe
from conformance.catalogue import loading as catalogues
from conformance.catalogue.describe import case_text
from conformance.judging.expected import compute_expected
from reports.results import reader
from tests.support.fake_backends import ALWAYS_WRONG, CRASHES, HANGS, backend, family, surface

X = "x: {values: arange, shape: [1, 1, 4, 4]}"
PLAIN = f"id: a, {X}, window: 2"
COMMANDS = sorted(cli.COMMAND_LOCATIONS)
CASE = "max_pool/book-loops"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch, catalogue):
    """Run every command in its own temporary folder, and read the suite's catalogue only once."""
    monkeypatch.chdir(tmp_path)
    read = catalogues.load_catalogue
    monkeypatch.setattr(catalogues, "load_catalogue", lambda paths=(), **_: read(paths) if paths else catalogue)


@pytest.fixture
def fake_backend(monkeypatch):
    """Return a function that replaces the built-in backend by a fake one."""

    def replace(*surfaces, **texts):
        fake = backend(*surfaces, name="numpy", **texts)
        monkeypatch.setattr(registry, "get_backend", lambda *_: fake)

    return replace


def process(*arguments, **keywords):
    command = [sys.executable, "-m", "conformance.cli", *arguments]
    return subprocess.run(command, text=True, encoding="utf-8", check=False, stderr=subprocess.PIPE, **keywords)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_every_command_has_an_example(conformance, name):
    status, out, _ = conformance(name, "--help")
    assert status == 0
    assert f"Example: conformance {name}" in out


def test_help_without_a_command_lists_all_commands(conformance):
    _, out, _ = conformance("--help")
    listed = out.partition("Commands:")[2].splitlines()[1:]
    assert [line.split()[0] for line in listed if line[2:3].strip()] == COMMANDS
    for name in COMMANDS:
        assert f"  {name:<{max(map(len, COMMANDS))}}  {cli.cli.commands[name].get_short_help_str(20)[:-3]}" in out


def test_every_command_is_registered_by_its_own_name():
    assert {name: cli.cli.commands[name].name for name in COMMANDS} == dict(zip(COMMANDS, COMMANDS, strict=True))


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["frobnicate"], 2, "No such command 'frobnicate'"),
        (["list", "--frob"], 2, "No such option"),
        (["list", "--operator", "nope"], 2, "'nope' is not one of"),
        (["list", "--case", "nope"], 3, "no case is selected"),
        (["show"], 2, "Missing argument"),
        (["show", "nope"], 2, "case 'nope': not in the catalogue"),
        (["translate", "nope"], 2, "case 'nope': not in the catalogue"),
        (["translate", CASE, "--surface", "nope"], 2, "surface 'nope': unknown, known are "),
        (["repro", CASE], 2, "Missing option '--surface'"),
        (["repro", CASE, "--surface", "nope"], 2, "surface 'nope': unknown, known are "),
        (["repro", "max_pool/stride-of-zero", "--surface", "numpy.loops"], 2, "numpy.loops does not support it"),
        (["run", "--backend", "nope"], 2, "backend 'nope': unknown, known are "),
        (["run", "--backend", ""], 2, "backend '': unknown"),
        (["run", "--backend", "numpy", "--backend", "numpy"], 2, "named twice"),
        (["run", "--backend", "numpy", "--surface", "nope"], 2, "surface 'nope'"),
        (["run", "--operator", "nope"], 2, "'nope' is not one of"),
        (["run", "--level", "nope"], 2, "'nope' is not one of"),
        (["run", "--case", "nope"], 3, "no case is selected"),
        (["run", "--cases", "nowhere"], 2, "nowhere: no such file or folder"),
        (["run", "--timeout", "0"], 2, "is not in the range"),
        (["run", "--timeout", "nan"], 2, "nan is not a number of seconds"),
        (["run", "--timeout", "1e300"], 2, "is not a number of seconds"),
        (["run", "--memory", "inf"], 2, "inf is not a number of gigabytes"),
        (["run", "--memory", "nan"], 2, "nan is not a number of gigabytes"),
        (["run", "--backend", "numpy=/nowhere/python"], 3, "/nowhere/python: No such file or directory"),
        (["run", "--backend", "numpy=/bin/true"], 3, "backend numpy: setup: "),
        (["report"], 3, "no results in"),
        (["report", "nowhere.jsonl"], 2, "nowhere.jsonl: cannot be read"),
        (["report", "--format", "nope"], 2, "'nope' is not one of"),
        (["check", "nowhere"], 2, "nowhere: no such file or folder"),
        (["catalogue", "--cases", "nowhere"], 2, "nowhere: no such file or folder"),
        (["catalogue", "--others", "nowhere"], 2, "nowhere: not what benchmarks/others.py writes: "),
    ],
)
def test_wrong_usage_is_one_line_with_the_right_status(conformance, arguments, status, says):
    found, out, error = conformance(*arguments)
    assert (found, out, len(error)) == (status, "", 1)
    assert error[0].startswith("conformance: ")
    assert says in error[0]


@pytest.mark.skipif(find_spec("torch") is not None, reason="the framework is installed here")
def test_missing_framework_is_an_error_with_an_install_hint(conformance):
    status, _, error = conformance("run", "--backend", "torch")
    assert (status, len(error)) == (3, 1)
    assert "No module named 'torch'" in error[0]
    assert f"({sys.executable} -m pip install 'torch==" in error[0]


@pytest.mark.parametrize("command", [["run", "--cases"], ["list", "--cases"], ["check"], ["show", "a", "--cases"]])
@pytest.mark.parametrize(
    "text", ["a: [", "a: *b", "", f"operator: max_pool\nsource: s\ncases: [{{{PLAIN}, windw: 2}}]"]
)
def test_catalogue_that_cannot_be_read_is_one_line_with_file_and_line(conformance, tmp_path, command, text):
    path = tmp_path / "bad.yaml"
    path.write_text(text, "utf-8")
    status, _, error = conformance(*command, path)
    assert (status, len(error)) == (2, 1)
    assert error[0].startswith(f"conformance: {path}:")


def test_several_errors_are_one_line_each(conformance, tmp_path):
    path = family(tmp_path, f"{PLAIN}, stride: x", "id: b")
    status, _, error = conformance("list", "--cases", path)
    assert status == 2
    assert [line.split(":")[2] for line in error] == ["4", "5"]


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


@pytest.mark.parametrize(
    ("body", "status"), [(None, 0), (ALWAYS_WRONG, 1), (CRASHES, 1), (HANGS, 1), ("raise ValueError", 1), ("nope()", 1)]
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


def test_report_writes_results_in_each_format(conformance, tmp_path):
    conformance("run", "--backend", "numpy", "--operator", "min_pool")
    status, out, _ = conformance("report")
    page = tmp_path / "build/conformance/report.html"
    assert (status, page.as_uri() in out) == (0, True)
    assert "numpy.loops" in page.read_text("utf-8")
    assert conformance("report", "--format", "markdown", "--out", "-")[1].startswith("#")
    assert conformance("report", "--format", "terminal")[0] == 0
    assert conformance("report", "--format", "junit")[:2] == (0, "report: build/conformance/junit.xml\n")


def test_report_without_a_required_backend_is_incomplete(conformance):
    conformance("run", "--backend", "numpy", "--operator", "min_pool")
    status, _, error = conformance("report", "--require", "numpy", "--require", "torch")
    assert (status, error) == (3, ["conformance: no results of torch"])
    assert conformance("report", "--require", "numpy")[0] == 0
    both = conformance("report", "--require", "numpy, torch, mxnet")[2]
    assert both == ["conformance: no results of mxnet, torch"]


def test_report_of_a_partial_run_is_incomplete(conformance, tmp_path):
    conformance("run", "--backend", "numpy", "--operator", "min_pool")
    path = tmp_path / "build/conformance/results/numpy.jsonl"
    path.write_bytes(path.read_bytes()[:-30])
    assert conformance("report")[0] == 3


def test_report_on_garbage_is_one_line_with_file_and_line(conformance, tmp_path):
    (tmp_path / "bad.jsonl").write_text("garbage\n", "utf-8")
    status, _, error = conformance("report", "bad.jsonl")
    assert (status, len(error)) == (2, 1)
    assert "bad.jsonl:1: not JSON" in error[0]


def test_report_that_cannot_be_written_is_one_line(conformance, tmp_path):
    conformance("run", "--backend", "numpy", "--operator", "min_pool")
    (tmp_path / "file").write_text("", "utf-8")
    status, _, error = conformance("report", "--out", "file/report.html")
    assert (status, len(error)) == (2, 1)
    assert "file" in error[0]


def test_list_prints_one_id_per_line(conformance, catalogue):
    _, out, _ = conformance("list")
    assert out.splitlines() == [case.id for case in catalogue.select("standard")]


def test_list_on_a_terminal_ends_with_the_version_of_the_catalogue(conformance, catalogue, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    _, out, _ = conformance("list", "--operator", "min_pool", "--level", "smoke")
    assert out.splitlines()[-1] == f"{len(out.splitlines()) - 1} cases, catalogue {catalogue.version}"


def test_show_prints_parameters_inputs_expected_result_and_cost(conformance):
    _, out, _ = conformance("show", CASE)
    for part in ("window", "stride", "float32 [1, 1, 3, 3]", "expected", "comparisons", "d2l"):
        assert part in out


def test_show_ends_with_an_ascii_drawing_without_a_terminal(conformance):
    _, out, _ = conformance("show", CASE)
    assert "\nx[0, 0]" in out
    assert "[ ] first window" in out
    assert out.isascii()
    assert conformance("show", CASE, "--no-drawing")[1] == out[: out.index("\nx[0, 0]")]


@pytest.mark.parametrize(
    ("environment", "colored"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_drawing_has_colors_on_a_terminal_with_colors(conformance, monkeypatch, environment, colored):
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", **environment}.items():
        monkeypatch.setenv(name, value)
    _, out, _ = conformance("show", "max_pool/book-stride-2-padding-1")
    assert ("\x1b[" in out, "·" in out) == (colored, colored)


def test_every_case_can_be_shown(catalogue):
    for case in catalogue.cases:
        assert case_text(case, compute_expected(case)).startswith(case.id)


def test_catalogue_prints_the_page_of_statistics(conformance, tmp_path):
    status, out, error = conformance("catalogue", "--cases", family(tmp_path, PLAIN))
    assert (status, error) == (0, [])
    assert out.startswith("# The catalogue in numbers\n")
    assert "| `max_pool` | 1 |" in out
    assert "Beside what others have" not in out


def test_translate_prints_a_program_for_every_primary_surface(conformance):
    _, out, _ = conformance("translate", CASE)
    primary = {surface.name for _, surface in describe.primary_surfaces()}
    for name in describe.surfaces_by_name():
        assert (f"\n# {name}: " in out) == (name in primary)
    others = {"torch.book", "torch.compile", "jax.jit"}
    assert {"torch.nn", "onnxruntime", "tinygrad.Tensor"} <= primary - others == primary


def test_backends_are_listed_with_their_surfaces(conformance):
    _, out, _ = conformance("backends")
    assert [line.split()[0] for line in out.splitlines()] == list(registry.backend_names())


def test_check_of_a_valid_file_prints_the_number_of_cases(conformance, tmp_path):
    assert conformance("check", family(tmp_path, PLAIN))[:2] == (0, "1 cases are valid\n")


def test_check_of_a_wrong_expected_number_fails(conformance, tmp_path):
    path = family(tmp_path, f"{PLAIN}, expect: [[[[5, 7], [13, 14]]]]")
    status, _, error = conformance("check", path)
    assert (status, len(error)) == (2, 1)
    assert f"{path}:4: case max_pool/a: key 'expect': printed 14 at [0, 0, 1, 1]" in error[0]


def test_check_lists_errors_of_keys_parameters_and_numbers_in_the_order_of_lines(conformance, tmp_path):
    cases = (f"{PLAIN}, expect: [1]", f"id: b, {X}, window: 9, strid: 1", "id: c", f"id: d, {X}, window: 2")
    status, _, error = conformance("check", family(tmp_path, *cases))
    assert status == 2
    assert [line.split(":")[2] for line in error] == ["4", "5", "5", "6"]


def test_check_of_a_file_without_cases_fails(conformance, tmp_path):
    status, _, error = conformance("check", family(tmp_path))
    assert (status, len(error)) == (2, 1)
    assert "cases" in error[0] or "no case" in error[0]


def test_closed_output_pipe_is_no_error():
    read, write = os.pipe()
    os.close(read)
    try:
        done = process("list", stdout=write)
    finally:
        os.close(write)
    assert done.stderr == ""


def test_terminal_without_unicode_is_no_error():
    done = process(
        "run", "--backend", "numpy", "--operator", "min_pool",
        stdout=subprocess.PIPE, env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_interrupt_is_one_line_and_130(monkeypatch, conformance):
    def interrupted(*_arguments, **_keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr("conformance.catalogue.loading.load_catalogue", interrupted)
    status, _, error = conformance("list")
    assert status == 130
    assert [line for line in error if line] == ["conformance: interrupted"]


def test_version_is_that_of_the_suite_and_of_the_catalogue():
    done = process("--version", stdout=subprocess.PIPE)
    expected = f"conformance, version {__version__}, catalogue {catalogues.catalogue_version()}\n"
    assert (done.returncode, done.stdout) == (0, expected)
