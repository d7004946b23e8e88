"""New ledger entries: the search for a selector, and the text that is added to the file."""

import random

import pytest
import yaml
from hypothesis import given, strategies as st

from conformance import CatalogueError, ConformanceError
from conformance.cases.features.case_features import CaseFeatures
from conformance.judging import ledger
from conformance.judging.ledger import LedgerEntry
from conformance.judging.ledger_entry import LedgerEntryDraft, append_entry, smallest_selector, write_ledger
from tests.support.fake_backends import load

REASON = "It has always been so, and nobody has reported it upstream yet. " * 4
FIRST = """\
# A word about it all.
entries:
  # The first.
  - id: first
    cases: [max_pool/a*]   # all of them
    surfaces: [s.nn]
    kinds: [dtype]
    reason: >-
      Because it is so,
      and it will stay.
"""


def draft(**changed):
    fields = {"id": "new", "surfaces": ["s.nn"], "kinds": ["value"], "reason": REASON, "observed": "0 where 7 is right"}
    return LedgerEntryDraft(**{**fields, "selector": {"padded": (True,)}, **changed})


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "ledger.yaml"
    path.write_text(FIRST, "utf-8")
    return path


def read(path, item):
    write_ledger(path, append_entry(path, item))
    return ledger.load_ledger(path).entries[-1]


@pytest.mark.parametrize(
    "selector",
    [
        {"operator": ("pad",), "value": (7, -1.5)},
        {"window": ((3, 2),)},
        {"padding": (((1, 0), (0, 1)), 2)},
        {"divisor": (None,), "padded": (False,), "values": ("nan", "-inf")},
        {"dtype": ("float32", "float64"), "extent": tuple(range(3, 60)), "channels": (3,)},
        {"dtype": ("float*",), "mode": ("0x2", "yes", "- x: #y")},
    ],
)
def test_written_selector_is_read_back(path, selector):
    assert read(path, draft(selector=selector)).selector == selector


@pytest.mark.parametrize(
    "text",
    [
        REASON,
        "# no comment: {a: b}, 'c' is \"d\"",
        "NaN",
        "a\x00b\n\n  - c\u2028d" * 5,
        "x" * 300,
        "− 3 × 4 …",
        "- a: *b",
    ],
)
def test_written_text_is_read_back_on_one_line(path, text):
    entry = read(path, draft(reason=f"{text} said upstream so far", observed=text))
    printable = "".join(character if character.isprintable() else " " for character in text).strip()
    assert entry.observed == printable
    assert entry.reason == f"{printable} said upstream so far" or text == REASON


def test_existing_text_of_the_file_is_unchanged(path):
    text = append_entry(path, draft())
    assert text.startswith(FIRST)
    assert text.removeprefix(FIRST).startswith("\n  - id: new\n    where: {padded: true}\n")
    assert max(map(len, text.splitlines())) <= 120


def test_entry_lists_the_ids_of_cases(path):
    entry = read(path, draft(selector={}, cases=["max_pool/a", "conv/b"]))
    assert (entry.cases, entry.selector) == (("max_pool/a", "conv/b"), {})


def test_versions_and_issue_are_written_if_given(path):
    entry = read(path, draft(versions={"framework": ">=1.9,<1.10"}, issue="https://example.org/#4"))
    assert str(entry.versions["framework"]) == "<1.10,>=1.9"
    assert entry.issue == "https://example.org/#4"


def test_indentation_of_the_list_is_unchanged(path):
    path.write_text(yaml.safe_dump({"entries": yaml.safe_load(FIRST)["entries"]}, sort_keys=False), "utf-8")
    assert path.read_text("utf-8").startswith("entries:\n- id")
    assert [entry.id for entry in (read(path, draft()), *ledger.load_ledger(path).entries)] == ["new", "first", "new"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"reason": "too short"}, "key 'reason'"),
        ({"id": "Not An Id"}, "key 'id'"),
        ({"id": "first"}, "entry first: duplicate id"),
        ({"issue": "bug 7"}, "key 'issue'"),
        ({"observed": " "}, "key 'observed'"),
        ({"selector": {}}, "an entry with the key 'cases', 'where' or both"),
    ],
)
def test_invalid_entry_is_not_written(path, changed, message):
    with pytest.raises(CatalogueError) as raised:
        append_entry(path, draft(**changed))
    # No line number: the line is not in the file.
    assert all(line.startswith("new entry: ") for line in str(raised.value).splitlines())
    assert message in str(raised.value)
    assert path.read_text("utf-8") == FIRST


@pytest.mark.parametrize("text", ["entries: []\n", ""])
def test_file_without_entries_is_rejected(path, text):
    path.write_text(text, "utf-8")
    with pytest.raises(ConformanceError, match=r"ledger\.yaml: has no entry"):
        append_entry(path, draft())


def test_missing_file_is_a_one_line_error(tmp_path):
    for fails in (lambda path: append_entry(path, draft()), lambda path: write_ledger(path, "")):
        with pytest.raises(ConformanceError, match=r"No such file or directory$"):
            fails(tmp_path / "no" / "ledger.yaml")


X = "x: {values: arange, shape: [1, 1, 5, 5]}"
WINDOWS = {
    "plain": f"{X}, window: 2",
    "padded": f"{X}, window: 2, padding: 1",
    "wide": f"{X}, window: 3",
    "wide-padded": f"{X}, window: 3, padding: 1",
    "wide-dilated": f"{X}, window: 3, dilation: 2",
    "double": "x: {values: arange, shape: [1, 1, 5, 5], dtype: float64}, window: 2",
    "nan": "x: {values: [[[[1, .nan], [3, 4]]]]}, window: 2",
}


