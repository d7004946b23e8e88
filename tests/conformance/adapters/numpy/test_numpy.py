"""The adapter of the built-in backend: surfaces, and source text that runs around programs."""

import inspect

import ml_dtypes
import numpy as np

from conformance.adapters import numpy as adapter
from conformance.adapters.api import Unsupported
from conformance.adapters.numpy import padding_convolution, pooling
from conformance.cases.operators import OPERATORS
from conformance.translation.lowering import translate
from tests.conformance.adapters.numpy.programs import LOOPS, row, run


def test_every_operator_and_every_gradient_has_a_lowering():
    assert set(OPERATORS) <= LOOPS.lowerings.keys()


def test_adapter_does_not_import_the_reference():
    for module in (adapter, pooling, padding_convolution):
        text = inspect.getsource(module)
        assert "import reference" not in text
        assert "from reference" not in text
    assert LOOPS.dtypes["max_pool"] >= adapter.FLOATING


def test_bfloat16_inputs_are_16_bit_words():
    x = {"values": [[[1, 2]]], "dtype": "bfloat16"}
    got = run("max_pool", row(1, 2, dtype=ml_dtypes.bfloat16).view(np.uint16), x=x, window=2)
    assert got.dtype == ml_dtypes.bfloat16
    assert got.tolist() == [[[2]]]


def test_cases_that_must_be_rejected_are_unsupported(catalogue):
    unsupported = translate(catalogue.by_id["max_unpool/rejects/index-below-minus-one"], LOOPS)
    assert isinstance(unsupported, Unsupported)
    assert "does not check its arguments" in unsupported.reason
