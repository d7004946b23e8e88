import stat

import pytest

from conformance import ConformanceError
from conformance.execution.releases.version_list import available_versions, select_versions

AVAILABLE = ["1.14.0", "1.15.0", "1.15.1", "1.16.3", "1.17.0", "1.20.1"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", AVAILABLE),
        ("1.15..1.17", ["1.15.0", "1.15.1", "1.16.3", "1.17.0"]),
        ("1.15.1..1.16", ["1.15.1", "1.16.3"]),
        ("1.20,1.14.0", ["1.14.0", "1.20.1"]),
        ("1.14,1.16..1.17", ["1.14.0", "1.16.3", "1.17.0"]),
        ("newest", ["1.20.1"]),
        ("1.14,newest", ["1.14.0", "1.20.1"]),
    ],
)
def test_a_list_of_versions_and_ranges_selects_releases(text, expected):
    assert select_versions(AVAILABLE, text) == expected


def test_newest_is_no_pre_release():
    assert select_versions([*AVAILABLE, "1.21.0rc1"], "newest") == ["1.20.1"]


def test_per_minor_selects_the_newest_patch():
    assert select_versions(AVAILABLE, "1.14..1.16", per_minor=True) == ["1.14.0", "1.15.1", "1.16.3"]


@pytest.mark.parametrize("text", ["1.99", "9..10", "new", "1.15..", "1.17..1.15"])
def test_a_part_that_selects_nothing_is_an_error_in_one_line(text):
    with pytest.raises(ConformanceError, match=r"^versions '[^\n]*$"):
        select_versions(AVAILABLE, text)


def fake_python(folder, text):
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_versions_of_the_index_are_sorted(tmp_path):
    python = fake_python(tmp_path, "echo 'fake (1.10)'; echo 'Available versions: 1.10, 1.9, 1.2'")
    assert available_versions("fake", python) == ["1.2", "1.9", "1.10"]


def test_builds_of_one_release_are_one_version(tmp_path):
    python = fake_python(tmp_path, "echo 'Available versions: 1.10+cpu, 1.10, 1.9+cpu'")
    assert available_versions("fake", python) == ["1.9", "1.10"]


def test_an_unknown_package_is_an_error_with_the_message_of_pip(tmp_path):
    python = fake_python(tmp_path, "echo 'ERROR: No matching distribution found' >&2; exit 1")
    with pytest.raises(ConformanceError, match=r"versions of fake: ERROR: No matching distribution found"):
        available_versions("fake", python)
