"""LiteRT: averages of int8 and uint8. All sets of kernels divide whole numbers and round half away from zero."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported
from conformance.adapters.api.quantization.formulas import unsupported_quantization
from conformance.adapters.litert.options import EXPAND_LINE, SQUEEZE_LINE, as_plane
from conformance.adapters.litert.pooling import avg_pool as plane_avg_pool
from conformance.cases.operators import Formula, RoundMode


def avg_pool(step: Step) -> Code:
    """Return AVERAGE_POOL_2D with one scale and one zero point for x and the result."""
    unsupported = unsupported_quantization(
        step, Formula.QUOTIENT_PLUS_ZERO_POINT, "AVERAGE_POOL_2D", RoundMode.HALF_AWAY
    )
    is_row = step.rank == 1
    code = unsupported or plane_avg_pool(as_plane(step) if is_row else step)
    if isinstance(code, Unsupported):
        return code
    quantize = f"graph.quantize(x, 1, {step.parameters['x_zero_point']})"
    # Both lines around the operator change no value, so the program counts as one call.
    return (
        quantize,
        *(EXPAND_LINE, quantize) * is_row,
        f"x = {code}",
        quantize,
        *(SQUEEZE_LINE, quantize) * is_row,
    )
