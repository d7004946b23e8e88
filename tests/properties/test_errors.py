"""Invalid arguments raise errors that name the parameter, its value and the limit."""

import re

import ml_dtypes
import numpy as np
import pytest

import reference

X = np.zeros((1, 2, 4, 5), np.float32)
KERNEL = np.zeros((2, 2, 3, 3), np.float32)
POOLS = [
    *("max_pool", "min_pool", "avg_pool", "lp_pool", "softmax_pool"),
    *("max_pool_with_indices", "stochastic_pool_probabilities"),
]
GREATEST = 2**31 - 1

WALKS = [
    ({"window": 0}, ValueError, "window 0 on axis 0 must be at least 1"),
    ({"window": (2, -1)}, ValueError, "window -1 on axis 1 must be at least 1"),
    ({"window": 2**31}, ValueError, f"window 2147483648 on axis 0 must be at most {GREATEST}"),
    ({"window": 1.5}, TypeError, "window 1.5 on axis 0 must be an integer"),
    ({"window": True}, TypeError, "window True on axis 0 must be an integer"),
    ({"window": "2"}, TypeError, "window '2' on axis 0 must be an integer"),
    ({"window": None}, TypeError, "window None on axis 0 must be an integer"),
    ({"window": (2, 2, 2)}, ValueError, "window (2, 2, 2) has 3 entries: expected 2, one per spatial axis"),
    ({"window": 5}, ValueError, "window 5 exceeds the padded input 4 on axis 0"),
    ({"window": (4, 8), "padding": 1}, ValueError, "window 8 exceeds the padded input 7 on axis 1"),
    ({"window": 3, "dilation": 2}, ValueError, "window 3 (dilated to 5) exceeds the padded input 4 on axis 0"),
    ({"window": 2, "stride": 0}, ValueError, "stride 0 on axis 0 must be at least 1"),
    ({"window": 2, "stride": (1, 0)}, ValueError, "stride 0 on axis 1 must be at least 1"),
    ({"window": 2, "stride": (1,)}, ValueError, "stride (1,) has 1 entries: expected 2, one per spatial axis"),
    ({"window": 2, "dilation": 0}, ValueError, "dilation 0 on axis 0 must be at least 1"),
    ({"window": 2, "padding": -3}, ValueError, "padding (-3, -3) crops more than the input 4 on axis 0"),
    ({"window": 2, "padding": [0, (2, -6)]}, ValueError, "padding (2, -6) crops more than the input 5 on axis 1"),
    ({"window": 2, "padding": (0, -2)}, ValueError, "window 2 exceeds the padded input 1 on axis 1"),
    ({"window": 2, "padding": -(2**31)}, ValueError, f"padding -2147483648 on axis 0 must be at least {-GREATEST}"),
    (
        {"window": 2, "padding": [0, (0, 1, 2)]},
        ValueError,
        "padding (0, 1, 2) on axis 1 must be a number or a pair (before, after)",
    ),
    ({"window": 2, "padding": "same"}, ValueError, "padding 'same' must be one of valid, same_upper, same_lower"),
    ({"window": 2, "padding": np.array([0, -6])}, ValueError, "padding (-6, -6) crops more than the input 5 on axis 1"),
    ({"window": 2, "padding": 0.5}, TypeError, "padding 0.5 on axis 0 must be an integer"),
]
ROUNDINGS = [
    ({"window": 2, "rounding": "up"}, ValueError, "rounding 'up' must be one of floor, ceil, full"),
    ({"window": 2, "rounding": None}, ValueError, "rounding None must be one of floor, ceil, full"),
]


def refuses(error, message):
    return pytest.raises(error, match=re.escape(message))


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize(("parameters", "error", "message"), [*WALKS, *ROUNDINGS])
def test_pooling_refuses(name, parameters, error, message):
    with refuses(error, message):
        reference.OPERATORS[name](X, **parameters)


@pytest.mark.parametrize(("parameters", "error", "message"), [walk for walk in WALKS if walk[0]["window"] == 2])
def test_convolution_refuses(parameters, error, message):
    kernel = np.zeros((2, 2, 2, 2), np.float32)
    with refuses(error, message.replace("window 2 exceeds", "kernel 2 exceeds")):
        reference.conv(X, kernel, **{key: value for key, value in parameters.items() if key != "window"})


