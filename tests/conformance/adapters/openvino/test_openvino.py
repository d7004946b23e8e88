"""The adapter of OpenVINO: surfaces, and source text that runs around programs."""

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Unsupported
from tests.conformance.adapters.openvino.programs import ROW, program


def test_program_builds_compiles_and_runs_a_model():
    assert program("max_pool", x=ROW, window=2, stride=2).text.splitlines() == [
        "def run(x):",
        "    x = ov.Tensor(x)",
        "    data, x = x, ops.parameter(x.shape, x.element_type)",
        "    parameters = [x]",
        "    x = ops.max_pool(x, [2], [1], [0], [0], [2]).output(0)",
        '    x = core.compile_model(ov.Model([x], parameters), "CPU")(data)[0]',
        "    return x",
    ]


def test_every_input_except_weights_is_a_parameter():
    text = program("max_unpool", x={"values": [[[5, 7]]]}, indices={"values": [[[1, 2]]]}, output_size=[4]).text
    assert "    x = ov.Tensor(x)\n    indices = ov.Tensor(indices)\n    data = [x, indices]\n" in text
    assert "x, indices = parameters = [ops.parameter(each.shape, each.element_type) for each in data]" in text


def test_setup_requests_float32_since_the_default_is_bfloat16_on_some_processors():
    assert '"INFERENCE_PRECISION_HINT": "f32"' in registry.get_backend("openvino").setup


def test_bfloat16_inputs_and_outputs_are_16_bit_words():
    text = program("max_pool", x={**ROW, "dtype": "bfloat16"}, window=2, stride=2).text
    assert "    x = ov.Tensor(x, x.shape, ov.Type.bf16)\n" in text
    assert text.endswith('    return x.view(np.uint16).view([("bfloat16", np.uint16)])\n')


@pytest.mark.parametrize(
    ("dtype", "reason"), [("float64", "does not support f64"), ("int64", "i64 is not supported"), ("int32", "float32")]
)
def test_dtypes_that_the_plugin_computes_in_another_dtype_are_unsupported(dtype, reason):
    unsupported = program("max_pool", x={**ROW, "dtype": dtype}, window=2, stride=2)
    assert isinstance(unsupported, Unsupported)
    assert reason in unsupported.reason


def test_gradients_are_unsupported():
    unsupported = program(
        "max_pool_grad", x={**ROW, "values": "distinct"}, grad={"values": "integers"}, window=2, stride=2
    )
    assert unsupported == Unsupported("openvino.opset computes no gradients")
