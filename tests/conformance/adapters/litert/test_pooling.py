"""The module `pooling` of LiteRT."""

from conformance.adapters.api import Unsupported
from tests.conformance.adapters.litert.programs import PLANE, ROW, VOLUME, lines, program


def test_padding_that_equals_same_is_written_as_same():
    (line,) = lines("max_pool", x=PLANE, window=3, stride=1, padding="same_upper")
    assert "padding=schema.Padding.SAME" in line


def test_other_padding_is_explicit_and_never_the_maximum():
    translated = program("max_pool", x=PLANE, window=3, stride=2, padding=1)
    assert translated.how == "padded"
    assert (
        'graph.node("PADV2", [x, np.int32([[0, 0], [1, 1], [1, 1], [0, 0]]), np.float32(-np.inf)])' in translated.text
    )


def test_one_axis_is_a_plane_of_one_row():
    assert program("avg_pool", x=ROW, window=2, stride=2).how == "native"
    assert lines("avg_pool", x=ROW, window=2, stride=2) == [
        'x = graph.node("EXPAND_DIMS", [x, np.int32(1)])',
        'x = graph.node("AVERAGE_POOL_2D", [x], schema.Pool2DOptionsT(padding=schema.Padding.VALID, strideH=1, '
        "strideW=2, filterHeight=1, filterWidth=2))",
        'x = graph.node("SQUEEZE", [x], schema.SqueezeOptionsT([1]))',
    ]


def test_three_axes_are_pooled_over_planes_and_then_over_the_first_axis():
    pooled = lines("max_pool", x=VOLUME, window=[2, 3, 1], stride=[2, 1, 1])
    assert [line.split('"')[1] for line in pooled] == ["RESHAPE", "MAX_POOL_2D", "RESHAPE", "MAX_POOL_2D", "RESHAPE"]
    assert "np.int32([4, 5, 3, 2])" in pooled[0]
    assert "np.int32([1, 4, 9, 2])" in pooled[2]
    assert "np.int32([1, 2, 3, 3, 2])" in pooled[4]


def test_average_at_the_border_is_multiplied_by_the_cells_of_a_window_per_counted_cell():
    body = lines("avg_pool", x=PLANE, window=3, stride=2, padding=1)
    assert body[0] == 'x = graph.node("PAD", [x, np.int32([[0, 0], [1, 1], [1, 1], [0, 0]])])'
    assert "ones = np.pad(np.ones((4, 5)), ((1, 1), (1, 1)))" in body
    assert "scale = 9 / np.lib.stride_tricks.sliding_window_view(ones, (3, 3))[::2, ::2].sum((-2, -1))" in body


def test_same_padding_that_is_counted_is_explicit():
    translated = program("avg_pool", x=PLANE, window=3, stride=1, padding="same_upper", count_include_pad=True)
    assert translated.how == "padded"


def test_norm_is_the_root_of_a_mean_times_the_root_of_the_number_of_cells():
    *_, pool, root = lines("lp_pool", x=PLANE, window=[2, 3], stride=2, p=2)
    assert '"L2_POOL_2D"' in pool
    assert root == 'x = graph.node("MUL", [x, np.sqrt(np.float32(6))], schema.MulOptionsT())'


def test_other_norms_and_dilated_windows_are_unsupported():
    assert "L2_POOL_2D has p = 2" in program("lp_pool", x=PLANE, window=2, stride=2, p=3).reason
    assert "pooling has no dilation" in program("max_pool", x=PLANE, window=2, stride=1, dilation=2).reason


def test_dilated_average_is_a_convolution():
    assert '"DEPTHWISE_CONV_2D"' in program("avg_pool", x=PLANE, window=2, stride=1, dilation=2).text


def test_adaptive_pooling_with_equal_bins_is_pooling():
    (line,) = lines("adaptive_max_pool", x={**PLANE, "shape": [1, 2, 4, 6]}, output_size=[2, 2])
    assert "strideH=2, strideW=3, filterHeight=2, filterWidth=3" in line


def test_averages_of_averages_are_float32():
    assert program("avg_pool", x=VOLUME, window=2, stride=2).how == "composed"
    assert isinstance(program("avg_pool", x={**VOLUME, "dtype": "int8"}, window=2, stride=2), Unsupported)


def test_integers_are_averaged_without_a_factor_only():
    short = {**PLANE, "dtype": "int8"}
    assert program("avg_pool", x=short, window=2, stride=2).how == "native"
    assert "MUL rounds" in program("avg_pool", x=short, window=3, stride=2, padding=1).reason


def test_averages_of_bins_of_other_sizes_are_joined_slices():
    (line,) = lines("adaptive_avg_pool", x={**PLANE, "shape": [1, 2, 4, 5]}, output_size=[4, 3])
    assert line.startswith('x = graph.node("CONCATENATION", [graph.node("MEAN", [graph.node("SLICE", ')
    assert "in ((0, 2), (1, 4), (3, 5))]" in line
    assert "np.int32([0, 0, i, 0]), np.int32([-1, -1, j - i, -1])" in line
    assert line.endswith("schema.ConcatenationOptionsT(axis=2))")


def test_a_plane_with_gaps_is_not_said_to_have_another_rank():
    assert program("max_pool", x=PLANE, window=2, stride=2, dilation=2).reason == "pooling has no dilation"


def test_maxima_of_bins_of_other_sizes_are_joined_slices():
    (line,) = lines("adaptive_max_pool", x={**PLANE, "shape": [1, 2, 4, 5]}, output_size=[4, 3])
    assert line.startswith('x = graph.node("CONCATENATION", [graph.node("REDUCE_MAX", [graph.node("SLICE", ')
    assert "in ((0, 2), (1, 4), (3, 5))]" in line


def test_adaptive_average_with_a_bin_for_every_cell_is_the_input():
    assert lines("adaptive_avg_pool", x={**PLANE, "shape": [1, 2, 4, 5]}, output_size=[4, 5]) == ["x = x"]
