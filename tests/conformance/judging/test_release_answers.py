"""Answers of old releases, and ledger entries that contradict them."""

import json
import zlib
from dataclasses import replace

import jsonschema
import pytest
from packaging.specifiers import SpecifierSet

from conformance import ConformanceError
from conformance.catalogue import check
from conformance.judging import ledger, release_answers
from conformance.judging.release_answers import AnswerRange, Evidence, contradicted_entries, read_release_data
from reports.results.vocabulary import DifferenceKind

FILES = release_answers.release_data_files()
CONVENTION = {DifferenceKind.CONVENTION, DifferenceKind.CHANGED}


def span(answer):
    return AnswerRange(answer, None, None, ("1.0",), Evidence("1.0", "", cause=None))


@pytest.mark.parametrize(
    ("answer", "declared", "kinds"),
    [
        ("agree", None, set()),
        ("rejected, agree", None, set()),
        ("rejected, differ", None, {"rejected"}),
        ("differ value", None, {"value"}),
        ("crashed", None, {"crashed"}),
        ("crashed", "empty", {"crashed"}),
        ("empty", "empty", set()),
        ("rejected", "rejected", set()),
        ("other", "empty", CONVENTION),
    ],
)
def test_kinds_of_difference_follow_from_the_answer(answer, declared, kinds):
    assert span(answer).differences(declared) == kinds


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_data_follows_the_schema_and_has_cases_of_the_catalogue(path, catalogue):
    schema = json.loads((path.parent / "schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(path.read_text("utf-8")), schema)
    data, locked = read_release_data(path), check.read_lock().records
    assert data.backend == path.stem
    assert {one.case for one in data.records} <= {case.id for case in catalogue.cases}
    # A case that has changed since needs another run of the releases.
    assert {one.case: one.digest for one in data.records} == {one.case: locked[one.case].digest for one in data.records}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_ranges_of_a_record_follow_each_other(path):
    data = read_release_data(path)
    versions = [release.version for release in data.releases]
    for record in data.records:
        run = [version for one in record.ranges for version in one.run]
        assert run == [version for version in versions if version in run], record
        for one in record.ranges:
            assert one.version_added == (None if one.run[0] == versions[0] else one.run[0])
            after = versions[versions.index(one.run[-1]) + 1 :]
            assert one.version_removed == (after[0] if after else None)


def test_there_is_data():
    assert FILES


@pytest.mark.parametrize(
    ("content", "problem"),
    [("{", "truncated"), ("[]", "Expected `object`"), ('{"format": 1}', "format"), ("\udcff", "malformed")],
)
def test_file_that_is_no_data_is_an_error_of_one_line(tmp_path, content, problem):
    path = tmp_path / "a.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(ConformanceError) as error:
        read_release_data(path)
    assert str(error.value).startswith(f"{path}: not release data: ")
    assert problem in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("bounds", "problem"),
    [
        ({"version_added": "9"}, "'9'"),
        ({"version_added": "1.1", "version_removed": "1.1"}, "1.1 to 1.1 has no release"),
    ],
)
def test_range_without_a_release_is_an_error_of_one_line(tmp_path, bounds, problem):
    data = json.loads(FILES[0].read_text("utf-8"))
    data["releases"] = [data["releases"][0] | {"version": version} for version in ("1.0", "1.1")]
    data["records"] = [data["records"][0] | {"ranges": [{"answer": "agree", **bounds}]}]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(data), "utf-8")
    with pytest.raises(ConformanceError, match=problem) as error:
        read_release_data(path)
    assert "\n" not in str(error.value)


def test_range_has_the_releases_between_its_ends(tmp_path):
    data = json.loads(FILES[0].read_text("utf-8"))
    data["releases"] = [data["releases"][0] | {"version": version} for version in ("1.0", "1.1", "1.2")]
    spans = [{"answer": "agree", "version_removed": "1.1"}, {"answer": "crashed", "version_added": "1.2"}]
    data["records"] = [data["records"][0] | {"ranges": spans}]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(data), "utf-8")
    (record,) = read_release_data(path).records
    assert [one.run for one in record.ranges] == [("1.0",), ("1.2",)]


