"""On-disk cache of expected results: equal to the computed ones, and harmless if damaged or unwritable."""

import json
import sqlite3
import sys

import numpy as np
import pytest

from conformance import cli
from conformance.execution import expectation_cache as module
from conformance.execution.expectation_cache import open_expectation_cache
from conformance.execution.records import case_record_line
from conformance.execution.run import Run
from conformance.judging.expected import compute_expected
from conformance.judging.ledger import Ledger
from conformance.system import cache
from conformance.system.cache import SOURCE_ROOT
from conformance.system.data_format import decode_object
from tests.support.fake_backends import backend, family, load

X = "x: {values: mantissas, shape: [1, 2, 5], dtype: float32}"
LP = ("lp_pool", f"id: a, {X}, window: 3, p: 3")
HALF = ("softmax_pool", "id: b, x: {values: mantissas, shape: [1, 1, 4], dtype: bfloat16}, window: 2")
WHOLE = ("max_pool", "id: c, x: {values: arange, shape: [1, 1, 4], dtype: int32}, window: 2")
PRINTED = ("max_pool", "id: e, x: {values: arange, shape: [1, 1, 4]}, window: 2, expect: [[[1, 3]]]")
REFUSED = ("max_pool", "id: f, x: {values: arange, shape: [1, 1, 4]}, window: 0, expect: {rejected: WindowIsZero}")
QUESTION = (
    "max_pool",
    "id: g, about: By how much, x: {values: arange, shape: [1, 1, 4]}, window: 2, "
    "answers: {two: {stride: 2}, one: {stride: 1}}",
)
EVERY = (LP, HALF, WHOLE, PRINTED, REFUSED)


@pytest.fixture(autouse=True)
def path(tmp_path, monkeypatch):
    """Return the path of the cache file, in a temporary folder."""
    monkeypatch.setattr(cache, "cache_folder", lambda name: tmp_path / name)
    return tmp_path / "conformance-expected" / f"{module.source_digest(module.SOURCE_FILES)}.sqlite"


def one(tmp_path, known):
    """Return the case of an operator and a text."""
    operator, text = known
    return load(tmp_path, text, operator=operator).cases[0]


def counted(monkeypatch):
    """Return the list of the ids of computed cases."""
    computed = []
    monkeypatch.setattr(module, "compute_expected", lambda case: computed.append(case.id) or compute_expected(case))
    return computed


@pytest.mark.parametrize("warm", [False, True])
def test_all_answers_of_a_convention_are_cached(tmp_path, warm):
    case = load(tmp_path, QUESTION[1], section="questions").cases[0]
    for _ in range(1 + warm):
        with open_expectation_cache() as cached_expected:
            found = cached_expected(case)
    uncached = compute_expected(case)
    assert found.target is None
    assert list(found.answers) == ["two", "one"]
    assert [same(found.answers[name].exact.value, uncached.answers[name].exact.value) for name in uncached.answers] == [
        True
    ] * 2


def same(one, other):
    """Whether two arrays are bitwise equal, or both None."""
    if one is None or other is None:
        return one is other
    return np.asarray(one).dtype == np.asarray(other).dtype and np.array_equal(one, other, equal_nan=True)


@pytest.mark.parametrize("known", EVERY)
def test_cached_result_equals_the_computed_one(tmp_path, known):
    case = one(tmp_path, known)
    uncached = compute_expected(case)
    with open_expectation_cache() as cached_expected:
        cached_expected(case)
    with open_expectation_cache() as cached_expected:
        again = cached_expected(case)
    assert again.digest == uncached.digest
    assert again.record_line == case_record_line(case, uncached)
    assert [same(again.inputs[name], array) for name, array in uncached.inputs.items()] == [True] * len(uncached.inputs)
    assert (again.target.violation, again.target.printed) == (
        uncached.target.violation,
        uncached.target.printed,
    )
    assert same(again.target.bound, uncached.target.bound)
    for part in module.EXACT_FIELDS if uncached.target.exact else ():
        assert same(getattr(again.target.exact, part), getattr(uncached.target.exact, part)), part


def test_cached_result_is_not_computed_again(tmp_path, monkeypatch):
    computed = counted(monkeypatch)
    for _ in range(2):
        with open_expectation_cache() as cached_expected:
            cached_expected(one(tmp_path, LP))
    assert computed == ["lp_pool/a"]


@pytest.mark.parametrize(
    "changed", [("p: 3", "p: 4"), ("window: 3", "window: 2"), ("2, 5", "1, 6"), ("float32", "float64")]
)
def test_changed_case_is_not_in_the_cache(tmp_path, changed):
    with open_expectation_cache() as cached_expected:
        cached_expected(one(tmp_path, LP))
    other = one(tmp_path, (LP[0], LP[1].replace(*changed)))
    with open_expectation_cache() as cached_expected:
        assert same(cached_expected(other).target.exact.value, compute_expected(other).target.exact.value)
        assert cached_expected(other).digest == compute_expected(other).digest