def test_convolution_refuses_a_kernel_that_exceeds_the_padded_input():
    with refuses(ValueError, "kernel 5 exceeds the padded input 4 on axis 0"):
        reference.conv(X, np.zeros((1, 2, 5, 1), np.float32))


@pytest.mark.parametrize(
    ("arrays", "parameters", "error", "message"),
    [
        ([KERNEL[0]], {}, ValueError, "kernel has 3 axes (2, 3, 3): x has 4 (1, 2, 4, 5)"),
        (
            [KERNEL[..., :0]],
            {},
            ValueError,
            "kernel has shape (2, 2, 3, 0): its window must be at least 1 on every axis",
        ),
        ([KERNEL[:, :1]], {}, ValueError, "kernel takes 1 channels: x has 2 in 1 groups"),
        ([KERNEL], {"groups": 2}, ValueError, "kernel takes 2 channels: x has 2 in 2 groups"),
        ([KERNEL], {"groups": 3}, ValueError, "groups 3 does not divide the 2 input channels"),
        (
            [np.zeros((3, 1, 3, 3), np.float32)],
            {"groups": 2},
            ValueError,
            "groups 2 does not divide the 3 output channels",
        ),
        ([KERNEL], {"groups": 0}, ValueError, "groups 0 must be at least 1"),
        ([KERNEL], {"groups": (1, 1)}, TypeError, "groups (1, 1) must be an integer"),
        ([KERNEL.astype(np.float64)], {}, TypeError, "kernel has dtype float64: accepted are float32"),
        ([KERNEL, np.zeros(2)], {}, TypeError, "bias has dtype float64: accepted are float32"),
        (
            [KERNEL, np.zeros((2, 1), np.float32)],
            {},
            ValueError,
            "bias has shape (2, 1): expected (2,), one per output channel",
        ),
    ],
)
def test_convolution_refuses_what_does_not_fit(arrays, parameters, error, message):
    with refuses(error, message):
        reference.conv(X, *arrays, **parameters)


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize("shape", [(), (3,), (4, 4)])
def test_an_input_without_spatial_axes_is_refused(name, shape):
    with refuses(ValueError, f"x has shape {shape}: expected (n, c, *spatial) with at least one spatial axis"):
        reference.OPERATORS[name](np.zeros(shape, np.float32), 1)


FLOATS = "float16, bfloat16, float32, float64"
INTEGERS = "int8, int16, int32, int64, uint8, uint16, uint32, uint64"
EVERY, NUMBERS = f"{FLOATS}, {INTEGERS}, bool", f"{FLOATS}, {INTEGERS}"
ACCEPTED = {
    **dict.fromkeys(["max_pool", "min_pool", "max_pool_with_indices", "adaptive_max_pool", "global_max_pool"], EVERY),
    **dict.fromkeys(["max_unpool", "fractional_max_pool", "pad"], EVERY),
    **dict.fromkeys(["avg_pool", "adaptive_avg_pool", "global_avg_pool", "conv", "conv_transpose"], NUMBERS),
    **dict.fromkeys(["lp_pool", "softmax_pool", "stochastic_pool", "stochastic_pool_probabilities"], FLOATS),
}
PARAMETERS = {
    **{name: {} for name in ("conv", "conv_transpose", "global_max_pool", "global_avg_pool")},
    **{name: {"output_size": 1} for name in ("adaptive_max_pool", "adaptive_avg_pool")},
    "max_unpool": {"indices": [[[0, 1]]], "output_size": 2},
    "fractional_max_pool": {"window": 1, "output_size": 1, "samples": [[[0.0]]]},
    "stochastic_pool": {"window": 2, "draws": [[[0.0]]]},
    "pad": {"pads": 1},
}
DTYPES = [
    *("float16", ml_dtypes.bfloat16, "float32", "float64"),
    *INTEGERS.split(", "),
    *("bool", "complex64", "object", "U1", "datetime64[s]", ">f4", ml_dtypes.float8_e4m3fn),
]


