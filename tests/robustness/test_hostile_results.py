"""Fuzzed results files: each is read, or rejected with one clear error line.

HYPOTHESIS_PROFILE=nightly draws forty times as many: 20,000 documents together with test_hostile_catalogues.
"""

import json

import pytest
from hypothesis import given, strategies as st

from conformance import ConformanceError, cli
from conformance.execution.results_file import ResultsFile
from reports.results import decode_line
from tests.support import example_results as example
from tests.support.fake_backends import family
from tests.support.guarded_command import bounded, command, silenced
from tests.support.mutated_documents import bytes_changed, changed, dumped, hostile

RUNS = [example.alpha()[:30], example.beta(), example.gamma(), example.delta()]
REASON = "The document was changed at random."
FORMATS = ("html", "markdown", "matrix", "terminal")
CASES = (
    "id: a, x: {values: arange, shape: [1, 1, 4, 4]}, window: 2",
    "id: b, x: {values: integers, shape: [1, 2, 5]}, window: [3], stride: [2]",
    "id: c, x: {values: [[[1, .nan, 3]]]}, window: [2], expect: {shape: [1, 1, 1]}",
)


def lines(records):
    """Return records as the lines of a results file."""
    return b"".join(dumped(record) + b"\n" for record in records) if isinstance(records, list) else dumped(records)


def put(folder, content):
    """Write a results file; return its path."""
    path = folder / "numpy.jsonl"
    path.write_bytes(content)
    return path


def commands_on(folder, path, turn):
    """Run a command that reads results on this file. turn: index of the command."""
    arguments = [
        *(("report", path, "--format", form, "--out", folder / "report") for form in FORMATS),
        ("verified", path, "--out", folder / "verified.json"),
        ("ledger", "add", path, "--cases", folder / "cases.yaml", "--case", "*", "--reason", REASON),
        ("rejudge", path, "--cases", folder / "cases.yaml", "--no-cache"),
        ("conventions", path, "--cases", folder / "cases.yaml"),
    ]
    family(folder, *CASES, name="cases.yaml")
    command(folder, *arguments[turn % len(arguments)])


TURNS = st.integers(0, 7)


@hostile(2400)
@given(document=changed(RUNS), turn=TURNS)
def test_changed_results(folder, document, turn):
    commands_on(folder, put(folder, lines(document)), turn)


@hostile(400)
@given(content=bytes_changed([lines(run) for run in RUNS]), turn=TURNS)
def test_results_with_other_bytes(folder, content, turn):
    commands_on(folder, put(folder, content), turn)


def of_a_run(home):
    """Return the records of a run of the built-in backend."""
    path = family(home, *CASES, name="cases.yaml")
    with silenced():
        cli.main(["run", "--backend", "numpy", "--cases", str(path), "--out", str(home / "out"), "--no-cache"])
    return [json.loads(line) for line in (home / "out" / "results" / "numpy.jsonl").read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The records of a run of the built-in backend."""
    return of_a_run(tmp_path_factory.mktemp("run"))


@hostile(800)
@given(data=st.data())
def test_changed_results_of_a_run_are_rejudged_or_rejected(folder, results, data):
    document = data.draw(changed([results]))
    commands_on(folder, put(folder, lines(document)), data.draw(st.sampled_from([5, 6, 6, 6, 7])))


@hostile(400)
@given(data=st.data())
def test_changed_results_are_resumed_or_rejected(folder, results, data):
    document = data.draw(changed([results[:-1]]))
    path = put(folder, lines(document))
    header = decode_line(json.dumps(results[0]).encode())
    message = ""
    with bounded(folder), ResultsFile(path) as file:
        try:
            file.open(header, resume=True)
        except ConformanceError as error:
            message = str(error)
    assert len(message.splitlines()) < 2
    assert not message or path.read_bytes() == lines(document)
