"""`conformance compat`."""

import json

import jsonschema
import pytest

from tests import ROOT
from tests.support import example_results as example

CASE = "max_pool/stride-2-padding-1"
WRONG = example.differing(CASE, "alpha.nn", None, {"index": [0], "expected": 15, "got": 14})
RIGHT = example.result(CASE, "alpha.nn")


def write(folder, version, record, **keywords):
    folder.mkdir(exist_ok=True)
    path = folder / f"{version or 'none'}.jsonl"
    label = f"alpha@{version}" if version else "alpha"
    path.write_text(example.text(example.run(label, ["alpha.nn"], [record], **keywords)), "utf-8")
    return path


def test_results_of_releases_become_data_in_the_order_of_versions(conformance, tmp_path):
    for version, record in (("1.10", RIGHT), ("1.9", WRONG)):
        write(tmp_path / "in", version, record)
    status, out, _ = conformance("compat", tmp_path / "in")
    assert status == 0
    data = json.loads(out)
    assert [one["version"] for one in data["releases"]] == ["1.9", "1.10"]
    assert [one["answer"] for one in data["records"][0]["ranges"]] == ["differ value", "agree"]
    assert conformance("compat", tmp_path / "in", "--out", tmp_path / "new" / "a.json")[:2] == (0, "")
    assert (tmp_path / "new" / "a.json").read_text("utf-8") == out


@pytest.mark.parametrize("version", ["", "old"])
def test_results_that_name_no_release_are_an_error(conformance, tmp_path, version):
    path = write(tmp_path, version, RIGHT)
    status, _, errors = conformance("compat", path)
    assert (status, errors) == (
        2,
        [f"conformance: {path}: results of no release (`conformance history` writes them)"],
    )


def test_incomplete_and_mixed_results_are_errors_of_one_line(conformance, tmp_path):
    part = write(tmp_path, "1.0", RIGHT, complete=False)
    assert conformance("compat", part)[0] == 3
    write(tmp_path / "in", "1.0", RIGHT)
    write(tmp_path / "in", "1.1", RIGHT, catalogue={"digest": "ab" * 16, "cases": 1})
    status, _, errors = conformance("compat", tmp_path / "in")
    assert (status, errors) == (2, ["conformance: the results are of 2 catalogues, not of one"])


def test_results_with_older_programs_alone_are_an_error(conformance, tmp_path):
    path = write(tmp_path, "1.1-with-1.0", RIGHT)
    status, _, errors = conformance("compat", path)
    assert (status, errors) == (2, ["conformance: no results of a release with its own programs"])


def answers(text):
    """Return the answer of each range, with the releases that add and remove it."""
    (record,) = json.loads(text)["records"]
    return [(one["answer"], one.get("version_added"), one.get("version_removed")) for one in record["ranges"]]


@pytest.fixture
def data(conformance, tmp_path):
    """A file of data about the releases 1.0 and 1.1, which agree."""
    for version in ("1.0", "1.1"):
        write(tmp_path / "old", version, RIGHT)
    path = tmp_path / "data.json"
    assert conformance("compat", tmp_path / "old", "--out", path)[0] == 0
    return path


def test_newer_release_joins_data(conformance, tmp_path, data):
    before = data.read_text("utf-8")
    result = write(tmp_path / "new", "1.2", WRONG)
    page = tmp_path / "changes.md"
    status, out, errors = conformance("compat", result, "--onto", data, "--changes", page)
    assert (status, errors) == (0, ["alpha 1.2: 1 changed answers of 1"])
    assert answers(out) == [("agree", None, "1.2"), ("differ value", "1.2", None)]
    jsonschema.validate(json.loads(out), json.loads((ROOT / "docs" / "compat" / "schema.json").read_text("utf-8")))
    assert page.read_text("utf-8").splitlines() == [
        "# alpha 1.2: 1 changed answer",
        "",
        "1 answer compared with 1.1.",
        "",
        "",
        "| convention or case | surface | before | after | returned or raised |",
        "| --- | --- | --- | --- | --- |",
        f"| `{CASE}` | `alpha.nn` | agree (1.1) | differ value (1.2) | at \\[0\\] expected 15, got 14 |",
    ]
    assert data.read_text("utf-8") == before


def test_since_reads_data_with_a_newer_release(conformance, tmp_path, data):
    new = tmp_path / "new.json"
    assert conformance("compat", write(tmp_path / "new", "1.2", WRONG), "--onto", data, "--out", new)[0] == 0
    assert conformance("since", CASE, "--data", new)[1].splitlines()[2:4] == [
        "    1.0 to 1.1  agree",
        "    1.2         differ value  at [0] expected 15, got 14",
    ]


def test_equal_answer_extends_its_range(conformance, tmp_path, data):
    page = tmp_path / "changes.md"
    out = conformance("compat", write(tmp_path / "new", "1.2", RIGHT), "--onto", data, "--changes", page)[1]
    assert answers(out) == [("agree", None, None)]
    assert [one["version"] for one in json.loads(out)["releases"]] == ["1.0", "1.1", "1.2"]
    assert page.read_text("utf-8").startswith("# alpha 1.2: 0 changed answers\n")


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.0.1"])
def test_release_between_two_releases_is_left_out(conformance, tmp_path, data, version):
    page = tmp_path / "changes.md"
    status, out, errors = conformance(
        "compat", write(tmp_path / "new", version, WRONG), "--onto", data, "--changes", page
    )
    assert (status, errors) == (0, ["alpha: no release is newer than 1.1 or older than 1.0"])
    assert json.loads(out) == json.loads(data.read_bytes())
    assert page.read_text("utf-8") == "# alpha: no newer release\n"


def test_older_releases_join_data(conformance, tmp_path, data):
    page = tmp_path / "changes.md"
    results = [write(tmp_path / version, version, one) for version, one in (("0.8", WRONG), ("0.9", RIGHT))]
    status, out, errors = conformance("compat", *results, "--onto", data, "--changes", page)
    assert (status, errors) == (0, ["alpha 0.9: 0 changed answers of 1", "alpha 0.8: 1 changed answers of 1"])
    assert answers(out) == [("differ value", None, "0.9"), ("agree", "0.9", None)]
    assert [one["version"] for one in json.loads(out)["releases"]] == ["0.8", "0.9", "1.0", "1.1"]
    assert page.read_text("utf-8") == "# alpha: no newer release\n"


def test_options_of_newer_releases_are_checked(conformance, tmp_path, data):
    result = write(tmp_path / "new", "1.2", RIGHT)
    assert conformance("compat", result, "--changes", tmp_path / "a.md")[0] == 2
    missing = tmp_path / "no.json"
    assert conformance("compat", result, "--onto", missing)[::2] == (
        2,
        [f"conformance: {missing}: No such file or directory"],
    )
    data.write_text(data.read_text("utf-8").replace('"alpha"', '"beta"'), "utf-8")
    status, _, errors = conformance("compat", result, "--onto", data)
    assert (status, errors) == (2, ["conformance: the results are of backend alpha, the data is about beta"])
