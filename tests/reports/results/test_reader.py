import json

import pytest

from reports.results.compatibility import UnreadableResults
from reports.results.reader import load_report
from tests.support import example_results as example


def refusal(paths):
    with pytest.raises(UnreadableResults) as refused:
        load_report(paths)
    message = str(refused.value)
    assert "\n" not in message
    return message


def edited(tmp_path, edit, records=None):
    """Write alpha's file after an edit of its records; return its path."""
    records = json.loads(json.dumps(records or example.alpha()))
    edit(records)
    return example.write(tmp_path, records)[0]


def first(records, kind):
    return next(number for number, record in enumerate(records) if record["record"] == kind)


def test_backends_are_sorted_by_name_whatever_the_order_of_files(tmp_path):
    paths = example.write(tmp_path, example.beta(), example.alpha())
    assert load_report(paths) == load_report(paths[::-1])
    assert [backend.name for backend in load_report(paths).backends] == ["alpha", "beta"]


def test_complete_run_is_read_whole(tmp_path):
    backend = load_report(example.write(tmp_path, example.beta())).backends[0]
    assert backend.complete
    assert len(backend.results) == backend.footer.results == 17
    assert backend.version == "2.1.0"
    assert [answer.contradicted for answer in backend.conventions] == [True, False]


def test_a_backend_on_an_engine_has_the_version_of_its_first_word(tmp_path):
    records = [{**record} for record in example.beta()]
    packages = {"eta": "3.1", "beta": "2.0", "numpy": "2.4.6"}
    environment = {**records[0]["environment"], "packages": packages}
    records[0] |= {"backend": "eta-beta", "environment": environment}
    assert load_report(example.write(tmp_path, records)).backends[0].version == "3.1"


def test_file_without_footer_is_a_partial_run(tmp_path):
    assert not load_report(example.write(tmp_path, example.gamma())).backends[0].complete


@pytest.mark.parametrize("cut", [1, 2, 40, 200])
def test_last_line_cut_in_the_middle_is_a_partial_run(tmp_path, cut):
    path = example.write(tmp_path, example.gamma())[0]
    path.write_bytes(path.read_bytes()[:-cut])
    assert not load_report([path]).backends[0].complete


def test_last_line_cut_inside_a_character_is_a_partial_run(tmp_path):
    path = example.write(tmp_path, example.gamma())[0]
    path.write_bytes(path.read_bytes() + '{"record": "é'.encode()[:-1])
    assert len(load_report([path]).backends[0].results) == 3


def test_bad_line_that_ends_properly_is_refused_even_at_the_end(tmp_path):
    path = example.write(tmp_path, example.gamma())[0]
    path.write_bytes(path.read_bytes() + b'{"record": \n')
    assert "not JSON" in refusal([path])


def test_what_is_not_json_is_refused_with_file_and_line(tmp_path):
    path = example.write(tmp_path, example.alpha())[0]
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "oops", *lines[1:]]))
    assert refusal([path]).startswith(f"{path}:2: not JSON")


@pytest.mark.parametrize("line", [b'{"record": "\xff"}', b"[1]", b"", b'{"record": NaN}', b"[" * 100_000])
def test_unreadable_line_is_refused(tmp_path, line):
    path = example.write(tmp_path, example.alpha())[0]
    path.write_bytes(path.read_bytes().replace(b"\n", b"\n" + line + b"\n", 1))
    assert refusal([path]).startswith(f"{path}:2: not ")


def test_unknown_format_is_refused(tmp_path):
    path = edited(tmp_path, lambda records: records[0].update(format=2))
    assert refusal([path]) == f"{path}:1: unknown format 2, this version reads 1"


def test_missing_header_is_refused(tmp_path):
    path = example.write(tmp_path, example.alpha())[0]
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    assert "missing header" in refusal([path])


def test_empty_file_is_refused(tmp_path):
    path = tmp_path / "empty.jsonl"
    path.touch()
    assert "missing header" in refusal([path])


def test_missing_file_is_refused(tmp_path):
    assert "cannot be read: No such file" in refusal([tmp_path / "none.jsonl"])


def test_same_backend_in_two_files_is_refused(tmp_path):
    paths = example.write(tmp_path / "one", example.alpha()) + example.write(tmp_path / "two", example.alpha())
    assert f"the backend 'alpha' also stands in {paths[0]}" in refusal(paths)


