"""The adapter for ONNX Runtime in JavaScript: its programs, and the models that they build under Node.js."""

import json
import shutil
import struct
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from conformance.adapters import registry
from conformance.adapters.api import Program, Unsupported
from conformance.adapters.ortjs import NPM_PACKAGES
from conformance.execution.job import Job, Limits
from conformance.execution.worker_process import Worker
from conformance.translation.lowering import translate
from tests.support.catalogue_parts import cases_by_id, suite_catalogue

BACKEND = registry.get_backend("ortjs")
SURFACES = {surface.name.removeprefix("ortjs."): surface for surface in BACKEND.surfaces}
CASES = cases_by_id("standard")
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="the program node is not installed")


def translated(case, surface="node"):
    return translate(CASES[case], SURFACES[surface])


def text_of(case, surface="node"):
    program = translated(case, surface)
    assert isinstance(program, Program), program
    return program.text


def test_program_computes_a_graph():
    assert text_of("conv_transpose/1d-stride-2") == (
        "function run(x, kernel) {\n"
        "  x = compute(\n"
        "    [\n"
        '      node("ConvTranspose", ["x", "kernel"], ["y"], { strides: [2] }),\n'
        "    ],\n"
        "    { x },\n"
        "    { kernel },\n"
        "  );\n"
        "  return x;\n"
        "}\n"
    )


def test_both_packages_have_the_same_version():
    assert len(set(NPM_PACKAGES.versions.values())) == 1


def test_only_surfaces_in_a_page_need_chromium(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    needed = {
        name for name, surface in SURFACES.items() if surface.missing_requirement and surface.missing_requirement()
    }
    assert needed == {"wasm", "webgpu", "jsep", "webgl"}


def test_each_surface_has_a_process_of_its_own():
    assert len({surface.select_mode(None) for surface in BACKEND.surfaces}) == len(BACKEND.surfaces)


def test_nodes_of_a_graphics_card_do_not_fall_back_to_the_cpu():
    modes = {name: surface.select_mode(None) for name, surface in SURFACES.items()}
    assert {name for name, mode in modes.items() if "disable_cpu_ep_fallback" in mode} == {"webgpu", "jsep"}


def test_convolutions_of_jsep_have_all_attributes():
    text = text_of("conv/1d-dilation-2-padding", "jsep")
    assert all(f"{name}: [" in text for name in ("kernel_shape", "strides", "dilations", "pads"))
    assert "kernel_shape" not in text_of("conv/1d-dilation-2-padding", "webgpu")


def test_indices_are_unsupported_on_a_graphics_card():
    assert isinstance(translated("max_pool_with_indices/2d-indices", "webgpu"), Unsupported)
    assert isinstance(translated("max_pool_with_indices/2d-indices"), Program)


def test_a_composition_with_a_node_without_a_kernel_is_unsupported():
    assert "ReduceSum" in translated("softmax_pool/3d", "webgl").reason
    assert "ScatterElements" in translated("max_unpool/1d-back-to-their-places", "jsep").reason


@needs_node
def test_every_program_of_level_smoke_is_javascript(tmp_path):
    programs = [translate(case, surface) for case in suite_catalogue().select("smoke") for surface in BACKEND.surfaces]
    texts = {program.text for program in programs if isinstance(program, Program)}
    assert len(texts) > 50
    path = tmp_path / "programs.mjs"
    path.write_text("".join(f"{{ {text} }}\n" for text in sorted(texts)), "utf-8")
    assert subprocess.run([NODE, "--check", str(path)], check=False).returncode == 0


RECORDER = """
const ort = {
  InferenceSession: { create: async (model) => ({
    run: async (feeds) => {
      const { dims, data, type } = feeds.x;
      return { y: { type, dims: [...dims, 1], data } };
    },
    release: async () => {},
  }) },
  Tensor: class { constructor(type, data, dims) { Object.assign(this, { type, data, dims }); } },
};
names.compute = library.runner(ort, 26, {});
names.versions = { onnxruntime: "1.30.0" };
"""
"""A setup with a session that adds an axis to its input."""


@needs_node
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "float16"])
def test_a_session_gets_the_inputs_and_its_result_is_read(dtype):
    fake = replace(BACKEND, setup=RECORDER, worker=replace(BACKEND.worker, missing_requirement=lambda: None))
    worker = Worker(fake, limits=Limits(case_seconds=5), retry=False)
    x = np.arange(4).reshape(1, 2, 2).astype(dtype)
    try:
        (found,) = worker.outcomes([Job(Program("ortjs.node", "native", text_of("max_pool/book-2d")), (x,))])
    finally:
        worker.stop()
    assert np.array_equal(found.arrays[0], x[..., None])
    assert found.arrays[0].dtype == x.dtype


