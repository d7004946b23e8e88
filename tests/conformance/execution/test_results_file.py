import json
import math
import sys

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from conformance import ConformanceError
from conformance.cases.arrays import json_value
from conformance.catalogue import loading as catalogues
from conformance.execution.records import MAX_RECORDED_ELEMENTS, recorded_array
from conformance.execution.run import Run
from conformance.judging.ledger import Ledger
from reports.results import reader
from tests.support.fake_backends import CRASHES, backend, declares, load, surface
from tests.support.nightly import NIGHTLY, only_nightly

X = "x: {values: arange, shape: [1, 1, 4, 4]}"
TEXTS = (f"id: a, {X}, window: 2", f"id: q, {X}, window: 2, stride: 1", f"id: c, {X}, window: 3")
TIMES = ("seconds", "started")


def job(catalogue, *, wrong="x = x[:, :, ::2]"):
    return Run(backend(surface("s"), surface("t", wrong)), catalogue, Ledger(), python=sys.executable)


def asking(folder):
    """Return a run with a convention, a program shared by two surfaces, and a message with special characters."""
    question = f"id: q, about: b, {X}, window: 3, answers: {{window: {{stride: 3}}, one: {{stride: 1}}}}"
    path = folder / "asking.yaml"
    lines = ["operator: max_pool", "source: s", "cases:", *(f"  - {{{text}}}" for text in TEXTS[::2]), "questions:"]
    path.write_text("\n".join([*lines, f"  - {{{question}}}", ""]), "utf-8")
    surfaces = [
        surface("s", "x = x[:, :, 2:3, 2:3]", declarations=declares("window")),
        surface("t", "raise ValueError('é \\u2028 \\n x')"),
        surface("u", "x = x[:, :, 2:3, 2:3]", declarations=declares("one")),
    ]
    return Run(backend(*surfaces), catalogues.load_catalogue([path]), Ledger(), python=sys.executable)


def records(path):
    """Return all records of a file as JSON without times."""
    found = [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]]
    return [json.dumps({key: value for key, value in one.items() if key not in TIMES}) for one in found]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    asking(folder).execute(folder / "whole.jsonl")
    return folder


def resumed(folder, content):
    path = folder / "cut.jsonl"
    path.write_bytes(content)
    asking(folder).execute(path, resume=True)
    reader.load_report([path])
    return records(path)


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_run_truncated_at_any_byte_is_resumed_to_the_same_records(uninterrupted, data):
    content = (uninterrupted / "whole.jsonl").read_bytes()
    cut = data.draw(st.integers(0, len(content)))
    assert sorted(resumed(uninterrupted, content[:cut])) == sorted(records(uninterrupted / "whole.jsonl"))


def test_run_truncated_after_a_line_is_resumed_to_the_same_records(uninterrupted):
    lines = (uninterrupted / "whole.jsonl").read_bytes().splitlines(keepends=True)
    conventions = [n for n, line in enumerate(lines, 1) if b'"record": "convention"' in line]
    assert len(conventions) == 3
    for cut in [*conventions, len(lines) - 1, len(lines)]:
        assert sorted(resumed(uninterrupted, b"".join(lines[:cut]))) == sorted(records(uninterrupted / "whole.jsonl"))


def contradicting(folder):
    """Return a run in which one surface alternates between two answers to a convention, and one crashes sometimes."""
    sizes = (4, 6, 8, 5, 7)
    first = "about: b, window: 3, answers: {window: {stride: 3}, one: {stride: 1}}"
    shape = "x: {{values: arange, shape: [1, 1, {0}, {0}]}}"
    texts = [f"id: q{n}, question: q0, {shape.format(size)}, {first}" for n, size in enumerate(sizes)]
    texts[0] = texts[0].replace("question: q0, ", "")
    one, window = "x[:, :, 2:, 2:]", "x[:, :, 2::3, 2::3]"
    wavers = surface(
        "s", f"x = {one} if x.shape[2] in (6, 7) else {window}", declarations=declares("window", "max_pool/q0")
    )
    crashes = surface("t", f"if x.shape[2] in (4, 8):\n    os.abort()\nx = {one} if x.shape[2] == 5 else {window}")
    catalogue = load(folder, *texts, section="questions")
    return Run(backend(wavers, crashes), catalogue, Ledger(), python=sys.executable)


