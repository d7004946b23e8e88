"""The module `normalization` of the adapter for ncnn."""

from conformance.adapters.api.normalization.recipes import EVEN_IS_BEFORE
from conformance.adapters.ncnn.normalization import NO_RANK, fallback, lrn
from conformance.cases.steps import Step

NUMBERS = {"alpha": 2, "beta": 0.75, "k": 1, "alpha_over_size": True, "extra_channel": "before"}


def step(shape=(1, 5, 2, 3), size=3, **parameters):
    return Step("lrn", shape, "float32", {"local_size": size, **NUMBERS, **parameters})


def test_numbers_are_written_with_a_point():
    assert lrn(step()) == 'compute(network("LRN", "1=3 2=2.0 3=0.75 4=1.0"), x)'


def test_alpha_that_is_not_divided_is_multiplied_by_the_size():
    assert "2=6.0" in lrn(step(alpha_over_size=False))


def test_numbers_that_a_convention_leaves_out_are_not_written():
    bare = Step("lrn", (1, 5, 2, 3), "float32", {"local_size": 3})
    assert lrn(bare) == 'compute(network("LRN", "1=3"), x)'


def test_an_even_window_with_its_extra_channel_after_is_one_of_flipped_channels():
    assert "1=4" in lrn(step(size=4))
    after = step(size=4, extra_channel="after")
    assert lrn(after) is EVEN_IS_BEFORE
    first, *_, last = fallback(after)
    assert first == last == "x = x[:, ::-1]"


def test_rows_and_volumes_are_planes_with_one_row():
    assert lrn(step((1, 5, 4))) is NO_RANK
    lines = fallback(step((1, 5, 2, 3, 4)))
    assert lines[0] == "x = x.reshape((1, 5, 1, 24))"
    assert lines[-1] == "x = x.reshape((1, 5, 2, 3, 4))"