def fields(data):
    """Return the fields of a message of protocol buffers: pairs of number and value."""
    found, at = [], 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 5:
            value, at = struct.unpack("<f", data[at : at + 4])[0], at + 4
        else:
            value = varint()
        if key & 7 == 2:
            value, at = data[at : at + value], at + value
        found.append((key >> 3, value))
    return found


def run_model(script):
    """Return what a script prints that uses the module with names for programs."""
    code = f'import {{ node, array, model }} from "{NPM_PACKAGES.library.as_uri()}";\n{script}'
    done = subprocess.run([NODE, "--input-type=module", "-e", code], capture_output=True, check=True)
    return done.stdout.decode()


@needs_node
def test_a_model_has_the_fields_of_the_format():
    text = run_model(
        'const attributes = { mode: "edge", axis: -1, ints: [300, -2], a: { float: -0.5 } };\n'
        'const nodes = [node("Pad", ["x", "pads"], ["y"], attributes)];\n'
        'const x = array("float32", [2, 3], [1, 2, 3, 4, 5, 6]);\n'
        'console.log(JSON.stringify([...model(26, nodes, { x }, { pads: array("int64", [2], [1, -1]) })]));'
    )
    message = dict(fields(bytes(json.loads(text))))
    assert message[1] == 10
    assert fields(message[8]) == [(1, b""), (2, 26)]
    graph = fields(message[7])
    (node,) = (fields(value) for number, value in graph if number == 1)
    assert [value for number, value in node if number == 1] == [b"x", b"pads"]
    assert {(2, b"y"), (4, b"Pad")} <= {*node}
    attributes = [fields(value) for number, value in node if number == 5]
    minus = (1 << 64) - 1
    assert attributes == [
        [(1, b"mode"), (4, b"edge"), (20, 3)],
        [(1, b"axis"), (3, minus), (20, 2)],
        [(1, b"ints"), (8, 300), (8, minus - 1), (20, 7)],
        [(1, b"a"), (2, -0.5), (20, 1)],
    ]
    (constant,) = (fields(value) for number, value in graph if number == 5)
    assert constant == [(1, 2), (2, 7), (8, b"pads"), (9, np.array([1, -1]).tobytes())]
    (entry,) = (dict(fields(value)) for number, value in graph if number == 11)
    tensor = dict(fields(dict(fields(entry[2]))[1]))
    assert (entry[1], tensor[1]) == (b"x", 1)
    assert [dict(fields(value))[1] for _, value in fields(tensor[2])] == [2, 3]
    (output,) = (fields(value) for number, value in graph if number == 12)
    assert output == [(1, b"y")]


@needs_node
def test_a_node_of_another_domain_imports_it():
    text = run_model(
        'const nodes = [node("QLinearAveragePool", ["x"], ["y"], { domain: "com.microsoft" })];\n'
        "console.log(JSON.stringify([...model(26, nodes, {}, {})]));"
    )
    message = fields(bytes(json.loads(text)))
    assert [fields(value) for number, value in message if number == 8] == [
        [(1, b""), (2, 26)],
        [(1, b"com.microsoft"), (2, 1)],
    ]
    (node,) = (fields(value) for number, value in fields(dict(message)[7]) if number == 1)
    assert (7, b"com.microsoft") in node
    assert not [value for number, value in node if number == 5]


@needs_node
def test_constants_of_float16_are_rounded_as_numpy_rounds():
    values = [0.0, -0.0, 1.0, -7.0, 65504.0, 65519.0, 65520.0, 1e-8, 5.96e-8, 6.1e-5, 0.1, 1 / 3, 2049.0, 2051.0]
    values += [float("inf"), float("-inf"), 2.98e-8, 1023.75]
    texts = ", ".join(repr(value).replace("inf", "Infinity") for value in values)
    found = json.loads(
        run_model(f'console.log(JSON.stringify([...array("float16", [{len(values)}], [{texts}]).data]));')
    )
    with np.errstate(over="ignore"):
        assert found == np.array(values).astype(np.float16).view(np.uint16).tolist()
