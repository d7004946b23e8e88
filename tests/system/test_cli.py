"""The command line, mostly in this process; the tests need no framework."""

import os
import subprocess
import sys

import pytest

from conformance import __version__, cli
from conformance.catalogue import loading as catalogues
from tests.support.fake_backends import family

pytestmark = pytest.mark.usefixtures("own_folder")
X = "x: {values: arange, shape: [1, 1, 4, 4]}"
PLAIN = f"id: a, {X}, window: 2"
COMMANDS = sorted(cli.COMMAND_LOCATIONS)
CASE = "max_pool/book-loops"


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


@pytest.mark.parametrize("group", [(), ("ledger",)])
def test_summaries_of_commands_fit_into_80_columns(conformance, monkeypatch, group):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = conformance(*group, "--help")
    listed = out.partition("Commands:\n")[2].splitlines()
    assert len(listed) == (1 if group else len(COMMANDS))
    assert all(line.endswith(".") and "..." not in line and len(line) <= 80 for line in listed)


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
        (["show", "nope"], 2, "'nope': no such case or operator"),
        (["show", "max_pool"], 2, "max_pool is an operator, not a case (conformance list --operator max_pool lists"),
        (["show", "max_pool/nope"], 2, "case 'max_pool/nope': not in the catalogue"),
        (["translate", "nope"], 2, "'nope': no such case or operator"),
        (["list", "--operator", "maxpool"], 2, "'maxpool' is unknown, did you mean 'max_pool'?"),
        (["translate", CASE, "--surface", "nope"], 2, "surface 'nope': unknown"),
        (["repro", CASE], 2, "Missing option '--surface'"),
        (["repro", CASE, "--surface", "nope"], 2, "surface 'nope': unknown"),
        (["repro", "max_pool/stride-of-zero", "--surface", "numpy.loops"], 2, "numpy.loops does not support it"),
        (["run", "--backend", "quux"], 2, "backend 'quux': unknown, known are "),
        (["run", "--backend", ""], 2, "backend '': unknown"),
        (["run", "--backend", "numpy", "--backend", "numpy"], 2, "named twice"),
        (["run", "--backend", "numpy", "--surface", "nope"], 2, "surface 'nope'"),
        (["run", "--operator", "nope"], 2, "'nope' is not one of"),
        (["run", "--level", "nope"], 2, "'nope' is not one of"),
        (["run", "--case", "nope"], 3, "no case is selected"),
        (["run", "--cases", "nowhere"], 2, "nowhere: no such file or folder"),
        (["run", "--timeout", "0"], 2, "is not in the range"),
        (["run", "--timeout", "nan"], 2, "nan is not a number"),
        (["run", "--timeout", "1e300"], 2, "is not in the range 0<x<=86400"),
        (["run", "--memory", "inf"], 2, "inf is not in the range 0<=x<inf"),
        (["run", "--memory", "nan"], 2, "nan is not a number"),
        (["run", "--backend", "numpy=/nowhere/python"], 3, "/nowhere/python: No such file or directory"),
        (["run", "--backend", "numpy=/bin/true"], 3, "is probably not a Python interpreter"),
        (["report"], 3, "no results in"),
        (["report", "nowhere.jsonl"], 2, "nowhere.jsonl: cannot be read"),
        (["report", "--format", "nope"], 2, "'nope' is not one of"),
        (["check", "nowhere"], 2, "nowhere: no such file or folder"),
        (["catalogue", "--cases", "nowhere"], 2, "nowhere: no such file or folder"),
        (["catalogue", "--others", "nowhere"], 2, "nowhere: cannot be read: No such file or directory"),
        (
            ["run", "--backend", "nmpy"],
            2,
            "backend 'nmpy': unknown, did you mean 'numpy'? (`conformance backends` lists",
        ),
        (["repro", CASE, "--surface", "flax"], 2, "unknown, did you mean 'flax.linen', 'flax.nnx'? (conformance "),
        (["run", "--backend", "numpy", "--surface", "torch.nn"], 2, "not a surface of numpy, which has numpy.loops"),
        (["run", "--timeout", "abc"], 2, "'abc' is not a number"),
        (["show", "maxpool"], 2, "'maxpool': no such case or operator, did you mean 'max_pool'?"),
        (["freeze", "--release", "banana"], 2, "release 'banana': not a version such as 1.4.0"),
        (["conventions", "--surface", "quux"], 2, "surface 'quux': unknown (conformance surfaces lists all)"),
        (["surfaces", "--surface", "quux"], 2, "surface 'quux': unknown (conformance surfaces lists all)"),
        (["report", "--require", ""], 2, "--require: the name of a backend is empty"),
        (["diff", "gone1", "gone2"], 2, "gone1: cannot be read: No such file or directory"),
        (["export", __file__], 2, "test_cli.py: is a file; DIR must be a folder"),
        (["run", "--backend", "numpy", "--out", "/proc/nope", "--case", CASE], 2, "/proc/nope: cannot be written: "),
    ],
)
def test_wrong_usage_is_one_line_with_the_right_status(conformance, arguments, status, says):
    found, out, error = conformance(*arguments)
    assert (found, out, len(error)) == (status, "", 1)
    assert error[0].startswith("conformance: ")
    assert says in error[0]


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


def test_unexpected_end_of_a_file_is_not_reported_as_an_interrupt(monkeypatch, conformance):
    def ended(*_arguments, **_keywords):
        raise EOFError("No data left in file")

    monkeypatch.setattr("conformance.catalogue.loading.load_catalogue", ended)
    with pytest.raises(EOFError, match="No data left"):
        conformance("list")


def test_version_is_that_of_the_suite_and_of_the_catalogue():
    done = process("--version", stdout=subprocess.PIPE)
    expected = f"conformance, version {__version__}, catalogue {catalogues.catalogue_version()}\n"
    assert (done.returncode, done.stdout) == (0, expected)
