"""ONNX Runtime: averages of quantized numbers by nodes of its own domain, with a scale of 1 for x and for y.

QLinearAveragePool divides by the number of cells, and adds the zero point before it rounds. If its window has all cells
of x, it multiplies by the reciprocal of their number, and adds the zero point last, like QLinearGlobalAveragePool.
"""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported, call, too_many_axes
from conformance.adapters.api.quantization.formulas import unsupported_quantization
from conformance.adapters.onnx import nodes
from conformance.adapters.onnx.quantization import AVERAGE_OPERANDS, DOMAIN, average_lines
from conformance.cases.operators import Formula

NO_DILATION = Unsupported("QLinearAveragePool has no dilation")
NO_LARGE_PADS = Unsupported('"Pad should be smaller than kernel."')


def avg_pool(step: Step, *, channels_last: bool = False) -> Code:
    """Return QLinearAveragePool, or QLinearGlobalAveragePool for a window of all cells whose stride is the window."""
    layout = {"channels_last": "1"} if channels_last else {}
    node = _limit(step) or _node(step, layout)
    return node if isinstance(node, Unsupported) else average_lines(step, node)


def _has_all_cells(step: Step) -> bool:
    return step.window == step.shape[2:] and not step.padded


def _limit(step: Step) -> Unsupported | None:
    """Return the reason if neither node computes the step."""
    if step.dilated:
        return NO_DILATION
    if nodes.padding_covers_window(step):
        return NO_LARGE_PADS
    return too_many_axes(step) or unsupported_quantization(step, formula(step), "QLinearAveragePool")


def formula(step: Step) -> Formula:
    """Return the formula of the average, which is another one for a window of all cells."""
    return Formula.RECIPROCAL if _has_all_cells(step) else Formula.QUOTIENT_PLUS_ZERO_POINT


def _node(step: Step, layout: dict[str, str]) -> str | Unsupported:
    # Both nodes average all cells. The stride has no effect then, so it selects the node.
    if _has_all_cells(step) and step.stride == step.window and step.parameters.get("divisor") is None:
        return call("QLinearGlobalAveragePool", *AVERAGE_OPERANDS, **layout, domain=DOMAIN)
    return nodes.avg_pool(step, "QLinearAveragePool", AVERAGE_OPERANDS, **layout, domain=DOMAIN)
