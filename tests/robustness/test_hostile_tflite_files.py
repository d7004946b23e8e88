"""Damaged and hostile `.tflite` files: each is read or ends in one line, in bounded time and memory.

CONFORMANCE_LITERT_PYTHON is the path of a Python that has ai_edge_litert. The nightly job reads twenty times as
many files.
"""

import os
import secrets
import subprocess

import numpy as np
import pytest

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.models import reading
from conformance.models.reading import ModelSource, read_model
from conformance.system import processes
from tests.support.nightly import NIGHTLY

PYTHON = os.environ.get("CONFORMANCE_LITERT_PYTHON", "")
pytestmark = pytest.mark.skipif(not PYTHON, reason="CONFORMANCE_LITERT_PYTHON is not set")
FILES = 200 if NIGHTLY else 10
SEED = secrets.randbelow(2**32) if NIGHTLY else 7
SECONDS = 60.0
"""Limit for a file. A machine without other load needs at most a tenth."""
MEMORY_BYTES = 1 << 30
"""Limit of the address space, of which NumPy and the schema take a third."""
WORDS = (0, 1, 16, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
"""Lengths, offsets and numbers of 32 bits."""
HEADER_BYTES = 8
"""The place of the first table, and the identifier, without which no other part is read."""
BUILD = """\
import flatbuffers, sys
from ai_edge_litert import schema_py_generated as s

def write(name, *, operators=1, outputs=1, tensors=1, graphs=1, length=1, axes=2, custom=0):
    b = flatbuffers.Builder(1 << 20)
    def vector(items, prepend, size=4):
        b.StartVector(size, len(items), size)
        for item in reversed(items):
            prepend(item)
        return b.EndVector()
    def table(kind, **fields):
        getattr(s, kind + "Start")(b)
        for field, value in fields.items():
            getattr(s, kind + "Add" + field)(b, value)
        return getattr(s, kind + "End")(b)
    def tables(items):
        return vector(items, b.PrependUOffsetTRelative)
    label, kind = b.CreateString("n" * length), b.CreateString("c" * custom)
    data = b.CreateByteVector(b"\\1\\0\\0\\0" + b"\\2\\0\\0\\0" * (axes - 1))
    shapes = [vector(shape, b.PrependInt32) for shape in ([1, 9, 9, 4], [axes])]
    image = table("Tensor", Shape=shapes[0], Name=label)
    constant = table("Tensor", Shape=shapes[1], Name=label, Type=s.TensorType.INT32, Buffer=1)
    code = s.BuiltinOperator.CUSTOM if custom else s.BuiltinOperator.MEAN
    codes = tables([table("OperatorCode", DeprecatedBuiltinCode=code, BuiltinCode=code, CustomCode=kind)])
    ends = vector([0, 1], b.PrependInt32), vector([0] * outputs, b.PrependInt32)
    operator = table("Operator", Inputs=ends[0], Outputs=ends[1])
    lists = tables([image, constant] + [image] * (tensors - 1)), tables([operator] * operators)
    graph = tables([table("SubGraph", Tensors=lists[0], Operators=lists[1])] * graphs)
    buffers = tables([table("Buffer"), table("Buffer", Data=data)])
    b.Finish(table("Model", Version=3, OperatorCodes=codes, Subgraphs=graph, Buffers=buffers), b"TFL3")
    open(name + ".tflite", "wb").write(b.Output())

write("valid")
for name, arguments in ARGUMENTS.items():
    write(name, **arguments)
"""
SHARED = {
    "edges": {"operators": 50_000, "outputs": 50_000, "tensors": 50_000},
    "operators": {"operators": 1000, "graphs": 100_000},
    "tensors": {"graphs": 20_000, "tensors": 100_000},
    "names": {"operators": 20_000, "length": 5_000_000},
    "kinds": {"operators": 100_000, "custom": 5_000_000},
}
"""Files of at most 6 MB whose tables name the same long list, table or text many times."""
LIMITS = {
    "edges": "more than 1000000 graphs, operators, tensors and edges",
    "operators": "more than 20000 layers",
    "tensors": "more than 1000000 graphs, operators, tensors and edges",
    "names": "its names have more than 268435456 bytes",
    "kinds": "its names have more than 268435456 bytes",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files."""
    folder = tmp_path_factory.mktemp("tflite")
    arguments = {**SHARED, "axes": {"operators": 20_000, "axes": 1_000_000}}
    subprocess.run([PYTHON, "-c", f"ARGUMENTS = {arguments!r}\n{BUILD}"], check=True, cwd=folder)
    return folder


@pytest.fixture(autouse=True)
def _limited_memory(monkeypatch):
    monkeypatch.setattr(reading, "LEAST_MEMORY_BYTES", MEMORY_BYTES)
    monkeypatch.setattr(processes, "machine_memory_bytes", lambda: 0)


def read(path):
    return read_model(ModelSource(str(path), registry.model_readers()["litert"], PYTHON, {}), SECONDS)


def error_of(path):
    """Return the error of a file without its path, "" if it is read."""
    try:
        read(path)
    except ConformanceError as error:
        return str(error).removeprefix(f"{path}: ")
    return ""


def is_clear(error):
    """Whether an error is one line about the content, and not about a limit of time or memory."""
    return error.isprintable() and not error.startswith(("cannot be read", "it needs more memory"))


def test_a_valid_file_is_read(folder):
    (layer,) = read(folder / "valid.tflite").layers
    assert (layer.operator, layer.shape) == ("global_avg_pool", (1, 4, 9, 9))


@pytest.mark.parametrize("number", range(FILES))
def test_a_changed_file_is_read_or_one_line(folder, tmp_path, number):
    rng = np.random.default_rng((SEED, number))
    content = bytearray((folder / "valid.tflite").read_bytes())
    for _ in range(rng.choice([1, 2, 5, 20])):
        place = int(rng.integers(HEADER_BYTES, len(content) - 4))
        if rng.random() < 0.5:
            content[place] = rng.integers(256)
        else:
            place -= place % 4
            content[place : place + 4] = int(rng.choice(WORDS)).to_bytes(4, "little")
    path = tmp_path / "m.tflite"
    path.write_bytes(content)
    assert is_clear(error_of(path)), f"seed {SEED}"


@pytest.mark.parametrize("share", np.arange(FILES) / FILES)
def test_a_truncated_file_is_one_line(folder, tmp_path, share):
    content = (folder / "valid.tflite").read_bytes()
    path = tmp_path / "m.tflite"
    path.write_bytes(content[: int(len(content) * share)])
    error = error_of(path)
    assert error.startswith("not a .tflite file")
    assert is_clear(error)


@pytest.mark.parametrize("name", SHARED)
def test_shared_lists_are_read_up_to_a_limit(folder, name):
    assert error_of(folder / f"{name}.tflite").endswith(LIMITS[name])


def test_long_parameters_are_not_read(folder):
    model = read(folder / "axes.tflite")
    assert (model.layers, model.others) == ((), {"MEAN": 20_000})
