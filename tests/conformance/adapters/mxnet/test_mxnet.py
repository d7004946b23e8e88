"""The adapter of MXNet: surfaces, and source text that runs around programs."""

import pytest

from conformance.adapters.api.transposed import OutputCrop
from conformance.translation.lowering import translate
from tests.conformance.adapters.mxnet.programs import BOOK


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (0, 0, OutputCrop(0, 0, 0, 0)),
        (1, 1, OutputCrop(1, 0, 0, 0)),
        (1, 0, OutputCrop(1, 1, 0, 0)),
        (0, -1, OutputCrop(0, 1, 0, 0)),
        (0, 1, OutputCrop(0, 0, 0, 1)),
        (3, 1, OutputCrop(1, 0, 2, 0)),
        (0, -2, OutputCrop(0, 2, 0, 0)),
    ],
)
def test_output_of_a_transposed_convolution_is_cropped_by_the_call_or_a_slice(before, after, expected):
    crop = OutputCrop.split(before, after, limit=2)
    assert crop == expected
    assert crop.padding + crop.slice_before == before
    assert crop.padding + crop.slice_after - crop.output_padding == after


def test_book_surface_uses_the_loop_of_the_book(catalogue):
    assert "mnp.zeros" in translate(catalogue.by_id["avg_pool/book-loops"], BOOK).text
