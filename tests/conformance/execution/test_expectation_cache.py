"""Answers of the reference that are kept: the same as the reference's, by content, and never in the way."""

import json
import sqlite3
import sys

import numpy as np
import pytest

from conformance import cli
from conformance.execution import expectation_cache as module
from conformance.execution.expectation_cache import ExpectationCache, open_expectation_cache
from conformance.execution.records import case_record_line
from conformance.execution.run import Run
from conformance.judging.expected import compute_expected
from conformance.judging.ledger import Ledger
from conformance.system import cache
from conformance.system.cache import SOURCE_ROOT
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


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cache" / "answers.sqlite"


def one(tmp_path, known):
    """Return the case of an operator and a text."""
    operator, text = known
    return load(tmp_path, text, operator=operator).cases[0]


def counted(monkeypatch):
    """Count what is asked of the reference."""
    asked = []
    monkeypatch.setattr(module, "expected", lambda case: asked.append(case.id) or compute_expected(case))
    return asked


@pytest.mark.parametrize("warm", [False, True])
def test_every_answer_to_a_question_is_kept(tmp_path, path, warm):
    case = load(tmp_path, QUESTION[1], section="questions").cases[0]
    for _ in range(1 + warm):
        with open_expectation_cache(path) as ask:
            found = ask(case)
    plain = compute_expected(case)
    assert found.target is None
    assert list(found.answers) == ["two", "one"]
    assert [same(found.answers[name].exact.value, plain.answers[name].exact.value) for name in plain.answers] == [
        True
    ] * 2


def same(one, other):
    """Whether two arrays, or none, are the same to the last bit."""
    if one is None or other is None:
        return one is other
    return np.asarray(one).dtype == np.asarray(other).dtype and np.array_equal(one, other, equal_nan=True)


@pytest.mark.parametrize("known", EVERY)
def test_what_is_kept_is_what_the_reference_says(tmp_path, path, known):
    case = one(tmp_path, known)
    plain = compute_expected(case)
    with open_expectation_cache(path) as ask:
        ask(case)
    with open_expectation_cache(path) as ask:
        again = ask(case)
    assert again.digest == plain.digest
    assert again.record_line == case_record_line(case, plain)
    assert [same(again.inputs[name], array) for name, array in plain.inputs.items()] == [True] * len(plain.inputs)
    assert (again.target.violation, again.target.printed) == (plain.target.violation, plain.target.printed)
    assert same(again.target.bound, plain.target.bound)
    for part in module.EXACT_FIELDS if plain.target.exact else ():
        assert same(getattr(again.target.exact, part), getattr(plain.target.exact, part)), part


def test_what_was_asked_once_is_not_asked_again(tmp_path, path, monkeypatch):
    asked = counted(monkeypatch)
    for _ in range(2):
        with open_expectation_cache(path) as ask:
            ask(one(tmp_path, LP))
    assert asked == ["lp_pool/a"]


@pytest.mark.parametrize(
    "changed", [("p: 3", "p: 4"), ("window: 3", "window: 2"), ("2, 5", "1, 6"), ("float32", "float64")]
)
def test_another_case_is_not_known(tmp_path, path, changed):
    with open_expectation_cache(path) as ask:
        ask(one(tmp_path, LP))
    other = one(tmp_path, (LP[0], LP[1].replace(*changed)))
    with open_expectation_cache(path) as ask:
        assert same(ask(other).target.exact.value, compute_expected(other).target.exact.value)
        assert ask(other).digest == compute_expected(other).digest


def test_large_result_is_not_kept(tmp_path, path, monkeypatch):
    monkeypatch.setattr(module, "MAX_RESULT_ELEMENTS", 1)
    with open_expectation_cache(path) as ask:
        ask(one(tmp_path, LP))
    assert not path.exists()


def test_damaged_answer_is_asked_for_anew(tmp_path, path, monkeypatch):
    case = one(tmp_path, LP)
    with open_expectation_cache(path) as ask:
        right = ask(case)
    with sqlite3.connect(path) as file:
        ((key, packed),) = file.execute("SELECT * FROM kept")
        file.execute("UPDATE kept SET expected = ?", (packed[:-1] + bytes([packed[-1] ^ 1]),))
    file.close()
    asked = counted(monkeypatch)
    assert key == case.key
    assert ExpectationCache(path).get(case) is None
    assert same(ExpectationCache(path).expected(case).target.exact.value, right.target.exact.value)
    assert len(asked) == 1


