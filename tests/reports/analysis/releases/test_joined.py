"""Release data with a newer or an older release."""

import json

import jsonschema
import pytest

from reports.analysis.releases.history import release_data
from reports.analysis.releases.joined import join_release
from reports.results import load_report
from tests import ROOT
from tests.support import example_results as example

CASE, OTHER = "max_pool/stride-2-padding-1", "max_pool/nan-in-the-window"
WRONG = example.differing(CASE, "alpha.nn", None, {"index": [0, 0, 1, 1], "expected": 15, "got": 14})
RIGHT = example.result(CASE, "alpha.nn")


def loaded(tmp_path, version, *records, **changes):
    return load_report(example.write(tmp_path, example.run(f"alpha@{version}", ["alpha.nn"], records, **changes))).runs[
        0
    ]


def joined(tmp_path, old, new):
    """Return the data of the releases 1.0 and 1.1 with 1.2. old: one result of each of the two; new: results."""
    runs = {f"1.{n}": loaded(tmp_path, f"1.{n}", record) for n, record in enumerate(old)}
    found = join_release(release_data(runs), "1.2", loaded(tmp_path, "1.2", *new))
    jsonschema.validate(found.data, json.loads((ROOT / "docs" / "compat" / "schema.json").read_text("utf-8")))
    return found


def ends(found):
    (record,) = found.data["records"]
    return [(one["answer"], one.get("version_added"), one.get("version_removed")) for one in record["ranges"]]


@pytest.mark.parametrize(
    ("old", "new", "expected", "changes"),
    [
        ([WRONG, RIGHT], [RIGHT], [("differ value", None, "1.1"), ("agree", "1.1", None)], 0),
        ([RIGHT, RIGHT], [WRONG], [("agree", None, "1.2"), ("differ value", "1.2", None)], 1),
        ([RIGHT, RIGHT], [], [("agree", None, "1.2")], 0),
        ([RIGHT, example.unsupported(CASE, "alpha.nn")], [RIGHT], [("agree", None, "1.1"), ("agree", "1.2", None)], 0),
    ],
)  # fmt: skip
def test_ranges_of_a_record_with_a_newer_release(tmp_path, old, new, expected, changes):
    found = joined(tmp_path, old, new)
    assert ends(found) == expected
    assert len(found.changes) == changes


def test_data_of_all_releases_at_once_has_the_same_ranges(tmp_path):
    """A change of a program is not known from the data, so the joined range has no cause."""
    runs = {
        version: loaded(tmp_path, version, one) for version, one in (("1.0", RIGHT), ("1.1", RIGHT), ("1.2", WRONG))
    }
    at_once = release_data(runs)
    found = joined(tmp_path, [RIGHT, RIGHT], [WRONG]).data
    del at_once["records"][0]["ranges"][1]["cause"]
    assert found == at_once


def test_answers_to_other_cases_are_counted_and_left_out(tmp_path):
    found = joined(tmp_path, [RIGHT, RIGHT], [RIGHT, example.result(OTHER, "alpha.nn")])
    assert (found.compared, found.other_cases) == (1, 1)
    assert [one["case"] for one in found.data["records"]] == [CASE]


def test_case_with_another_digest_is_another_case(tmp_path):
    data = release_data({"1.0": loaded(tmp_path, "1.0", RIGHT)})
    data["records"][0]["digest"] = "0" * 32
    found = join_release(data, "1.1", loaded(tmp_path, "1.1", WRONG))
    assert (found.compared, found.other_cases, ends(found)) == (0, 1, [("agree", None, "1.1")])


def test_release_of_another_processor_has_its_instruction_sets(tmp_path):
    run = loaded(tmp_path, "1.0", RIGHT)
    data = release_data({"1.0": run}) | {"cpu": ["avx"], "platform": "another"}
    found = join_release(data, "1.1", loaded(tmp_path, "1.1", RIGHT))
    environment = run.header.environment
    assert found.other_cpu
    assert found.data["releases"][-1]["cpu"] == list(environment.cpu)
    assert found.data["releases"][-1]["platform"] == environment.platform
    assert not join_release(found.data, "1.2", loaded(tmp_path, "1.2", RIGHT)).other_cpu


@pytest.mark.parametrize(
    ("old", "new", "expected", "changes"),
    [
        (RIGHT, [RIGHT], [("agree", None, None)], 0),
        (RIGHT, [WRONG], [("differ value", None, "1.1"), ("agree", "1.1", None)], 1),
        (RIGHT, [], [("agree", "1.1", None)], 0),
        (example.unsupported(CASE, "alpha.nn"), [WRONG], [("differ value", None, "1.1"), ("agree", "1.2", None)], 0),
    ],
)
def test_ranges_of_a_record_with_an_older_release(tmp_path, old, new, expected, changes):
    runs = {version: loaded(tmp_path, version, one) for version, one in (("1.1", old), ("1.2", RIGHT))}
    found = join_release(release_data(runs), "1.0", loaded(tmp_path, "1.0", *new))
    jsonschema.validate(found.data, json.loads((ROOT / "docs" / "compat" / "schema.json").read_text("utf-8")))
    assert [one["version"] for one in found.data["releases"]] == ["1.0", "1.1", "1.2"]
    assert ends(found) == expected
    assert len(found.changes) == changes


def test_older_release_gives_the_data_of_all_releases_at_once(tmp_path):
    runs = {version: loaded(tmp_path, version, one) for version, one in (("1.0", WRONG), ("1.1", RIGHT))}
    at_once = release_data(runs)
    found = join_release(release_data({"1.1": runs["1.1"]}), "1.0", runs["1.0"]).data
    del at_once["records"][0]["ranges"][1]["cause"]
    assert found == at_once


def test_release_between_two_releases_is_rejected(tmp_path):
    data = release_data({version: loaded(tmp_path, version, RIGHT) for version in ("1.0", "1.2")})
    with pytest.raises(ValueError, match=r"release 1\.1 is not newer than 1\.2 or older than 1\.0"):
        join_release(data, "1.1", loaded(tmp_path, "1.1", RIGHT))
