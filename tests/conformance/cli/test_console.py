"""Width of the console: that of a terminal, and no limit without one."""

import sys

import pytest
from rich.table import Table
from rich.text import Text

from conformance.cli.console import line_width, output_console
from tests.support import fake_backends as fakes

SENTENCE = " ".join(["word"] * 60)


def printed(capsys, renderable):
    """Return the printed lines."""
    output_console().print(renderable)
    return capsys.readouterr().out.splitlines()


@pytest.fixture(params=[{}, {"FORCE_COLOR": "1"}, {"COLUMNS": "40"}], ids=["plain", "colors", "columns"])
def environment(request, monkeypatch):
    """Variables that change the width or the kind of a console of Rich."""
    for name, value in request.param.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("environment")
def test_lines_are_not_wrapped_without_a_terminal(capsys):
    (line,) = printed(capsys, Text(SENTENCE))
    assert SENTENCE in line
    table = Table(SENTENCE, SENTENCE)
    assert any(line.count(SENTENCE) == 2 for line in printed(capsys, table))


def test_lines_are_wrapped_at_the_width_of_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    lines = printed(capsys, Text(SENTENCE))
    assert len(lines) > 1
    assert all(len(line) <= 40 for line in lines)


COMMANDS = {
    "translate": ["translate", "--from", "torch", "nn.AvgPool2d(3, 2, 1)", "--surface", "keras"],
    "conventions": ["conventions", "--question", "max_pool/nan-in-window"],
    "surfaces": ["surfaces", "--operator", "lp_pool", "--backend", "onnxruntime"],
    "show": ["show", "max_pool/long", "--no-drawing", "--cases", "long.yaml"],
    "compare": ["compare", "torch.nn", "flax", "--operator", "avg_pool"],
}
"""Commands that print long lines."""


@pytest.fixture
def long_case(tmp_path):
    """A case file whose only case has a row of 100 numbers, in the folder of the test."""
    fakes.family(tmp_path, "id: long, x: {shape: [1, 1, 100], values: arange}, window: 2", name="long.yaml")


@pytest.mark.usefixtures("own_folder", "environment", "long_case")
@pytest.mark.parametrize("name", COMMANDS)
def test_text_of_a_command_is_not_wrapped_without_a_terminal(conformance, name):
    status, out, _ = conformance(*COMMANDS[name])
    assert status == 0
    assert max(map(len, out.splitlines())) > 110


@pytest.mark.usefixtures("own_folder", "long_case")
@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "compare"])
def test_text_of_a_command_is_wrapped_on_a_terminal(conformance, monkeypatch, name):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "90")
    status, out, _ = conformance(*COMMANDS[name])
    assert status == 0
    # Lines of programs and headings are never wrapped, nor is the path of a case.
    wrapped = [line for line in out.splitlines() if not line.startswith(("    x =", "# keras", "from "))]
    assert max(map(len, wrapped)) <= 90


def test_width_is_that_of_the_terminal_up_to_a_limit(monkeypatch):
    assert line_width(100) > 100_000
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for columns, width in (("90", 90), ("120", 100)):
        monkeypatch.setenv("COLUMNS", columns)
        assert line_width(100) == width


@pytest.mark.usefixtures("own_folder")
def test_summary_of_a_run_in_a_pipe_has_one_row_for_each_surface(conformance):
    label = "x" * 64
    backend = f"numpy@{label}={sys.executable}"
    status, out, _ = conformance("run", "--backend", backend, "--operator", "min_pool", "--operator", "pad")
    assert status == 0
    header, row, *_ = out.splitlines()
    assert header.endswith("✓ pass")
    assert row.startswith(f"numpy.loops@{label} ")
    assert len(row) == len(header) > 80
