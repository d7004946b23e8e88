"""Fuzzed outputs of a program outside of the suite: they are judged, or each error is one clear line.

HYPOTHESIS_PROFILE=nightly draws forty times as many.
"""

import io

import numpy as np
import pytest
from hypothesis import given, strategies as st

from conformance.catalogue import export, loading
from conformance.judging.expected import compute_expected
from tests.support import fake_backends as fakes
from tests.support.guarded_command import command
from tests.support.mutated_documents import bytes_changed, changed, dumped, hostile

CASES = (
    "id: a, x: {values: arange, shape: [1, 1, 4, 4]}, window: 2",
    "id: b, x: {values: integers, shape: [1, 2, 5], dtype: bfloat16}, window: [3], stride: [2]",
    "id: c, x: {values: integers, shape: [1, 1, 3], dtype: int64}, window: [2]",
)
LINES = [
    {"case": "max_pool/a", "outcome": "returned", "file": "a.bin", "shape": [1, 1, 2, 2], "dtype": "float32"},
    {"case": "max_pool/b", "outcome": "returned", "file": "b.npy", "dtype": "bfloat16", "seconds": 0.5},
    {"case": "max_pool/c", "outcome": "rejected", "message": "no integers"},
]


def npy_bytes(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


RAW = np.arange(4, dtype="<f4").tobytes()
NPY = npy_bytes(np.arange(4, dtype=np.uint16).reshape(1, 2, 2))


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A folder with an export of the cases."""
    home = tmp_path_factory.mktemp("export")
    catalogue = fakes.load(home, *CASES)
    export.write_export(catalogue, catalogue.cases, home / "cases")
    return home / "cases"


def judge(folder, exported, lines, raw=RAW, npy=NPY):
    """Judge outputs with these contents of their files; return the exit status."""
    outputs = folder / "outputs"
    outputs.mkdir(exist_ok=True)
    (outputs / "outputs.jsonl").write_bytes(lines)
    (outputs / "a.bin").write_bytes(raw)
    (outputs / "b.npy").write_bytes(npy)
    return command(folder, "judge", exported, outputs, "--name", "mylib", "--out", folder / "out", "--no-cache")[0]


def lines_of(documents):
    """Return documents as lines. A changed list may be anything."""
    return b"".join(dumped(one) + b"\n" for one in (documents if isinstance(documents, list) else [documents]))


def test_unchanged_outputs_are_judged(folder, exported):
    assert judge(folder, exported, lines_of(LINES)) == 1
    expected = [compute_expected(case).target.exact.value for case in loading.load_catalogue([exported]).cases]
    lines = [dict(LINES[0]), dict(LINES[1]), {"case": "max_pool/c", "outcome": "returned", "file": "c.npy"}]
    (folder / "outputs" / "c.npy").write_bytes(npy_bytes(expected[2]))
    right = npy_bytes(expected[1].view(np.uint16))
    assert judge(folder, exported, lines_of(lines), expected[0].tobytes(), right) == 0


@hostile(1600)
@given(lines=changed([LINES], most=2))
def test_changed_lines(folder, exported, lines):
    judge(folder, exported, lines_of(lines))


@hostile(400)
@given(lines=bytes_changed([lines_of(LINES)]))
def test_lines_with_other_bytes(folder, exported, lines):
    judge(folder, exported, lines)


@hostile(400)
@given(npy=bytes_changed([NPY]), raw=st.binary(max_size=40))
def test_arrays_with_other_bytes(folder, exported, npy, raw):
    judge(folder, exported, lines_of(LINES), raw, npy)
