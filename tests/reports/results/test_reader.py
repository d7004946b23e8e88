"""Reading and validating results files."""

import json

import pytest

from reports.results import UnreadableResults, load_report, read_header
from tests.support import example_results as example


def error_message(paths):
    with pytest.raises(UnreadableResults) as error:
        load_report(paths)
    message = str(error.value)
    assert "\n" not in message
    return message


def edited(tmp_path, edit, records=None):
    """Write alpha's file with edited records; return its path."""
    records = json.loads(json.dumps(records or example.alpha()))
    edit(records)
    return example.write(tmp_path, records)[0]


def first(records, kind):
    return next(number for number, record in enumerate(records) if record["record"] == kind)


def test_backends_are_sorted_by_name_for_any_order_of_files(tmp_path):
    paths = example.write(tmp_path, example.beta(), example.alpha())
    assert load_report(paths) == load_report(paths[::-1])
    assert [backend.name for backend in load_report(paths).backends] == ["alpha", "beta"]


def test_complete_run_is_read_completely(tmp_path):
    backend = load_report(example.write(tmp_path, example.beta())).backends[0]
    assert backend.complete
    assert len(backend.results) == backend.footer.results == 17
    assert backend.version == "2.1.0"
    assert [answer.contradicted for answer in backend.conventions] == [True, False]


def test_backend_on_an_engine_has_the_version_of_its_first_part(tmp_path):
    records = [{**record} for record in example.beta()]
    packages = {"eta": "3.1", "beta": "2.0", "numpy": "2.4.6"}
    environment = {**records[0]["environment"], "packages": packages}
    records[0] |= {"backend": "eta-beta", "environment": environment}
    assert load_report(example.write(tmp_path, records)).backends[0].version == "3.1"


def test_file_without_footer_is_a_partial_run(tmp_path):
    assert not load_report(example.write(tmp_path, example.gamma())).backends[0].complete


@pytest.mark.parametrize("cut", [1, 2, 40, 200])
def test_incomplete_last_line_is_a_partial_run(tmp_path, cut):
    path = example.write(tmp_path, example.gamma())[0]
    path.write_bytes(path.read_bytes()[:-cut])
    assert not load_report([path]).backends[0].complete


def test_last_line_that_ends_inside_a_character_is_a_partial_run(tmp_path):
    path = example.write(tmp_path, example.gamma())[0]
    path.write_bytes(path.read_bytes() + '{"record": "é'.encode()[:-1])
    assert len(load_report([path]).backends[0].results) == 3


def test_invalid_complete_line_is_rejected_even_at_the_end(tmp_path):
    path = example.write(tmp_path, example.gamma())[0]
    path.write_bytes(path.read_bytes() + b'{"record": \n')
    assert "not JSON" in error_message([path])


def test_invalid_json_is_rejected_with_file_and_line(tmp_path):
    path = example.write(tmp_path, example.alpha())[0]
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "oops", *lines[1:]]))
    assert error_message([path]).startswith(f"{path}:2: not JSON")


@pytest.mark.parametrize("line", [b'{"record": "\xff"}', b"[1]", b"", b'{"record": NaN}', b"[" * 100_000])
def test_unreadable_line_is_rejected(tmp_path, line):
    path = example.write(tmp_path, example.alpha())[0]
    path.write_bytes(path.read_bytes().replace(b"\n", b"\n" + line + b"\n", 1))
    assert error_message([path]).startswith((f"{path}:2: not ", f"{path}:2: expected `object`"))


def test_unknown_format_is_rejected(tmp_path):
    path = edited(tmp_path, lambda records: records[0].update(format=2))
    assert error_message([path]) == f"{path}:1: format: unknown value 2, this version reads 1"


def test_missing_header_is_rejected(tmp_path):
    path = example.write(tmp_path, example.alpha())[0]
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    assert "missing header" in error_message([path])


def test_empty_file_is_rejected(tmp_path):
    path = tmp_path / "empty.jsonl"
    path.touch()
    assert "missing header" in error_message([path])


def test_missing_file_is_rejected(tmp_path):
    assert "cannot be read: No such file" in error_message([tmp_path / "none.jsonl"])


def test_same_backend_in_two_files_is_rejected(tmp_path):
    paths = example.write(tmp_path / "one", example.alpha()) + example.write(tmp_path / "two", example.alpha())
    assert f"the backend 'alpha' is also in {paths[0]}" in error_message(paths)


def test_same_surface_in_two_files_is_rejected(tmp_path):
    twin = example.run("twin", ["alpha.nn"], example.all_pass("alpha.nn"))
    assert "the surface 'alpha.nn' is also in" in error_message(example.write(tmp_path, example.alpha(), twin))


def test_different_catalogues_are_rejected(tmp_path):
    other = example.run("other", ["other.nn"], [], catalogue={"digest": "00", "cases": 1})
    assert "made from the catalogue" in error_message(example.write(tmp_path, example.alpha(), other))


