"""The module `quantized_pooling` of the adapter for LiteRT."""

import pytest

from conformance.adapters.api import Unsupported
from conformance.adapters.litert.quantized_pooling import avg_pool
from conformance.cases.steps import Step


def step(rank=2, **parameters):
    given = {
        "window": (2,) * rank, "stride": (1,) * rank, "padding": ((0, 0),) * rank, "dilation": (1,) * rank,
        "rounding": "floor", "count_include_pad": False, "divisor": None, "x_zero_point": 3,
        "round_mode": "half_away", "formula": "quotient_plus_zero_point",
    }  # fmt: skip
    return Step("quantized_avg_pool", (1, 2, *(5,) * rank), "int8", {**given, **parameters})


def test_x_and_the_average_have_the_same_zero_point():
    first, average, last = avg_pool(step())
    assert first == last == "graph.quantize(x, 1, 3)"
    assert average.startswith('x = graph.node("AVERAGE_POOL_2D", [x]')


def test_a_row_is_a_plane_whose_tensors_have_the_same_zero_point():
    code = avg_pool(step(rank=1))
    assert code.count("graph.quantize(x, 1, 3)") == 4
    assert [line.split('"')[1] for line in code if "node" in line] == ["EXPAND_DIMS", "AVERAGE_POOL_2D", "SQUEEZE"]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"round_mode": "half_even"}, "AVERAGE_POOL_2D has the rounding rule half_away"),
        ({"formula": "quotient"}, "AVERAGE_POOL_2D computes the formula quotient_plus_zero_point"),
        ({"divisor": 3}, "average pooling has no divisor"),
        ({"rank": 3}, "pooling has two spatial axes"),
    ],
)
def test_averages_have_limits(changed, reason):
    code = avg_pool(step(**changed))
    assert isinstance(code, Unsupported)
    assert reason in code.reason
