"""The programs of all routes, and of their stages."""

import re

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Program, Unsupported
from conformance.adapters.routes import onnx_lite
from conformance.cli.parameter_types import SURFACE_NAME
from conformance.translation.lowering import translate
from reports.results.vocabulary import ROUTE_ARROW
from tests.support.catalogue_parts import cases_by_id

KERAS_BACKENDS = ("routes-keras-torch", "routes-keras-tensorflow", "routes-keras-jax")
BACKENDS = (
    "routes-torch",
    "routes-aotinductor",
    "routes-executorch",
    "routes-tensorflow",
    "routes-tf2onnx",
    "routes-tfjs",
    "routes-onnx2tf",
    "routes-jax",
    "routes-jax2onnx",
    *KERAS_BACKENDS,
)
ROUTES = [surface for name in BACKENDS for surface in registry.get_backend(name).surfaces]
SOURCE_BACKENDS = ("torch", "tensorflow", "jax", "keras-torch", "keras-tensorflow", "keras-jax")
SOURCES = {surface.name: surface for name in SOURCE_BACKENDS for surface in registry.get_backend(name).surfaces}
SOURCES |= {one.name: one for one in registry.backend_of_release("onnxruntime", onnx_lite.ONNXRUNTIME_RELEASE).surfaces}
CASES = cases_by_id("standard")
CONVOLUTION = CASES["conv/2d-groups"]


@pytest.fixture(params=ROUTES, ids=lambda route: route.name)
def route(request):
    return request.param


def program_text(case, surface):
    program = translate(case, surface)
    assert isinstance(program, Program), program
    return program.text


def test_name_is_that_of_an_exporter_and_a_runtime(route):
    exporter, runtime = route.name.split(ROUTE_ARROW)
    assert exporter
    assert runtime
    assert SURFACE_NAME(f"{exporter}->{runtime}") == route.name


def test_program_contains_the_lines_of_its_source(route):
    source = SOURCES[route.route.source_name]
    lines = program_text(CONVOLUTION, source).splitlines()
    call = next(line.strip() for line in lines if re.search('conv2d|conv_general|Conv2D|"Conv"', line))
    assert call in program_text(CONVOLUTION, route)


def test_first_stage_has_the_program_of_the_source(route):
    source = SOURCES[route.route.source_name]
    assert program_text(CONVOLUTION, route.route.source) == program_text(CONVOLUTION, source)


def test_export_stage_does_not_run_the_model(route):
    text = program_text(CONVOLUTION, route.route.export)
    assert "\n    x = np.asarray(x)\n" in text
    runtimes = {"session", "compiled", "interpreter", "ReferenceEvaluator", "binary", "eval_module", "load_program"}
    runtimes |= {"run_graph_model", "run_lite_model"}
    assert not runtimes & {*re.findall(r"\w+", text)}


def test_evaluator_runs_the_same_model(route):
    if route.route.evaluator is None:
        assert not route.route.is_independent
        return
    lines = program_text(CONVOLUTION, route).splitlines()
    evaluated = program_text(CONVOLUTION, route.route.evaluator).splitlines()
    exported = program_text(CONVOLUTION, route.route.export).splitlines()
    shared = exported[: exported.index("    x = np.asarray(x)")]
    assert lines[: len(shared)] == evaluated[: len(shared)] == shared
    assert lines != evaluated


def test_weights_are_constants_of_the_model(route):
    text = program_text(CONVOLUTION, route).rpartition("    return ")[0]
    # Only x is given to the runtime.
    arguments = r"\bx\.numpy\(\)|np\.asarray\(x\)|\bx=x\b|(?:execute|compiled)\(\[?x\]?\)|convert_to_numpy\(x\)"
    assert len(re.findall(arguments, text)) == 1
    assert "kernel.numpy()" not in text
    assert "np.asarray(kernel)" not in text
    assert "convert_to_numpy(kernel)" not in text


def test_gradients_are_unsupported(route):
    gradient = next(case for case in CASES.values() if case.operator == "conv_grad")
    assert isinstance(translate(gradient, route), Unsupported)


