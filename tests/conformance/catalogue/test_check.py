"""`conformance check`: each kind of problem is reported, and the cache of checked cases."""

from dataclasses import replace

import pytest
from packaging.specifiers import SpecifierSet

from conformance.adapters import registry
from conformance.catalogue import check, lock
from conformance.catalogue.case_check import check_case
from conformance.catalogue.check import CheckCache
from conformance.catalogue.lock import FrozenCase
from conformance.judging import ledger
from conformance.system import cache
from tests.support import fake_backends
from tests.support.fake_backends import load

X = "x: {values: arange, shape: [1, 1, 4, 4]}"
HALVES = "x: {values: [[[0.25, 0.25]]]}"


def problems(folder, *cases, **keywords):
    return list(check.check_problems(load(folder, *cases, **keywords)))


def test_built_in_catalogue_has_no_problems(catalogue):
    # Use the cache of an earlier check of the same source.
    examiner = check.CaseChecker(CheckCache())
    assert list(check.check_problems(catalogue, ledger.load_ledger(), check.read_lock(), checker=examiner)) == []


def test_valid_catalogue_has_no_problems(tmp_path):
    assert problems(tmp_path, f"id: a, {X}, window: 2, expect: [[[[5, 7], [13, 15]]]]") == []


def test_every_problem_is_one_line_with_its_place(tmp_path):
    found = problems(
        tmp_path,
        f"id: a, {X}, window: 2, expect: [[[[5, 7], [13, 14]]]]",
        f"id: b, {X}, window: 2",
        f"id: c, {X}, window: 2, expect: {{rejected: Nothing}}",
    )
    assert len(found) == 2
    assert [line.split(": ")[0] for line in found] == [f"{tmp_path / 'file.yaml'}:{line}" for line in (4, 6)]
    assert all("\n" not in line for line in found)


def test_print_of_another_shape_is_a_problem(tmp_path):
    (found,) = problems(tmp_path, f"id: a, {X}, window: 2, expect: [1, 2, 3]")
    assert "printed output has shape [3]" in found


@pytest.mark.parametrize("printed", ["0.3", "0.2", "0.25"])
def test_decimal_rounded_either_way_at_a_tie_needs_no_excuse(tmp_path, printed):
    assert problems(tmp_path, f"id: a, {HALVES}, window: 2, expect: [{printed}]") == []


def test_decimal_that_holds_only_by_the_bound_must_be_excused(tmp_path):
    text = "id: a, x: {values: [[[1, 1, 2]]]}, window: 3, expect: [1.33333325]"
    assert "key 'inexact' is missing: 1.33333325" in problems(tmp_path, text, operator="avg_pool")[0]
    assert problems(tmp_path, f"{text}, inexact: summed in float32", operator="avg_pool") == []


def test_excuse_that_is_not_needed_is_a_problem(tmp_path):
    (found,) = problems(tmp_path, f"id: a, {HALVES}, window: 2, expect: [0.25], inexact: because")
    assert "every printed number is correctly rounded" in found


def frozen(*arguments):
    catalogue = load(*arguments)
    found = {name: finding.lock_record for name, finding in check.check_cases(catalogue, check.DEFAULT_CHECKER) if name}
    return lock.Lock(check.lock_records(catalogue, found))


def drift(folder, frozen, *cases):
    return list(check.check_problems(load(folder, *cases), lock=frozen))


def about_cases(lines):
    return [line for line in lines if line.startswith(("case max_pool/", "and "))]


