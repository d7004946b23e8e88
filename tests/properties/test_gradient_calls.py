"""Every gradient: shapes, dtypes, tie rules and empty arrays."""

import re

import numpy as np
import pytest

import reference

X = np.zeros((1, 2, 4, 5), np.float32)


KERNEL = np.zeros((2, 2, 3, 3), np.float32)


INDICES = np.zeros(X.shape, np.int64)


CALLS = {
    "max_pool_grad": ([X, 2], (1, 2, 2, 2)),
    "min_pool_grad": ([X, 2], (1, 2, 2, 2)),
    "avg_pool_grad": ([X, 2], (1, 2, 2, 2)),
    "lp_pool_grad": ([X, 2], (1, 2, 2, 2)),
    "softmax_pool_grad": ([X, 2], (1, 2, 2, 2)),
    "max_pool_with_indices_grad": ([X, 2], (1, 2, 2, 2)),
    "max_unpool_grad": ([X, INDICES, (8, 9)], (1, 2, 8, 9)),
    "global_max_pool_grad": ([X], (1, 2, 1, 1)),
    "global_avg_pool_grad": ([X], (1, 2, 1, 1)),
    "adaptive_max_pool_grad": ([X, (3, None)], (1, 2, 3, 5)),
    "adaptive_avg_pool_grad": ([X, (3, None)], (1, 2, 3, 5)),
    "fractional_max_pool_grad": ([X, 2, 2, np.zeros((1, 2, 2), np.float32)], (1, 2, 2, 2)),
    "stochastic_pool_grad": ([X, 2, np.zeros((1, 2, 2, 2), np.float32)], (1, 2, 2, 2)),
    "stochastic_pool_probabilities_grad": ([X, 2], (1, 2, 2, 2, 2, 2)),
    "pad_grad": ([X, [1, (-1, 2)]], (1, 2, 6, 6)),
    "resize_grad": ([X], (1, 2, 2, 2)),
    "grid_sample_grad": ([X, np.zeros((1, 2, 3, 2), np.float32), (2, 3)], (1, 2, 2, 3)),
    "affine_grid_grad": ([np.zeros((1, 2, 3), np.float32), (4, 5)], (1, 4, 5, 2)),
    "depth_to_space_grad": ([np.zeros((1, 8, 2, 3), np.float32), 2], (1, 2, 4, 6)),
    "space_to_depth_grad": ([np.zeros((1, 2, 4, 6), np.float32), 2], (1, 8, 2, 3)),
    "unfold_grad": ([X, 2], (1, 8, 3, 4)),
    "fold_grad": ([np.zeros((1, 8, 3, 4), np.float32), (4, 5), 2], (1, 2, 4, 5)),
    "lrn_grad": ([X, 3], X.shape),
    "dilation2d_grad": ([X, KERNEL[:, :1]], (1, 2, 2, 3)),
    "deform_conv_grad": ([X, np.zeros((1, 18, 2, 3), np.float32), KERNEL], (1, 2, 2, 3)),
    "conv_grad": ([X, KERNEL], (1, 2, 2, 3)),
    "conv_transpose_grad": ([X, KERNEL], (1, 2, 6, 7)),
}
KEYWORDS = {"resize_grad": {"size": 2}}


def test_every_operator_has_a_gradient_except_those_of_eight_bits():
    operators = {name for name in reference.OPERATORS if not name.endswith("_grad")}
    operators -= {"quantize", "dequantize", "quantized_avg_pool", "quantized_conv", "conv_integer"}
    assert set(CALLS) == {name for name in reference.OPERATORS if name.endswith("_grad")}
    assert operators == {name.removesuffix("_grad") for name in CALLS}