def test_all_data_together_is_small():
    """The files are in the package, which is compressed."""
    assert sum(len(zlib.compress(path.read_bytes())) for path in FILES) < 1_500_000


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_data_names_no_cache_of_a_user(path):
    assert "/.cache/" not in path.read_text("utf-8")


def test_missing_file_is_an_error_of_one_line(tmp_path):
    with pytest.raises(ConformanceError, match="No such file"):
        read_release_data(tmp_path / "none.json")


@pytest.fixture(scope="module")
def data():
    return [read_release_data(path) for path in FILES]


def contradictions(entry, data, catalogue):
    return list(contradicted_entries(ledger.Ledger((entry,)), data, catalogue.by_id))


def entry_of(kind, case, versions, surface="onnxruntime"):
    specifiers = {"onnxruntime": SpecifierSet(versions)}
    return ledger.LedgerEntry("e", (case,), (surface,), (kind,), "why", versions=specifiers, location="ledger.yaml:2")


CEIL, LARGE = "avg_pool/2d-ceil-padding-1-counted", "avg_pool/window-larger-than-input"


@pytest.mark.parametrize(
    ("entry", "version", "answer"),
    [
        (entry_of("shape", CEIL, "<1.21"), None, None),
        (entry_of("shape", CEIL, "<1.22"), "1.21.1", "agree"),
        (entry_of("value", CEIL, "<1.21"), "1.15.1", "differ shape"),
        (entry_of("convention", LARGE, ">1.20.1,<=1.32.0"), None, None),
        (entry_of("convention", LARGE, "<=1.32.0"), "1.15.1", "empty"),
        (entry_of("shape", CEIL, "==7.0"), None, None),
    ],
)
def test_entry_that_a_release_contradicts_is_a_problem(data, catalogue, entry, version, answer):
    where = f"{entry.cases[0]} on onnxruntime in onnxruntime {version} gives the answer {answer!r}"
    expected = [f"ledger.yaml:2: entry e: key 'versions': {where}"] if version else []
    assert contradictions(entry, data, catalogue) == expected


def test_flaky_entries_and_other_surfaces_are_not_compared(data, catalogue):
    assert contradictions(entry_of("flaky", CEIL, "<1.22"), data, catalogue) == []
    assert contradictions(entry_of("shape", CEIL, "<1.22", "ortjs.node"), data, catalogue) == []


def test_a_release_that_lacks_a_function_is_not_compared(catalogue):
    """MXNet 1.6.0 has no mxnet.np.pad, whose results the ledger describes for all releases."""
    (mxnet,) = (read_release_data(path) for path in FILES if path.stem == "mxnet")
    (record,) = (one for one in mxnet.records if one.case == "pad/1d-value" and one.surface == "mxnet.npx")
    assert [(span.answer, span.lacks_function) for span in record.ranges] == [
        ("crashed", True),
        ("differ value", False),
    ]
    entry = replace(entry_of("value", "pad/1d-value", "", "mxnet.npx"), versions={"mxnet": SpecifierSet("<=1.9.1")})
    assert contradictions(entry, [mxnet], catalogue) == []


def test_entry_before_another_one_applies(data, catalogue):
    wide = entry_of("shape", CEIL, "<1.22")
    flaky = replace(entry_of("flaky", CEIL, ">=1.21"), id="first")
    assert list(contradicted_entries(ledger.Ledger((flaky, wide)), data, catalogue.by_id)) == []


def test_no_entry_of_the_ledger_contradicts_a_release(data, catalogue):
    assert list(contradicted_entries(ledger.load_ledger(), data, catalogue.by_id)) == []
