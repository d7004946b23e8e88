"""Apache MXNet: what `mxnet.nd` says in its own way. Its operators are those of mxnet.npx; its padding is another.

The arrays of the older kind work beside the newer in one process. `npx.set_np()` changes one thing for them: an extent
of 0 stands for "unknown" without it, and works by chance with it. So nothing here is asked about empty arrays.
"""

from __future__ import annotations

from conformance.adapters.api.source_text import call, number, padded_cells, quoted, slices, unless
from conformance.adapters.api.surface import Code, Unsupported, Verb
from conformance.adapters.mxnet.calls import FLOATING, Api
from conformance.adapters.mxnet.padding import CONSTANT, filled
from conformance.cases.steps import Step

ROW, PLANE, VOLUME = 1, 2, 3
EMPTY = Unsupported(
    '"`0` shapes are unsupported in the `mxnet.nd` interface"', "https://github.com/apache/mxnet/issues/19684"
)


def filled_arrays_only(verb: Verb) -> Verb:
    """Return the verb, for arrays that are not empty."""
    return lambda step: EMPTY if 0 in step.shape else verb(step)


def pad(step: Step) -> Code:
    """Return the call, or why there is none."""
    text = _call(step)
    if step.rank not in {PLANE, VOLUME}:
        # Asked about a row, it would refuse for that.
        return Unsupported("mx.nd.pad is for planes and volumes")
    if step.parameters["mode"] not in {CONSTANT, "edge", "reflect"}:
        return Unsupported("mx.nd.pad has no such mode", refused=text)
    if step.dtype not in FLOATING:
        return Unsupported("mx.nd.pad takes floating point numbers only", refused=text)
    if any(min(pair) < 0 for pair in step.padding):
        return Unsupported("mx.nd.pad leaves the gradient of what it crops unwritten", refused=text)
    if step.parameters["mode"] == "reflect" and _far(step):
        return Unsupported("mx.nd.pad reflects less than the input", refused=text)
    return text


def _far(step: Step) -> bool:
    return any(max(pair) >= size for pair, size in zip(step.padding, step.shape[2:], strict=True))


def _call(step: Step, operand: str = "x", axes: int = 2) -> str:
    """Return the call; `axes`: how many axes come before those that are padded."""
    mode = step.parameters["mode"]
    widths = [0, 0] * axes + [width for pair in step.padding for width in pair]
    value = unless(0, step.parameters["value"]) if mode == CONSTANT else None
    return call(
        "mx.nd.pad", operand, mode=quoted(mode), pad_width=f"({', '.join(map(number, widths))})", constant_value=value
    )


def around(step: Step) -> Code:
    """Return explicit padding in every mode, for every dtype."""
    answer = pad(step)
    return gathered(step) if isinstance(answer, Unsupported) else answer


def gathered(step: Step) -> Code:
    """Return padding without the call: a row as a plane, else the cells by their numbers, or written into the value."""
    mode = step.parameters["mode"]
    if any(min(pair) < 0 for pair in step.padding):
        return Unsupported("padding does not crop")
    if mode != CONSTANT:
        pairs = enumerate(zip(step.padding, step.shape[2:], strict=True), 2)
        taken = ((axis, padded_cells(mode, size, *pair)) for axis, (pair, size) in pairs if any(pair))
        return "x" + "".join(f".take(mx.nd.array({cells}), axis={axis})" for axis, cells in taken)
    if step.dtype in FLOATING:
        return f"{_call(step, 'x.expand_dims(2)', 3)}.squeeze(2)" if step.rank == ROW else pad(step)
    bounds = [f"{before}:{before + size}" for (before, _), size in zip(step.padding, step.shape[2:], strict=True)]
    written = (f"y = {filled(step, 'mx.nd')}", f"y{slices(bounds, channels_last=False)} = x", "x = y")
    # A slice of truth values cannot be written.
    return ('x = x.astype("uint8")', *written, 'x = x.astype("bool")') if step.dtype == "bool" else written


ND = Api("mx.nd", "mx.nd", "mx.nd.Pooling", "mx.nd.Convolution", "mx.nd.Deconvolution", around, each="*")
