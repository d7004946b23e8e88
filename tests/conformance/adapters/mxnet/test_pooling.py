"""The module `pooling` of MXNet."""

import pytest

from conformance.translation.lowering import translate
from tests.conformance.adapters.mxnet.programs import GLUON, NPX, ROW, body


@pytest.mark.parametrize(("p", "inputs"), [(1, "mnp.abs(x)"), (2, "x"), (3, "mnp.abs(x)")])
def test_odd_powers_take_absolute_values(made, p, inputs):
    program = translate(made("lp_pool", f"{ROW}, window: [3], p: {p}"), NPX)
    assert program.how == ("native" if p % 2 == 0 else "composed")
    assert body(program) == [f'x = npx.pooling({inputs}, kernel=(3,), stride=(3,), pool_type="lp", p_value={p})']


@pytest.mark.parametrize(
    ("more", "how", "text"),
    [
        ("window: 2, rounding: full", "native", 'npx.pooling(x, kernel=(2,), stride=(2,), pooling_convention="full")'),
        # The convention `full` also keeps a last window that starts in the padding, which `ceil` drops.
        ("window: 2, rounding: ceil", "native", 'npx.pooling(x, kernel=(2,), stride=(2,), pooling_convention="full")'),
    ],
)
def test_rounding_up_is_the_convention_full(made, more, how, text):
    program = translate(made("max_pool", f"{ROW}, {more}"), NPX)
    assert (program.how, body(program)) == (how, [f"x = {text}"])


def test_padding_as_large_as_the_window_is_explicit(made):
    program = translate(made("max_pool", f"{ROW}, window: 2, stride: 1, padding: [[2, 2]]"), NPX)
    assert program.how == "padded"
    assert body(program)[-1] == "x = npx.pooling(x, kernel=(2,), stride=(1,))"


def test_layer_leaves_out_a_stride_equal_to_the_window(made):
    assert body(translate(made("avg_pool", f"{ROW}, window: 3"), GLUON)) == ["x = nn.AvgPool1D(3)(x)"]
