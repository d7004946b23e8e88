import json
import time

import pytest
from packaging.specifiers import SpecifierSet

from conformance import CatalogueError
from conformance.adapters import registry
from conformance.cases.schema import catalogue_folder
from conformance.judging import ledger
from reports.results.vocabulary import Level
from tests.support.fake_backends import load
from tests.support.nightly_workflow import nightly_slow_surfaces

ENTRY = "{id: e, cases: [max_pool/a*], surfaces: [s.*], kinds: [value], observed: 0, reason: it is known upstream}"
WHERE = ENTRY.replace("cases: [max_pool/a*]", "where: {operator: max_pool, padded: true}")
X = "x: {values: arange, shape: [1, 1, 5, 5]}"
PADDED = f"{X}, window: 2, padding: 1"


def loaded(tmp_path, *entries):
    path = tmp_path / "ledger.yaml"
    path.write_text("entries:\n" + "".join(f"  - {entry}\n" for entry in entries), "utf-8")
    return ledger.load_ledger(path)


def entry_for(tmp_path, entry, case, surface="s.nn", packages=None):
    """Return the entry that applies to the case with this id."""
    folder = tmp_path / "cases"
    folder.mkdir(exist_ok=True)
    (found,) = load(folder, f"id: {case}, {PADDED}").cases
    return loaded(tmp_path, *([entry] if isinstance(entry, str) else entry)).find_entry(found, surface, packages or {})


def refusals(tmp_path, *entries):
    with pytest.raises(CatalogueError) as refused:
        loaded(tmp_path, *entries)
    lines = str(refused.value).splitlines()
    assert all(line.startswith(f"{tmp_path / 'ledger.yaml'}:") for line in lines)
    return [line.removeprefix(f"{tmp_path / 'ledger.yaml'}:") for line in lines]


@pytest.mark.parametrize(
    ("case", "surface", "covered"),
    [("ab", "s.nn", True), ("b", "s.nn", False), ("ab", "other", False)],
)
def test_entry_speaks_of_the_cases_and_surfaces_that_match(tmp_path, case, surface, covered):
    assert (entry_for(tmp_path, ENTRY, case, surface) is not None) is covered


@pytest.mark.parametrize(
    ("where", "cases", "covered"),
    [
        ("{padded: true}", "", True),
        ("{padded: false}", "", False),
        ("{padding: 1, window: [2, 3]}", "", True),
        ("{padding: [[1, 0]]}", "", False),
        ("{dtype: float*, rounding: floor}", "", True),
        ("{padded: true}", "cases: [max_pool/a*], ", True),
        ("{padded: true}", "cases: [max_pool/b*], ", False),
        ("{padded: false}", "cases: [max_pool/a*], ", False),
    ],
)
def test_entry_speaks_of_what_its_selector_and_its_ids_both_hold_for(tmp_path, where, cases, covered):
    entry = ENTRY.replace("cases: [max_pool/a*]", f"{cases}where: {where}")
    assert (entry_for(tmp_path, entry, "a") is not None) is covered


@pytest.mark.parametrize(
    ("version", "covered"),
    [
        ("1.9", True),
        ("1.9.1", True),
        ("1.9.1rc1", True),
        ("1.9.2", False),
        ("1.9.1+cpu", True),
        ("unknown", False),
        ("1.9.1-22-ab/9", True),
        ("1.9.2-22-ab/9", False),
    ],
)
def test_entry_holds_for_its_versions_only(tmp_path, version, covered):
    text = ENTRY.replace("kinds", 'versions: {framework: "<=1.9.1"}, kinds')
    entry = entry_for(tmp_path, text, "a", packages={"framework": version})
    assert (entry is not None) is covered


def test_entry_for_versions_of_a_package_that_is_missing_is_silent(tmp_path):
    text = ENTRY.replace("kinds", 'versions: {framework: "<2"}, kinds')
    assert entry_for(tmp_path, text, "a", packages={"other": "1"}) is None


def test_first_entry_that_covers_a_case_speaks(tmp_path):
    assert entry_for(tmp_path, [WHERE, ENTRY.replace("id: e", "id: f")], "a").id == "e"
    assert entry_for(tmp_path, [WHERE.replace("true", "false"), ENTRY.replace("id: e", "id: f")], "a").id == "f"


def test_specifier_that_is_none_is_one_line(tmp_path):
    text = ENTRY.replace("kinds", 'versions: {framework: "about 2"}, kinds')
    assert refusals(tmp_path, text)[0].startswith("2: entry e: key 'versions': ")


