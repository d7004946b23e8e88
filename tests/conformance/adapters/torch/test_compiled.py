"""The module `compiled` of PyTorch."""

import ast
import fcntl
import struct
import sys

import pytest

from conformance.adapters.torch.compiled import REMOVE_PARTIAL_LIBRARIES
from conformance.translation.lowering import translate
from tests.conformance.adapters.torch.programs import COMPILED, CONV, GRAD, PLANE, lines
from tests.support.fake_backends import one


def test_compiled_function_takes_the_inputs_and_contains_the_calls(tmp_path):
    body, how = lines(tmp_path, "conv", f"{CONV}, padding: [[1, 0]]", COMPILED)
    assert (body, how) == (
        [
            "@torch.compile(fullgraph=True)",
            "def forward(x, kernel, bias):",
            "x = F.pad(x, (1, 0))",
            "x = F.conv1d(x, kernel, bias)",
            "return x",
            "x = forward(x, kernel, bias)",
        ],
        "padded",
    )


def test_gradient_goes_through_the_compiled_function(tmp_path):
    body, _ = lines(tmp_path, "max_pool_grad", f"{PLANE}, {GRAD}, window: 2", COMPILED)
    assert body == [
        "leaf = x.requires_grad_()",
        "@torch.compile(fullgraph=True)",
        "def forward(x):",
        "x = F.max_pool2d(x, 2)",
        "return x",
        "x = forward(x)",
        "(x,) = torch.autograd.grad(x, leaf, grad)",
    ]


def test_kernel_of_many_lines_is_inside_the_compiled_function(tmp_path):
    text = "id: a, x: {values: integers, shape: [1, 1, 7, 7]}, window: 3, via: [conv, relu]"
    program = translate(one(tmp_path, text), COMPILED)
    forward = ast.parse(program.text).body[0].body[1]
    assert isinstance(forward, ast.FunctionDef)
    assert ast.unparse(forward).count("np.array") > 1
    assert ast.unparse(ast.parse(program.text)).count("np.array") == ast.unparse(forward).count("np.array")


@pytest.mark.parametrize(("compiler", "exists"), [("python3-or-another", False), (sys.executable, True)])
def test_missing_compiler_is_reported(monkeypatch, compiler, exists):
    monkeypatch.setenv("CXX", compiler)
    assert (COMPILED.missing_requirement() is None) is exists
    assert exists or compiler in COMPILED.missing_requirement()


def library(cache, key, size):
    """Write the first bytes of a library of 200 bytes, whose section table has two entries, and its lock."""
    head = bytearray(72) + bytes(128)
    head[:5] = b"\x7fELF\x02"
    struct.pack_into("<Q", head, 40, 72)
    struct.pack_into("<H", head, 60, 2)
    for path in (cache / "locks" / f"{key}.lock", cache / key[1:3] / f"{key}.main.so"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(head[:size]) if path.suffix == ".so" else b"")
    return path


@pytest.fixture
def remove(tmp_path, monkeypatch):
    """Return a function that runs the text as a worker does after a program that compiles."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    monkeypatch.setitem(sys.modules, "torch._dynamo", ast)
    names = {"sys": sys}
    return lambda: exec(REMOVE_PARTIAL_LIBRARIES, names)  # noqa: S102 - the adapter's text


def test_partial_libraries_are_removed(tmp_path, remove):
    partial = [library(tmp_path, f"cpart{size}", size) for size in (0, 5, 63, 199)]
    complete = library(tmp_path, "cwhole", 200)
    other = library(tmp_path, "cother", 0)
    other.write_bytes(b"a library of another system")
    remove()
    assert not any(path.exists() for path in partial)
    assert complete.exists()
    assert other.exists()


def test_a_library_that_another_process_links_remains(tmp_path, remove):
    path = library(tmp_path, "clinked", 100)
    with open(tmp_path / "locks" / "clinked.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        remove()
    assert path.exists()
    remove()  # its process has ended
    assert not path.exists()


def test_without_a_cache_nothing_is_removed(remove):
    remove()