def test_conventions_and_rejections_are_run(route):
    for name in ("max_pool/nan-in-window", "max_pool/rejects/negative-window"):
        assert program_text(CASES[name], route)


DYNAMIC_ROUTES = [route for route in ROUTES if ".dynamic" in route.name]


def test_every_exporter_has_a_route_with_symbolic_extents():
    names = {route.name for route in ROUTES}
    # ExecuTorch plans its memory for the largest extents, which these models do not have. Functional models of Keras
    # contain calls with the extents of the case. Models of jax2onnx have fixed extents here.
    without = [route.name for route in ROUTES if re.search("executorch|keras|jax2onnx", route.name)]
    fixed = [route.name for route in ROUTES if route not in DYNAMIC_ROUTES and route.name not in without]
    assert {name.replace(ROUTE_ARROW, f".dynamic{ROUTE_ARROW}") for name in fixed} <= names


# Each run of a model with Node.js, or without TensorFlow, is a process, which loads the model.
LOADED_ONCE = [route for route in DYNAMIC_ROUTES if not route.name.startswith(("tensorflowjs", "onnx2tf"))]


@pytest.mark.parametrize("route", LOADED_ONCE, ids=lambda route: route.name)
def test_model_with_symbolic_extents_is_loaded_once_and_run_with_other_sizes_first(route):
    text = program_text(CONVOLUTION, route)
    loaded, ran = text.split("    def infer(x):\n")
    assert re.search(r"InferenceSession|compile_model|Interpreter|load_vm_flatbuffer|aoti_load_package", loaded)
    calls = re.findall(r"^    (?:x = )?infer\((.*)\)$", ran, re.MULTILINE)
    shapes = [re.search(r"ones\(\(1, ([0-9, ]+)\)", call).group(1) for call in calls[:-1]]
    assert shapes == (["6, 6, 4", "7, 7, 4"] if route.channels_last else ["4, 6, 6", "4, 7, 7"])
    assert calls[-1] == "x"
    # The axis of channels and the batch of one item have fixed extents, except in JAX, where the batch has a name.
    fixed = re.compile(r"\{2: varies, 3: varies\}|\[2, 3\]|1, None, None, 4|n, 4, d2, d3")
    assert fixed.search(loaded), loaded


TORCH_ROUTES = [route for route in DYNAMIC_ROUTES if route.name.startswith("torch")]


@pytest.mark.parametrize("route", TORCH_ROUTES, ids=lambda route: route.name)
def test_example_of_the_export_has_another_size_than_the_case(route):
    text = program_text(CONVOLUTION, route)
    assert "examples = (torch.ones((1, 4, 6, 6), dtype=x.dtype),)" in text
    assert "export(model, examples, " in text
    assert CONVOLUTION.shape == (1, 4, 5, 5)


@pytest.mark.parametrize("route", DYNAMIC_ROUTES, ids=lambda route: route.name)
def test_stages_of_symbolic_extents_export_the_same_model(route):
    exported = program_text(CONVOLUTION, route.route.export).split("    x = np.asarray(x)\n")[0]
    assert program_text(CONVOLUTION, route).startswith(exported)
    if route.route.evaluator:
        evaluated = program_text(CONVOLUTION, route.route.evaluator)
        assert evaluated.startswith(exported)
        assert evaluated.count("infer(") == program_text(CONVOLUTION, route).count("infer(")
    assert "infer" not in program_text(CONVOLUTION, route.route.source)


@pytest.mark.parametrize("name", [name for name in BACKENDS if name != "routes-tensorflow"])
def test_routes_without_bfloat16(name):
    case = next(case for case in CASES.values() if case.operator == "max_pool" and case.dtype == "bfloat16")
    for route in registry.get_backend(name).surfaces:
        assert isinstance(translate(case, route), Unsupported)


