"""The module `padding` of tinygrad."""

from tests.conformance.adapters.tinygrad.programs import ROW, lines


def test_bool_is_padded_with_a_bool():
    assert lines("pad", x={"values": [[[1, 0]]], "dtype": "bool"}, pads=[[1, 0]], mode="constant", value=1) == [
        "x = x.pad((1, 0), value=True)"
    ]


def test_symmetric_padding_indexes_the_cells():
    assert lines("pad", x={**ROW, "shape": [1, 1, 3]}, pads=[[1, 1]], mode="symmetric") == [
        "x = x[:, :, [min(i % 6, 5 - i % 6) for i in range(-1, 4)]]"
    ]