@only_nightly
def test_contradiction_across_an_interruption_is_detected(tmp_path):
    path = tmp_path / "whole.jsonl"
    contradicting(tmp_path).execute(path)
    complete = records(path)
    assert sum("contradicts itself" in one for one in complete) == 4
    lines = path.read_bytes().splitlines(keepends=True)
    # The answers that a resumed run has to know change with these records only.
    answers = [n for n, line in enumerate(lines, 1) if b'"record": "convention"' in line or b'"crashed"' in line]
    assert len(answers) >= 8
    for cut in range(len(lines) + 1) if NIGHTLY else answers:
        path.write_bytes(b"".join(lines[:cut]))
        contradicting(tmp_path).execute(path, resume=True)
        assert records(path) == complete, cut


@pytest.mark.parametrize("record", [{}, {"question": "q", "observed": []}, {"question": {}, "observed": "one"}])
def test_resume_rejects_a_malformed_convention_record(tmp_path, uninterrupted, record):
    path = tmp_path / "f.jsonl"
    lines = (uninterrupted / "whole.jsonl").read_bytes().splitlines(keepends=True)
    number = next(n for n, line in enumerate(lines) if b'"record": "convention"' in line)
    others = {key: value for key, value in json.loads(lines[number]).items() if key not in {"observed", "question"}}
    path.write_bytes(b"".join([*lines[:number], f"{json.dumps(others | record)}\n{{}}\n".encode()]))
    with pytest.raises(
        ConformanceError, match=f":{number + 1}: cannot resume, (object missing|question: expected|observed: expected)"
    ):
        asking(uninterrupted).execute(path, resume=True)


def test_resume_does_not_change_a_complete_file(uninterrupted):
    path = uninterrupted / "whole.jsonl"
    before = path.read_bytes()
    asking(uninterrupted).execute(path, resume=True)
    assert path.read_bytes() == before


def test_without_resume_the_file_is_replaced(tmp_path):
    path = tmp_path / "f.jsonl"
    path.write_text("something else", "utf-8")
    job(load(tmp_path, *TEXTS)).execute(path)
    assert reader.load_report([path]).backends[0].complete


def test_resume_rejects_another_catalogue(tmp_path):
    path = tmp_path / "f.jsonl"
    job(load(tmp_path, *TEXTS)).execute(path)
    before = path.read_bytes()
    other = load(tmp_path, *TEXTS[:2], TEXTS[2].replace("window: 3", "window: 4"))
    with pytest.raises(ConformanceError, match="cannot resume, catalogue differs from this run"):
        job(other).execute(path, resume=True)
    assert path.read_bytes() == before


def test_resume_rejects_other_surfaces(tmp_path):
    path = tmp_path / "f.jsonl"
    catalogue = load(tmp_path, *TEXTS)
    job(catalogue).execute(path)
    with pytest.raises(ConformanceError, match="surfaces differs"):
        Run(backend(surface("z")), catalogue, Ledger(), python=sys.executable).execute(path, resume=True)


@pytest.mark.parametrize("line", ["garbage", "5", "[]", "{}", '{"record": "result"}', '{"record": 3}', "null"])
def test_resume_rejects_an_invalid_results_file_in_one_line(tmp_path, line):
    path = tmp_path / "f.jsonl"
    path.write_text(f"{line}\nmore\n", "utf-8")
    with pytest.raises(ConformanceError) as error:
        job(load(tmp_path, *TEXTS)).execute(path, resume=True)
    assert str(error.value).startswith(f"{path}:")
    assert "\n" not in str(error.value)


def test_footer_counts_every_result(tmp_path):
    path = tmp_path / "f.jsonl"
    job(load(tmp_path, *TEXTS), wrong=CRASHES).execute(path)
    footer = json.loads(path.read_text("utf-8").split("\n")[-2])
    assert (footer["results"], footer["by_status"]) == (6, {"crashed": 3, "pass": 3})


def test_output_that_cannot_be_written_is_one_error_line(tmp_path):
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(ConformanceError, match=r"Not a directory|File exists"):
        job(load(tmp_path, *TEXTS)).execute(tmp_path / "file" / "f.jsonl")


def test_file_is_written_during_the_run(tmp_path):
    path, sizes = tmp_path / "f.jsonl", []
    job(load(tmp_path, *TEXTS)).execute(path, progress=lambda *_: sizes.append(path.stat().st_size))
    assert sizes == sorted(set(sizes))


@given(st.recursive(st.floats() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.tuples(inner)))
def test_encoded_values_are_json_without_nan(value):
    json.dumps(json_value(value), allow_nan=False)


def test_special_numbers_are_encoded_as_strings():
    assert json_value([math.nan, math.inf, (-math.inf, 1.5)]) == ["nan", "inf", ["-inf", 1.5]]


def test_record_of_a_large_array_has_no_data():
    assert recorded_array(np.zeros((1, 1, MAX_RECORDED_ELEMENTS))).data is not None
    assert recorded_array(np.zeros((1, 1, MAX_RECORDED_ELEMENTS + 1))).data is None
