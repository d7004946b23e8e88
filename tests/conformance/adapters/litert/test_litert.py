"""The adapter of LiteRT: surfaces, and source text that runs around programs."""

import ast

from conformance.adapters import registry
from conformance.adapters.api import Unsupported
from tests.conformance.adapters.litert.programs import BUILTIN, DEFAULT, PLANE, REFERENCE, program


def test_program_builds_and_runs_a_graph_with_channels_last():
    assert program("max_pool", x=PLANE, window=[2, 3], stride=[2, 1]).text.splitlines() == [
        "def run(x):",
        "    x = np.moveaxis(x, 1, -1)",
        "    graph = Graph()",
        "    x = graph.input(x)",
        '    x = graph.node("MAX_POOL_2D", [x], schema.Pool2DOptionsT(padding=schema.Padding.VALID, strideH=2, '
        "strideW=1, filterHeight=2, filterWidth=3))",
        "    x = graph.invoke(x)",
        "    return np.moveaxis(x, -1, 1)",
    ]


def test_surfaces_have_the_same_programs_in_different_modes():
    made = [program("max_pool", surface, x=PLANE, window=2, stride=2) for surface in (DEFAULT, BUILTIN, REFERENCE)]
    assert len({one.text for one in made}) == 1
    assert [one.mode for one in made] == [
        "",
        "resolver = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES\n",
        "resolver = OpResolverType.BUILTIN_REF\n",
    ]


def test_weights_are_constants_of_the_graph():
    kernel, bias = {"values": "integers", "shape": [4, 2, 2, 2]}, {"values": [1, 2, 3, 4]}
    text = program("conv", x=PLANE, kernel=kernel, bias=bias).text
    assert "graph.input(x)" in text
    assert "graph.input(kernel)" not in text


def test_setup_is_source_text_that_defines_the_graph():
    backend = registry.get_backend("litert")
    names = [node.name for node in ast.parse(backend.setup).body if isinstance(node, ast.ClassDef)]
    assert names == ["Graph"]
    assert "num_threads=1" in backend.setup


def test_only_xnnpack_averages_float16():
    half = {**PLANE, "dtype": "float16"}
    assert program("avg_pool", x=half, window=2, stride=2).how == "native"
    assert "has no kernel for float16" in program("avg_pool", BUILTIN, x=half, window=2, stride=2).reason


def test_integers_without_a_kernel_are_unsupported_with_the_name_of_the_operator():
    unsupported = program("max_pool", x={**PLANE, "dtype": "int32"}, window=2, stride=2)
    assert unsupported.reason == "MAX_POOL_2D has no kernel for int32 without quantization"
    assert unsupported.rejected_call


def test_gradients_are_unsupported():
    x, grad = {**PLANE, "values": "distinct"}, {"values": "integers"}
    assert program("max_pool_grad", x=x, grad=grad, window=2, stride=2) == Unsupported("litert computes no gradients")