def test_second_result_for_a_case_on_a_surface_is_rejected(tmp_path):
    path = edited(tmp_path, lambda records: records.insert(-1, records[first(records, "result")]))
    assert "a second result for the case" in error_message([path])


def test_result_for_a_case_not_declared_is_rejected(tmp_path):
    path = edited(tmp_path, lambda records: records.pop(first(records, "case")))
    assert "was never declared" in error_message([path])


def test_result_with_a_program_not_declared_is_rejected(tmp_path):
    path = edited(tmp_path, lambda records: records.pop(first(records, "program")))
    assert "the program 'alpha.nn-native' was never declared" in error_message([path])


def test_result_on_a_surface_that_the_header_lacks_is_rejected(tmp_path):
    path = edited(tmp_path, lambda records: records[0].update(surfaces=["alpha.nn"]))
    assert "the surface 'alpha.nn.functional' is not in the header" in error_message([path])


@pytest.mark.parametrize("change", [{"results": 7}, {"by_status": {"pass": 17, "fail": 1}}])
def test_footer_with_other_counts_is_rejected(tmp_path, change):
    path = edited(tmp_path, lambda records: records[-1].update(change))
    assert "the footer counts" in error_message([path])


@pytest.mark.parametrize(
    ("record", "change", "message"),
    [
        ({"record": "verdict"}, {}, "record: unknown value 'verdict'"),
        (example.alpha()[0], {}, "a second header"),
        ({"record": "header"}, {}, "object missing required field `backend`"),
        ({"surface": "alpha.nn"}, {}, "object missing required field `record`"),
        ({"record": "footer", "results": "x"}, {}, "results: expected `int`, got `str`"),
    ],
)
def test_invalid_record_is_rejected(tmp_path, record, change, message):
    path = edited(tmp_path, lambda records: records.insert(1, record | change))
    assert error_message([path]) == f"{path}:2: {message}"


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        (
            "result",
            {"status": "good"},
            "status: unknown value 'good', not one of fail, crashed, timed_out, flaky, stale,",
        ),
        ("result", {"seconds": "1"}, "seconds: expected `float`, got `str`"),
        ("result", {"worst": {"index": ["0"]}}, "worst.index[0]: expected `int`, got `str`"),
        (
            "result",
            {"got": {"dtype": "float32", "shape": [2], "data": [1]}},
            "got: 1 elements, but the shape [2] has 2",
        ),
        (
            "case",
            {"inputs": {"x": {"dtype": "f", "shape": [1], "data": ["NaN"]}}},
            "inputs[...].data[0]: unknown value 'NaN'",
        ),
        ("case", {"expected": {"dtype": "f", "shape": [-1]}}, "expected.shape[0]: expected `int` >= 0"),
        ("case", {"expected": "text"}, "expected: expected `object`, got `str`"),
        ("case", {"terms": True}, "terms: expected `int`, got `bool`"),
        ("program", {"how": "emulated"}, "how: unknown value 'emulated', not one of native, padded, composed"),
        ("header", {"environment": {}}, "environment: object missing required field `python`"),
    ],
)
def test_wrong_value_is_rejected_with_its_key(tmp_path, kind, change, message):
    path = edited(tmp_path, lambda records: records[first(records, kind)].update(change))
    assert message in error_message([path])


def test_record_after_the_footer_is_rejected(tmp_path):
    path = edited(tmp_path, lambda records: records.append(records[1]))
    assert "follows the footer" in error_message([path])


def test_case_of_two_files_is_stored_once(tmp_path):
    paths = example.write(tmp_path, example.alpha(), example.delta())
    first, second = load_report(paths).backends
    common = first.cases.keys() & second.cases.keys()
    assert common
    assert all(first.cases[name] is second.cases[name] for name in common)


def test_same_case_twice_in_one_file_is_rejected_after_another_file_contained_it(tmp_path):
    paths = example.write(tmp_path, example.alpha(), example.delta())
    lines = paths[1].read_text("utf-8").splitlines(keepends=True)
    paths[1].write_text("".join([*lines[:2], lines[1], *lines[2:]]), "utf-8")
    with pytest.raises(UnreadableResults, match="declared twice"):
        load_report(paths)


def test_header_is_read_without_the_other_lines(tmp_path):
    (path,) = example.write(tmp_path, example.alpha())
    first = path.read_text("utf-8").splitlines()[0]
    path.write_text(f"{first}\ngarbage\n", "utf-8")
    assert read_header(path).surfaces == ("alpha.nn", "alpha.nn.functional")


@pytest.mark.parametrize("text", ["", "garbage\n", '{"record": "footer"}\n'])
def test_file_without_a_header_is_rejected_with_its_line(tmp_path, text):
    path = tmp_path / "bad.jsonl"
    path.write_text(text, "utf-8")
    with pytest.raises(UnreadableResults, match=r"bad\.jsonl:1: "):
        read_header(path)