@pytest.mark.parametrize("name", CALLS)
def test_a_gradient_of_another_shape_is_refused(name):
    inputs, shape = CALLS[name]
    wrong = (*shape[:-1], shape[-1] + 1)
    with pytest.raises(ValueError, match=re.escape(f"grad has shape {wrong}: the output has {shape}")):
        reference.OPERATORS[name](np.zeros(wrong, np.float32), *inputs, **KEYWORDS.get(name, {}))
    got = reference.OPERATORS[name](np.zeros(shape, np.float32), *inputs, **KEYWORDS.get(name, {}))
    assert (got[0] if isinstance(got, tuple) else got).value.shape == inputs[0].shape


@pytest.mark.parametrize("name", CALLS)
def test_other_dtypes_are_refused(name):
    inputs, shape = CALLS[name]
    with pytest.raises(TypeError, match="grad has dtype float64: accepted are float32"):
        reference.OPERATORS[name](np.zeros(shape), *inputs, **KEYWORDS.get(name, {}))
    integers = [inputs[0].astype(np.int32), *inputs[1:]]
    with pytest.raises(TypeError, match="x has dtype int32: accepted are float16, bfloat16, float32, float64"):
        reference.OPERATORS[name](np.zeros(shape, np.int32), *integers, **KEYWORDS.get(name, {}))


@pytest.mark.parametrize(
    "name", ["max_pool_grad", "min_pool_grad", "global_max_pool_grad", "adaptive_max_pool_grad", "dilation2d_grad"]
)
def test_other_tie_rules_are_refused(name):
    inputs, shape = CALLS[name]
    with pytest.raises(ValueError, match="ties 'any' must be one of first, last, all, split"):
        reference.OPERATORS[name](np.zeros(shape, np.float32), *inputs, ties="any")


@pytest.mark.parametrize("name", CALLS)
def test_empty_batches_and_channels_have_empty_gradients(name):
    inputs, shape = CALLS[name]
    if not name.startswith(("conv", "dilation2d")):
        # A kernel has no batch.
        empty = [part[:0] if isinstance(part, np.ndarray) and part is not KERNEL else part for part in inputs]
        got = reference.OPERATORS[name](np.zeros((0, *shape[1:]), np.float32), *empty, **KEYWORDS.get(name, {}))
        assert (got[0] if isinstance(got, tuple) else got).value.shape == (0, *inputs[0].shape[1:])
    else:
        to_x, to_kernel = reference.OPERATORS[name](np.zeros((0, *shape[1:]), np.float32), X[:0], inputs[1])
        assert to_x.value.shape == (0, *X.shape[1:])
        assert not to_kernel.value.any()


EMPTY = np.zeros((1, 2, 0), np.float32)


@pytest.mark.parametrize("name", ["max_pool", "min_pool", "avg_pool", "lp_pool", "softmax_pool", "stochastic_pool"])
def test_an_empty_extent_has_an_empty_gradient_however_much_padding_there_is(name):
    grad = np.ones((1, 2, 2), np.float32)
    inputs = [EMPTY, 2, np.zeros_like(grad)] if name == "stochastic_pool" else [EMPTY, 2]
    assert getattr(reference, name + "_grad")(grad, *inputs, padding=2).shape == (1, 2, 0)


def test_bins_constants_and_kernels_on_an_empty_extent_have_empty_gradients():
    ones = np.ones((1, 2, 4), np.float32)
    assert reference.adaptive_max_pool_grad(ones, EMPTY, 4).shape == (1, 2, 0)
    assert reference.global_avg_pool_grad(ones[..., :1], EMPTY).shape == (1, 2, 0)
    assert reference.pad_grad(ones, EMPTY, 2).shape == (1, 2, 0)
    assert reference.max_unpool_grad(ones, EMPTY, np.zeros((1, 2, 0), np.int64), 4).shape == (1, 2, 0)
    to_x, to_kernel = reference.conv_grad(ones, EMPTY, ones[..., :1].reshape(2, 1, 1), groups=2, padding=2)
    assert to_x.shape == (1, 2, 0)
    assert to_kernel.tolist() == [[[0]], [[0]]]