def test_line_is_known_before_the_rest_is_unpacked(tmp_path, path, monkeypatch):
    case = one(tmp_path, LP)
    with open_expectation_cache(path) as ask:
        right = ask(case)
    unpacked, loaded = [], cache.unpickle
    monkeypatch.setattr(cache, "loaded", lambda content: unpacked.append(loaded(content)) or unpacked[-1])
    with open_expectation_cache(path) as ask:
        found = ask(case)
    assert found.record_line == right.record_line
    assert not unpacked
    assert found.digest == right.digest
    assert len(found.targets) == len(unpacked) == 1
    with pytest.raises(AttributeError, match="nothing"):
        _ = found.nothing


def test_rest_that_cannot_be_unpacked_is_asked_for_anew(tmp_path, path, monkeypatch):
    case = one(tmp_path, LP)
    with open_expectation_cache(path) as ask:
        right = ask(case)
    monkeypatch.setattr(cache, "loaded", lambda _content: None)
    asked = counted(monkeypatch)
    with open_expectation_cache(path) as ask:
        found = ask(case)
        assert same(found.target.exact.value, right.target.exact.value)
    assert found.record_line == right.record_line
    assert asked == [case.id]


@pytest.mark.parametrize("length", [0, 20, -1])
def test_what_was_cut_is_none(length):
    packed = cache.pack(["anything"])
    assert cache.unpack(packed) == ["anything"]
    assert cache.unpack(packed[:length]) is None


def test_file_that_is_none_of_ours_is_no_fault(tmp_path, path):
    path.parent.mkdir()
    path.write_text("a file of another kind, longer than the header of a data base " * 9, "utf-8")
    case = one(tmp_path, LP)
    with open_expectation_cache(path) as ask:
        assert ask(case).digest == compute_expected(case).digest


def test_folder_that_cannot_be_written_is_no_fault(tmp_path, path):
    path.parent.write_text("a file", "utf-8")
    case = one(tmp_path, LP)
    with open_expectation_cache(path) as ask:
        assert ask(case).digest == compute_expected(case).digest
    assert path.parent.read_text("utf-8") == "a file"


def test_full_file_grows_no_more(tmp_path, path, monkeypatch):
    with open_expectation_cache(path) as ask:
        ask(one(tmp_path, LP))
    monkeypatch.setattr(module, "MAX_EXPECTATION_FILE_BYTES", path.stat().st_size - 1)
    with open_expectation_cache(path) as ask:
        ask(one(tmp_path, HALF))
    assert len(ExpectationCache(path)._keys) == 1


def test_what_gathers_is_written_on_the_way(tmp_path, path, monkeypatch):
    monkeypatch.setattr(module, "WRITE_BATCH_BYTES", 0)
    answers = ExpectationCache(path)
    answers.expected(one(tmp_path, LP))
    assert not answers.unsaved
    assert path.exists()


def test_only_the_files_of_the_last_sources_are_left(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "folder", lambda name: tmp_path / name)
    for number in range(7):
        monkeypatch.setattr(module, "environment", lambda _sources, number=number: f"{number:032}")
        with open_expectation_cache() as ask:
            ask(one(tmp_path, LP))
    left = sorted(file.stem for file in (tmp_path / "conformance-expected").iterdir())
    assert left == [f"{number:032}" for number in range(7 - module.MAX_EXPECTATION_FILES, 7)]


def test_files_belong_to_all_of_the_source_but_the_adapters():
    files = {path.relative_to(SOURCE_ROOT).as_posix() for path in (SOURCE_ROOT / "conformance").glob("*.py")}
    assert {"reference", *files} == set(module.SOURCE_FILES)


def test_run_judges_by_what_is_kept_as_by_the_reference(tmp_path, path):
    def results(name, expect):
        file = tmp_path / f"{name}.jsonl"
        texts = [text for operator, text in EVERY if operator == "max_pool"]
        Run(backend(), load(tmp_path, *texts), Ledger(), python=sys.executable, compute_expected=expect).execute(file)
        records = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        return [{key: record[key] for key in record.keys() - {"started", "seconds"}} for record in records]

    plain = results("plain", compute_expected)
    for name in ("cold", "warm"):
        with open_expectation_cache(path) as ask:
            assert results(name, ask) == plain


@pytest.mark.parametrize(("option", "written"), [("--cache", True), ("--no-cache", False)])
def test_command_keeps_answers_unless_told_not_to(tmp_path, monkeypatch, option, written):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "folder", lambda name: tmp_path / name)
    path = family(tmp_path, PRINTED[1], HALF[1].replace("bfloat16", "float32"), operator="max_pool")
    with pytest.raises(SystemExit) as left:
        cli.main(["run", "--backend", "numpy", "--cases", str(path), option])
    assert not left.value.code
    assert (tmp_path / "conformance-expected").exists() is written
