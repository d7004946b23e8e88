"""The adapter for PaddlePaddle: its programs, and the calls that it does not use."""

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Unsupported
from conformance.adapters.paddle import pooling, words
from conformance.adapters.paddle.calls import functional_call, layer_call, padding_text
from conformance.adapters.paddle.convolution import convolution, transposed_convolution
from conformance.adapters.paddle.padding import functional_pad, layer_pad
from conformance.adapters.paddle.words import conv
from conformance.cases.steps import Step
from conformance.translation.lowering import translate
from tests.support.catalogue_parts import cases_by_id

LAYERS, FUNCTIONS = registry.get_backend("paddle").surfaces
CASES = cases_by_id("smoke")
WINDOW = {
    "window": (2, 2),
    "stride": (2, 2),
    "padding": ((0, 0), (0, 0)),
    "dilation": (1, 1),
    "rounding": "floor",
    "count_include_pad": False,
    "divisor": None,
}
WEIGHTS = {"stride": (1, 1), "padding": ((0, 0), (0, 0)), "dilation": (1, 1), "groups": 1, "output_padding": (0, 0)}


def pool(operator="max_pool", shape=(1, 2, 5, 5), dtype="float32", **parameters):
    return Step(operator, shape, dtype, {**WINDOW, **parameters})


def weighted(operator="conv", dtype="float32", *, bias=False, **parameters):
    return Step(operator, (1, 2, 5, 5), dtype, {**WEIGHTS, **parameters}, kernel=(2, 2, 3, 3), bias=bias)


def padded(mode="constant", pads=((0, 0), (1, 2)), value=0, shape=(1, 2, 5, 5), dtype="float32"):
    return Step("pad", shape, dtype, {"pads": pads, "mode": mode, "value": value})


def test_both_ends_of_each_axis_start_with_the_first_axis():
    assert padding_text(pool(padding=((1, 0), (0, 2)))) == "(1, 0, 0, 2)"
    assert padding_text(pool(padding=((1, 1), (2, 2)))) == "(1, 2)"


def test_a_list_of_twice_as_many_pads_is_not_written():
    step = pool(padding=((1, 1),) * 4)
    assert isinstance(pooling.max_pool(functional_call, step), Unsupported)


def test_rounding_up_is_written_where_no_window_is_dropped():
    assert "ceil_mode=True" in pooling.max_pool(functional_call, pool(rounding="ceil"))
    # A fourth window would start at cell 6, in the padding.
    dropped = pool(rounding="ceil", padding=((1, 1), (1, 1)))
    assert pooling.max_pool(functional_call, dropped).reason == pooling.PAST_THE_PADDING
    assert "ceil_mode=True" in pooling.max_pool(functional_call, dropped.with_parameters(rounding="full"))


@pytest.mark.parametrize(("dtype", "runs"), [("int32", True), ("bfloat16", False)])
def test_only_integers_without_a_kernel_ask_the_call_whether_it_rejects_them(dtype, runs):
    unsupported = pooling.max_pool(functional_call, pool(dtype=dtype))
    assert (unsupported.rejected_call is not None) == runs


def test_averages_state_that_padding_counts():
    counted = pool("avg_pool", padding=((1, 1), (1, 1)), count_include_pad=True)
    assert "exclusive=False" in pooling.avg_pool(layer_call, counted)
    assert "exclusive" not in pooling.avg_pool(layer_call, counted.with_parameters(count_include_pad=False))


def test_odd_powers_take_absolute_values():
    step = pool("lp_pool", p=3)
    assert "keeps the sign" in pooling.lp_pool(functional_call, step).reason
    assert ".abs()" in pooling.fallback_lp_pool(step)[-1]


def test_integer_minima_are_negated_in_a_dtype_that_represents_them():
    lines = pooling.integer_min_pool(functional_call, pool("min_pool", dtype="int32"))
    assert lines[:2] == ('x = x.astype("float64")', "x = -x")
    assert pooling.integer_min_pool(functional_call, pool("min_pool", dtype="int64"))[0] == "x = ~x"


def test_unpooling_needs_windows_of_the_output_size():
    step = Step("max_unpool", (1, 1, 2, 2), "float32", {"output_size": (4, 5)})
    assert pooling.max_unpool(functional_call, step) == "F.max_unpool2d(x, indices, (2, 3), stride=2)"
    smaller = Step("max_unpool", (1, 1, 17), "float32", {"output_size": (4,)})
    assert isinstance(pooling.max_unpool(functional_call, smaller), Unsupported)


def test_layers_have_the_dtype_and_the_weights_of_the_case():
    lines = convolution(weighted(dtype="float64", bias=True), layer=True)
    assert lines[0].endswith('.to(dtype="float64")')
    assert lines[1:] == ("conv.weight.set_value(kernel)", "conv.bias.set_value(bias)", "x = conv(x)")


def test_output_padding_is_less_than_the_stride_or_part_of_the_padding():
    step = weighted("conv_transpose", padding=((1, 1), (1, 1)), dilation=(2, 2), output_padding=(1, 0))
    assert "smaller than the stride" in transposed_convolution(step, layer=False).reason
    assert "padding=(1, 0, 1, 1)" in transposed_convolution(step, layer=False, folded=True)


def test_named_padding_is_a_word_of_its_own():
    step = weighted(padding=((1, 1), (1, 1)))
    assert conv(step, layer=False) == 'F.conv2d(x, kernel, padding="SAME")'
    assert isinstance(conv(weighted(padding=((2, 1), (1, 1))), layer=False), Unsupported)


def test_pads_start_with_the_last_axis_for_up_to_three_axes():
    assert functional_pad(padded()) == "F.pad(x, (1, 2, 0, 0))"
    wide = padded(pads=((0, 0),) * 3 + ((1, 2),), shape=(1, 1, 2, 2, 2, 2))
    assert functional_pad(wide) == "F.pad(x, (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2))"
    assert isinstance(layer_pad(wide), Unsupported)


@pytest.mark.parametrize(
    ("mode", "pads", "reason"),
    [
        ("symmetric", ((0, 0), (1, 2)), "no symmetric padding"),
        ("reflect", ((0, 0), (5, 0)), "less than the extent"),
        ("edge", ((0, 0), (-1, 2)), "mirrors before it crops"),
    ],
)
def test_modes_that_are_not_written(mode, pads, reason):
    assert reason in functional_pad(padded(mode, pads)).reason


def test_a_function_differentiates_with_paddle_grad():
    program = translate(CASES["max_pool_grad/tie"], FUNCTIONS)
    assert "leaf.stop_gradient = False" in program.text
    assert "(x,) = paddle.grad(x, leaf, grad)" in program.text


def test_a_layer_differentiates_its_own_parameters():
    case = next(
        case for case in CASES.values() if case.operator == "conv_grad" and case.parameters["output"] == "kernel"
    )
    assert "(x,) = paddle.grad(x, conv.weight, grad)" in translate(case, LAYERS).text


def test_padding_by_name_is_not_written_for_a_dtype_without_a_kernel():
    assert not isinstance(words.pool(functional_call, pool()), Unsupported)
    assert isinstance(words.pool(functional_call, pool(dtype="uint8")), Unsupported)


@pytest.mark.parametrize("pad", [words.functional_pad, words.layer_pad])
def test_negative_pads_have_the_dtypes_of_other_pads(pad):
    cropped = {"mode": "reflect", "pads": ((0, 0), (0, -1))}
    assert 'mode="reflect"' in pad(padded(**cropped))
    assert isinstance(pad(padded(**cropped, dtype="int16")), Unsupported)
