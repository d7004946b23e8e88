"""Freezing adds cases; removing an id or changing a result needs an option. Releases use the records of the lock."""

import pytest

from conformance import CatalogueError, ConformanceError, cli
from conformance.catalogue import check, freeze, loading as catalogues, lock
from tests.support.fake_backends import family, load

X = "x: {values: arange, shape: [1, 1, 4, 4]}"
ONE, TWO, THREE = (f"id: {name}, {X}, window: {window}" for name, window in (("a", 2), ("b", 3), ("c", 4)))
OTHER = ONE.replace("window: 2", "window: 4")


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    """Freeze to a temporary folder."""
    for module in (check, freeze):
        monkeypatch.setattr(module, "lock_path", lambda: tmp_path / "lock.json")
    monkeypatch.setattr(freeze, "changelog_path", lambda: tmp_path / "CHANGELOG.md")


@pytest.fixture
def frozen(tmp_path):
    return lambda *cases, **permitted: freeze.freeze_catalogue(load(tmp_path, *cases), **permitted)


def names(tmp_path):
    return list(lock.read_lock_file(tmp_path / "lock.json").records)


def test_freezing_adds_and_says_what(frozen, tmp_path):
    assert frozen(ONE).added == ("max_pool/a",)
    assert frozen(ONE, TWO).names == ("max_pool/b",)
    assert names(tmp_path) == ["max_pool/a", "max_pool/b"]


@pytest.mark.parametrize(
    ("cases", "permitted", "line"),
    [
        ([TWO, THREE], {}, "ids are permanent, and max_pool/a would be removed; allow with --remove"),
        ([TWO, THREE], {"change": True}, "ids are permanent, and max_pool/a would be removed; allow with --remove"),
        ([OTHER, TWO], {"remove": True},
         "frozen cases are permanent, and max_pool/a (its parameters and its expected output) would change; "
         "allow with --change"),
    ],
)  # fmt: skip
def test_what_is_frozen_is_not_lost_unasked(frozen, tmp_path, cases, permitted, line):
    frozen(ONE, TWO)
    before = (tmp_path / "lock.json").read_bytes()
    with pytest.raises(ConformanceError) as refused:
        frozen(*cases, **permitted)
    assert str(refused.value) == line
    assert (tmp_path / "lock.json").read_bytes() == before


def test_removals_and_changes_that_were_asked_for_are_made(frozen, tmp_path):
    frozen(ONE, TWO)
    found = frozen(OTHER, THREE, remove=True, change=True)
    assert (found.added, found.removed, list(found.changed)) == (("max_pool/c",), ("max_pool/b",), ["max_pool/a"])
    assert names(tmp_path) == ["max_pool/a", "max_pool/c"]
    assert frozen(OTHER, THREE).names == ()


def test_many_lost_ids_are_named_in_part(frozen):
    frozen(ONE, *(f"id: d{number}, {X}, window: 2" for number in range(25)))
    with pytest.raises(ConformanceError, match="and 5 more would be removed"):
        frozen(ONE)


def test_faulty_case_is_not_frozen(frozen, tmp_path):
    with pytest.raises(CatalogueError, match=r"file\.yaml:5: case max_pool/b: .*StrideIsZero"):
        frozen(ONE, f"id: b, {X}, window: 2, expect: {{rejected: StrideIsZero}}")
    assert not (tmp_path / "lock.json").exists()


def test_lock_of_the_first_format_is_migrated_without_a_change(frozen, tmp_path):
    digests = check.case_digests(load(tmp_path, ONE))
    (tmp_path / "lock.json").write_text(f'{{"max_pool/a": "{digests["max_pool/a"]}"}}', "utf-8")
    assert frozen(ONE).names == ()
    record = lock.read_lock_file(tmp_path / "lock.json").records["max_pool/a"]
    assert record.digest == digests["max_pool/a"]
    assert record.parameters


