"""The module `padding` of OpenVINO."""

from tests.conformance.adapters.openvino.programs import ROW, lines, program


def test_padding_crops_and_pads_in_one_call():
    assert lines("pad", x=ROW, pads=[[-1, 2]], mode="constant", value=3) == [
        'x = ops.pad(x, [0, 0, -1], [0, 0, 2], "constant", np.float32(3))'
    ]


def test_padding_in_mode_wrap_gathers_by_index():
    assert lines("pad", x={**ROW, "shape": [1, 1, 3]}, pads=[[1, 1]], mode="wrap") == [
        "x = ops.gather(x, [i % 3 for i in range(-1, 4)], 2)"
    ]


def test_cropping_takes_the_same_dtypes_as_padding():
    assert "does not support f64" in program("pad", x={**ROW, "dtype": "float64"}, pads=[[0, -1]]).reason