@pytest.mark.parametrize("name", ACCEPTED)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_dtype_is_accepted_or_refused_by_name(name, dtype):
    x = np.ones((1, 1, 2)).astype(dtype)
    arrays = [x, x] if name.startswith("conv") else [x]
    parameters = PARAMETERS.get(name, {"window": 2})
    if str(x.dtype) in ACCEPTED[name].split(", "):
        value = getattr(reference, name)(*arrays, **parameters)
        assert (value[0] if isinstance(value, tuple) else value).dtype == x.dtype
        return
    with refuses(TypeError, f"x has dtype {x.dtype}: accepted are {ACCEPTED[name]}"):
        reference.OPERATORS[name](*arrays, **parameters)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"divisor": 0}, ValueError, "divisor 0 must be at least 1"),
        ({"divisor": 2.0}, TypeError, "divisor 2.0 must be an integer"),
        ({"count_include_pad": 1}, TypeError, "count_include_pad 1 must be True or False"),
    ],
)
def test_averages_refuse(parameters, error, message):
    with refuses(error, message):
        reference.avg_pool(X, 2, **parameters)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        (
            {"pads": "same_upper"},
            TypeError,
            "pads 'same_upper' must be a number, or a number or a pair (before, after) per axis",
        ),
        ({"pads": (1, 2, 3)}, ValueError, "pads (1, 2, 3) has 3 entries: expected 2, one per spatial axis"),
        ({"pads": 1.0}, TypeError, "pads 1.0 on axis 0 must be an integer"),
        ({"pads": -(2**31)}, ValueError, f"pads -2147483648 on axis 0 must be at least {-GREATEST}"),
        ({"pads": (-3, 0)}, ValueError, "pads (-3, -3) crop more than the input 4 on axis 0"),
        (
            {"pads": 1, "mode": "mirror"},
            ValueError,
            "mode 'mirror' must be one of constant, edge, reflect, symmetric, wrap",
        ),
        ({"pads": 1, "mode": "edge", "value": 1}, ValueError, "value 1 has no place in mode edge"),
        (
            {"pads": [(-4, 1), 0], "mode": "wrap"},
            ValueError,
            "pads (0, 1) in mode wrap have no input cell to take on axis 0",
        ),
        ({"pads": 1, "value": "0"}, TypeError, "value '0' must be one number"),
        ({"pads": 1, "value": [0, 1]}, TypeError, "value [0, 1] must be one number"),
        ({"pads": 1, "value": [[0], 1]}, ValueError, "value [[0], 1] is no array"),
        ({"pads": 1, "value": 1j}, TypeError, "value 1j must be one number"),
    ],
)
def test_padding_refuses(parameters, error, message):
    with refuses(error, message):
        reference.pad(X, **parameters)


def test_bounds_refuse_an_accumulating_type_that_is_none():
    with refuses(TypeError, "int32 is no floating dtype: accepted are float16, bfloat16, float32, float64"):
        reference.OPERATORS["avg_pool"](X, 2).bound(np.int32)


TRANSPOSED = np.zeros((2, 1, 3, 3), np.float32)


