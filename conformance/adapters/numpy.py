"""The built-in backend: plain loops over the cells of each window, for a suite without any framework.

It shares nothing with the reference but the geometry's output size, and changes nothing: every parameter is native.
"""

from __future__ import annotations

from functools import partial

from conformance.adapter import Code, Surface, Unsupported, Verb
from conformance.code import crop as crop_text
from conformance.code import number, tuple_of
from conformance.operators import OPERATORS
from conformance.steps import Step
from conformance.values import DTYPES as ALL_DTYPES

PACKAGES = ("numpy",)
THREADS = ""
SETUP = "import numpy as np\n"
RESET = ""
FLOATING = frozenset({"float16", "float32", "float64"})
WHOLE = frozenset(name for name, dtype in ALL_DTYPES.items() if dtype.kind in "iu")


def _walk(step: Step, *, within: str = "0 <= a < n") -> list[str]:
    """Return lines that gather in `cells` what one window holds, real cells only."""
    before = tuple(pair[0] for pair in step.padding)
    stride = step.stride or step.window
    return [
        f"    start = [p * s - b for p, s, b in zip(position, {tuple_of(stride)}, {tuple_of(before)})]",
        "    cells = []",
        f"    for offset in np.ndindex{tuple_of(step.window)}:",
        f"        at = [a + o * d for a, o, d in zip(start, offset, {tuple_of(step.dilation)})]",
        f"        if all({within} for a, n in zip(at, x.shape[2:])):",
    ]


def _pool(step: Step, *lines: str) -> tuple[str, ...]:
    return (
        f"y = np.empty({tuple_of(step.output)}, x.dtype)",
        "for n, c, *position in np.ndindex(y.shape):",
        *_walk(step),
        "            cells.append(x[(n, c, *at)])",
        *(f"    {line}" for line in lines),
        "x = y",
    )


def _extreme(step: Step) -> Code:
    """Largest or least value; `initial` is what a window without cells gives."""
    floating = step.dtype in FLOATING
    name, sign, bound = ("max", "-", "min") if step.verb == "max_pool" else ("min", "", "max")
    initial = f"{sign}np.inf" if floating else f"np.iinfo(x.dtype).{bound}"
    return _pool(step, f"y[(n, c, *position)] = np.{name}(cells, initial={initial})")


def _average(step: Step) -> Code:
    parameters = step.parameters
    if parameters["divisor"] is not None:
        divisor = [f"divisor = {number(parameters['divisor'])}"]
    elif parameters["count_include_pad"]:
        ends = [pair[1] for pair in step.padding]
        divisor = [
            f"ends = [n + e for n, e in zip(x.shape[2:], {tuple_of(ends)})]",
            f"spans = zip(start, ends, {tuple_of(step.window)}, {tuple_of(step.dilation)})",
            "divisor = np.prod([sum(a + o * d < e for o in range(w)) for a, e, w, d in spans])",
        ]
    else:
        divisor = ["divisor = len(cells)"]
    return _pool(step, *divisor, "y[(n, c, *position)] = np.sum(cells, dtype=x.dtype) / x.dtype.type(divisor)")


def _softmax(step: Step) -> Code:
    return _pool(
        step,
        "cells = np.array(cells, np.promote_types(x.dtype, np.float32))",
        "weights = np.exp(cells - np.max(cells))",
        "y[(n, c, *position)] = np.sum(cells * weights) / np.sum(weights)",
    )


def _conv(step: Step) -> Code:
    inner = [f"    {line}" for line in _walk(step)[2:]]
    return (
        f"y = np.zeros({tuple_of(step.output)}, x.dtype)",
        f"share = {step.kernel[0] // step.parameters['groups']}",
        "for n, o, *position in np.ndindex(y.shape):",
        _walk(step)[0],
        "    for i in range(kernel.shape[1]):",
        "        c = o // share * kernel.shape[1] + i",
        *inner,
        "                y[(n, o, *position)] += x[(n, c, *at)] * kernel[(o, i, *offset)]",
        *[f"y += bias[(..., *{(None,) * step.rank})]"] * step.bias,
        "x = y",
    )


# Which cell a mode takes for position a of n cells.
TAKEN = {
    "edge": "min(max(a, 0), n - 1)",
    "reflect": "n - 1 - abs(n - 1 - a % max(2 * n - 2, 1))",
    "symmetric": "min(a % (2 * n), 2 * n - 1 - a % (2 * n))",
    "wrap": "a % n",
}


def _pad(step: Step) -> Code:
    mode = step.parameters["mode"]
    before = tuple_of([max(pair[0], 0) for pair in step.padding])
    crop = [f"x = {crop_text(step, channels_last=False)}"] if any(min(pair) < 0 for pair in step.padding) else []
    filled = f"np.full({tuple_of(step.output)}, {number(step.parameters['value'])}, x.dtype)"
    lines = [
        *crop,
        f"y = {filled if mode == 'constant' else f'np.empty({tuple_of(step.output)}, x.dtype)'}",
        "for n, c, *position in np.ndindex(y.shape):",
        f"    at = [p - b for p, b in zip(position, {before})]",
    ]
    if mode == "constant":
        lines += [
            "    if all(0 <= a < n for a, n in zip(at, x.shape[2:])):",
            "        y[(n, c, *position)] = x[(n, c, *at)]",
        ]
    else:
        lines += [
            f"    at = [{TAKEN[mode]} for a, n in zip(at, x.shape[2:])]",
            "    y[(n, c, *position)] = x[(n, c, *at)]",
        ]
    return (*lines, "x = y")


NO_DEFAULTS = Unsupported("plain loops have no defaults and check no parameters")


def _sound(verb: Verb, step: Step) -> Code:
    """Loops check nothing, so what has no meaning is not asked of them."""
    if OPERATORS[step.verb].defaults.keys() - step.parameters.keys():
        return NO_DEFAULTS
    try:
        sound = step.stride is not None and all(step.walk.output)
    except ValueError:
        sound = False
    if step.parameters.get("divisor") == 0:
        sound = False
    groups = step.parameters.get("groups", 1)
    if step.kernel and (step.shape[1] != step.kernel[1] * groups or step.kernel[0] % groups):
        sound = False
    return verb(step) if sound else NO_DEFAULTS


SURFACES = (
    Surface(
        "numpy.loops",
        {
            "max_pool": partial(_sound, _extreme),
            "min_pool": partial(_sound, _extreme),
            "avg_pool": partial(_sound, _average),
            "softmax_pool": partial(_sound, _softmax),
            "conv": partial(_sound, _conv),
            "pad": _pad,
            "relu": lambda _step: "np.maximum(x, 0)",
        },
        dtypes={
            "": FLOATING,
            "max_pool": FLOATING | WHOLE,
            "min_pool": FLOATING | WHOLE,
            "pad": FLOATING | WHOLE | {"bool"},
        },
    ),
)
