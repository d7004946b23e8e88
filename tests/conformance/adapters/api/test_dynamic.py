"""Shapes of inputs whose size varies, and calls with other sizes."""

from conformance.adapters.api import InputSizes, calls_with_other_sizes

X = InputSizes((2, 3, 4, 5), ((2, 3, 6, 5), (2, 3, 7, 8)))


def test_dimensions_that_vary_are_none():
    assert X.dimensions() == (2, 3, None, None)
    assert InputSizes((2, 3, 4), ()).dimensions() == (2, 3, 4)


def test_channels_last_moves_the_channels_of_all_shapes():
    assert X.channels_last() == InputSizes((2, 4, 5, 3), ((2, 6, 5, 3), (2, 7, 8, 3)))


def test_each_call_has_arrays_of_other_sizes_and_the_other_inputs_as_they_are():
    lines = calls_with_other_sizes({"x": X}, ["x", "kernel"], "f({})", "zeros({shape}, {name}.dtype)")
    assert lines == [
        "f(zeros((2, 3, 6, 5), x.dtype), kernel)",
        "f(zeros((2, 3, 7, 8), x.dtype), kernel)",
    ]
