"""Tests of reference.reference.arguments."""

import numpy as np
import pytest

from reference import Windows
from reference.arguments import check_plane_size


def test_arrays_list_their_entries_and_arrays_without_axes_are_numbers():
    assert Windows.of((4, 5), np.array([1, 2])).window == (1, 2)
    assert Windows.of((4, 5), np.array(2)).window == (2, 2)
    with pytest.raises(ValueError, match=r"window array\(\[2\]\) has 1 entries: expected 2"):
        Windows.of((4, 5), np.array([2]))


def test_the_greatest_number_is_accepted():
    assert Windows.of((1,), 1, 2**31 - 1).stride == (2**31 - 1,)


def test_a_plane_of_the_greatest_size_is_affordable_and_no_other_beyond():
    check_plane_size("size", (2**14, 2**14))
    with pytest.raises(ValueError, match="268435457 elements a plane: at most 268435456"):
        check_plane_size("size", (2**28 + 1,))


@pytest.mark.parametrize("entry", [(), (1,), (1, 2, 3)])
def test_a_pair_has_two_ends(entry):
    with pytest.raises(ValueError, match="must be a number or a pair"):
        Windows.of((4, 5), 1, padding=[entry, 0])
