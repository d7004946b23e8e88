"""The module `windows` of PyTorch."""

import pytest

from conformance.translation.lowering import translate
from tests.conformance.adapters.torch.programs import F, lines
from tests.support.fake_backends import one


@pytest.mark.parametrize(("dtype", "how"), [("int64", "native"), ("int8", "composed")])
def test_averages_of_integers_are_divided_toward_zero(tmp_path, dtype, how):
    body, found = lines(tmp_path, "avg_pool", f"x: {{values: [[[1, 2, 4]]], dtype: {dtype}}}, window: 2, stride: 1")
    assert found == how
    if how == "composed":
        quotient = 'x = torch.div(windows.sum((-1,), dtype=x.dtype), 2, rounding_mode="trunc")'
        assert body == ["windows = x.unfold(2, 2, 1)", quotient]


def test_averages_of_integers_at_the_border_divide_by_their_cells(tmp_path):
    text = "id: a, x: {values: [[[1, 2]]], dtype: int16}, window: 2, stride: 1, padding: 1"
    program = translate(one(tmp_path, text, operator="avg_pool"), F)
    assert program.text.splitlines()[2:-1] == [
        "    def total(x):",
        "        x = F.pad(x, (1, 1))",
        "        windows = x.unfold(2, 2, 1)",
        "        return windows.sum((-1,), dtype=x.dtype)",
        '    x = torch.div(total(x), total(torch.ones_like(x)), rounding_mode="trunc")',
    ]


def test_draw_selects_the_first_cell_whose_running_sum_exceeds_its_share(tmp_path):
    draws = "draws: {values: integers, low: 0, high: 3, over: 4}"
    body, how = lines(
        tmp_path, "stochastic_pool", f"x: {{values: integers, low: 0, shape: [1, 1, 4, 4]}}, {draws}, window: 2"
    )
    assert how == "composed"
    assert body == [
        "windows = x.unfold(2, 2, 2).unfold(3, 2, 2).flatten(-2)",
        "share = draws.unsqueeze(-1) * windows.sum(-1, keepdim=True)",
        "drawn = windows.cumsum(-1) > share",
        "first = drawn.to(torch.uint8).argmax(-1, keepdim=True)",
        "x = windows.gather(-1, first).squeeze(-1) * drawn.any(-1)",
    ]
