"""Facts from the exercises of the book "Dive into Deep Learning", checked on the catalogue and the reference."""

import numpy as np
import pytest

from conformance.adapters import registry
from conformance.adapters.api import Unsupported, d2l
from conformance.cases.compositions import relu_maximum_channels
from conformance.judging.expected import compute_expected
from conformance.translation.lowering import translate


def input_and_output(catalogue, name):
    expected = compute_expected(catalogue.by_id[name])
    return expected.inputs["x"], expected.target.exact.value


def test_max_pooling_is_not_linear(catalogue):
    x, y = input_and_output(catalogue, "max_pool/book-not-linear")
    assert np.array_equal(x[0] + x[1], x[2])
    assert not np.array_equal(y[0] + y[1], y[2])


def test_edge_detection_is_invariant_to_a_shift_by_one_pixel_and_not_by_two(catalogue):
    x, y = input_and_output(catalogue, "conv/book-edge-detector")
    assert np.array_equal(x[1][..., 1:], x[0][..., :-1])
    assert np.array_equal(x[2][..., 2:], x[0][..., :-2])
    assert np.array_equal(y[0], y[1])
    assert not np.array_equal(y[0], y[2])


def test_every_padded_example_has_a_variant_with_negative_inputs(catalogue):
    padded = [
        case
        for case in catalogue.cases
        if case.operator == "max_pool"
        and case.id.startswith("max_pool/book-")
        and any(map(any, case.parameters["padding"]))
    ]
    positive = [case for case in padded if not case.id.endswith("-negative")]
    assert positive
    for case in positive:
        twin = catalogue.by_id[f"{case.id}-negative"]
        assert (twin.parameters, twin.via, twin.shape) == (case.parameters, case.via, case.shape)
        assert twin.inputs["x"].make().max() < 0


def test_channel_counts_of_max_pooling_from_relu_layers():
    assert relu_maximum_channels((2,)) == [3, 1]
    assert relu_maximum_channels((2, 2)) == [6, 3, 1]
    assert relu_maximum_channels((3, 3)) == [14, 8, 5, 3, 1]


def test_all_book_cases_have_level_smoke(catalogue):
    assert all(case.level == "smoke" for case in catalogue.cases if "/book-" in case.id)


@pytest.mark.parametrize("framework", ["torch", "tensorflow", "jax", "mxnet"])
def test_book_loops_reject_outputs_that_would_take_too_long(framework, made):
    """A program that takes minutes would be reported as timed out, so the number of output elements is limited."""
    (surface,) = (one for one in registry.get_backend(framework).surfaces if one.name.endswith(".book"))
    text = "x: {{values: integers, shape: [1, 1, 2, {}]}}, window: [2, 2]"
    width = d2l.MAX_OUTPUT_CELLS + 1
    assert not isinstance(translate(made("max_pool", f"{text.format(width)}, stride: [1, 1]"), surface), Unsupported)
    assert "1,000" in translate(made("max_pool", f"{text.format(width + 1)}, stride: [1, 1]"), surface).reason
