"""A valid call of every operator, and unusual values that a parameter must accept or reject with a clean error."""

import inspect

import ml_dtypes
import numpy as np

import reference

X = np.arange(2 * 2 * 4 * 5, dtype=np.float32).reshape(2, 2, 4, 5)
BLOCKS = np.arange(2 * 8 * 4 * 6, dtype=np.float32).reshape(2, 8, 4, 6)
KERNEL = np.ones((2, 2, 2, 2), np.float32)
MATRICES = np.arange(2 * 2 * 3, dtype=np.float32).reshape(2, 2, 3)
BIAS = np.ones(2, np.float32)

# The arrays and the required parameters of operators for which those of default_call() are not valid.
CALLS = {
    "max_unpool": ([X, np.arange(X.size).reshape(X.shape) % 20], {"output_size": (4, 5)}),
    "fractional_max_pool": ([X], {"window": 2, "output_size": 2, "samples": np.full((2, 2, 2), 0.5)}),
    "stochastic_pool": ([X], {"window": 2, "draws": np.full((2, 2, 2, 2), 0.5, np.float32)}),
    "pad": ([X], {"pads": 1}),
    "resize": ([X], {"size": 2}),
    "grid_sample": ([X, np.full((2, 2, 3, 2), 0.25, np.float32)], {"output_size": (2, 3)}),
    "affine_grid": ([MATRICES], {"grid_size": (4, 5)}),
    "depth_to_space": ([BLOCKS], {"block": 2}),
    "space_to_depth": ([BLOCKS], {"block": 2}),
    "fold": ([np.arange(2 * 8 * 3 * 4, dtype=np.float32).reshape(2, 8, 3, 4)], {"output_size": (4, 5), "window": 2}),
    "quantize": ([X], {"y_scale": 0.5}),
    "quantized_avg_pool": ([X.astype(np.int8)], {"window": 2}),
    "quantized_conv": (
        [X.astype(np.int8), KERNEL.astype(np.int8), BIAS.astype(np.int32)],
        {"x_scale": 0.5, "w_scale": 1, "y_scale": 2},
    ),
    "conv_integer": ([X.astype(np.int8), KERNEL.astype(np.int8)], {}),
    "dequantize": ([X.astype(np.int8)], {"x_scale": 0.5}),
    "dilation2d": ([X, KERNEL[:, :1]], {}),
    "conv": ([X, KERNEL, BIAS], {}),
    "deform_conv": (
        [X, np.full((2, 8, 3, 4), 0.25, np.float32), KERNEL, np.full((2, 4, 3, 4), 0.5, np.float32), BIAS],
        {},
    ),
    "conv_transpose": ([X, KERNEL, BIAS], {}),
}


def default_call(name):
    """Return one array, and 2 for every required parameter."""
    parameters = inspect.signature(reference.OPERATORS[name]).parameters.values()
    required = [one.name for one in parameters if one.default is one.empty]
    return [X], dict.fromkeys(required[1:], 2)


def call(name):
    """Return (arrays, parameters) of a valid call; that of a gradient is made from the call of its forward operator."""
    if not name.endswith("_grad"):
        return CALLS.get(name) or default_call(name)
    arrays, parameters = call(name.removesuffix("_grad"))
    result = reference.OPERATORS[name.removesuffix("_grad")](*arrays, **parameters)
    value = (result[0] if isinstance(result, tuple) else result).value
    return [np.ones_like(value), *arrays], parameters


def array_names(name):
    """Return the names of the array arguments, in order."""
    return list(inspect.signature(reference.OPERATORS[name]).parameters)[: len(call(name)[0])]


def parameter_names(name):
    """Return the names of all other arguments."""
    return list(inspect.signature(reference.OPERATORS[name]).parameters)[len(call(name)[0]) :]


class Unlike:
    """A type that no operator accepts."""

    def __repr__(self):
        return "Unlike()"


NUMBERS = [0, 1, 2, 3, 7, -1, -2, -5, 100, 2**31 - 1, -(2**31) + 1, 2**31, 2**32, 2**63, -(2**63), 10**30]
OTHERS = [
    *(0.0, 0.5, 1.0, 2.0, -1.5, float("nan"), float("inf"), 1j, True, False, None),
    *("", "same", "valid", "same_upper", "same_lower", "floor", "ceil", "full", "constant", "reflect", "wrap", "2"),
    *(b"valid", Unlike(), np.int64(2), np.uint8(2), np.float32(1), np.array(2), np.array([1, 2]), np.array([[1, 2]])),
    *([], (), {}, set(), {1: 2}, range(2), [None, None], [(1, 2), (0, 1)], [(1,), (2,)], [[[1]]], np.zeros((0, 2))),
    *(np.datetime64("2020"), ml_dtypes.bfloat16(1), np.bool_(True), "x" * 1000, [10**30, 1], Ellipsis, slice(2)),
]
DTYPES = [
    *("float16", ml_dtypes.bfloat16, "float32", "float64", "int8", "int64", "uint8", "uint64", "bool"),
    *("complex64", "object", "U1", "datetime64[s]", ">f4", ml_dtypes.float8_e4m3fn),
]
SHAPES = [(), (0,), (3,), (2, 2), (1, 1, 1), (2, 2, 4), (0, 2, 4), (2, 0, 4), (1, 1, 0), (2, 2, 4, 5), (2, 2, 0, 5)]
SHAPES += [(2, 2, 2, 2), (1, 4, 2, 2), (2, 1, 1, 2, 2), (2, 2, 2, 2, 2), (2,), (1, 2, 4, 5), (2, 2, 3, 4), (1,) * 9]