def test_same_surface_in_two_files_is_refused(tmp_path):
    twin = example.run("twin", ["alpha.nn"], example.all_pass("alpha.nn"))
    assert "the surface 'alpha.nn' also stands in" in refusal(example.write(tmp_path, example.alpha(), twin))


def test_different_catalogues_are_refused(tmp_path):
    other = example.run("other", ["other.nn"], [], catalogue={"digest": "00", "cases": 1})
    assert "made from the catalogue" in refusal(example.write(tmp_path, example.alpha(), other))


def test_second_result_for_a_case_on_a_surface_is_refused(tmp_path):
    path = edited(tmp_path, lambda records: records.insert(-1, records[first(records, "result")]))
    assert "a second result for the case" in refusal([path])


def test_result_for_a_case_never_declared_is_refused(tmp_path):
    path = edited(tmp_path, lambda records: records.pop(first(records, "case")))
    assert "was never declared" in refusal([path])


def test_result_with_a_program_never_declared_is_refused(tmp_path):
    path = edited(tmp_path, lambda records: records.pop(first(records, "program")))
    assert "the program 'alpha.nn-native' was never declared" in refusal([path])


def test_result_on_a_surface_that_the_header_lacks_is_refused(tmp_path):
    path = edited(tmp_path, lambda records: records[0].update(surfaces=["alpha.nn"]))
    assert "the surface 'alpha.nn.functional' is not one of the header's" in refusal([path])


@pytest.mark.parametrize("change", [{"results": 7}, {"by_status": {"pass": 17, "fail": 1}}])
def test_footer_that_counts_otherwise_is_refused(tmp_path, change):
    path = edited(tmp_path, lambda records: records[-1].update(change))
    assert "the footer counts" in refusal([path])


@pytest.mark.parametrize(
    ("record", "change", "said"),
    [
        ({"record": "verdict"}, {}, "unknown record 'verdict'"),
        ({"record": "header"}, {}, "a second header"),
        ({"surface": "alpha.nn"}, {}, "lacks the key 'record'"),
        ({"record": "footer", "results": "x"}, {}, "'results' is 'x', not a whole number"),
    ],
)
def test_unsound_record_is_refused(tmp_path, record, change, said):
    path = edited(tmp_path, lambda records: records.insert(1, record | change))
    assert refusal([path]) == f"{path}:2: {said}"


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("result", {"status": "good"}, "'status' is 'good', not one of"),
        ("result", {"seconds": "1"}, "'seconds' is '1', not a number"),
        ("result", {"worst": {"index": ["0"]}}, "not a list of whole numbers"),
        ("result", {"got": {"dtype": "float32", "shape": [2], "data": [1]}}, "'got' has 1 elements"),
        ("case", {"inputs": {"x": {"dtype": "f", "shape": [1], "data": ["NaN"]}}}, "an element that is no number"),
        ("case", {"expected": {"dtype": "f", "shape": [-1]}}, "'expected' has the shape [-1]"),
        ("case", {"terms": True}, "'terms' is True, not a whole number"),
        ("program", {"how": "emulated"}, "not one of native, padded, composed"),
        ("header", {"environment": {}}, "lacks the key 'python'"),
    ],
)
def test_wrong_value_is_refused_with_its_key(tmp_path, kind, change, said):
    path = edited(tmp_path, lambda records: records[first(records, kind)].update(change))
    assert said in refusal([path])


def test_record_after_the_footer_is_refused(tmp_path):
    path = edited(tmp_path, lambda records: records.append(records[1]))
    assert "stands after the footer" in refusal([path])


def test_case_that_two_files_hold_is_kept_once(tmp_path):
    paths = example.write(tmp_path, example.alpha(), example.delta())
    first, second = load_report(paths).backends
    common = first.cases.keys() & second.cases.keys()
    assert common
    assert all(first.cases[name] is second.cases[name] for name in common)


def test_same_case_twice_in_one_file_is_refused_after_another_file_held_it(tmp_path):
    paths = example.write(tmp_path, example.alpha(), example.delta())
    lines = paths[1].read_text("utf-8").splitlines(keepends=True)
    paths[1].write_text("".join([*lines[:2], lines[1], *lines[2:]]), "utf-8")
    with pytest.raises(UnreadableResults, match="declared twice"):
        load_report(paths)
