"""Cases that a summary leaves in their file: the same as those that are kept, in a tenth of the memory."""

import json
import tracemalloc
from dataclasses import fields

import pytest

from conformance.catalogue import loading
from reports.results import reader
from reports.results.records import CaseRecord
from reports.views.terminal import render_terminal
from tests.support import example_results as example
from tests.support.fake_backends import family

MANY = 400
NUMBERS = list(range(200))


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "alpha.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in example.alpha()), "utf-8")
    return path


@pytest.fixture
def long(tmp_path):
    """A results file of many cases that pass."""
    header, *records = example.alpha()
    first = {kind: next(one for one in records if one["record"] == kind) for kind in ("case", "result")}
    array = {"dtype": "float32", "shape": [200], "data": [float(number) for number in NUMBERS]}
    case = {**first["case"], "inputs": {"x": array}, "expected": array, "question": None}
    result = {**first["result"], "status": "pass", "program": None}
    lines = [header]
    for number in range(MANY):
        lines += [{**case, "case": f"max_pool/n{number}"}, {**result, "case": f"max_pool/n{number}"}]
    path = tmp_path / "long.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in lines), "utf-8")
    return path


def test_shelved_case_is_the_case(written):
    (kept,), (shelved,) = (reader.load_report([written], lazy=one).backends for one in (False, True))
    assert kept.results == shelved.results
    assert list(kept.cases) == list(shelved.cases)
    for name, case in kept.cases.items():
        assert shelved.cases[name].size == case.size
        assert [getattr(shelved.cases[name], one.name) for one in fields(CaseRecord)] == [
            getattr(case, one.name) for one in fields(CaseRecord)
        ]


def test_shelved_case_has_no_other_parts(written):
    (shelved,) = reader.load_report([written], lazy=True).backends
    first = next(iter(shelved.cases.values()))
    with pytest.raises(AttributeError, match="nothing"):
        _ = first.nothing


def test_shelved_case_is_read_though_another_file_has_taken_the_place(written, tmp_path):
    (shelved,) = reader.load_report([written], lazy=True).backends
    other = tmp_path / "other"
    other.write_text("something else", "utf-8")
    other.replace(written)
    assert all(case.inputs for case in shelved.cases.values())


@pytest.mark.parametrize("brief", [True, False])
def test_summary_of_shelved_cases_is_the_same(written, brief):
    texts = [
        [
            str(part)
            for part in render_terminal(reader.load_report([written], lazy=shelved), brief=brief).renderables[1:]
        ]
        for shelved in (False, True)
    ]
    assert texts[0] == texts[1]


def kept(path, *, shelved):
    """Return the bytes that each case of a file and its result take in memory."""
    reader.load_report([path], lazy=shelved)  # what is made once for all
    tracemalloc.start()
    report = reader.load_report([path], lazy=shelved)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(report.backends[0].results) == MANY
    return taken / MANY


def test_shelved_case_takes_a_tenth_of_the_memory(long):
    assert 10 * kept(long, shelved=True) < kept(long, shelved=False)


def test_rows_of_a_sweep_keep_what_they_have_in_common_once(tmp_path):
    sweep = (
        "id: all, level: exhaustive, cover: all, x: {values: integers}, "
        "factors: {rank: [1], extent: [5, 6, 7], window: [2, 3], stride: [1]}"
    )
    cases = loading.load_catalogue([family(tmp_path, sweep, section="sweeps")], level="exhaustive").cases
    assert len(cases) == 6
    assert len({id(case.parameters) for case in cases}) == 2
    assert len({id(case.inputs["x"].shape) for case in cases}) == 3
    assert len({id(case.expect) for case in cases}) == 1