def test_lock_catches_a_case_that_is_renamed_or_dropped(tmp_path):
    text = f"id: a, {X}, window: 2"
    before = frozen(tmp_path, text)
    assert about_cases(drift(tmp_path, before, text)) == []
    assert about_cases(drift(tmp_path, before, text.replace("id: a", "id: b"))) == [
        "case max_pool/a: frozen, but no longer in the catalogue",
        "case max_pool/b: not frozen yet (conformance freeze)",
    ]


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (f"id: a, {X}, window: 3", "its parameters and its expected output"),
        (f"id: a, {X}, window: [2, 2], stride: 2, padding: 0", None),
        ("id: a, x: {values: arange, shape: [1, 1, 4, 4], start: 1}, window: 2", "its inputs and its expected output"),
        ("id: a, x: {values: arange, shape: [1, 1, 4, 4], step: -1}, window: 2, dilation: 2, stride: 2",
         "its parameters, its inputs and its expected output"),
        (f"id: a, {X}, window: 2, via: [pad, max_pool]", "its parameters"),
        (f"id: a, {X}, window: 2, expect: [[[[5, 7], [13, 15]]]]", None),
    ],
)  # fmt: skip
def test_drift_is_reported_by_what_drifted(tmp_path, other, what):
    found = about_cases(drift(tmp_path, frozen(tmp_path, f"id: a, {X}, window: 2"), other))
    assert len(found) == (what is not None)
    assert all(
        line.startswith(f"case max_pool/a: {what}") and "changed since the last freeze" in line for line in found
    )


def test_change_of_an_expected_output_alone_is_reported(tmp_path):
    # Only a change of the reference could do this.
    text = f"id: a, {X}, window: 2"
    before = frozen(tmp_path, text)
    record = before.records["max_pool/a"]
    other = lock.Lock({"max_pool/a": replace(record, digest="0" * 32, output="0" * 16)})
    (line,) = about_cases(drift(tmp_path, other, text))
    assert line == "case max_pool/a: its expected output changed since the last freeze"


def test_lock_of_the_first_format_tells_drift_too(tmp_path):
    text = f"id: a, {X}, window: 2"
    before = lock.Lock(
        {name: lock.FrozenCase(digest) for name, digest in check.case_digests(load(tmp_path, text)).items()}
    )
    assert about_cases(drift(tmp_path, before, text)) == []
    (line,) = about_cases(drift(tmp_path, before, text.replace("window: 2", "window: 3")))
    assert line == "case max_pool/a: its inputs or its expected output changed since the last freeze"


def test_drift_of_many_cases_is_named_for_the_first_and_counted_for_the_others(tmp_path):
    texts = [f"id: c{number:02}, {X}, window: 2" for number in range(30)]
    before = frozen(tmp_path, *texts)
    found = about_cases(drift(tmp_path, before, *(text.replace("window: 2", "window: 3") for text in texts)))
    assert len(found) == 21
    assert found[19].startswith("case max_pool/c19: its parameters")
    assert found[20] == "and 10 more changed since the last freeze"


def test_faulty_case_is_reported_once_and_not_as_gone(tmp_path):
    before = frozen(tmp_path, f"id: a, {X}, window: 2")
    found = drift(tmp_path, before, f"id: a, {X}, window: 2, expect: {{rejected: StrideIsZero}}")
    assert len([line for line in found if "case max_pool/a" in line]) == 1


def test_processes_find_what_one_finds(tmp_path):
    texts = [f"id: c{number}, {X}, window: 2, expect: [[[[5, 7], [13, {15 - number % 2}]]]]" for number in range(220)]
    catalogue = load(tmp_path, *texts)
    alone, together = (list(check.check_problems(catalogue, checker=check.CaseChecker(jobs=jobs))) for jobs in (1, 2))
    assert alone == together
    assert len(alone) == 110


@pytest.mark.usefixtures("cache_folder")
def test_valid_cases_are_checked_once_and_invalid_ones_every_time(tmp_path, monkeypatch):
    catalogue = load(tmp_path, f"id: a, {X}, window: 2", f"id: b, {X}, window: 2, expect: [1]")
    asked = []
    monkeypatch.setattr(check, "check_case", lambda task: (asked.append(task.id), check_case(task))[1])
    steps = []
    examiner = check.CaseChecker(CheckCache(), 1, lambda *step: steps.append(step))
    first = list(check.check_problems(catalogue, checker=examiner))
    known = check.CaseChecker(CheckCache())
    assert list(check.check_problems(catalogue, checker=known)) == first
    assert asked == ["max_pool/a", "max_pool/b", "max_pool/b"]
    assert steps == [(1, 2), (2, 2)]