def test_model_of_aotinductor_is_compiled_and_loaded():
    fixed, dynamic = (program_text(CONVOLUTION, one) for one in ROUTES if "aotinductor" in one.name)
    for text in (fixed, dynamic):
        assert "torch._inductor.aoti_compile_and_package(exported, package_path=file)" in text
        assert "compiled = torch._inductor.aoti_load_package(file)" in text
    assert "exported = torch.export.export(model, (x,))" in fixed
    assert 'torch.export.export(model, examples, dynamic_shapes={"x": {2: varies, 3: varies}})' in dynamic


def test_executorch_gets_a_partitioner_for_xnnpack_only():
    portable, xnnpack = (program_text(CONVOLUTION, one) for one in ROUTES if "executorch" in one.name)
    assert "to_edge_transform_and_lower(exported)" in portable
    assert "to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])" in xnnpack


def test_interpreter_of_stablehlo_runs_no_symbolic_extents():
    by_name = {route.name: route.route for route in (*ROUTES, *DYNAMIC_ROUTES)}
    assert "eval_module" in program_text(CONVOLUTION, by_name["jax.export→iree"].evaluator)
    assert by_name["jax.export.dynamic→iree"].evaluator is None
    assert not by_name["jax.export.dynamic→iree"].is_independent


def test_evaluator_of_executorch_runs_the_core_operators_with_pytorch():
    route = next(route for route in ROUTES if "executorch" in route.name)
    assert "x = exported.run_decompositions().module()(x).numpy()" in program_text(CONVOLUTION, route.route.evaluator)


def test_weights_of_tf2onnx_are_variables():
    route = next(route for route in ROUTES if route.name.startswith("tf2onnx"))
    assert "    weights = tf.Variable(kernel)\n" in program_text(CONVOLUTION, route)
    # Another exporter of the same source takes arrays.
    lite = next(route for route in ROUTES if route.name.startswith("tf.lite"))
    assert "    weights = kernel\n" in program_text(CONVOLUTION, lite)


KERAS_ROUTES = [surface for name in KERAS_BACKENDS for surface in registry.get_backend(name).surfaces]


def test_keras_has_a_route_for_each_format_that_its_engines_export():
    # OpenVINO does not convert the operation XlaCallModule, which Keras exports on JAX.
    assert [route.name for route in KERAS_ROUTES] == [
        f"keras-{engine}.export{ROUTE_ARROW}{runtime}"
        for engine, runtimes in (
            ("torch", ("onnxruntime", "openvino")),
            ("tensorflow", ("onnxruntime", "openvino")),
            ("jax", ("onnxruntime",)),
        )
        for runtime in runtimes
    ]


@pytest.mark.parametrize("route", KERAS_ROUTES, ids=lambda route: route.name)
def test_keras_exports_a_functional_model_in_the_format_of_the_runtime(route):
    text = program_text(CONVOLUTION, route)
    file_format = {"onnxruntime": "onnx", "openvino": "openvino"}[route.name.split(ROUTE_ARROW)[1]]
    assert (
        'inputs = [keras.Input(batch_shape=x.shape, dtype=keras.backend.standardize_dtype(x.dtype), name="x")]' in text
    )
    assert "model = keras.Model(inputs, build(*inputs))\n    model(inputs)\n" in text
    assert f'format="{file_format}"' in text


@pytest.mark.parametrize("route", KERAS_ROUTES, ids=lambda route: route.name)
def test_model_of_keras_contains_no_compiled_function(route):
    # A function of jax.jit takes no symbolic tensors.
    assert "jax.jit" not in program_text(CASES["softmax_pool/book-2d"], route)


def test_model_of_keras_with_two_inputs_gets_both():
    for route in KERAS_ROUTES:
        text = program_text(CASES["max_unpool/1d-overlapping-windows"], route)
        assert "def build(x, indices):" in text
        assert len(re.findall(r"convert_to_numpy\((?:x|indices)\)", text)) == 2


@pytest.mark.parametrize("case", ["lrn/2d-alexnet", "affine_grid/2d-all-numbers"])
def test_routes_run_new_operators_only_if_they_list_them(case):
    routes = {one.name: one for one in ROUTES}
    assert program_text(CASES[case], routes["torch.onnx→onnxruntime"])
    assert isinstance(translate(CASES[case], routes["torch.export→executorch"]), Unsupported)
