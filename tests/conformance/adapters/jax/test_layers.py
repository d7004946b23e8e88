"""Calls of `jax.lax` and `jnp.pad`: parameters that agree with the observed behaviour of JAX."""

import math

import pytest

from conformance.adapters import registry
from conformance.translation.layer import parse_layer
from tests.support.layer_calls import IMAGE, WEIGHTS, case_of, check_case, check_rejected

SURFACE = "jax.lax"
KERNEL_SHAPES = {"conv": (3, 3, 3, 4), "conv_transpose": WEIGHTS}
READ = [
    ("jnp.pad(x, ((0, 0), (0, 0), (1, 2), (3, 0)), mode='edge')", "pad", {"mode": "edge"}),
    (
        "lax.pad(x, jnp.float32(-2), ((0, 0, 0), (0, 0, 0), (1, -2, 0), (3, 0, 0)))",
        "pad",
        {"pads": ((1, -2), (3, 0)), "value": -2},
    ),
    ("lax.pad(x, -jnp.inf, ((0, 0, 0), (0, 0, 0), (1, 0, 0), (0, 0, 0)))", "pad", {"value": -math.inf}),
    ('lax.conv(x, w, (2, 1), "SAME")', "conv", {"padding": ((1, 1), (1, 2))}),
    (
        'lax.conv_general_dilated(x, w, (2, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))',
        "conv",
        {"stride": (2, 1), "padding": ((0, 0), (0, 0))},
    ),
]


@pytest.mark.parametrize(("text", "operator", "parameters"), READ)
def test_calls_are_read_with_their_own_defaults(text, operator, parameters):
    check_case(case_of(SURFACE, text, IMAGE, KERNEL_SHAPES.get(operator)), operator, parameters)


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


REJECTED = [
    ('lax.conv_transpose(x, w, (2, 2), "SAME")', None, None, "depends on the size of the kernel: add --kernel-shape"),
    ('lax.conv_transpose(x, w, (2, 2), "same")', None, WEIGHTS, "'same': neither 'SAME' nor 'VALID'"),
    ('lax.conv_transpose(x, w, (2,), "SAME")', None, WEIGHTS, "1 strides for a kernel of 2 spatial axes"),
    ("lax.conv_transpose(x, w, (2, 2), ((3, 0), (0, 0)))", None, WEIGHTS, "starts 1 cells before the first window"),
    (
        "lax.conv_transpose(x, w, (2, 2), ((0, 4), (0, 0)))",
        None,
        WEIGHTS,
        "ends 2 cells after the last window, at most",
    ),
    (
        'lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=("NCHW", "WHIO", "NCHW"))',
        None,
        WEIGHTS,
        "with the spatial axes in one order",
    ),
    ("lax.pad(x, 0., ((0, 0, 0), (0, 0, 0), (1, 1, 1)))", None, None, "between the cells cannot be translated"),
    ("lax.pad(x, 0., ((0, 0, 0), (1, 1, 0), (0, 0, 0)))", None, None, "batch and channels are the first two axes"),
]


@pytest.mark.parametrize(("text", "shape", "kernel", "message"), REJECTED)
def test_call_without_equivalent_in_the_catalogue_is_rejected_with_one_line(text, shape, kernel, message):
    check_rejected(SURFACE, text, shape, kernel, message)


MAXIMA = "lax.reduce_window(x, -jnp.inf, lax.max"


@pytest.mark.parametrize(
    ("arguments", "window", "stride", "padding"),
    [
        ("(1, 1, 3, 2), (1, 1, 2, 1), 'VALID'", (3, 2), (2, 1), 0),
        ("(1, 3, 2, 1), (1, 2, 1, 1), 'VALID'", (3, 2), (2, 1), 0),
        ("(1, 3, 2, 1), None, ((0, 0), (1, 1), (0, 1), (0, 0))", (3, 2), (1, 1), ((1, 1), (0, 1))),
        # Either layout is possible here: channels first, as without an argument that decides.
        ("(1, 1, 3, 1), (1, 1, 2, 1), 'VALID'", (3, 1), (2, 1), 0),
    ],
)
def test_window_is_read_in_the_layout_that_leaves_out_batch_and_channels(arguments, window, stride, padding):
    expected = {"window": window, "stride": stride, "padding": padding or ((0, 0), (0, 0))}
    check_case(case_of(SURFACE, f"{MAXIMA}, {arguments})", IMAGE), "max_pool", expected)


@pytest.mark.parametrize(
    ("window", "is_noted"), [("(1, 3, 2, 1)", True), ("(1, 1, 3, 2)", False), ("(1, 1, 1, 1)", False)]
)
def test_channels_last_is_noted(window, is_noted):
    found = parse_layer(f"{MAXIMA}, {window})", registry.dialects()[SURFACE])
    assert ("channels last" in " ".join(found.notes)) == is_noted


@pytest.mark.parametrize("window", ["(2, 1, 3, 3)", "(1, 2, 3, 2)", "(1, 1, 3, 3), (1, 2, 2, 1)"])
def test_window_over_batch_or_channels_is_rejected(window):
    check_rejected(SURFACE, f"{MAXIMA}, {window})", IMAGE, None, "batch and channels cannot be part of a window")
