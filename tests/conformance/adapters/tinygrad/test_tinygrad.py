"""Program texts of the tinygrad adapter, unsupported cases, and the compiler that it needs."""

import importlib.util
import os
from types import SimpleNamespace

import pytest

from conformance.adapters import registry
from conformance.adapters.api.surface import Program, Unsupported
from conformance.cases.parsing import parse_case
from conformance.translation.lowering import translate

BACKEND = registry.get_backend("tinygrad")
(SURFACE,) = BACKEND.surfaces
PLANE = {"values": "integers", "shape": [1, 2, 4, 5]}
ROW = {"values": "integers", "shape": [1, 2, 6]}


def program(operator, **raw):
    return translate(parse_case({"operator": operator, "source": "a test"}, {"id": "case", **raw}, "a test"), SURFACE)


def lines(operator, **raw):
    """Return the lines of a program without conversions of arrays."""
    made = program(operator, **raw)
    assert isinstance(made, Program), made
    body = [line.strip() for line in made.text.splitlines()]
    return [line for line in body if "= Tensor(" not in line][1:-1]


def test_padding_is_one_number_if_all_ends_are_equal():
    assert lines("max_pool", x=PLANE, window=3, stride=2, padding=1) == [
        "x = x.max_pool2d((3, 3), stride=2, padding=1)"
    ]


def test_padding_of_all_ends_starts_with_the_last_axis():
    assert lines("max_pool", x=PLANE, window=3, stride=2, padding=[[1, 0], [0, 2]]) == [
        "x = x.max_pool2d((3, 3), stride=2, padding=(0, 2, 1, 0))"
    ]


def test_one_dimension_uses_the_same_method_with_a_window_of_one_number():
    assert lines("avg_pool", x=ROW, window=2, stride=2) == ["x = x.avg_pool2d((2,))"]


def test_indices_are_converted_to_int64():
    (line,) = lines("max_pool_with_indices", x=ROW, window=2, stride=2, output="indices")
    assert line == "x = x.max_pool2d((2,), return_indices=True)[1].cast(dtypes.int64)"


def test_narrow_integers_are_summed_in_their_own_dtype():
    kernel = {"values": "integers", "shape": [2, 2, 3], "dtype": "int8"}
    assert lines("conv", x={**ROW, "dtype": "int8"}, kernel=kernel) == ["x = x.conv2d(kernel, dtype=dtypes.int8)"]


def test_transposed_convolution_accepts_asymmetric_padding():
    kernel = {"values": "integers", "shape": [2, 3, 3]}
    made = lines("conv_transpose", x=ROW, kernel=kernel, stride=2, padding=[[1, 0]], output_padding=1)
    assert made == ["x = x.conv_transpose2d(kernel, stride=2, padding=(1, 0), output_padding=1)"]


def test_gradient_is_a_method_of_the_result():
    made = lines("max_pool_grad", x={**ROW, "values": "distinct"}, grad={"values": "integers"}, window=2, stride=2)
    assert made == ["leaf = x", "x = x.max_pool2d((2,))", "(x,) = x.gradient(leaf, gradient=grad)"]


def test_minimum_of_integers_is_the_complement_of_the_maximum_of_complements():
    assert lines("min_pool", x={**ROW, "dtype": "int8"}, window=2, stride=2) == [
        "x = ~x",
        "x = x.max_pool2d((2,))",
        "x = ~x",
    ]


def test_bool_is_padded_with_a_bool():
    assert lines("pad", x={"values": [[[1, 0]]], "dtype": "bool"}, pads=[[1, 0]], mode="constant", value=1) == [
        "x = x.pad((1, 0), value=True)"
    ]


def test_symmetric_padding_indexes_the_cells():
    assert lines("pad", x={**ROW, "shape": [1, 1, 3]}, pads=[[1, 1]], mode="symmetric") == [
        "x = x[:, :, [min(i % 6, 5 - i % 6) for i in range(-1, 4)]]"
    ]


def test_averages_of_integers_are_unsupported():
    answer = program("avg_pool", x={**ROW, "dtype": "int32"}, window=2, stride=2)
    assert isinstance(answer, Unsupported)
    assert "float32" in answer.reason


def test_slow_surface_runs_one_level_below_the_requested_one():
    assert SURFACE.is_run("smoke", ())
    assert SURFACE.is_run("standard", ("compiled",))
    assert not SURFACE.is_run("standard", ())
    assert SURFACE.is_run("standard", (), "standard", slow=True)
    assert not SURFACE.is_run("exhaustive", (), "standard", slow=True)


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Return a function that runs THREADS with an empty path and cache. ziglang: whether this package is installed."""
    for name in ("CC", "CACHEDB", "DEV", "NUM_CPU_THREADS"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def run(ziglang):
        spec = SimpleNamespace(origin=str(tmp_path / "ziglang" / "__init__.py")) if ziglang else None
        monkeypatch.setattr(importlib.util, "find_spec", lambda _name: spec)
        exec(compile(BACKEND.threads, "<threads>", "exec"), {})  # noqa: S102 - as a worker does

    return run


def test_missing_compiler_is_an_error_of_one_line(machine):
    with pytest.raises(ImportError, match=r"^tinygrad needs clang to compile for the CPU, and there is none: install "):
        machine(ziglang=False)


def test_clang_on_the_path_is_used(machine, tmp_path):
    (tmp_path / "clang").write_text("")
    (tmp_path / "clang").chmod(0o755)
    machine(ziglang=False)
    assert "CC" not in os.environ
    assert os.environ["CACHEDB"] == str(tmp_path / "nn-conformance" / "tinygrad" / "cache.db")


def test_clang_of_ziglang_is_preferred(machine, tmp_path):
    machine(ziglang=True)
    script = tmp_path / "nn-conformance" / "tinygrad" / "clang"
    assert os.environ["CC"] == str(script)
    assert os.access(script, os.X_OK)
    assert script.read_text() == f'#!/bin/sh\nexec "{tmp_path}/ziglang/zig" clang "$@"\n'
