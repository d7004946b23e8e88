"""The module `padding` of LiteRT."""

from tests.conformance.adapters.litert.programs import ROW, lines, program

SHORT = {**ROW, "shape": [1, 1, 3]}


def test_zeros_are_padded_with_pad_and_other_values_with_padv2():
    pads = "np.int32([[0, 0], [1, 2], [0, 0]])"
    assert lines("pad", x=ROW, pads=[[1, 2]]) == [f'x = graph.node("PAD", [x, {pads}])']
    assert lines("pad", x=ROW, pads=[[1, 2]], value=3) == [f'x = graph.node("PADV2", [x, {pads}, np.float32(3)])']


def test_mirrored_padding_has_two_modes():
    (line,) = lines("pad", x=ROW, pads=[[1, 2]], mode="symmetric")
    assert line.endswith("schema.MirrorPadOptionsT(schema.MirrorPadMode.SYMMETRIC))")


def test_other_modes_gather_by_index():
    assert lines("pad", x=SHORT, pads=[[1, 1]], mode="wrap") == [
        'x = graph.node("GATHER", [x, np.int32([i % 3 for i in range(-1, 4)])], schema.GatherOptionsT(1))'
    ]


def test_pads_that_repeat_the_input_more_than_once_gather_by_index():
    assert program("pad", x=SHORT, pads=[[3, 0]], mode="reflect").how == "composed"


def test_negative_pads_are_a_slice():
    assert lines("pad", x=ROW, pads=[[-1, 0]]) == [
        'x = graph.node("SLICE", [x, np.int32([0, 1, 0]), np.int32([-1, 5, -1])])'
    ]
