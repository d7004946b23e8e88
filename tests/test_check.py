import json

import pytest
from fakes import load

from conformance import check, ledger
from conformance.errors import CatalogueError

X = "x: {values: arange, shape: [1, 1, 4, 4]}"
HALVES = "x: {values: [[[0.25, 0.25]]]}"


def problems(folder, *cases, **keywords):
    return list(check.problems(load(folder, *cases, **keywords)))


def test_suite_as_it_stands_is_sound(catalogue):
    assert list(check.problems(catalogue, ledger.load(), check.read_lock())) == []


def test_sound_catalogue_has_no_problems(tmp_path):
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
    assert "every printed number is the correctly rounded one" in found


def drift(folder, lock, *cases):
    return list(check.problems(load(folder, *cases), lock=lock))


def about_cases(lines):
    return [line for line in lines if line.startswith("case max_pool/")]


def test_lock_catches_a_case_that_is_renamed_dropped_or_changed(tmp_path):
    text = f"id: a, {X}, window: 2"
    lock = check.digests(load(tmp_path, text))
    assert about_cases(drift(tmp_path, lock, text)) == []
    assert about_cases(drift(tmp_path, lock, text.replace("id: a", "id: b"))) == [
        "case max_pool/a: frozen, but no longer in the catalogue",
        "case max_pool/b: not frozen yet (conformance freeze)",
    ]
    changed = about_cases(drift(tmp_path, lock, text.replace("window: 2", "window: 3")))
    assert changed == ["case max_pool/a: its inputs or its expected output are not those that were frozen"]


def test_lock_is_not_touched_by_order_or_words(tmp_path):
    one, two = f"id: a, {X}, window: 2", f"id: b, {X}, window: 3"
    lock = check.digests(load(tmp_path, one, two))
    assert about_cases(drift(tmp_path, lock, f"{two}, about: other words", f"{one}, stride: 2")) == []


def test_idle_entry_of_the_ledger_is_a_problem(tmp_path):
    entry = ledger.Entry("old", ("gone/*",), ("torch.*",), ("value",), "why", place="ledger.yaml:2")
    found = list(check.problems(load(tmp_path, f"id: a, {X}, window: 2"), ledger.Ledger((entry,))))
    assert found == ["ledger.yaml:2: entry old: matches no case of the catalogue"]


@pytest.mark.parametrize(("surface", "mute"), [("jax.book", True), ("*", False)])
def test_entry_whose_cases_have_no_program_on_its_surfaces_is_a_problem(tmp_path, surface, mute):
    entry = ledger.Entry("old", (), (surface,), ("value",), "why", where={"dilated": (True,)}, place="ledger.yaml:2")
    cases = load(tmp_path, f"id: a, {X}, window: 2, dilation: 2")
    said = ["ledger.yaml:2: entry old: no case that it matches has a program on any of its surfaces"]
    assert list(check.problems(cases, ledger.Ledger((entry,)))) == (said if mute else [])


def test_freezing_says_what_changed(tmp_path, monkeypatch):
    monkeypatch.setattr(check, "lock_path", lambda: tmp_path / "lock.json")
    one, two = f"id: a, {X}, window: 2", f"id: b, {X}, window: 3"
    assert check.write_lock(load(tmp_path, one, two)) == (2, 0, 0)
    assert check.write_lock(load(tmp_path, one.replace("window: 2", "window: 4"))) == (0, 1, 1)
    assert list(json.loads((tmp_path / "lock.json").read_text("utf-8"))) == ["max_pool/a"]


@pytest.mark.parametrize("text", ["", "{", "garbage"])
def test_lock_that_cannot_be_read_is_one_line(tmp_path, monkeypatch, text):
    monkeypatch.setattr(check, "lock_path", lambda: tmp_path / "lock.json")
    with pytest.raises(CatalogueError):
        check.read_lock()
    (tmp_path / "lock.json").write_text(text, "utf-8")
    with pytest.raises(CatalogueError) as refused:
        check.read_lock()
    assert "\n" not in str(refused.value)


def test_lock_that_cannot_be_written_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(check, "lock_path", lambda: tmp_path / "no" / "lock.json")
    with pytest.raises(CatalogueError, match=r"lock\.json: No such file or directory$"):
        check.write_lock(load(tmp_path, f"id: a, {X}, window: 2"))
