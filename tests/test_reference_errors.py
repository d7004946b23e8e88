"""What is refused, and in which words."""

import re

import ml_dtypes
import numpy as np
import pytest

import reference

X = np.zeros((1, 2, 4, 5), np.float32)
KERNEL = np.zeros((2, 2, 3, 3), np.float32)
POOLS = ["max_pool", "min_pool", "avg_pool", "softmax_pool"]
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
    ({"window": 2, "padding": -1}, ValueError, "padding -1 on axis 0 must be at least 0"),
    ({"window": 2, "padding": [0, (0, -2)]}, ValueError, "padding -2 on axis 1 must be at least 0"),
    (
        {"window": 2, "padding": [0, (0, 1, 2)]},
        ValueError,
        "padding (0, 1, 2) on axis 1 must be a number or a pair (before, after)",
    ),
    ({"window": 2, "padding": "same"}, ValueError, "padding 'same' must be one of valid, same_upper, same_lower"),
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
    with refuses(error, message):
        reference.conv(X, kernel, **{key: value for key, value in parameters.items() if key != "window"})


def test_convolution_refuses_a_kernel_that_exceeds_the_padded_input():
    with refuses(ValueError, "window 5 exceeds the padded input 4 on axis 0"):
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
ACCEPTED = {
    "max_pool": f"{FLOATS}, {INTEGERS}, bool",
    "min_pool": f"{FLOATS}, {INTEGERS}, bool",
    "pad": f"{FLOATS}, {INTEGERS}, bool",
    "avg_pool": f"{FLOATS}, {INTEGERS}",
    "conv": f"{FLOATS}, {INTEGERS}",
    "softmax_pool": FLOATS,
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
    arrays = [x, x] if name == "conv" else [x]
    parameters = {"conv": {}, "pad": {"pads": 1}}.get(name, {"window": 2})
    if str(x.dtype) in ACCEPTED[name].split(", "):
        assert reference.OPERATORS[name](*arrays, **parameters).value.dtype == x.dtype
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
        ({"pads": 1, "mode": "mirror"}, ValueError, "mode 'mirror' must be one of constant"),
        ({"pads": 1, "value": "0"}, TypeError, "value '0' must be one number"),
        ({"pads": 1, "value": [0, 1]}, TypeError, "value [0, 1] must be one number"),
        ({"pads": 1, "value": 1j}, TypeError, "value 1j must be one number"),
    ],
)
def test_padding_refuses(parameters, error, message):
    with refuses(error, message):
        reference.pad(X, **parameters)


def test_bounds_refuse_an_accumulating_type_that_is_none():
    with refuses(TypeError, "int32 is no floating dtype: accepted are float16, bfloat16, float32, float64"):
        reference.OPERATORS["avg_pool"](X, 2).bound(np.int32)
