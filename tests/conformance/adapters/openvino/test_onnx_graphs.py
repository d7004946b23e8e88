"""The module `onnx_graphs` of OpenVINO: programs that its importer reads, and nodes that it rejects."""

from conformance.adapters import registry
from conformance.adapters.api import Program, Unsupported
from conformance.adapters.openvino.onnx_graphs import (
    NO_AVERAGE_OF_PADDING,
    NO_BFLOAT16,
    NO_WRAP,
    node_limit,
    quantized_avg_pool,
)
from conformance.cases.operators import PadMode
from conformance.cases.parsing import parse_case
from conformance.cases.steps import Step
from conformance.translation.lowering import translate

SURFACE = next(surface for surface in registry.get_backend("openvino").surfaces if surface.name == "openvino.onnx")
ROW = {"values": "integers", "shape": [1, 2, 6]}


def program(operator, **raw):
    return translate(parse_case({"operator": operator, "source": "test"}, {"id": "case", **raw}, "test"), SURFACE)


def step(operator, shape=(1, 2, 6), **parameters):
    rank = len(shape) - 2
    geometry = {"window": (2,) * rank, "stride": (1,) * rank, "padding": ((0, 1),) * rank, "dilation": (1,) * rank}
    return Step(operator, shape, "float32", {**geometry, **parameters})


def test_the_importer_reads_a_model_from_memory_with_constant_kernels():
    translated = program("conv", x=ROW, kernel={"values": "integers", "shape": [3, 2, 2]})
    assert isinstance(translated, Program)
    assert "core.read_model(model.SerializeToString())" in translated.text
    assert 'inputs = {"x": x}' in translated.text


def test_pad_has_no_mode_wrap():
    wrapped = node_limit(step("pad", mode=PadMode.WRAP))
    assert wrapped is NO_WRAP
    assert node_limit(step("pad", mode=PadMode.EDGE)) is None


def test_windows_have_three_axes_at_most():
    assert node_limit(step("max_pool", (1, 1, 2, 2, 2))) is None
    assert isinstance(node_limit(step("max_pool", (1, 1, 2, 2, 2, 2))), Unsupported)
    assert isinstance(node_limit(step("conv", (1, 1, 2, 2, 2, 2))), Unsupported)


def test_averages_without_padding_reject_padding_as_long_as_a_window():
    padded = {"padding": ((0, 2),), "count_include_pad": False}
    assert node_limit(step("avg_pool", **padded)) is NO_AVERAGE_OF_PADDING
    assert node_limit(step("avg_pool", **padded | {"dilation": (2,)})) is None
    assert node_limit(step("avg_pool", **padded | {"count_include_pad": True})) is None
    assert node_limit(step("max_pool", **padded)) is None


def test_a_node_without_a_rule_quotes_the_importer():
    assert node_limit(step("max_unpool")).reason == '"No conversion rule found for operations: MaxUnpool"'


def test_the_limits_of_the_plugin_apply():
    double, short = ({**ROW, "dtype": dtype} for dtype in ("float64", "bfloat16"))
    assert program("max_pool", x=double, window=2).reason.startswith("the CPU plugin computes float64 in float32")
    assert program("max_pool", x=short, window=2) == NO_BFLOAT16


def test_averages_of_quantized_numbers_are_truncated():
    given = {
        "rounding": "floor", "count_include_pad": False, "divisor": None, "x_zero_point": 3, "formula": "quotient",
        "padding": ((0, 0),),
    }  # fmt: skip
    truncated = quantized_avg_pool(step("quantized_avg_pool", round_mode="toward_zero", **given))
    assert truncated[-1].endswith("kernel_shape=[2], domain='com.microsoft')")
    other = quantized_avg_pool(step("quantized_avg_pool", round_mode="half_even", **given))
    assert "has the rounding rule toward_zero" in other.reason
    long = {**given, "padding": ((0, 2),)}
    assert quantized_avg_pool(step("quantized_avg_pool", round_mode="toward_zero", **long)) is NO_AVERAGE_OF_PADDING
