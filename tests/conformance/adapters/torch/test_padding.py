"""The module `padding` of PyTorch."""

import pytest

from tests.conformance.adapters.torch.programs import PLANE, lines


def test_symmetric_padding_indexes_the_cells(tmp_path):
    body, how = lines(tmp_path, "pad", f"{PLANE}, pads: [[2, 0], [0, -1]], mode: symmetric")
    assert (body, how) == (
        ["x = x[:, :, [min(i % 10, 9 - i % 10) for i in range(-2, 5)]]", "x = x[:, :, :, list(range(0, 4))]"],
        "composed",
    )


@pytest.mark.parametrize(("mode", "within"), [("reflect", 4), ("wrap", 5)])
def test_padding_beyond_the_limit_of_pytorch_indexes_the_cells(tmp_path, mode, within):
    text = f"x: {{values: integers, shape: [1, 1, 5]}}, mode: {mode}, pads"
    assert lines(tmp_path, "pad", f"{text}: [[0, {within}]]")[1] == "native"
    assert lines(tmp_path, "pad", f"{text}: [[0, {within + 1}]]")[1] == "composed"
