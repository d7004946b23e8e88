"""The adapter for TensorFlow.js: its programs, and its worker under Node.js."""

import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from conformance.adapters import registry
from conformance.adapters.api import Program, Unsupported
from conformance.execution.job import Job, Limits
from conformance.execution.worker_process import Worker
from conformance.translation.lowering import translate
from tests.support.catalogue_parts import cases_by_id, suite_catalogue

BACKEND = registry.get_backend("tfjs")
CPU, WASM, WEBGL, WEBGPU = BACKEND.surfaces
CASES = cases_by_id("standard")
X = np.arange(4, dtype=np.float32).reshape(1, 2, 2)
RIGHT = "return x;"
SETUP = """
names.scopeOf = library.scope;
names.versions = { tfjs: "4.22.0" };
"""
"""A setup without TensorFlow.js."""
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="the program node is not installed")


@pytest.fixture
def new_worker():
    """Return a function that makes a worker whose setup needs no package."""
    made = []
    fake = replace(BACKEND, setup=SETUP, worker=replace(BACKEND.worker, missing_requirement=lambda: None))

    def make():
        made.append(Worker(fake, limits=Limits(case_seconds=5), retry=False))
        return made[-1]

    yield make
    for worker in made:
        worker.stop()


def job(body, x=X):
    return Job(Program("tfjs.cpu", "native", f"function run(x) {{ {body} }}"), (x,))


def text_of(case, surface=CPU):
    program = translate(CASES[case], surface)
    assert isinstance(program, Program), program
    return program.text


def test_program_is_a_function_that_moves_the_channels():
    assert text_of("avg_pool/2d-padding-1") == (
        "function run(x) {\n"
        "  x = tf.tensor(...channelsLast(x));\n"
        "  x = tf.avgPool(x, 3, 2, 1);\n"
        "  return channelsFirst(x);\n"
        "}\n"
    )


def test_padding_is_a_number_only_if_both_axes_have_the_same_window_and_stride():
    assert "tf.maxPool(x, [2, 3], [2, 3], [[0, 0], [1, 1], [1, 1], [0, 0]])" in text_of(
        "max_pool/book-rectangular-padding-1"
    )


def test_one_axis_is_pooled_as_a_plane():
    assert "tf.squeeze(tf.avgPool(tf.expandDims(x, 1), [1, 4], [1, 4]," in text_of(
        "avg_pool/1d-last-window-of-one-cell"
    )


def test_gradient_is_that_of_the_lines():
    text = text_of("conv_grad/1d-kernel")
    assert "  x = tf.grad((kernel) => {\n    x = tf.conv1d(x, kernel," in text
    assert text.endswith("  })(kernel, grad);\n  return kernelFirst(x);\n}\n")


def test_rounding_up_on_wasm_is_written_as_padding():
    assert '"ceil"' in text_of("max_pool/2d-ceil")
    assert '"ceil"' not in text_of("max_pool/2d-ceil", WASM)


def test_windows_that_start_in_the_padding_are_not_rounded_up():
    assert '"ceil"' not in text_of("max_pool/2d-ceil-last-window-in-the-padding")


def test_wasm_gets_no_call_that_reads_outside_of_its_memory():
    program = translate(CASES["max_pool/window-larger-than-input"], WASM)
    assert isinstance(program, Unsupported)
    assert "reads outside" in program.reason
    assert "does not check" in translate(CASES["max_pool/rejects/stride-is-zero"], WASM).reason


def test_only_surfaces_in_a_page_need_chromium(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [bool(one.missing_requirement and one.missing_requirement()) for one in BACKEND.surfaces] == [0, 0, 1, 1]


def test_each_surface_selects_its_backend():
    modes = {surface.name: surface.select_mode(None) for surface in BACKEND.surfaces}
    assert all(f'setBackend("{name.removeprefix("tfjs.")}")' in mode for name, mode in modes.items())
    assert [name for name, mode in modes.items() if "tf-backend-webgpu" in mode] == ["tfjs.webgpu"]


@needs_node
def test_every_program_of_level_smoke_is_javascript(tmp_path):
    texts = {
        translate(case, surface).text
        for case in suite_catalogue().select("smoke")
        for surface in (CPU, WASM)
        if isinstance(translate(case, surface), Program)
    }
    assert len(texts) > 50
    path = tmp_path / "programs.mjs"
    path.write_text("".join(f"{{ {text} }}\n" for text in sorted(texts)), "utf-8")
    assert subprocess.run([NODE, "--check", str(path)], check=False).returncode == 0
    path.write_text("function run(x) { x = tf.( }\n", "utf-8")
    assert subprocess.run([NODE, "--check", str(path)], check=False, stderr=subprocess.DEVNULL).returncode


@needs_node
def test_the_scope_disposes_of_tensors_and_names_errors_of_the_device(new_worker):
    text = """
const calls = [];
const engine = { startScope: () => calls.push("start"), endScope: () => calls.push("end") };
const device = { pushErrorScope: () => calls.push("push"), popErrorScope: async () => calls.push("pop") && {} };
const found = {};
await scopeOf({ engine: () => engine }, device, found)(async () => calls.push("run"));
throw new RangeError(calls.join(" ") + " " + found.isBroken());
"""
    program = Program("tfjs.cpu", "native", f"async function run(x) {{ {text} }}")
    (found,) = new_worker().outcomes([Job(program, (X,))])
    assert found.message == "RangeError: push start run end pop true"


@needs_node
@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 3, 4, 5), (1, 2, 3, 4, 5)])
def test_layouts_are_those_of_moved_axes(new_worker, dtype, shape):
    array = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    to_tensor = (
        "const tensor = ([data, shape, dtype]) => ({ data: async () => data, shape, dtype, rank: shape.length });"
    )
    texts = [f"{to_tensor} return arrayOf(tensor({name}(x)));" for name in ("plain", "channelsLast", "kernelLast")]
    texts += [f"{to_tensor} return {name}(tensor(plain(x)));" for name in ("channelsFirst", "kernelFirst")]
    found = [one.arrays[0] for one in new_worker().outcomes([job(text, array) for text in texts])]
    moved = (
        array,
        np.moveaxis(array, 1, -1),
        np.moveaxis(array, (0, 1), (-1, -2)),
        np.moveaxis(array, -1, 1),
        np.moveaxis(array, (-1, -2), (0, 1)),
    )
    assert all(np.array_equal(one, other) and one.dtype == array.dtype for one, other in zip(found, moved, strict=True))
