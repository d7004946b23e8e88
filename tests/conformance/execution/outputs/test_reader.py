"""Reading of outputs that a program outside of the suite wrote: array files, and errors of one line."""

import json
import os

import ml_dtypes
import numpy as np
import pytest

from conformance import ConformanceError
from conformance.execution.outputs import reader
from conformance.execution.outputs.reader import MAX_LINE_BYTES, OUTPUTS_FILE, read_outputs
from reports.results import Outcome

CASE = "max_pool/a"
RETURNED = {"case": CASE, "outcome": "returned", "file": "0.bin", "shape": [1, 2], "dtype": "float32"}
NUMBERS = np.array([[1.5, -2]], "<f4")


def write(folder, *lines):
    """Write outputs.jsonl: objects as JSON, texts unchanged. Write the array of RETURNED."""
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (folder / OUTPUTS_FILE).write_text("".join(f"{text}\n" for text in texts), "utf-8")
    (folder / "0.bin").write_bytes(NUMBERS.tobytes())
    return folder


def returned_array(folder, **keys):
    """Return the array that a line with some changed keys describes."""
    record = {key: value for key, value in {**RETURNED, **keys}.items() if value is not None}
    (outcome,) = [one.outcome() for one in read_outputs(write(folder, record), {CASE}).values()]
    assert outcome.kind is Outcome.RETURNED
    return outcome.arrays[0]


def error_of(folder, *lines):
    """Return the only error line for these lines of outputs.jsonl, without the folder."""
    write(folder, *lines)
    with pytest.raises(ConformanceError) as error:
        read_outputs(folder, {CASE, "max_pool/b"})
    assert len(str(error.value).splitlines()) == 1
    return str(error.value).replace(f"{folder}/", "")


def test_raw_numbers_are_read_with_shape_and_dtype(tmp_path):
    found = returned_array(tmp_path)
    assert (found.dtype, found.tolist()) == (np.float32, [[1.5, -2]])


def test_raw_bfloat16_is_read_from_words(tmp_path):
    found = returned_array(tmp_path, shape=[4], dtype="bfloat16")
    assert found.tolist() == NUMBERS.view(ml_dtypes.bfloat16).ravel().tolist()


@pytest.mark.parametrize("keys", [{"shape": None, "dtype": None}, {"shape": [1, 2]}, {"shape": None}])
def test_npy_file_contains_shape_and_dtype(tmp_path, keys):
    np.save(tmp_path / "a.npy", NUMBERS)
    found = returned_array(tmp_path, file="a.npy", **keys)
    assert (found.dtype, found.tolist()) == (np.float32, [[1.5, -2]])


def test_npy_file_in_column_order_is_read(tmp_path):
    np.save(tmp_path / "a.npy", np.asfortranarray([[1, 2], [3, 4]]))
    assert returned_array(tmp_path, file="a.npy", shape=None, dtype=None).tolist() == [[1, 2], [3, 4]]


def test_npy_file_with_words_is_bfloat16_if_the_line_says_so(tmp_path):
    np.save(tmp_path / "a.npy", np.array([1.5], ml_dtypes.bfloat16).view(np.uint16))
    assert returned_array(tmp_path, file="a.npy", shape=None, dtype="bfloat16").tolist() == [1.5]
    assert returned_array(tmp_path, file="a.npy", shape=None, dtype=None).dtype == np.uint16


def test_empty_array_is_read(tmp_path):
    (tmp_path / "e.bin").write_bytes(b"")
    assert returned_array(tmp_path, file="e.bin", shape=[0, 3]).shape == (0, 3)


def test_other_outcomes_have_a_message_and_no_array(tmp_path):
    lines = [{"case": f"max_pool/{kind}", "outcome": kind, "message": "why", "seconds": 0.5} for kind in Outcome]
    others = [line for line in lines if line["outcome"] != "returned"]
    found = read_outputs(write(tmp_path, *others), {line["case"] for line in others})
    outcomes = [one.outcome() for one in found.values()]
    assert [str(one.kind) for one in outcomes] == ["rejected", "unsupported", "crashed", "timed_out"]
    assert {(one.arrays, one.message, one.seconds) for one in outcomes} == {((), "why", 0.5)}


