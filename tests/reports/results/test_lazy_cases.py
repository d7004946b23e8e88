"""Lazy cases have the same content as loaded ones and need a tenth of the memory."""

import json
import tracemalloc

import pytest
from msgspec.structs import fields

from conformance.catalogue import loading
from reports.results import CaseRecord, reader
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
    """A results file with many passing cases."""
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


def test_lazy_case_equals_the_loaded_case(written):
    (loaded,), (lazy,) = (reader.load_report([written], lazy=one).backends for one in (False, True))
    assert loaded.results == lazy.results
    assert list(loaded.cases) == list(lazy.cases)
    for name, case in loaded.cases.items():
        assert lazy.cases[name].size == case.size
        assert [getattr(lazy.cases[name], one.name) for one in fields(CaseRecord)] == [
            getattr(case, one.name) for one in fields(CaseRecord)
        ]


def test_lazy_case_has_no_other_attributes(written):
    (lazy,) = reader.load_report([written], lazy=True).backends
    first = next(iter(lazy.cases.values()))
    with pytest.raises(AttributeError, match="nothing"):
        _ = first.nothing


def test_lazy_case_is_read_after_its_file_was_replaced(written, tmp_path):
    (lazy,) = reader.load_report([written], lazy=True).backends
    other = tmp_path / "other"
    other.write_text("something else", "utf-8")
    other.replace(written)
    assert all(case.inputs for case in lazy.cases.values())


@pytest.mark.parametrize("brief", [True, False])
def test_summary_of_lazy_cases_is_the_same(written, brief):
    texts = [
        [str(part) for part in render_terminal(reader.load_report([written], lazy=lazy), brief=brief).renderables[1:]]
        for lazy in (False, True)
    ]
    assert texts[0] == texts[1]


def memory_per_case(path, *, lazy):
    """Return the memory in bytes per case, including its result."""
    reader.load_report([path], lazy=lazy)  # fill caches that are shared between reports
    tracemalloc.start()
    report = reader.load_report([path], lazy=lazy)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(report.backends[0].results) == MANY
    return used / MANY


def test_lazy_case_needs_a_tenth_of_the_memory(long):
    assert 10 * memory_per_case(long, lazy=True) < memory_per_case(long, lazy=False)


def test_cases_of_a_sweep_share_equal_objects(tmp_path):
    sweep = (
        "id: all, level: exhaustive, cover: all, x: {values: integers}, "
        "factors: {rank: [1], extent: [5, 6, 7], window: [2, 3], stride: [1]}"
    )
    cases = loading.load_catalogue([family(tmp_path, sweep, section="sweeps")], level="exhaustive").cases
    assert len(cases) == 6
    assert len({id(case.parameters) for case in cases}) == 2
    assert len({id(case.inputs["x"].shape) for case in cases}) == 3
    assert len({id(case.expect) for case in cases}) == 1