def test_release_has_a_section_made_of_the_lock(frozen, tmp_path):
    frozen(ONE, TWO, release="1.0.0")
    frozen(ONE, TWO, THREE)
    frozen(OTHER, THREE, remove=True, change=True, release="2.0.0")
    text = (tmp_path / "CHANGELOG.md").read_text("utf-8")
    second, first = text.split("\n## ")[1:]
    assert second.startswith("2.0.0 (")
    assert "since 1.0.0)" in second
    assert second.splitlines()[2] == (
        "- max_pool: 1 added (`max_pool/c`), 1 removed (`max_pool/b`), "
        "1 changed (`max_pool/a` (its parameters and its expected output))."
    )
    assert "- max_pool: 2 added (`max_pool/a`; `max_pool/b`)." in first
    assert lock.read_lock_file(tmp_path / "lock.json").label == "2.0.0"


def test_release_counts_what_is_too_much_to_name(frozen, tmp_path):
    frozen(*(f"id: d{number}, {X}, window: 2" for number in range(25)), release="0.1.0")
    assert "- max_pool: 25 added (25 single)." in (tmp_path / "CHANGELOG.md").read_text("utf-8")


def test_single_cases_on_both_sides_of_a_sweep_are_counted_together():
    names = ["op/a", *(f"op/b/{number}" for number in range(10)), "op/c"]
    now = lock.Lock({name: lock.FrozenCase("0" * 32) for name in names})
    assert "- op: 12 added (2 single; 10 of `op/b`)." in freeze.changelog_section(now, "1.0.0", "today")


@pytest.mark.parametrize(
    ("release", "cases", "says"),
    [
        ("1.0", [ONE, TWO], "not a version such as 1.4.0"),
        ("01.1.0", [ONE, TWO], "not a version"),
        ("1.2.0", [ONE], "nothing has changed since 1.1.0"),
        ("1.1.1", [ONE, TWO], "cases were added since 1.1.0: its second number must increase"),
        ("1.9.0", [OTHER], "cases were removed or changed since 1.1.0: its first number must increase"),
        ("1.0.0", [ONE, TWO], "its second number must increase"),
    ],
)
def test_release_has_a_version_that_says_what_happened(frozen, tmp_path, release, cases, says):
    frozen(ONE, release="1.1.0")
    before = {path.name: path.read_bytes() for path in tmp_path.glob("[lC]*")}
    with pytest.raises(ConformanceError, match=says):
        frozen(*cases, change=True, release=release)
    assert {path.name: path.read_bytes() for path in tmp_path.glob("[lC]*")} == before


def test_before_1_0_0_the_second_number_rises_for_a_change(frozen, tmp_path):
    frozen(ONE, release="0.1.0")
    with pytest.raises(ConformanceError, match="its second number must increase"):
        frozen(OTHER, change=True, release="0.1.1")
    frozen(OTHER, change=True, release="0.2.0")
    assert lock.read_lock_file(tmp_path / "lock.json").version == "0.2.0"


def test_changelog_that_cannot_be_written_is_one_line_and_nothing_is_frozen(frozen, tmp_path):
    (tmp_path / "CHANGELOG.md").mkdir()
    with pytest.raises(ConformanceError, match=r"CHANGELOG\.md: "):
        frozen(ONE, release="1.0.0")
    assert not (tmp_path / "lock.json").exists()


def test_command_names_what_was_added_and_refuses_with_one_line(tmp_path, monkeypatch, capsys):
    path = family(tmp_path, ONE, TWO)
    read = catalogues.load_catalogue
    monkeypatch.setattr(catalogues, "load_catalogue", lambda **keywords: read([path], **keywords))

    def command(*arguments):
        with pytest.raises(SystemExit) as left:
            cli.main(["freeze", "--no-cache", *arguments])
        return left.value.code or 0, *map(str.splitlines, capsys.readouterr())

    added = ["added max_pool/a", "added max_pool/b", "2 cases frozen: 2 added, 0 removed, 0 changed"]
    assert command() == (0, added, [])
    family(tmp_path, ONE)
    status, out, error = command()
    assert (status, out, len(error)) == (2, [], 1)
    assert command("--remove") == (0, ["removed max_pool/b", "1 case frozen: 0 added, 1 removed, 0 changed"], [])
