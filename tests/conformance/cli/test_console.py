"""Width of the console: that of a terminal, and no limit without one."""

import sys

import pytest
from rich.table import Table
from rich.text import Text

from conformance.cli.console import output_console

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
