"""Ports of net_torch.py to JAX: a correct one, and some with one mistake each."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from jax import lax
from mistakes import not_transposed, reversed_groups

LAYOUT = ("NHWC", "HWIO", "NHWC")


def make(weights, epsilon=1e-5, *, pads_with_zeros=False, flips=True, dilation=(1, 1)):
    """Return the network as a function of an input with its channels last."""

    def kernel(name):
        return jnp.asarray(np.transpose(weights[name], (2, 3, 1, 0)))

    def conv(x, name, stride, padding, **options):
        return lax.conv_general_dilated(x, kernel(name), (stride, stride), padding, dimension_numbers=LAYOUT, **options)

    def network(x):
        x = conv(x, "conv1.weight", 2, [(1, 1), (1, 1)]) + weights["conv1.bias"]
        scale = weights["bn.weight"] / np.sqrt(weights["bn.running_var"] + np.float32(epsilon))
        x = jax.nn.relu((x - weights["bn.running_mean"]) * scale + weights["bn.bias"]) - 2
        if pads_with_zeros:
            x = nn.max_pool(jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))), (3, 3), (2, 2))
        else:
            x = nn.max_pool(x, (3, 3), (2, 2), ((1, 1), (1, 1)))
        x = conv(x, "grouped.weight", 1, "SAME", feature_group_count=4, rhs_dilation=dilation)
        transposed = np.transpose(weights["up.weight"], (2, 3, 0, 1))
        transposed = jnp.asarray(transposed[::-1, ::-1] if flips else transposed)
        x = lax.conv_transpose(x, transposed, (2, 2), [(1, 2), (1, 2)], dimension_numbers=LAYOUT) + weights["up.bias"]
        x = nn.avg_pool(x, (3, 3), (2, 2), ((1, 1), (1, 1)))
        return x.mean((1, 2)) @ weights["fc.weight"].T + weights["fc.bias"]

    return network


def wrong_epsilon(weights):
    """Return a port whose normalization has the epsilon of Keras."""
    return make(weights, 1e-3)


def zero_padding(weights):
    """Return a port whose maxima can be padding."""
    return make(weights, pads_with_zeros=True)


def unflipped(weights):
    """Return a port that does not flip the kernel of the transposed convolution."""
    return make(weights, flips=False)


def dilated(weights):
    """Return a port that dilates the convolution in groups on one axis."""
    return make(weights, dilation=(2, 1))


def wrong_groups(weights):
    """Return a port whose groups have another order."""
    return make(reversed_groups(weights))


def wrong_layout(weights):
    """Return a port that reads a kernel without its transposition."""
    return make(not_transposed(weights))
