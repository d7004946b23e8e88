"""Tests of reference.geometry.bins."""

import itertools

import numpy as np
import pytest

from reference.geometry.bins import Bins


def test_an_axis_of_bins_has_an_extent_of_at_least_0():
    assert Bins.of((0,), None).output == (0,)
    assert list(Bins.of((0,), None).cells()) == []
    with pytest.raises(ValueError, match="size -1 must be at least 0"):
        Bins.of((-1,), 1)


@pytest.mark.parametrize(("size", "number"), [(7, 3), (6, 4), (3, 5), (4, 4)])
def test_cells_of_bins_come_in_row_major_order_and_begin_each_bin_at_0(size, number):
    bins = Bins.of((size,), number)
    numbers = [k for (k,), _, _ in bins.cells()]
    assert numbers == sorted(numbers)
    for o, count in enumerate(bins.counts(False).tolist()):
        assert range(9)[bins.inside((o,))[0][0]] == range(count)


def test_bins_of_an_axis_do_not_depend_on_another():
    bins, alone = Bins.of((7, 5), (3, 3)), Bins.of((5,), 3)
    assert [bins.inside((0, o))[1][1] for o in range(3)] == [alone.inside((o,))[1][0] for o in range(3)]
    assert bins.counts(False).tolist() == np.outer(Bins.of((7,), 3).counts(False), alone.counts(False)).tolist()


@pytest.mark.parametrize(("size", "number"), [(7, 3), (6, 4), (3, 5), (12, 8)])
def test_rows_of_bins_are_the_same_bins(size, number):
    bins = Bins.of((size, 5), (number, 2))
    for start, stop in itertools.combinations(range(number + 1), 2):
        inputs, part = bins.rows(slice(start, stop))
        assert (part.size, part.output) == ((inputs.stop - inputs.start, 5), (stop - start, 2))
        assert part.counts(False).tolist() == bins.counts(False)[start:stop].tolist()
        assert inputs == slice(bins.inside((start, 0))[1][0].start, bins.inside((stop - 1, 0))[1][0].stop)
        covered = np.zeros(part.size, int)
        for position in np.ndindex(*part.output):
            own, every = part.inside(position)[1], bins.inside((start + position[0], position[1]))[1]
            assert (own[0].start + inputs.start, own[0].stop + inputs.start) == (every[0].start, every[0].stop)
            assert own[1] == every[1]
            covered[own] += 1
        assert part.coverage().tolist() == covered.tolist()
        assert part.is_identity == (part.size == part.output and size == number)
        if stop - start > 1:
            assert part.rows(slice(1, stop - start))[1] == bins.rows(slice(start + 1, stop))[1]
