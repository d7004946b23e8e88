"""The adapter of MXNet: surfaces, and source text that runs around programs."""

from conformance.translation.lowering import translate
from tests.conformance.adapters.mxnet.programs import BOOK


def test_book_surface_uses_the_loop_of_the_book(catalogue):
    assert "mnp.zeros" in translate(catalogue.by_id["avg_pool/book-loops"], BOOK).text
