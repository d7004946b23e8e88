"""The module `calls` of tinygrad."""

from tests.conformance.adapters.tinygrad.programs import ROW, lines

PLANE = {"values": "integers", "shape": [1, 2, 4, 5]}


def test_padding_is_one_number_if_all_ends_are_equal():
    assert lines("max_pool", x=PLANE, window=3, stride=2, padding=1) == [
        "x = x.max_pool2d((3, 3), stride=2, padding=1)"
    ]


def test_padding_of_all_ends_starts_with_the_last_axis():
    assert lines("max_pool", x=PLANE, window=3, stride=2, padding=[[1, 0], [0, 2]]) == [
        "x = x.max_pool2d((3, 3), stride=2, padding=(0, 2, 1, 0))"
    ]


def test_one_dimension_uses_the_same_method_with_a_window_of_one_number():
    assert lines("avg_pool", x=ROW, window=2, stride=2) == ["x = x.avg_pool2d((2,))"]


def test_indices_are_converted_to_int64():
    (line,) = lines("max_pool_with_indices", x=ROW, window=2, stride=2, output="indices")
    assert line == "x = x.max_pool2d((2,), return_indices=True)[1].cast(dtypes.int64)"


def test_narrow_integers_are_summed_in_their_own_dtype():
    kernel = {"values": "integers", "shape": [2, 2, 3], "dtype": "int8"}
    assert lines("conv", x={**ROW, "dtype": "int8"}, kernel=kernel) == ["x = x.conv2d(kernel, dtype=dtypes.int8)"]


def test_transposed_convolution_accepts_asymmetric_padding():
    kernel = {"values": "integers", "shape": [2, 3, 3]}
    made = lines("conv_transpose", x=ROW, kernel=kernel, stride=2, padding=[[1, 0]], output_padding=1)
    assert made == ["x = x.conv_transpose2d(kernel, stride=2, padding=(1, 0), output_padding=1)"]
