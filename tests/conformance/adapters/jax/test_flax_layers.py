"""Layers of Flax Linen and NNX: parameters that agree with the observed behaviour of Flax."""

import pytest

from conformance.translation.layer import layer_notes, parse_layer
from tests.support.layer_calls import DIALECTS, IMAGE, LINE, TAPS, WEIGHTS, case_of, check_case, check_rejected

KERNEL_SHAPES = {"conv": (3, 3, 3, 4), "conv_transpose": WEIGHTS}
READ = [
    ("flax.linen", "nn.ConvTranspose(2, (3, 4))", "conv_transpose", {"padding": ((1, 1), (1, 2)), "stride": (1, 1)}),
    (
        "flax.linen",
        "nn.ConvTranspose(2, (3, 4), (2, 2), padding=[(1, 2), 2], kernel_init=nn.initializers.zeros())",
        "conv_transpose",
        {"padding": ((1, 0), (1, 1))},
    ),
    (
        "flax.nnx",
        'nnx.ConvTranspose(3, 2, (3, 4), strides=(2, 5), padding="VALID", rngs=nnx.Rngs(0))',
        "conv_transpose",
        {"output_padding": (0, 1)},
    ),
    ("flax.nnx", "nnx.Conv(3, 3, (3, 4), 2, rngs=nnx.Rngs(0))", "conv", {"padding": ((1, 1), (1, 1))}),
    (
        "flax.nnx",
        'nnx.Conv(3, 3, (3, 4), padding="VALID", kernel_dilation=(2, 1), rngs=rngs)',
        "conv",
        {"dilation": (2, 1)},
    ),
    ("flax.nnx", "jnp.pad(x, ((0, 0), (1, 2), (3, 0), (0, 0)), 'wrap')", "pad", {"pads": ((1, 2), (3, 0))}),
]


@pytest.mark.parametrize(("surface", "text", "operator", "parameters"), READ)
def test_calls_are_read_with_their_own_defaults(surface, text, operator, parameters):
    check_case(case_of(surface, text, IMAGE, KERNEL_SHAPES.get(operator)), operator, parameters)


@pytest.mark.parametrize("transposed", [True, False])
def test_kernel_that_jax_does_not_flip_has_a_note(transposed):
    found = parse_layer(
        f'nn.ConvTranspose(2, (3, 4), transpose_kernel={transposed}, padding="SAME")', DIALECTS["flax.linen"]
    )
    notes = " ".join(layer_notes(found, {}))
    assert ("flipped along every spatial axis" in notes) is not transposed


def test_kernel_size_of_flax_that_is_one_number_has_one_axis():
    check_case(
        case_of("flax.linen", "nn.ConvTranspose(2, 4, (3,))", LINE, TAPS), "conv_transpose", {"padding": ((0, 1),)}
    )
    assert case_of("flax.nnx", "nnx.Conv(3, 6, 4, rngs=r)", LINE, (6, 3, 4)).parameters["padding"] == ((1, 2),)


REJECTED = [
    ("flax.linen", "jnp.pad(x, 1)", None, None, "also pads batch and channels"),
    (
        "flax.linen",
        "jnp.pad(x, ((0, 0), (1, 1), (1, 1)))",
        None,
        None,
        "batch and channels are the first and the last axis",
    ),
    ("flax.linen", "jnp.pad(x, ((0, 0), (1, 1), (0, 0)), 'linear_ramp')", None, None, "not one of 'constant', 'edge'"),
    ("flax.linen", "nn.ConvTranspose(2, (3,), padding='CIRCULAR')", None, None, "neither 'SAME' nor 'VALID'"),
]


@pytest.mark.parametrize(("surface", "text", "shape", "kernel", "message"), REJECTED)
def test_call_without_equivalent_in_the_catalogue_is_rejected_with_one_line(surface, text, shape, kernel, message):
    check_rejected(surface, text, shape, kernel, message)