def test_large_result_is_not_cached(tmp_path, path, monkeypatch):
    monkeypatch.setattr(module, "MAX_RESULT_ELEMENTS", 1)
    with open_expectation_cache() as cached_expected:
        cached_expected(one(tmp_path, LP))
    assert not path.exists()


def test_damaged_entry_is_computed_again(tmp_path, path, monkeypatch):
    case = one(tmp_path, LP)
    with open_expectation_cache() as cached_expected:
        right = cached_expected(case)
    with sqlite3.connect(path) as file:
        ((key, packed),) = file.execute("SELECT * FROM entries")
        file.execute("UPDATE entries SET value = ?", (packed[:-1] + bytes([packed[-1] ^ 1]),))
    file.close()
    computed = counted(monkeypatch)
    assert key == case.content_digest
    with open_expectation_cache() as cached_expected:
        assert same(cached_expected(case).target.exact.value, right.target.exact.value)
    assert len(computed) == 1


def test_case_record_is_available_before_decoding(tmp_path, monkeypatch):
    case = one(tmp_path, LP)
    with open_expectation_cache() as cached_expected:
        right = cached_expected(case)
    with open_expectation_cache() as cached_expected:
        found = cached_expected(case)
    unpacked = []
    monkeypatch.setattr(module, "decode_object", lambda *given: unpacked.append(decode_object(*given)) or unpacked[-1])
    assert found.record_line == right.record_line
    assert not unpacked
    assert found.digest == right.digest
    assert len(found.targets) == len(unpacked) == 1
    with pytest.raises(AttributeError, match="nothing"):
        _ = found.nothing


def test_entry_of_another_version_is_computed_again(tmp_path, monkeypatch):
    case = one(tmp_path, LP)
    with open_expectation_cache() as cached_expected:
        right = cached_expected(case)
    monkeypatch.setattr(module, "CACHED_CLASSES", ())
    computed = counted(monkeypatch)
    with open_expectation_cache() as cached_expected:
        found = cached_expected(case)
        assert same(found.target.exact.value, right.target.exact.value)
    assert found.record_line == right.record_line
    assert computed == [case.id]


def test_foreign_file_is_ignored(tmp_path, path):
    path.parent.mkdir()
    path.write_text("a file of another kind, longer than the header of a data base " * 9, "utf-8")
    case = one(tmp_path, LP)
    with open_expectation_cache() as cached_expected:
        assert cached_expected(case).digest == compute_expected(case).digest


def test_unwritable_folder_is_ignored(tmp_path, path):
    path.parent.write_text("a file", "utf-8")
    case = one(tmp_path, LP)
    with open_expectation_cache() as cached_expected:
        assert cached_expected(case).digest == compute_expected(case).digest
    assert path.parent.read_text("utf-8") == "a file"


def test_only_the_newest_cache_files_remain(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "cache_folder", lambda name: tmp_path / name)
    for number in range(7):
        monkeypatch.setattr(module, "source_digest", lambda _sources, number=number: f"{number:032}")
        with open_expectation_cache() as cached_expected:
            cached_expected(one(tmp_path, LP))
    left = sorted(file.stem for file in (tmp_path / "conformance-expected").iterdir())
    assert left == [f"{number:032}" for number in range(7 - module.MAX_EXPECTATION_FILES, 7)]


def test_cache_file_depends_on_the_whole_source_except_adapters_exploration_and_interfaces():
    folder = SOURCE_ROOT / "conformance"
    names = {path.name for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    independent = {"adapters", "exploration", "models", "cli", "pytest_plugin"}
    packages = {f"conformance/{name}" for name in names - independent}
    assert {"reference", "reports/results", *packages} == set(module.SOURCE_FILES)


def test_run_with_the_cache_gives_the_same_results(tmp_path):
    def results(name, compute):
        file = tmp_path / f"{name}.jsonl"
        texts = [text for operator, text in EVERY if operator == "max_pool"]
        Run(backend(), load(tmp_path, *texts), Ledger(), python=sys.executable, compute_expected=compute).execute(file)
        records = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        return [{key: record[key] for key in record.keys() - {"started", "seconds"}} for record in records]

    uncached = results("without", compute_expected)
    for name in ("cold", "warm"):
        with open_expectation_cache() as cached_expected:
            assert results(name, cached_expected) == uncached


@pytest.mark.parametrize(("option", "written"), [("--cache", True), ("--no-cache", False)])
def test_cache_option_of_the_command_line(tmp_path, monkeypatch, option, written):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cache, "cache_folder", lambda name: tmp_path / name)
    path = family(tmp_path, PRINTED[1], HALF[1].replace("bfloat16", "float32"), operator="max_pool")
    with pytest.raises(SystemExit) as left:
        cli.main(["run", "--backend", "numpy", "--cases", str(path), option])
    assert not left.value.code
    assert (tmp_path / "conformance-expected").exists() is written
