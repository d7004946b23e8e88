"""Apache MXNet: compositions that gather the elements of every window by their flat spatial index.

Slicing would also work, but MXNet takes a third of a millisecond per slice. Its reductions, selections and transposes
support at most five or six axes, so the windows of a channel are laid out along one axis.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

from conformance.adapters.api import (
    ArrayOperations,
    Code,
    GatheredCells,
    Lowering,
    PoolingCompositions,
    Unsupported,
    in_wider_dtype,
    limit_axes,
    too_many_axes,
    tuple_of,
)
from conformance.adapters.mxnet.calls import FLOATING, ArrayApi
from conformance.adapters.mxnet.padding import NP_API
from conformance.cases.operators import Rounding
from conformance.cases.steps import Step, pad_step


def compositions(api: ArrayApi) -> PoolingCompositions:
    """Return the compositions of gathered windows for one type of arrays."""
    arrays, operators = api.arrays, api.operators
    operations = ArrayOperations(
        stack=f"{arrays}.stack({api.elementwise}{{list}}{{axis}})",
        stack_axis=", axis={number}",
        softmax=f"{operators}.softmax({{x}}, axis=-1)",
        norm=f"({arrays}.abs({{x}}) ** {{p}}).sum({{axes}}) ** (1 / {{p}})",
        norms={1: f"{arrays}.abs({{x}}).sum({{axes}})", 2: f"{arrays}.sqrt(({{x}} ** 2).sum({{axes}}))"},
        add=api.add,
        # A sum of 0 is replaced by infinity, so that all quotients and gradients are 0.
        share=f"""\
total = {arrays}.where(total == 0, {arrays}.full(total.shape, np.inf, dtype=total.dtype), total)
{{x}} / total""",
        draws="draws.reshape({planes}, 1)",
        # cumsum has no gradient with axis=-1.
        drawn=f"""\
drawn = {arrays}.cumsum(windows, axis=3) > share
first = drawn.astype("int32").argmax(-1)
{operators}.pick(windows, first, axis=-1) * drawn.max(-1)""",
        pick=f'{operators}.pick({arrays}.array({{x}}, dtype="int64"), windows.argmax(-1), axis=-1)',
    )
    gather = f"{{x}}.reshape({{planes}}).take({arrays}.array(cells), axis=2)"
    return PoolingCompositions(operations, GatheredCells(gather, flat=True), api.pad)


# Every call rounds its result to float16.
in_float32 = partial(in_wider_dtype, 'x.astype("{}")'.format, {"float16": "float32"})


def explicit_padding(step: Step) -> Step:
    """Return the explicit padding step that replaces the padding of a pooling step."""
    return pad_step(step, step.padding_to_last_window, 0)


def max_pool(step: Step, api: ArrayApi = NP_API) -> Code:
    """Return the maximum of each window of a step without padding; a rewrite adds explicit padding."""
    if step.padded or step.parameters["rounding"] != Rounding.FLOOR:
        return Unsupported("gathering elements by index does not pad")
    return compositions(api).extreme_pool("max", -math.inf, step)


def lp_pool(step: Step, api: ArrayApi = NP_API) -> Code:
    """Return the norm of each window."""
    return in_float32(compositions(api).lp_pool, step)


def max_unpool(step: Step, api: ArrayApi = NP_API) -> Code:
    """Return zeros with each value written at its flat index, channel by channel."""
    planes, cells = math.prod(step.shape[:2]), math.prod(step.shape[2:])
    shape = tuple_of((planes, math.prod(step.parameters["output_size"])))
    return (
        f'planes = {api.arrays}.arange({planes}, dtype="int64").repeat({cells})',
        f"places = {api.arrays}.stack({api.elementwise}[planes, indices.reshape(-1)]){api.to_framework}",
        f"x = mx.nd.scatter_nd(x.reshape(-1){api.to_framework}, places, shape={shape}){api.to_numpy}",
        f"x = x.reshape{tuple_of(step.output)}",
    )


def adaptive_avg_pool_2d(step: Step, api: ArrayApi = NP_API) -> Code:
    """Return the adaptive pooling call of MXNet, which takes 2-D data in mxnet.nd arrays only."""
    size = tuple_of(step.parameters["output_size"])
    text = f"mx.nd.contrib.AdaptiveAvgPooling2D(x{api.to_framework}, output_size={size}){api.to_numpy}"
    supported = step.rank == 2 and step.dtype in FLOATING  # noqa: PLR2004
    # No rejected call: other ranks and dtypes would fail for that reason.
    return text if supported else Unsupported("adaptive average pooling takes 2-D floating point data only")


def exact_adaptive_avg_pool_2d(step: Step) -> Code:
    """Return the mean of each bin; by the native call except for float16, which it does not add in float32."""
    native = None if step.dtype == "float16" else adaptive_avg_pool_2d(step)
    if isinstance(native, str):
        return native
    return too_many_axes(step) or compositions(NP_API).adaptive_pool_at_once("mean", step)


def channel_maximum(step: Step) -> Code:
    """Return the maximum of each channel, for dtypes that pooling does not take."""
    return compositions(NP_API).global_pool("max", step)


def fallbacks(api: ArrayApi) -> Mapping[str, Lowering]:
    """Return the compositions for one type of arrays."""
    composed = compositions(api)
    return {
        "max_pool": partial(max_pool, api=api),
        "min_pool": composed.integer_min_pool,
        "softmax_pool": partial(in_float32, composed.softmax_pool),
        "max_pool_with_indices": composed.max_pool_with_indices,
        "max_unpool": partial(max_unpool, api=api),
        # MXNet slices arrays of at most five axes, with batch and channels.
        **limit_axes(
            {
                "adaptive_max_pool": partial(composed.adaptive_pool_by_axis, "max"),
                "adaptive_avg_pool": partial(composed.adaptive_pool_at_once, "mean"),
            }
        ),
        "stochastic_pool_probabilities": composed.stochastic_pool_probabilities,
        "stochastic_pool": composed.stochastic_pool,
    }