def test_version_with_more_digits_than_python_converts_is_refused(tmp_path):
    text = ENTRY.replace("kinds", f'versions: {{framework: ">={"9" * 5000}"}}, kinds')
    assert refusals(tmp_path, text) == ["2: entry e: key 'versions': 5,002 characters, the limit is 200"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("reason: it is known upstream", "resaon: it is known upstream", "unknown key"),
        ("reason: it is known upstream", "issue: null", "needs the key 'reason'"),
        ("[value]", "[wrong]", "kinds"),
        ("[max_pool/a*]", "max_pool/a*", "cases"),
        ("[s.*]", "[]", "surfaces"),
        ("cases: [max_pool/a*], ", "", "is not an entry with the key 'cases', 'where' or both"),
        ("cases: [max_pool/a*]", "where: {}", "where"),
        ("cases: [max_pool/a*]", "where: {rank: []}", "where.rank"),
        ("cases: [max_pool/a*]", "where: {rank: {a: 1}}", "where.rank"),
        ("observed: 0, ", "", "needs the key 'observed'"),
        ("kinds: [value], observed: 0, ", "kinds: [crashed, special], ", "needs the key 'observed'"),
        ("observed: 0", "observed: ''", "observed"),
    ],
)
def test_malformed_entry_is_named_with_its_line(tmp_path, old, new, says):
    found = refusals(tmp_path, ENTRY.replace(old, new))
    assert all(line.startswith("2: entry e: ") for line in found)
    assert any(says in line for line in found)


def test_what_was_observed_may_be_left_out_where_there_is_no_number(tmp_path):
    assert loaded(tmp_path, ENTRY.replace("[value], observed: 0", "[crashed]")).entries[0].observed == ""


@pytest.mark.parametrize(
    ("text", "read"),
    [("zeros", "zeros"), ("0", "0"), ("[[0, 1.5]]", "[[0, 1.5]]"), ("[[1, 1], [0, 0]]", "[[1, 1], [0, 0]]")],
)
def test_what_was_observed_is_a_sentence_or_a_literal(tmp_path, text, read):
    assert loaded(tmp_path, ENTRY.replace("observed: 0", f"observed: {text}")).entries[0].observed == read


def test_unknown_key_of_a_selector_is_one_line_with_what_is_known(tmp_path):
    text = WHERE.replace("padded", "pdded")
    (line,) = refusals(tmp_path, text)
    assert line.startswith("2: entry e: key 'where.pdded': unknown key, did you mean 'padded'?; known keys: operator, ")
    assert len(refusals(tmp_path, text.replace("operator:", "operators:"))) == 2


def test_entry_that_matches_nothing_is_reported(tmp_path, catalogue):
    idle = loaded(tmp_path, ENTRY.replace("a*", "absent*")).unmatched_entries(catalogue.cases, ["s.nn"])
    assert len(idle) == 1
    assert "entry e: matches no case" in idle[0]
    assert (
        "matches no surface"
        in loaded(tmp_path, ENTRY.replace("a*", "*")).unmatched_entries(catalogue.cases, ["other"])[0]
    )


def test_each_glob_of_an_entry_must_match(tmp_path, catalogue):
    text = ENTRY.replace("[max_pool/a*]", "[max_pool/*, gone/*]")
    assert len(loaded(tmp_path, text).unmatched_entries(catalogue.cases, ["s.nn"])) == 1


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("{operator: max_pool, groups: 1}", "matches no case of the catalogue"),
        ("{operator: [max_pool, maxpool]}", "key 'where.operator': maxpool matches no case of the catalogue"),
        ("{operator: max_pool, window: [2, [77, 1]]}", "key 'where.window': [77, 1] matches no case of the catalogue"),
        ("{operator: max_pool, padded: [true, 1]}", "key 'where.padded': 1 matches no case of the catalogue"),
    ],
)
def test_each_value_of_a_selector_must_match(tmp_path, catalogue, where, says):
    text = WHERE.replace("{operator: max_pool, padded: true}", where)
    assert loaded(tmp_path, text).unmatched_entries(catalogue.cases, ["s.nn"]) == [
        f"{tmp_path / 'ledger.yaml'}:2: entry e: {says}"
    ]


def test_entry_that_matches_is_not_idle(tmp_path, catalogue):
    assert loaded(tmp_path, ENTRY.replace("a*", "*")).unmatched_entries(catalogue.cases, ["s.nn"]) == []


def test_every_known_deviation_of_the_suite_has_a_reason_in_words():
    entries = ledger.load_ledger().entries
    assert entries
    assert all(len(entry.reason.split()) > 5 for entry in entries)
    assert all(isinstance(item, SpecifierSet) for entry in entries for item in entry.versions.values())