@pytest.mark.parametrize(
    ("name", "arrays", "parameters", "error", "message"),
    [
        ("lp_pool", [X, 2], {"p": 0.5}, ValueError, "p 0.5 must be a number of at least 1 and at most 1000000"),
        ("lp_pool", [X, 2], {"p": np.inf}, ValueError, "p inf must be a number of at least 1 and at most 1000000"),
        ("lp_pool", [X, 2], {"p": np.nan}, ValueError, "p nan must be a number of at least 1 and at most 1000000"),
        ("lp_pool", [X, 2], {"p": True}, TypeError, "p True must be a number"),
        ("lp_pool", [X, 2], {"p": "2"}, TypeError, "p '2' must be a number"),
        ("max_unpool", [X, np.zeros((1, 2, 4, 4), int), 9], {}, ValueError, "indices have shape (1, 2, 4, 4): x has"),
        ("max_unpool", [X, X, 9], {}, TypeError, "indices has dtype float32: accepted are int8, int16"),
        (
            *("max_unpool", [X, np.full(X.shape, 9), 3], {}, ValueError),
            "indices hold 9: output_size (3, 3) wants -1 or more and less than 9",
        ),
        ("max_unpool", [X, np.full(X.shape, -2), 3], {}, ValueError, "indices hold -2: output_size"),
        (
            "max_unpool",
            [X, np.full(X.shape, 2**64 - 1, np.uint64), 3],
            {},
            ValueError,
            f"indices hold {2**64 - 1}: output_size",
        ),
        ("max_unpool", [X, np.zeros(X.shape, int), 0], {}, ValueError, "output_size 0 on axis 0 must be at least 1"),
        ("adaptive_max_pool", [X, (0, 1)], {}, ValueError, "output_size 0 on axis 0 must be at least 1"),
        ("adaptive_max_pool", [X, (1, 2, 3)], {}, ValueError, "output_size (1, 2, 3) has 3 entries: expected 2"),
        ("adaptive_avg_pool", [X, (None, 1.5)], {}, TypeError, "output_size 1.5 on axis 1 must be an integer"),
        ("conv_transpose", [X, KERNEL[0]], {}, ValueError, "kernel has 3 axes (2, 3, 3): x has 4 (1, 2, 4, 5)"),
        ("conv_transpose", [X, KERNEL[:1]], {}, ValueError, "kernel takes 1 channels: x has 2"),
        ("conv_transpose", [X, KERNEL], {"groups": 3}, ValueError, "groups 3 does not divide the 2 input channels"),
        (
            *("conv_transpose", [X, TRANSPOSED, np.zeros(2, np.float32)], {}, ValueError),
            "bias has shape (2,): expected (1,), one per output channel",
        ),
        (
            *("conv_transpose", [X[:, :, :0], KERNEL], {}, ValueError),
            "x has shape (1, 2, 0, 5): every spatial extent must be at least 1",
        ),
        (
            *("conv_transpose", [X, KERNEL], {"padding": [0, (4, 4)]}, ValueError),
            "padding (4, 4) takes more than the output 7 on axis 1",
        ),
        (
            *("conv_transpose", [X, KERNEL], {"stride": 2, "dilation": 3, "output_padding": (2, 3)}, ValueError),
            "output_padding 3 on axis 1 must be less than the stride 2 or dilation 3",
        ),
        (
            *("conv_transpose", [X, KERNEL], {"stride": 2, "padding": "same_upper", "output_padding": 1}, ValueError),
            "output_padding 1 has no place beside padding 'same_upper'",
        ),
        ("conv_transpose", [X, KERNEL], {"padding": "same"}, ValueError, "padding 'same' must be one of valid, same"),
        ("conv_transpose", [X, KERNEL], {"output_padding": -1}, ValueError, "output_padding -1 on axis 0 must be at"),
        (
            *("fractional_max_pool", [X, 2, 4, np.zeros((1, 2, 2))], {}, ValueError),
            "output_size 4 and window 2 need 5 cells: x has 4 on axis 0",
        ),
        (
            *("fractional_max_pool", [X, 2, 2, np.zeros((1, 2, 1))], {}, ValueError),
            "samples have shape (1, 2, 1): expected (1, 2, 2), one per plane and spatial axis",
        ),
        (
            *("fractional_max_pool", [X, 2, 2, np.ones((1, 2, 2))], {}, ValueError),
            "samples hold 1.0: expected 0 or more and less than 1",
        ),
        (
            "fractional_max_pool",
            [X, 2, 2, np.zeros((1, 2, 2), int)],
            {},
            TypeError,
            "samples has dtype int64: accepted",
        ),
        (
            *("stochastic_pool", [X - 2, 2, np.zeros((1, 2, 2, 2))], {}, ValueError),
            "x has the negative value -2.0: activations must be at least 0",
        ),
        ("stochastic_pool_probabilities", [X - 2, 2], {}, ValueError, "x has the negative value -2.0"),
        (
            *("stochastic_pool", [X, 2, np.zeros((1, 2, 2))], {}, ValueError),
            "draws have shape (1, 2, 2): expected (1, 2, 2, 2), one per window",
        ),
        ("stochastic_pool", [X, 2, np.full((1, 2, 2, 2), np.nan)], {}, ValueError, "draws hold nan: expected"),
    ],
)
def test_further_operators_refuse(name, arrays, parameters, error, message):
    with refuses(error, message):
        reference.OPERATORS[name](*arrays, **parameters)
