"""Apache MXNet: what `mxnet.nd` says in its own way. Its operators are those of mxnet.npx; its padding is another.

The arrays of the older kind work beside the newer in one process. `npx.set_np()` changes one thing for them: an extent
of 0 stands for "unknown" without it, and works by chance with it. So nothing here is asked about empty arrays.
"""

from __future__ import annotations

from conformance.adapters.api.source_text import call, number, padded_indices_text, quoted, slices, text_unless_default
from conformance.adapters.api.surface import Code, Lowering, Unsupported
from conformance.adapters.mxnet.calls import FLOATING, ArrayApi
from conformance.adapters.mxnet.padding import CONSTANT_MODE, full_array
from conformance.cases.steps import Step

ROW_RANK, PLANE_RANK, VOLUME_RANK = 1, 2, 3
NO_EMPTY_ARRAYS = Unsupported(
    '"`0` shapes are unsupported in the `mxnet.nd` interface"', "https://github.com/apache/mxnet/issues/19684"
)


def nonempty_arrays_only(lowering: Lowering) -> Lowering:
    """Return the verb, for arrays that are not empty."""
    return lambda step: NO_EMPTY_ARRAYS if 0 in step.shape else lowering(step)


def native_pad(step: Step) -> Code:
    """Return the call, or why there is none."""
    text = _pad_call(step)
    if step.rank not in {PLANE_RANK, VOLUME_RANK}:
        # Asked about a row, it would refuse for that.
        return Unsupported("mx.nd.pad is for planes and volumes")
    if step.parameters["mode"] not in {CONSTANT_MODE, "edge", "reflect"}:
        return Unsupported("mx.nd.pad has no such mode", rejected_call=text)
    if step.dtype not in FLOATING:
        return Unsupported("mx.nd.pad takes floating point numbers only", rejected_call=text)
    if any(min(pair) < 0 for pair in step.padding):
        return Unsupported("mx.nd.pad leaves the gradient of what it crops unwritten", rejected_call=text)
    if step.parameters["mode"] == "reflect" and _pads_beyond_extent(step):
        return Unsupported("mx.nd.pad reflects less than the input", rejected_call=text)
    return text


def _pads_beyond_extent(step: Step) -> bool:
    return any(max(pair) >= size for pair, size in zip(step.padding, step.shape[2:], strict=True))


def _pad_call(step: Step, operand: str = "x", axes: int = 2) -> str:
    """Return the call; `axes`: how many axes come before those that are padded."""
    mode = step.parameters["mode"]
    widths = [0, 0] * axes + [width for pair in step.padding for width in pair]
    value = text_unless_default(0, step.parameters["value"]) if mode == CONSTANT_MODE else None
    return call(
        "mx.nd.pad", operand, mode=quoted(mode), pad_width=f"({', '.join(map(number, widths))})", constant_value=value
    )


def surround(step: Step) -> Code:
    """Return explicit padding in every mode, for every dtype."""
    answer = native_pad(step)
    return gathered_pad(step) if isinstance(answer, Unsupported) else answer


def gathered_pad(step: Step) -> Code:
    """Return padding without the call: a row as a plane, else the cells by their numbers, or written into the value."""
    mode = step.parameters["mode"]
    if any(min(pair) < 0 for pair in step.padding):
        return Unsupported("padding does not crop")
    if mode != CONSTANT_MODE:
        pairs = enumerate(zip(step.padding, step.shape[2:], strict=True), 2)
        taken = ((axis, padded_indices_text(mode, size, *pair)) for axis, (pair, size) in pairs if any(pair))
        return "x" + "".join(f".take(mx.nd.array({cells}), axis={axis})" for axis, cells in taken)
    if step.dtype in FLOATING:
        return f"{_pad_call(step, 'x.expand_dims(2)', 3)}.squeeze(2)" if step.rank == ROW_RANK else native_pad(step)
    bounds = [f"{before}:{before + size}" for (before, _), size in zip(step.padding, step.shape[2:], strict=True)]
    written = (f"y = {full_array(step, 'mx.nd')}", f"y{slices(bounds, channels_last=False)} = x", "x = y")
    # A slice of truth values cannot be written.
    return ('x = x.astype("uint8")', *written, 'x = x.astype("bool")') if step.dtype == "bool" else written


ND_API = ArrayApi(
    "mx.nd", "mx.nd", "mx.nd.Pooling", "mx.nd.Convolution", "mx.nd.Deconvolution", surround, elementwise="*"
)
