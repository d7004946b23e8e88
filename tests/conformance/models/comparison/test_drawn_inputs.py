import numpy as np
import pytest

from conformance.models.comparison.drawn_inputs import KINDS, drawn_input


@pytest.mark.parametrize("kind", KINDS)
def test_inputs_are_drawn_by_seed(kind):
    first = drawn_input(kind, (2, 3, 4), 1)
    assert first.dtype == np.float32
    assert first.shape == (2, 3, 4)
    assert np.array_equal(first, drawn_input(kind, (2, 3, 4), 1))
    assert not np.array_equal(first, drawn_input(kind, (2, 3, 4), 2))


def test_kinds_have_their_property():
    shape = (1, 2, 50)
    whole = drawn_input("integers", shape, 0)
    assert (whole == np.round(whole)).all()
    assert len(np.unique(whole)) == 9
    assert (drawn_input("negative", shape, 0) <= -1).all()
    assert np.abs(drawn_input("large", shape, 0)).max() > 500 * np.abs(drawn_input("normal", shape, 0)).mean()
