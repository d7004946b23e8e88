"""`conformance check`."""

import pytest

from tests.support.fake_backends import family

pytestmark = pytest.mark.usefixtures("own_folder")

X = "x: {values: arange, shape: [1, 1, 4, 4]}"


HEAD = "operator: max_pool\nsource: a test\ncases:\n"
PLAIN = f"id: a, {X}, window: 2"


def test_check_of_a_valid_file_prints_the_number_of_cases(conformance, tmp_path):
    assert conformance("check", family(tmp_path, PLAIN))[:2] == (0, "1 case is valid\n")


def test_check_of_a_wrong_expected_number_fails(conformance, tmp_path):
    path = family(tmp_path, f"{PLAIN}, expect: [[[[5, 7], [13, 14]]]]")
    status, _, error = conformance("check", path)
    assert (status, len(error)) == (2, 1)
    assert f"{path}:4: case max_pool/a: key 'expect': printed 14 at [0, 0, 1, 1]" in error[0]


def test_check_lists_errors_of_keys_parameters_and_numbers_in_the_order_of_lines(conformance, tmp_path):
    cases = (f"{PLAIN}, expect: [1]", f"id: b, {X}, window: 9, strid: 1", "id: c", f"id: d, {X}, window: 2")
    status, _, error = conformance("check", family(tmp_path, *cases))
    assert status == 2
    assert [line.split(":")[2] for line in error] == ["4", "5", "5", "6"]


def test_check_of_a_file_without_cases_fails(conformance, tmp_path):
    status, _, error = conformance("check", family(tmp_path))
    assert (status, len(error)) == (2, 1)
    assert "cases" in error[0] or "no case" in error[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "bad.yaml:1: the file is empty; a catalogue file has the keys operator and source"),
        ("a: 1\n---\nb: 2\n", "bad.yaml:2: a second YAML document begins here; a file contains one"),
        ('{"a": 1}\n{"b": 2}\n', "bad.yaml:2: text after the end of the YAML document"),
        (f"{HEAD}  - {{id: a, {X}, window: .nan}}\n", "bad.yaml:4: case a: key 'window': NaN is not a whole number"),
        (f"{HEAD}  - {{id: a, {X}, window: 2.5}}\n", "bad.yaml:4: case a: key 'window': 2.5 is not a whole number"),
    ],
)
def test_wrong_file_is_described_in_whole_sentences(conformance, tmp_path, text, message):
    path = tmp_path / "bad.yaml"
    path.write_text(text, "utf-8")
    status, out, (error,) = conformance("check", path)
    assert (status, out) == (2, "")
    assert message in error
