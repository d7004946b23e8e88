"""Files that are no program of torch.export are refused before PyTorch is imported: these tests run without it."""

import pickle
import zipfile

import pytest

from conformance import ConformanceError
from tests.support.model_files import read

GRAPH = "net/models/model.json"
PROGRAM = {GRAPH: '{"graph": 1}', "net/data/weights/weight_0": "0000"}


def archive(path, files):
    with zipfile.ZipFile(path, "w") as found:
        for name, content in files.items():
            found.writestr(name, content)
    return path.read_bytes()


def truncated(path):
    content = archive(path, PROGRAM)
    return content[: len(content) // 2]


def with_another_byte(path):
    return archive(path, PROGRAM).replace(b'{"graph": 1}', b'{"graph": 2}')


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b"a text", "it is no zip archive"),
        (pickle.dumps({"weight": 1}), "it is a pickle, which may run code; write it with torch.export.save, or name"),
        (pickle.dumps({"weight": 1}, protocol=0), "it is a pickle"),
        (truncated, "its zip archive is truncated"),
        (with_another_byte, "its zip archive is damaged: Bad CRC-32"),
        ({}, "its archive has no files"),
        ({"net/a.txt": "x"}, "its archive has no program"),
        ({"net/data.pkl": "x", "net/data/0": "x"}, "it is an archive of torch.save; write it with torch.export.save"),
        ({"net/data.pkl": "x", "net/code/net.py": "x"}, "it is an archive of TorchScript; write it"),
        ({**PROGRAM, GRAPH: ""}, f"{GRAPH} in its archive is empty"),
        ({**PROGRAM, GRAPH: '{"graph": '}, f"{GRAPH} in its archive is damaged: Expecting value"),
    ],
)
def test_a_file_without_a_program_says_what_it_is(tmp_path, content, reason):
    path = tmp_path / "net.pt2"
    path.write_bytes(content if isinstance(content, bytes) else b"")
    if callable(content):
        path.write_bytes(content(path))
    elif isinstance(content, dict):
        archive(path, content)
    with pytest.raises(ConformanceError) as caught:
        read("torch", path)
    assert f"net.pt2: not a program of torch.export: {reason}" in str(caught.value)
    assert "torch'" not in str(caught.value)


@pytest.mark.parametrize("name", [GRAPH, "serialized_exported_program.json"])
def test_a_program_is_read_by_pytorch(tmp_path, name):
    archive(tmp_path / "net.pt2", {name: "{}"})
    with pytest.raises(ConformanceError, match=r"does not have torch|not a program of torch\.export: [^i]"):
        read("torch", tmp_path / "net.pt2")