def test_lock_is_not_touched_by_order_or_words(tmp_path):
    one, two = f"id: a, {X}, window: 2", f"id: b, {X}, window: 3"
    before = frozen(tmp_path, one, two)
    assert about_cases(drift(tmp_path, before, f"{two}, about: other words", f"{one}, stride: 2")) == []


def test_number_of_listed_entries_of_a_ledger_is_limited(tmp_path):
    entries = [
        ledger.LedgerEntry(f"old-{n}", ("gone/*",), ("torch.*",), ("value",), "why", location=f"ledger.yaml:{n}")
        for n in range(1_000)
    ]
    found = list(check.check_problems(load(tmp_path, f"id: a, {X}, window: 2"), ledger.Ledger(tuple(entries))))
    assert (len(found), found[-1]) == (21, "ledger.yaml: and 980 more")


def test_idle_entry_of_the_ledger_is_a_problem(tmp_path):
    entry = ledger.LedgerEntry("old", ("gone/*",), ("torch.*",), ("value",), "why", location="ledger.yaml:2")
    found = list(check.check_problems(load(tmp_path, f"id: a, {X}, window: 2"), ledger.Ledger((entry,))))
    assert found == ["ledger.yaml:2: entry old: matches no case of the catalogue"]


@pytest.mark.parametrize(("package", "valid"), [("onnxruntime", True), ("ortjs", False)])
def test_versions_of_a_package_that_the_surface_does_not_have_are_a_problem(tmp_path, package, valid):
    entry = ledger.LedgerEntry(
        "old", ("max_pool/a",), ("ortjs.jsep",), ("value",), "why", versions={package: SpecifierSet("<=1.30.0")},
        location="ledger.yaml:2",
    )  # fmt: skip
    found = list(check.check_problems(load(tmp_path, f"id: a, {X}, window: 2"), ledger.Ledger((entry,))))
    packages = "ortjs.jsep has the packages onnxruntime, node, chromium"
    assert found == ([] if valid else [f"ledger.yaml:2: entry old: key 'versions': ortjs: {packages}"])


def test_program_that_is_not_python_is_a_problem(tmp_path, monkeypatch):
    wrong = fake_backends.backend(fake_backends.surface("s", "x = ("), name="numpy")
    monkeypatch.setattr(registry, "backend_names", lambda: ("numpy",))
    monkeypatch.setattr(registry, "get_backend", lambda *_: wrong)
    (line,) = problems(tmp_path, f"id: a, {X}, window: 2")
    assert line.startswith(f"{tmp_path / 'file.yaml'}:4: case max_pool/a: the program for s is not Python: ")


@pytest.mark.parametrize(("surface", "mute"), [("jax.book", True), ("*", False)])
def test_entry_whose_cases_have_no_program_on_its_surfaces_is_a_problem(tmp_path, surface, mute):
    entry = ledger.LedgerEntry(
        "old", (), (surface,), ("value",), "why", selector={"dilated": (True,)}, location="ledger.yaml:2"
    )
    cases = load(tmp_path, f"id: a, {X}, window: 2, dilation: 2")
    said = ["ledger.yaml:2: entry old: no case that it matches has a program on any of its surfaces"]
    assert list(check.check_problems(cases, ledger.Ledger((entry,)))) == (said if mute else [])


def test_case_that_puts_the_question_of_another_has_its_answers(tmp_path):
    asked = f"about: b, {X}, window: 2, answers: {{one: {{stride: 1}}, two: {{stride: 2}}}}"
    other = asked.replace("two:", "three:")
    cases = [f"id: a, {asked}", f"id: b, question: a, {asked}", f"id: c, question: a, {other}"]
    found = [*check.check_problems(load(tmp_path, *cases, f"id: d, question: e, {asked}", section="questions"))]
    assert [line.split(": ", 1)[1] for line in found] == [
        "question max_pool/c: key 'answers': the names differ from those of max_pool/a",
        "question max_pool/d: key 'question': max_pool/e is not a convention",
    ]


RECORD = FrozenCase("a" * 32, "b" * 16, "c" * 16, "d" * 16)


@pytest.fixture
def cache_folder(tmp_path, monkeypatch):
    """Return a temporary folder for the cache."""
    monkeypatch.setattr(cache, "cache_folder", lambda name: tmp_path / name)
    return tmp_path / "conformance-check"


