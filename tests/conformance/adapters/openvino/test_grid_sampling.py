"""The module `grid_sampling` of OpenVINO."""

from tests.conformance.adapters.openvino.programs import lines, program

GRID = {"grid": {"values": "integers"}}
PLANE = {"x": {"values": "integers", "shape": [1, 2, 4, 4]}, **GRID, "output_size": [2, 3]}
VOLUME = {"x": {"values": "integers", "shape": [1, 2, 4, 4, 4]}, **GRID, "output_size": [2, 3, 1]}


def test_defaults_are_not_written():
    assert lines("grid_sample", **PLANE, mode="linear")[-1] == "x = ops.grid_sample(x, grid, {})"


def test_other_attributes_are_a_dictionary():
    call = lines("grid_sample", **PLANE, mode="cubic", padding_mode="border", align_corners=True)[-1]
    assert call == (
        "x = ops.grid_sample(x, grid, {'mode': 'bicubic', 'padding_mode': 'border', 'align_corners': True})"
    )


def test_volumes_are_not_sampled():
    assert "two spatial axes" in program("grid_sample", **VOLUME, mode="linear").reason
