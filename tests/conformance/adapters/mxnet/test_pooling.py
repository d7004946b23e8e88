"""The module `pooling` of MXNet."""

import pytest

from conformance.translation.lowering import translate
from tests.conformance.adapters.mxnet.programs import NPX, ROW, body


@pytest.mark.parametrize(("p", "inputs"), [(1, "mnp.abs(x)"), (2, "x"), (3, "mnp.abs(x)")])
def test_odd_powers_take_absolute_values(made, p, inputs):
    program = translate(made("lp_pool", f"{ROW}, window: [3], p: {p}"), NPX)
    assert program.how == ("native" if p % 2 == 0 else "composed")
    assert body(program) == [f'x = npx.pooling({inputs}, kernel=(3,), stride=(3,), pool_type="lp", p_value={p})']