@pytest.mark.usefixtures("cache_folder")
def test_saved_records_are_loaded():
    first = CheckCache()
    assert first.get("text") is None
    first.put("text", RECORD)
    first.put("rows", None)
    first.save()
    second = CheckCache()
    assert second.get("text") == (RECORD,)
    assert second.get("rows") == (None,)
    assert second.get("text ") is None


@pytest.mark.usefixtures("cache_folder")
def test_cache_of_other_source_or_versions_is_not_used(monkeypatch):
    first = CheckCache()
    first.put("text", RECORD)
    first.save()
    monkeypatch.setattr(check, "source_digest", lambda: "0" * 32)
    assert CheckCache().get("text") is None


@pytest.mark.parametrize("text", ["", "[1]", "5", "\0"])
def test_unreadable_cache_is_empty(cache_folder, text):
    cache_folder.mkdir()
    (cache_folder / f"{check.source_digest()}.sqlite").write_text(text, "utf-8")
    assert CheckCache().records == {}


def test_unwritable_cache_is_ignored(cache_folder):
    cache_folder.write_text("a file", "utf-8")
    blocked = CheckCache()
    blocked.put("text", RECORD)
    blocked.save()
    assert cache_folder.read_text("utf-8") == "a file"


def test_only_the_newest_cache_files_remain(cache_folder, monkeypatch):
    for number in range(20):
        monkeypatch.setattr(check, "source_digest", lambda number=number: f"{number:032}")
        one = CheckCache()
        one.put("text", RECORD)
        one.save()
    left = list(cache_folder.iterdir())
    assert len(left) == check.MAX_CHECK_CACHE_FILES
    assert CheckCache().get("text") == (RECORD,)


def test_shipped_surface_without_an_answer_is_a_problem(catalogue, monkeypatch):
    (surface,) = registry.get_backend("numpy").surfaces
    answers = {name: one for name, one in surface.declarations.items() if name != "avg_pool/nan-in-window"}
    made = fake_backends.backend(replace(surface, declarations=answers), name="numpy")
    monkeypatch.setattr(registry, "backend_names", lambda: ("numpy",))
    monkeypatch.setattr(registry, "built_in_modules", lambda: {"numpy": "numpy"})
    monkeypatch.setattr(registry, "get_backend", lambda *_: made)
    problem = "surface numpy.loops: declares no answer for avg_pool/nan-in-window, which it observes in case "
    assert list(check.unanswered_conventions(catalogue)) == [f"{problem}avg_pool/nan-in-window"]
    single = replace(catalogue, cases=(catalogue.by_id["avg_pool/nan-in-window"],), sweeps={})
    assert f"{problem}avg_pool/nan-in-window" in check.check_problems(single, lock=lock.Lock({}))
    assert not any("declares no answer" in one for one in check.check_problems(single))
    monkeypatch.setattr(registry, "built_in_modules", dict)  # now it is a backend of another package
    assert list(check.unanswered_conventions(catalogue)) == []


@pytest.mark.parametrize(
    ("kinds", "problems"), [(("crashed",), 0), (("convention",), 0), (("crashed", "convention"), 1)]
)
def test_surface_whose_calls_give_no_declarable_answer_need_not_answer(catalogue, monkeypatch, kinds, problems):
    (surface,) = registry.get_backend("numpy").surfaces
    answers = {name: one for name, one in surface.declarations.items() if name != "avg_pool/nan-in-window"}
    made = fake_backends.backend(replace(surface, declarations=answers), name="numpy")
    monkeypatch.setattr(registry, "built_in_modules", lambda: {"numpy": "numpy"})
    monkeypatch.setattr(registry, "get_backend", lambda *_: made)
    entry = ledger.LedgerEntry("a", ("avg_pool/nan-in-window",), ("numpy.loops",), kinds, "why")
    single = replace(catalogue, cases=(catalogue.by_id["avg_pool/nan-in-window"],), sweeps={})
    assert len(list(check.unanswered_conventions(single, ledger.Ledger((entry,))))) == problems