def test_blank_lines_are_skipped_and_still_counted(tmp_path):
    assert error_of(tmp_path, "", {**RETURNED, "dtype": "f4"}).startswith(
        "outputs.jsonl:2: case max_pool/a: dtype 'f4'"
    )


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"case": "max_pool/a", "outc', "outputs.jsonl:1: not JSON: "),
        ("[1]", "outputs.jsonl:1: expected `object`, got `array`"),
        ("{}", "outputs.jsonl:1: object missing required field `case`"),
        ({**RETURNED, "outcome": "passed"}, "not one of returned, rejected, unsupported, crashed, timed_out"),
        ({**RETURNED, "shapes": [1]}, "outputs.jsonl:1: object contains unknown field `shapes`"),
        ({**RETURNED, "shape": "1x2"}, "outputs.jsonl:1: shape: expected `array | null`, got `str`"),
        ({**RETURNED, "case": "max_pool/z"}, "outputs.jsonl:1: case max_pool/z: the export has no such case"),
        ({"case": CASE, "outcome": "returned"}, "case max_pool/a: the outcome returned needs the key 'file'"),
        ({**RETURNED, "outcome": "rejected"}, "key 'file': only for the outcome returned, not for rejected"),
        ({"case": CASE, "outcome": "unsupported"}, "the outcome unsupported needs its reason, in the key 'message'"),
        ({"case": CASE, "outcome": "rejected", "seconds": -1}, "key 'seconds': not a number from 0 to 1000000000"),
        ({**RETURNED, "seconds": -1}, "key 'seconds': not a number from 0 to 1000000000"),
        ({**RETURNED, "shape": [1, 3]}, "0.bin: 8 bytes, but float32 [1, 3] has 12"),
        ({**RETURNED, "shape": [1]}, "0.bin: 8 bytes, at most 4 expected"),
        ({**RETURNED, "shape": [-1, -2]}, "[-1, -2] is not a shape of at most 32 axes and 20,000,000 elements"),
        ({**RETURNED, "shape": [1 << 40]}, "is not a shape of at most 32 axes and 20,000,000 elements"),
        ({**RETURNED, "shape": [1] * 33}, "is not a shape of at most 32 axes and 20,000,000 elements"),
        ({**RETURNED, "dtype": "float"}, "dtype 'float' is not one of bfloat16, bool, float16, float32, float64, "),
        ({**RETURNED, "shape": None}, "0.bin: shape and dtype are keys of the line, except for .npy files"),
        ({**RETURNED, "file": "1.bin"}, "1.bin: No such file or directory"),
        ({**RETURNED, "file": "../x.bin"}, "'../x.bin' is not a file in "),
        ({**RETURNED, "file": "/dev/zero"}, "'/dev/zero' is not a file in "),
        ({**RETURNED, "file": "a\0b"}, "is not a file in "),
        ({**RETURNED, "file": ""}, "not a regular file"),
        ({**RETURNED, "file": "x" * 300}, "File name too long"),
        ({**RETURNED, "file": "bad.npy"}, "bad.npy: not the header of an array"),
        ({**RETURNED, "file": "ok.npy", "shape": [2]}, "ok.npy: contains <f4 [1, 2], not <f4 [2]"),
        ({**RETURNED, "file": "ok.npy", "dtype": "float64"}, "ok.npy: contains <f4 [1, 2], not <f8 [1, 2]"),
        ({**RETURNED, "file": "big.npy"}, "big.npy: contains >f4 [1, 2], not <f4 [1, 2]"),
        ({**RETURNED, "file": "object.npy", "dtype": None}, "dtype 'object' is not one of bfloat16"),
        ({**RETURNED, "file": "short.npy"}, "short.npy: 4 bytes of numbers, not 8"),
        ("x" * (MAX_LINE_BYTES + 1), "outputs.jsonl:1: longer than 65,536 bytes"),
    ],
)  # fmt: skip
def test_error_names_line_and_case_and_limit(tmp_path, line, says):
    np.save(tmp_path / "ok.npy", NUMBERS)
    np.save(tmp_path / "big.npy", NUMBERS.astype(">f4"))
    np.save(tmp_path / "object.npy", np.array([None]))
    (tmp_path / "bad.npy").write_bytes(b"not an array")
    (tmp_path / "short.npy").write_bytes((tmp_path / "ok.npy").read_bytes()[:-4])
    assert says in error_of(tmp_path, line)


def test_second_output_of_a_case_names_the_first(tmp_path):
    found = error_of(tmp_path, RETURNED, {**RETURNED, "case": "max_pool/b"}, RETURNED)
    assert found == "outputs.jsonl:3: case max_pool/a: a second output; the first one is at outputs.jsonl:1"


def test_link_to_a_file_outside_is_rejected(tmp_path):
    folder = tmp_path / "outputs"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(NUMBERS.tobytes())
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    assert "is not a file in" in error_of(folder, {**RETURNED, "file": "link.bin"})


def test_named_pipe_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.bin")
    assert "not a regular file" in error_of(tmp_path, {**RETURNED, "file": "pipe.bin"})


def test_large_npy_file_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "MAX_ARRAY_ELEMENTS", 2)
    monkeypatch.setattr(reader, "MAX_NPY_HEADER_BYTES", 100)
    np.save(tmp_path / "ok.npy", NUMBERS)
    assert "ok.npy: 136 bytes, at most 116 expected" in error_of(tmp_path, {**RETURNED, "file": "ok.npy"})


def test_missing_file_of_outputs_is_an_error(tmp_path):
    with pytest.raises(ConformanceError, match=r"outputs\.jsonl: No such file"):
        read_outputs(tmp_path, {CASE})
