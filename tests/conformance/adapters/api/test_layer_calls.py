"""Layer calls of JAX and Flax: parameters that agree with the observed behaviour of the frameworks."""

import math

import pytest

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.translation.layer import layer_notes, parse_layer

DIALECTS = registry.dialects()
IMAGE, WEIGHTS = (1, 3, 7, 6), (3, 2, 3, 4)
LINE, TAPS = (2, 3, 7), (3, 2, 4)


def case_of(surface, text, shape, kernel):
    """Return the case of a layer for inputs of these shapes."""
    request = parse_layer(text, DIALECTS[surface], shape, kernel).request
    request = request if request.shape else type(request)(**{**vars(request), "shape": shape})
    return (type(request)(**{**vars(request), "kernel": kernel}) if request.has_kernel else request).case()


def check_case(case, operator, parameters):
    """Assert the operator of a case, and the given parameters."""
    assert case.operator == operator
    assert {key: case.parameters[key] for key in parameters} == parameters


TRANSPOSED_BY_JAX = [
    ('(1, 1), "SAME"', ((1, 1), (1, 2)), (0, 0)),
    ('(2, 2), "SAME"', ((0, 1), (1, 1)), (0, 0)),
    ('(3, 5), "SAME"', ((0, 0), (0, 0)), (0, 1)),
    ('(2, 5), "VALID"', ((0, 0), (0, 0)), (0, 1)),
    ('(2, 2), "VALID", (2, 1)', ((0, 0), (0, 0)), (0, 0)),
    ("(2, 2), ((1, 2), (2, 2))", ((1, 0), (1, 1)), (0, 0)),
    ("(5, 4), ((2, 3), (0, 5))", ((0, 0), (3, 0)), (1, 2)),
    ("(2, 3), ((1, 0), (1, 1)), use_consistent_padding=True", ((1, 0), (1, 1)), (0, 0)),
]


@pytest.mark.parametrize(("arguments", "padding", "output_padding"), TRANSPOSED_BY_JAX)
def test_padding_of_a_transposed_convolution_in_jax_applies_to_the_dilated_input(arguments, padding, output_padding):
    found = case_of("jax.lax", f"lax.conv_transpose(x, w, {arguments})", IMAGE, WEIGHTS)
    check_case(found, "conv_transpose", {"padding": padding, "output_padding": output_padding})


@pytest.mark.parametrize("transposed", [True, False])
def test_kernel_that_jax_does_not_flip_has_a_note(transposed):
    found = parse_layer(
        f'nn.ConvTranspose(2, (3, 4), transpose_kernel={transposed}, padding="SAME")', DIALECTS["flax.linen"]
    )
    notes = " ".join(layer_notes(found, {}))
    assert ("flipped along every spatial axis" in notes) is not transposed


FLAX = [
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
    ("jax.lax", "jnp.pad(x, ((0, 0), (0, 0), (1, 2), (3, 0)), mode='edge')", "pad", {"mode": "edge"}),
    (
        "jax.lax",
        "lax.pad(x, jnp.float32(-2), ((0, 0, 0), (0, 0, 0), (1, -2, 0), (3, 0, 0)))",
        "pad",
        {"pads": ((1, -2), (3, 0)), "value": -2},
    ),
    ("jax.lax", "lax.pad(x, -jnp.inf, ((0, 0, 0), (0, 0, 0), (1, 0, 0), (0, 0, 0)))", "pad", {"value": -math.inf}),
    ("jax.lax", 'lax.conv(x, w, (2, 1), "SAME")', "conv", {"padding": ((1, 1), (1, 2))}),
    (
        "jax.lax",
        'lax.conv_general_dilated(x, w, (2, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))',
        "conv",
        {"stride": (2, 1), "padding": ((0, 0), (0, 0))},
    ),
]


@pytest.mark.parametrize(("surface", "text", "operator", "parameters"), FLAX)
def test_calls_of_jax_and_flax_are_read(surface, text, operator, parameters):
    kernel = {"conv": (3, 3, 3, 4), "conv_transpose": WEIGHTS}.get(operator)
    check_case(case_of(surface, text, IMAGE, kernel), operator, parameters)


def test_kernel_size_of_flax_that_is_one_number_has_one_axis():
    check_case(
        case_of("flax.linen", "nn.ConvTranspose(2, 4, (3,))", LINE, TAPS), "conv_transpose", {"padding": ((0, 1),)}
    )
    assert case_of("flax.nnx", "nnx.Conv(3, 6, 4, rngs=r)", LINE, (6, 3, 4)).parameters["padding"] == ((1, 2),)


REJECTED = [
    (
        "jax.lax",
        'lax.conv_transpose(x, w, (2, 2), "SAME")',
        None,
        "depends on the size of the kernel: add --kernel-shape",
    ),
    ("jax.lax", 'lax.conv_transpose(x, w, (2, 2), "same")', WEIGHTS, "'same': neither 'SAME' nor 'VALID'"),
    ("jax.lax", 'lax.conv_transpose(x, w, (2,), "SAME")', WEIGHTS, "1 strides for a kernel of 2 spatial axes"),
    (
        "jax.lax",
        "lax.conv_transpose(x, w, (2, 2), ((3, 0), (0, 0)))",
        WEIGHTS,
        "starts 1 cells before the first window",
    ),
    (
        "jax.lax",
        "lax.conv_transpose(x, w, (2, 2), ((0, 4), (0, 0)))",
        WEIGHTS,
        "ends 2 cells after the last window, at most",
    ),
    (
        "jax.lax",
        'lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=("NCHW", "WHIO", "NCHW"))',
        WEIGHTS,
        "with the spatial axes in one order",
    ),
    ("jax.lax", "lax.pad(x, 0., ((0, 0, 0), (0, 0, 0), (1, 1, 1)))", None, "between the cells cannot be translated"),
    ("jax.lax", "lax.pad(x, 0., ((0, 0, 0), (1, 1, 0), (0, 0, 0)))", None, "batch and channels are the first two axes"),
    ("flax.linen", "jnp.pad(x, 1)", None, "also pads batch and channels"),
    ("flax.linen", "jnp.pad(x, ((0, 0), (1, 1), (1, 1)))", None, "batch and channels are the first and the last axis"),
    ("flax.linen", "jnp.pad(x, ((0, 0), (1, 1), (0, 0)), 'linear_ramp')", None, "not one of 'constant', 'edge'"),
    ("flax.linen", "nn.ConvTranspose(2, (3,), padding='CIRCULAR')", None, "neither 'SAME' nor 'VALID'"),
]


@pytest.mark.parametrize(("surface", "text", "kernel", "message"), REJECTED)
def test_call_without_equivalent_in_the_catalogue_is_rejected_with_one_line(surface, text, kernel, message):
    with pytest.raises(ConformanceError) as caught:
        parse_layer(text, DIALECTS[surface], None, kernel)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