def test_two_entries_of_one_id_are_rejected(tmp_path):
    assert refusals(tmp_path, ENTRY, ENTRY) == ["3: entry e: duplicate id"]


def test_digest_changes_with_what_an_entry_says_and_not_with_where_it_stands(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    assert loaded(here, ENTRY).digest == loaded(there, ENTRY).digest
    first = loaded(here, WHERE)
    for old, new in (
        ("[value]", "[dtype]"),
        ("true", "false"),
        ("observed: 0", "observed: 1"),
        ("upstream", "elsewhere"),
    ):
        assert first.digest != loaded(there, WHERE.replace(old, new)).digest


def test_many_entries_cost_little_for_each_case(tmp_path, catalogue):
    """Look up 10,000 cases in 50 entries in a few seconds, also on a slow machine."""
    texts = (WHERE if number % 2 else ENTRY.replace("max_pool/a*", f"conv/x{number}*") for number in range(50))
    book = loaded(tmp_path, *(text.replace("id: e", f"id: e{number}") for number, text in enumerate(texts)))
    start = time.process_time()
    for case in catalogue.cases[:500]:
        for surface in ("s.nn", "s.lax", "t.nn"):
            book.find_entry(case, surface, {})
    assert time.process_time() - start < 500 * 1e-3


def test_what_another_package_brings_leaves_the_digest_of_the_suites_own(tmp_path):
    extra = tmp_path / "extra.yaml"
    extra.write_text(ledger.ledger_path().read_text("utf-8").replace("  - id: ", "  - id: their-"), "utf-8")
    plain, both = ledger.load_ledger(), ledger.load_ledger(further=[extra])
    assert (plain.digest, plain.own_digest) == (both.digest, None)
    assert both.own_digest not in {None, both.digest}
    assert len(both.entries) == 2 * len(plain.entries)


@pytest.mark.parametrize(
    ("wanted", "cpu", "covered"),
    [
        ("avx512_fp16", [], False),
        ("avx512_fp16", ["avx2"], False),
        ("avx512_fp16", ["amx_tile", "avx2", "avx512_fp16"], True),
        ("without-avx512_fp16", [], True),
        ("without-avx512_fp16", ["avx2"], True),
        ("without-avx512_fp16", ["avx2", "avx512_fp16"], False),
        ("avx2, without-avx512_fp16", ["avx2"], True),
        ("avx2, without-avx512_fp16", [], False),
    ],
)
def test_entry_for_features_of_processors_is_silent_on_others(tmp_path, wanted, cpu, covered):
    text = ENTRY.replace("observed: 0", f"cpu: [{wanted}], observed: 0")
    (found,) = load(tmp_path, f"id: a, {PADDED}").cases
    assert (loaded(tmp_path, text).find_entry(found, "s.nn", {}, cpu) is not None) is covered


@pytest.mark.parametrize(
    ("glob", "operator", "asked"),
    [
        ("max_pool/a*", "max_pool", True),
        ("max_pool/a*", "max_pool_grad", False),
        ("max_pool*", "max_pool_grad", True),
        ("*/special/*", "conv", True),
        ("max*l/a", "max_pool", True),
        ("[cm]*", "max_pool", True),
    ],
)
def test_entry_is_asked_about_every_operator_that_its_ids_may_begin_with(tmp_path, glob, operator, asked):
    (entry,) = loaded(tmp_path, ENTRY.replace("max_pool/a*", f'"{glob}"')).entries
    assert entry.may_match_operator(operator) is asked


@pytest.mark.parametrize(("operators", "asked"), [("max_pool", True), ("[conv, max_*]", True), ("conv", False)])
def test_entry_is_asked_about_the_operators_that_it_picks_by(tmp_path, operators, asked):
    (entry,) = loaded(tmp_path, WHERE.replace("max_pool", operators)).entries
    assert entry.may_match_operator("max_pool") is asked


def test_feature_that_no_processor_has_is_reported(tmp_path):
    (said,) = refusals(tmp_path, ENTRY.replace("observed: 0", "cpu: [avx512_fp8], observed: 0"))
    assert "a feature of a processor" in said


BEYOND = ENTRY.replace("surfaces", "beyond: {operator: max_pool, padded: true}, surfaces")


@pytest.mark.parametrize(("case", "beyond", "covered"), [("b", False, False), ("b", True, True), ("ab", True, True)])
def test_entry_speaks_of_what_shares_its_cause_where_nobody_wrote_the_case(tmp_path, case, beyond, covered):
    (found,) = load(tmp_path, f"id: {case}, {PADDED}").cases
    book = loaded(tmp_path, BEYOND)
    assert bool((book.for_generated_cases() if beyond else book).find_entry(found, "s.nn", {})) is covered


def test_all_causes_that_reach_a_case_nobody_wrote_speak_for_it(tmp_path):
    other = BEYOND.replace("id: e", "id: f").replace("kinds: [value", "kinds: [crashed")
    (found,) = load(tmp_path, f"id: b, {PADDED}").cases
    book = loaded(tmp_path, BEYOND, other).for_generated_cases()
    for one in (book, book.for_surfaces(["s.nn"], {})):
        assert set(one.find_entry(found, "s.nn", {}).kinds) >= {"value", "crashed"}
    (written,) = load(tmp_path, f"id: ab, {PADDED}").cases
    assert "crashed" not in loaded(tmp_path, BEYOND, other).find_entry(written, "s.nn", {}).kinds


def test_cause_that_leaves_out_a_case_of_its_entry_is_reported(tmp_path, catalogue):
    narrow = WHERE.replace("surfaces", "beyond: {operator: max_pool, rank: 7}, surfaces")
    (said,) = loaded(tmp_path, narrow).unmatched_entries(catalogue.cases, ["s.nn"])
    assert "key 'beyond': does not match max_pool/" in said


def test_number_of_listed_errors_of_a_file_is_limited(tmp_path):
    path = tmp_path / "ledger.yaml"
    path.write_text("entries:\n" + "  - {id: 3}\n" * 100, "utf-8")
    with pytest.raises(CatalogueError) as error:
        ledger.load_ledger(path)
    lines = str(error.value).splitlines()
    assert len(lines) == 21
    assert lines[-1].startswith(f"{path}: and ")


def test_unknown_key_of_a_cause_is_one_line(tmp_path):
    (said,) = refusals(tmp_path, BEYOND.replace("padded", "padedd"))
    assert "key 'beyond.padedd': unknown key, did you mean 'padded'?" in said


@pytest.mark.parametrize(
    ("listed", "covered"),
    [("", {"cpu"}), ("device: [cuda],", {"cuda"}), ("device: [cpu, cuda],", {"cpu", "cuda"})],
)
def test_ledger_entry_applies_to_the_devices_that_it_names_by_default_the_cpu(tmp_path, made, listed, covered):
    case = made("max_pool", "x: {values: arange, shape: [1, 1, 4, 4]}, window: 2")
    path = tmp_path / "ledger.yaml"
    entry = f"id: e, cases: ['*'], surfaces: [s], kinds: [shape], {listed} reason: It is known to be so on this device."
    path.write_text(f"entries:\n  - {{{entry}}}\n", "utf-8")
    entries = ledger.load_ledger(path)
    assert {device for device in ("cpu", "cuda") if entries.find_entry(case, "s", {}, (), device)} == covered


def test_the_schema_of_the_ledger_has_every_kind():
    schema = json.loads((catalogue_folder() / ledger.LEDGER_SCHEMA_FILE).read_text("utf-8"))
    kinds = schema["$defs"]["entry"]["properties"]["kinds"]["items"]
    assert kinds["enum"] == list(ledger.ENTRY_KINDS)
    assert kinds["title"] == f"a kind: {', '.join(ledger.ENTRY_KINDS[:-1])} or {ledger.ENTRY_KINDS[-1]}"


def test_every_entry_has_a_case_that_one_of_its_surfaces_runs_at_level_standard(catalogue):
    surfaces = [one for name in registry.backend_names() for one in registry.get_backend(name).surfaces]
    slow = nightly_slow_surfaces()
    missing = []
    for entry, matched in ledger.load_ledger().matched_cases(catalogue.cases):
        cases = [features.case for features in matched]
        own = [surface for surface in surfaces if entry.matches_surface(surface.name)]
        # Surfaces that run only tagged cases, or every case at night, have entries for `--slow` too.
        if not any(
            surface.is_run(
                case.level,
                case.tags,
                Level.STANDARD,
                operator=case.operator,
                slow=surface.only_tagged or surface.name in slow,
            )
            for surface in own
            for case in cases
        ):
            missing.append(entry.id)
    assert not missing


def test_entries_of_few_cases_are_cached(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger, "MAX_CACHED_CASES", 3)
    cases = load(tmp_path, *[f"id: {name}, {PADDED}" for name in ("a1", "b1", "a2", "b2", "a3", "b3", "a4")]).cases
    book = loaded(tmp_path, ENTRY)
    for _ in range(2):
        assert [bool(book.find_entry(case, "s.nn", {})) for case in cases] == [True, False] * 3 + [True]
        assert len(book._entries_by_case) <= 3