@pytest.fixture
def named(tmp_path):
    return {
        case.id.split("/")[1]: case for case in load(tmp_path, *(f"id: {n}, {t}" for n, t in WINDOWS.items())).cases
    }


def proposed(named, *failing, passing=None, unrun=()):
    others = [name for name in named if name not in failing and name not in unrun] if passing is None else passing
    groups = ([named[name] for name in names] for names in (failing, others, unrun))
    return smallest_selector(*groups)


@pytest.mark.parametrize(
    ("failing", "selector"),
    [
        (["padded", "wide-padded"], {"padded": (True,)}),
        (["double"], {"dtype": ("float64",)}),
        (["nan"], {"values": ("nan",)}),
        (["wide-dilated"], {"dilated": (True,)}),
        (["wide-padded"], {"window": (3,), "padded": (True,)}),
        (["wide", "wide-padded", "wide-dilated"], {"window": (3,)}),
        (["wide", "wide-padded"], {"window": (3,), "dilated": (False,)}),
    ],
)
def test_selector_matches_failing_cases_only_with_fewest_conditions(named, failing, selector):
    assert proposed(named, *failing) == selector


def test_one_condition_with_two_values_is_smaller_than_two_conditions(tmp_path):
    texts = [f"id: p{n}, {X}, pads: [[1, 0], [0, 0]], value: {n}" for n in (0, 3, 7)]
    cases = load(tmp_path, *texts, operator="pad").cases
    assert smallest_selector(cases[1:], cases[:1]) == {"value": (3, 7)}


def test_no_selector_if_an_equal_case_passes(tmp_path):
    failures, twin = load(tmp_path, f"id: a, {X}, window: 2", f"id: b, {X}, window: 2").cases
    assert smallest_selector([failures], [twin]) is None


def test_size_of_x_is_used_only_if_needed(tmp_path):
    small, large = load(tmp_path, f"id: a, {X}, window: 2", f"id: b, {X.replace('5]', '6]')}, window: 2").cases
    assert smallest_selector([small], [large]) == {"extent": (5,)}
    unusual = load(tmp_path, "id: c, x: {values: arange, shape: [2, 1, 6, 6], dtype: float64}, window: 2").cases[0]
    assert smallest_selector([unusual], [small, large]) == {"dtype": ("float64",)}


def test_level_is_not_used(tmp_path):
    failures, other = load(tmp_path, f"id: a, {X}, window: 2, level: standard", f"id: b, {X}, window: 2").cases
    assert smallest_selector([failures], [other]) is None


def test_if_all_fail_the_selector_matches_fewest_cases_without_result(named):
    assert proposed(named, "nan", passing=[], unrun=["plain", "padded", "wide"]) == {"values": ("nan",)}
    assert proposed(named, "plain", "padded", passing=[]) == {"operator": ("max_pool",)}


def test_true_is_not_one(tmp_path):
    cases = load(tmp_path, *(f"id: by{n}, {X}, window: 2, divisor: {n}" for n in (1, 5)), operator="avg_pool").cases
    assert smallest_selector(cases[:1], cases[1:]) == {"divisor": (1,)}


def test_key_occurs_once_in_a_selector_of_special_values(tmp_path):
    marks = {"a": "[[[.nan, .inf]]]", "b": "[[[.nan, -.inf]]]", "c": "[[[1, .nan]]]", "d": "[[[1, .inf]]]"}
    a, b, c, d = load(tmp_path, *(f"id: {n}, x: {{values: {v}}}, window: 2" for n, v in marks.items())).cases
    assert smallest_selector([a, b], [d]) == {"values": ("nan",)}
    assert smallest_selector([a, d], [c]) == {"values": ("inf",)}
    assert smallest_selector([c, d], [a]) is None


@given(st.integers(0, 10**9), st.integers(1, 12), st.integers(1, 60), st.sampled_from(["random", "similar"]))
def test_selector_matches_all_failing_and_no_passing_cases(catalogue, seed, failing, passing, how):
    """The failing cases are random, or all cases of an operator that share a feature, as in practice."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    cases = rng.sample(catalogue.cases, failing + passing)
    if how == "similar":
        first = cases[0]
        split = [
            case.operator == first.operator and CaseFeatures(case)["padded"] == CaseFeatures(first)["padded"]
            for case in cases
        ]
    else:
        split = [number < failing for number in range(len(cases))]
    failures, others = (
        [case for case, fails in zip(cases, split, strict=True) if fails is group] for group in (True, False)
    )
    selector = smallest_selector(failures, others)
    assert how == "random" or selector is not None
    if selector is not None:
        entry = LedgerEntry("e", (), ("*",), ("value",), "", selector=selector)
        assert all(entry.matches_case(CaseFeatures(case)) for case in failures)
        assert not any(entry.matches_case(CaseFeatures(case)) for case in others)


@given(st.integers(0, 10**9))
def test_every_condition_of_a_selector_is_necessary(catalogue, seed):
    cases = random.Random(seed).sample(catalogue.cases, 25)  # noqa: S311 - no secret
    selector = smallest_selector(cases[:2], cases[2:])
    for key in selector or () if len(selector or ()) > 1 else ():
        fewer = LedgerEntry(
            "e", (), ("*",), ("value",), "", selector={name: selector[name] for name in selector if name != key}
        )
        assert any(fewer.matches_case(CaseFeatures(case)) for case in cases[2:])
