"""Tests of reference.arithmetic.certainty."""

import numpy as np
import pytest

import reference
from reference.arithmetic.certainty import without_certainty_check


@pytest.mark.parametrize("name", ["stochastic_pool_probabilities", "lp_pool"])
def test_unchecked_probabilities_and_norms_are_close_to_the_certain_ones(name):
    x = np.random.default_rng(0).uniform(1, 2, (1, 1, 6)).astype(np.float32)
    with without_certainty_check():
        rough = reference.OPERATORS[name](x, 3)
        assert rough.high.dtype == np.float64
        assert not rough.low.any()
        assert not rough.magnitude.any()
    certain = reference.OPERATORS[name](x, 3)
    np.testing.assert_allclose(rough.value, certain.value, rtol=1e-6)
    np.testing.assert_allclose(rough.high, certain.high, rtol=1e-12)
