"""Exhaustive sweeps: loaded only on request, with all possible rows, and one record each in the lock."""

import pytest

from conformance import cli
from conformance.catalogue import check, freeze, loading as catalogues, lock
from tests.support.fake_backends import family

SWEEP = (
    "id: all, level: exhaustive, cover: all, x: {{values: integers, high: {high}}}, "
    "factors: {{rank: [1, 2], extent: [[5, 4]], window: [2, [3, 2]], stride: {strides}}}"
)
ROWS, ROW = 8, "max_pool/all/2d-i5x4-w3x2-s2"


@pytest.fixture
def load(tmp_path):
    def read(strides="[1, 2]", high=9, level="exhaustive", **keywords):
        path = family(tmp_path, SWEEP.format(strides=strides, high=high), section="sweeps")
        x = "x: {values: arange, shape: [1, 1, 4]}"
        path.write_text(path.read_text("utf-8") + f"cases:\n  - {{id: a, {x}, window: 2}}\n", "utf-8")
        return catalogues.load_catalogue([path], level=level, **keywords)

    return read


@pytest.fixture
def frozen(tmp_path, monkeypatch):
    """Freeze a catalogue and return the lock."""
    for module in (check, freeze):
        monkeypatch.setattr(module, "lock_path", lambda: tmp_path / "lock.json")

    def make(cases, **permitted):
        freeze.freeze_catalogue(cases, **permitted)
        return lock.read_lock_file(tmp_path / "lock.json")

    return make


def drift(cases, locked):
    lines = check.check_problems(cases, lock=locked)
    return [line for line in lines if line.startswith(("sweep max_pool/", "case max_pool/"))]


def ids(cases):
    return [case.id for case in cases.cases]


def test_rows_are_read_only_when_they_are_asked_for(load):
    assert ids(load(level="standard")) == ["max_pool/a"]
    assert len(load().cases) == ROWS + 1
    assert [sweep.id for sweep in load(level="standard").unloaded_sweeps] == ["all"]


@pytest.mark.parametrize(
    ("wanted", "rows"),
    [
        ({"globs": [ROW]}, 1),
        ({"globs": ["*-s2"]}, 4),
        ({"globs": ["max_pool/all/2d*", ROW]}, 4),
        ({"globs": [f"{ROW}-d2"]}, 0),
        ({"globs": ["max_pool/all/1d-i5-w9-s2"]}, 0),
        ({"globs": ["conv/*"]}, 0),
        ({"operators": ["max_pool"]}, ROWS),
        ({"operators": ["conv"]}, 0),
    ],
)
def test_only_the_rows_that_are_wanted_are_read(load, wanted, rows):
    whole, some = load(), load(**wanted)
    assert ids(some)[1:] == [name for name in ids(whole)[1:] if name in ids(some)]
    assert len(some.cases) == rows + 1


def test_digest_does_not_depend_on_whether_rows_were_read(load):
    digest = load().digest
    assert load(level="standard").digest == load(globs=[ROW]).digest == load(globs=["conv/*"]).digest == digest
    assert load(high=8).digest != digest
    assert load(strides="[1]", level="standard").digest != digest


def test_sweep_is_one_record_and_drift_says_what_became_of_it(load, frozen):
    locked = frozen(load())
    assert list(locked.records) == ["max_pool/a", "max_pool/all/*"]
    assert locked.records["max_pool/all/*"].rows == ROWS
    assert drift(load(), locked) == []
    assert drift(load(strides="[1, 2, 3]"), locked) == [
        "sweep max_pool/all: its number of rows (from 8 to 12) changed since the last freeze"
    ]
    assert drift(load(strides="[1, 3]"), locked) == [
        "sweep max_pool/all: the ids of its rows changed since the last freeze"
    ]
    assert drift(load(high=8), locked) == [
        "sweep max_pool/all: the inputs or the expected outputs of its rows changed since the last freeze"
    ]


def test_sweep_whose_rows_were_not_read_is_held_by_its_name_alone(load, frozen, tmp_path):
    locked = frozen(load())
    assert drift(load(level="standard"), locked) == []
    assert drift(load(level="standard"), lock.Lock({"max_pool/a": locked.records["max_pool/a"]})) == [
        "sweep max_pool/all: not frozen yet (conformance freeze --level exhaustive)"
    ]
    gone = catalogues.load_catalogue([family(tmp_path, "id: a, x: {values: arange, shape: [1, 1, 4]}, window: 2")])
    assert drift(gone, locked) == ["sweep max_pool/all: frozen, but no longer in the catalogue"]


def test_freezing_without_the_rows_leaves_their_record_as_it_is(load, frozen):
    locked = frozen(load())
    assert frozen(load(strides="[1, 2, 3]", level="standard")) == locked
    assert frozen(load(strides="[1, 2, 3]"), change=True).records["max_pool/all/*"].rows == 12


def test_one_row_can_be_shown_without_reading_the_others(load, tmp_path, capsys):
    load()
    path = tmp_path / "file.yaml"
    for name, status in ((ROW, 0), (f"{ROW}-d2", 2), ("max_pool/*", 2)):
        with pytest.raises(SystemExit) as left:
            cli.main(["show", name, "--cases", str(path)])
        assert (left.value.code or 0) == status
    assert capsys.readouterr().out.startswith(ROW)


def test_level_of_the_command_decides_what_is_checked_and_listed(load, tmp_path, capsys):
    load()
    path = str(tmp_path / "file.yaml")
    for arguments in (["list", "--cases", path], ["check", path, "--no-cache"]):
        for level in ("standard", "exhaustive"):
            with pytest.raises(SystemExit):
                cli.main([*arguments, "--level", level])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + (ROWS + 1) + 1 + 1
    assert lines[-2:] == ["1 case is valid", f"{ROWS + 1:,} cases are valid"]


def test_freeze_in_the_suites_own_folder_is_what_the_version_is_read_from(load, frozen, tmp_path, monkeypatch):
    monkeypatch.setattr(freeze, "changelog_path", lambda: tmp_path / "CHANGELOG.md")
    first, second = load(), load(strides="[1, 2, 3]")
    monkeypatch.setattr(catalogues, "catalogue_folder", lambda: tmp_path)
    assert catalogues.catalogue_version() == ""
    frozen(first, release="1.0.0")
    assert catalogues.catalogue_version() == "1.0.0"
    assert "- max_pool: 9 added (`max_pool/a`; `max_pool/all/*`)." in (tmp_path / "CHANGELOG.md").read_text("utf-8")
    frozen(second, change=True)
    assert catalogues.catalogue_version() == "1.0.0+unreleased"
