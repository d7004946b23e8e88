"""Pooling in StableHLO: reductions of windows, and of all spatial axes."""

import numpy as np
from channels_last import GLOBAL_OPERATORS, LEAST_RANK, Problem

from .nodes import Node, integers, pad_pairs, type_of

COMBINING = {"stablehlo.maximum": "max", "stablehlo.minimum": "min", "stablehlo.add": "sum"}


def combining(operation):
    """Return how a reduction combines two values: max, min or sum. Raises Problem for another function."""
    if len(operation.operands) != 2:
        raise Problem("a reduction of several arrays at once is not read")
    body = [one.operation for one in operation.regions[0].blocks[0].operations]
    if len(body) != 2 or body[0].name not in COMBINING or body[1].name != "stablehlo.return":
        raise Problem("a reduction with a function other than maximum, minimum and sum is not read")
    return COMBINING[body[0].name]


def check_start(kind, node):
    """Raise Problem if a reduction does not start with the value that changes nothing."""
    number = node.number(1)
    _shape, dtype = type_of(node.operation.operands[0])
    least = float("-inf") if dtype.startswith(("float", "bfloat")) else None
    wanted = {"sum": 0.0, "max": least, "min": None if least is None else float("inf")}[kind]
    if wanted is not None and number != wanted:
        raise Problem(f"the reduction starts with {number}, not with {wanted}")


def divisor_of(node):
    """Return what the result of a sum is divided by: a number, the node that counts, or None."""
    users = list(node.operation.results[0].uses)
    if len(users) != 1 or users[0].owner.operation.name != "stablehlo.divide" or users[0].operand_number != 0:
        return None
    division = Node(users[0].owner.operation, node.arguments)
    number = division.number(1)
    if number is not None:
        return number
    maker = division.operand(1)
    maker = maker and maker.passed()
    return maker if maker is not None and maker.operation.name == "stablehlo.reduce_window" else None


WINDOW_ATTRIBUTES = ("window_dimensions", "window_strides", "window_dilations", "base_dilations", "padding")


def read_window(node, is_first, model):
    """Add pooling: a reduction of windows by maximum, minimum or sum, which a division turns into an average."""
    operation = node.operation
    shape, dtype = type_of(operation.operands[0])
    kind, rank = combining(operation), len(shape)
    window = integers(operation, "window_dimensions", [])
    stride, dilation = (
        integers(operation, "window_strides", [1] * rank),
        integers(operation, "window_dilations", [1] * rank),
    )
    pads = pad_pairs(operation, rank)
    if kind == "sum" and node.number(0) == 1:
        return  # it counts the cells of the windows
    if rank < LEAST_RANK:
        model.add_other("reduce_window of a vector or a matrix")
        return
    if max(integers(operation, "base_dilations", [1])) != 1:
        raise Problem("a reduction of an input with gaps is not read")
    check_start(kind, node)
    free = [window[axis] == 1 and stride[axis] == 1 and pads[axis] == [0, 0] for axis in range(rank)]
    channels = 1 if free[1] and (is_first or not free[-1]) else rank - 1
    if not free[0] or not free[channels]:
        raise Problem("its windows reach across the batch or the channels")
    axes = [axis for axis in range(1, rank) if axis != channels]
    window, stride, dilation, pads = ([one[axis] for axis in axes] for one in (window, stride, dilation, pads))
    parameters = {"window": window, "stride": stride, "padding": pads, "dilation": dilation}
    fields = {"shape": [shape[0], shape[channels], *(shape[axis] for axis in axes)], "dtype": dtype}
    if kind == "sum":
        parameters.update(average_parameters(node, window, pads))
    operator = {"max": "max_pool", "min": "min_pool", "sum": "avg_pool"}[kind]
    model.add(node.name, operator, parameters, source="reduce_window", **fields)


def average_parameters(node, window, pads):
    """Return how the average of a sum is computed; a sum that is not divided has the divisor 1."""
    divisor, cells = divisor_of(node), int(np.prod(window))
    if isinstance(divisor, float):
        if divisor == cells:
            return {"count_include_pad": any(map(any, pads))}
        return {"count_include_pad": True, "divisor": int(divisor)} if is_divisor(divisor) else {"divisor": 1}
    if divisor is not None and counts_windows_of(divisor, node.operation):
        return {"count_include_pad": False}
    return {"count_include_pad": True, "divisor": 1}


def is_divisor(number):
    """Whether a number can be the divisor of an average."""
    return number.is_integer() and number >= 1


def counts_windows_of(divisor, operation):
    """Whether an operation counts the cells in the windows of another one."""
    same = all(
        str(divisor.operation.attributes[one] if one in divisor.operation.attributes else "")
        == str(operation.attributes[one] if one in operation.attributes else "")
        for one in WINDOW_ATTRIBUTES
    )
    return same and divisor.number(0) == 1


def read_reduction(node, is_first, model):
    """Add the mean or maximum of all spatial axes. Others are counted."""
    operation = node.operation
    try:
        shape, dtype = type_of(operation.operands[0])
        kind, axes = combining(operation), integers(operation, "dimensions", [])
    except Problem:
        model.add_other("reduce")
        return
    rank = len(shape)
    spatial = list(range(2, rank)) if is_first else list(range(1, rank - 1))
    operator = {"max": GLOBAL_OPERATORS["max"]}.get(kind)
    if kind == "sum" and divisor_of(node) == float(np.prod([shape[axis] for axis in axes])):
        operator = GLOBAL_OPERATORS["mean"]
    if rank < LEAST_RANK or sorted(axes) != spatial or operator is None:
        model.add_other("reduce")
        return
    channels = 1 if is_first else rank - 1
    fields = {"shape": [shape[0], shape[channels], *(shape[axis] for axis in spatial)], "dtype": dtype}
    model.add(node.name, operator, {}, source="reduce", **fields)
