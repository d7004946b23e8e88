"""Results collected while a file is written equal those read from the file."""

import sys

import pytest
from rich.console import Console

from conformance.adapters.api import Surface
from conformance.catalogue import loading
from conformance.cli import results_io
from conformance.execution.run import Run
from conformance.judging.ledger import Ledger
from reports.results import LiveResults, Report, UnreadableResults, live as results_live, reader
from reports.views.terminal import render_terminal
from tests.support.fake_backends import CRASHES, backend, declares, surface

X = "x: {values: arange, shape: [1, 1, 4, 4]}"
QUESTION = "id: q, about: b, {}, window: 3, answers: {{window: {{stride: 3}}, one: {{stride: 1}}}}"


def job(folder, name="numpy", names="stuv"):
    """Return a run on some surfaces: passing, differing, crashed and unsupported results, and a convention."""
    cases = "".join(f'  - {{id: n{n}, about: "é, \\"parameters\\": é", {X}, window: {n}}}\n' for n in (2, 3))
    path = folder / "cases.yaml"
    question = QUESTION.format(X)
    path.write_text(f"operator: max_pool\nsource: s\ncases:\n{cases}questions:\n  - {{{question}}}\n", "utf-8")
    surfaces = [
        surface("s", "x = x[:, :, 1::2, 1::2]", declarations=declares("one")),
        surface("t", "x = x[:, :, 2:3, 2:3]", declarations=declares("window")),
        surface("u", CRASHES),
        Surface("v", {}),
    ]
    surfaces = [one for one in surfaces if one.name in names]
    return Run(backend(*surfaces, name=name), loading.load_catalogue([path]), Ledger(), python=sys.executable)


def shown(report, *, brief=False):
    console = Console(record=True, width=120, file=sys.stderr)
    console.print(render_terminal(report, brief=brief))
    return console.export_text(styles=True)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    found = LiveResults(folder / "numpy.jsonl")
    job(folder).execute(found.path, on_line=found.add_line)
    return found


@pytest.mark.parametrize("brief", [False, True])
def test_summary_of_recorded_lines_equals_that_of_the_file(recorded, brief):
    file = reader.load_report([recorded.path])
    live = Report((recorded.build_run(),))
    assert {result.status for result in live.results} == {"pass", "fail", "crashed", "unsupported"}
    assert shown(live, brief=brief) == shown(file, brief=brief)


def test_recorded_lines_equal_the_file(recorded):
    (file,) = reader.load_report([recorded.path]).backends
    live = recorded.build_run()
    assert recorded._is_valid
    for part in ("header", "programs", "results", "conventions", "footer"):
        assert getattr(live, part) == getattr(file, part), part
    assert list(live.cases) == list(file.cases)
    for name, case in file.cases.items():
        for part in ("operator", "level", "about", "question", "parameters", "inputs", "expected", "size", "bound"):
            assert getattr(live.cases[name], part) == getattr(case, part), part


def test_callback_gets_each_line_with_its_offset(tmp_path):
    lines = []
    job(tmp_path).execute(tmp_path / "f.jsonl", on_line=lambda offset, line: lines.append((offset, line)))
    content = (tmp_path / "f.jsonl").read_bytes()
    assert b"".join(line + b"\n" for _, line in lines) == content
    assert all(content[offset : offset + len(line)] == line for offset, line in lines)


@pytest.mark.parametrize("lines", [3, 9, None])
def test_continued_file_is_read_at_the_end(recorded, tmp_path, lines):
    path = tmp_path / "numpy.jsonl"
    path.write_bytes(b"".join(recorded.path.read_bytes().splitlines(keepends=True)[:lines]))
    found = LiveResults(path)
    job(tmp_path).execute(path, resume=True, on_line=found.add_line)
    assert {(one.case, one.surface, one.status) for one in found.build_run().results} == {
        (one.case, one.surface, one.status) for one in recorded.build_run().results
    }


@pytest.mark.parametrize("brief", [False, True])
@pytest.mark.parametrize("name", ["numpy", "numpy@old"])
def test_results_that_agree_are_counted_in_a_large_file(tmp_path, monkeypatch, name, brief):
    monkeypatch.setattr(results_live, "MAX_RESULTS_IN_MEMORY", 2)
    found = LiveResults(tmp_path / "f.jsonl")
    run = job(tmp_path, name=name, names="sv")
    run.execute(found.path, on_line=found.add_line)
    assert not found._builder.results
    counted, (file,) = found.build_run(), reader.load_report([found.path]).backends
    passed = [result for result in counted.results if result.case.endswith("/*")]
    assert passed
    assert len(counted.results) == len(file.results)
    report = results_io.merge_live_results([found])
    assert report.size == len(file.cases)
    assert shown(report, brief=brief) == shown(Report((file,)), brief=brief)


def test_invalid_line_is_rejected_with_its_number(tmp_path, recorded):
    path = tmp_path / "numpy.jsonl"
    lines = [recorded.path.read_bytes().splitlines()[0], b'{"record": "result", "case": "nowhere"}']
    path.write_bytes(b"\n".join([*lines, b""]))
    found = LiveResults(path)
    for line in lines:
        found.add_line(0, line)
    with pytest.raises(UnreadableResults, match=r"numpy\.jsonl:2: "):
        found.build_run()


def test_label_of_a_backend_is_added_to_its_surfaces(tmp_path):
    found = LiveResults(tmp_path / "f.jsonl")
    job(tmp_path, name="numpy@old").execute(found.path, on_line=found.add_line)
    assert found.build_run().results == reader.load_report([found.path]).backends[0].results
    assert found.build_run().results[0].surface == "s@old"
