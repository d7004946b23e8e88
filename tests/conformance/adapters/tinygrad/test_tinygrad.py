"""The adapter of tinygrad: surfaces, and source text that runs around programs."""

import importlib.util
import os
from types import SimpleNamespace

import pytest

from conformance.adapters.api import Unsupported
from tests.conformance.adapters.tinygrad.programs import BACKEND, ROW, SURFACE, lines, program


def test_gradient_is_a_method_of_the_result():
    made = lines("max_pool_grad", x={**ROW, "values": "distinct"}, grad={"values": "integers"}, window=2, stride=2)
    assert made == ["leaf = x", "x = x.max_pool2d((2,))", "(x,) = x.gradient(leaf, gradient=grad)"]


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
