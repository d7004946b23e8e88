import pytest
from packaging.specifiers import SpecifierSet

from conformance import ledger
from conformance.errors import CatalogueError

ENTRY = "{id: e, cases: [max_pool/a*], surfaces: [s.*], kinds: [value], reason: it is known upstream}"


def loaded(tmp_path, *entries):
    path = tmp_path / "ledger.yaml"
    path.write_text("entries:\n" + "".join(f"  - {entry}\n" for entry in entries), "utf-8")
    return ledger.load(path)


def refusals(tmp_path, *entries):
    with pytest.raises(CatalogueError) as refused:
        loaded(tmp_path, *entries)
    lines = str(refused.value).splitlines()
    assert all(line.startswith(f"{tmp_path / 'ledger.yaml'}:") for line in lines)
    return [line.removeprefix(f"{tmp_path / 'ledger.yaml'}:") for line in lines]


@pytest.mark.parametrize(
    ("case", "surface", "covered"),
    [("max_pool/ab", "s.nn", True), ("max_pool/b", "s.nn", False), ("max_pool/ab", "other", False)],
)
def test_entry_speaks_of_the_cases_and_surfaces_that_match(tmp_path, case, surface, covered):
    assert (loaded(tmp_path, ENTRY).entry(case, surface, {}) is not None) is covered


@pytest.mark.parametrize(
    ("version", "covered"),
    [("1.9", True), ("1.9.1", True), ("1.9.1rc1", True), ("1.9.2", False), ("1.9.1+cpu", True), ("unknown", False)],
)
def test_entry_holds_for_its_versions_only(tmp_path, version, covered):
    text = ENTRY.replace("kinds", 'versions: {framework: "<=1.9.1"}, kinds')
    entry = loaded(tmp_path, text).entry("max_pool/a", "s.nn", {"framework": version})
    assert (entry is not None) is covered


def test_entry_for_versions_of_a_package_that_is_not_there_is_silent(tmp_path):
    text = ENTRY.replace("kinds", 'versions: {framework: "<2"}, kinds')
    assert loaded(tmp_path, text).entry("max_pool/a", "s.nn", {"other": "1"}) is None


def test_first_entry_that_covers_a_case_speaks(tmp_path):
    book = loaded(tmp_path, ENTRY, ENTRY.replace("id: e", "id: f"))
    assert book.entry("max_pool/a", "s.nn", {}).id == "e"


def test_specifier_that_is_none_is_one_line(tmp_path):
    text = ENTRY.replace("kinds", 'versions: {framework: "about 2"}, kinds')
    assert refusals(tmp_path, text)[0].startswith("2: entry e: key 'versions': ")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("reason: it is known upstream", "resaon: it is known upstream", "unknown key"),
        ("reason: it is known upstream", "issue: null", "needs the key 'reason'"),
        ("[value]", "[wrong]", "kinds"),
        ("[max_pool/a*]", "max_pool/a*", "cases"),
        ("[s.*]", "[]", "surfaces"),
    ],
)
def test_malformed_entry_is_named_with_its_line(tmp_path, old, new, says):
    found = refusals(tmp_path, ENTRY.replace(old, new))
    assert all(line.startswith("2: entry e: ") for line in found)
    assert any(says in line for line in found)


def test_entry_that_matches_nothing_is_told(tmp_path, catalogue):
    idle = loaded(tmp_path, ENTRY).idle(catalogue.cases, ["s.nn"])
    assert len(idle) == 1
    assert "entry e: matches no case" in idle[0]
    assert "matches no surface" in loaded(tmp_path, ENTRY.replace("a*", "*")).idle(catalogue.cases, ["other"])[0]


def test_each_glob_of_an_entry_must_match(tmp_path, catalogue):
    text = ENTRY.replace("[max_pool/a*]", "[max_pool/*, gone/*]")
    assert len(loaded(tmp_path, text).idle(catalogue.cases, ["s.nn"])) == 1


def test_entry_that_matches_is_not_idle(tmp_path, catalogue):
    assert loaded(tmp_path, ENTRY.replace("a*", "*")).idle(catalogue.cases, ["s.nn"]) == []


def test_every_known_deviation_of_the_suite_has_a_reason_in_words():
    entries = ledger.load().entries
    assert entries
    assert all(len(entry.reason.split()) > 5 for entry in entries)
    assert all(isinstance(item, SpecifierSet) for entry in entries for item in entry.versions.values())


def test_two_entries_of_one_id_are_refused(tmp_path):
    assert refusals(tmp_path, ENTRY, ENTRY) == ["3: entry e: an id that stands already above"]


def test_digest_changes_with_what_an_entry_says_and_not_with_where_it_stands(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    assert loaded(here, ENTRY).digest == loaded(there, ENTRY).digest
    assert loaded(here, ENTRY).digest != loaded(there, ENTRY.replace("[value]", "[dtype]")).digest
