"""PyTorch: channels first, like the suite.

What it changes: asymmetric padding, padding of more than half a window and the output-size rule `full` go through
explicit padding; averages with holes are convolutions; layers with weights get the case's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from conformance import book
from conformance.adapter import Code, Declaration, Surface, Unsupported, Verb
from conformance.code import call, number, per_axis, tuple_of, unless
from conformance.stacking import Stacking
from conformance.steps import Step

PACKAGES = ("torch", "numpy")
THREADS = """\
import torch

torch.set_num_threads(1)
"""
SETUP = """\
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
"""
RESET = """\
torch.set_default_dtype(torch.float32)
torch.manual_seed(0)
"""
FLOATING = frozenset({"float32", "float64"})
NO_INTEGERS = "https://github.com/pytorch/pytorch/issues/33086"
HALF_WINDOW = "https://github.com/pytorch/pytorch/issues/154262"
LAYERS = {"max_pool": "MaxPool", "avg_pool": "AvgPool"}
Spelling = Callable[..., str]


def _functional(verb: str, step: Step, *arguments: str | None, **keywords: str | None) -> str:
    return call(f"F.{verb}{step.rank}d", "x", *arguments, **keywords)


def _layer(verb: str, step: Step, *arguments: str | None, **keywords: str | None) -> str:
    return call(f"nn.{LAYERS[verb]}{step.rank}d", *arguments, **keywords) + "(x)"


def _pool(spell: Spelling, step: Step, **keywords: str | None) -> Code:
    """Return the call, or why the padding cannot be said: it is symmetric, and at most half a window."""
    rounding = step.parameters["rounding"]
    if rounding == "full":
        return Unsupported("ceil_mode drops a last window that would start in the padding")
    if step.symmetric is None:
        return Unsupported("the padding before and after an axis is one number")
    text = spell(
        step.verb,
        step,
        per_axis(step.window),
        stride=per_axis(step.stride) if step.stride != step.window else None,
        padding=per_axis(step.symmetric) if step.padded else None,
        ceil_mode=unless("floor", rounding, "True"),
        **keywords,
    )
    if any(pad > extent // 2 for pad, extent in zip(step.symmetric, step.window, strict=True)):
        return Unsupported("padding may be at most half of the window, holes not counted", HALF_WINDOW, refused=text)
    return text


def _max_pool(spell: Spelling, step: Step) -> Code:
    if step.rank == 1 and step.dtype not in FLOATING:
        return Unsupported("one-dimensional max pooling has no kernel for integers on the CPU", NO_INTEGERS)
    return _pool(spell, step, dilation=per_axis(step.dilation) if step.dilated else None)


def _avg_pool(spell: Spelling, step: Step) -> Code:
    divisor = step.parameters["divisor"]
    if step.dilated:
        return Unsupported("average pooling has no dilation")
    if divisor is not None and step.rank == 1:
        return Unsupported("one-dimensional average pooling has no divisor")
    # Without padding both rules count the same cells; the default, which counts padding, then need not be named.
    include = None if not step.padded or step.parameters["count_include_pad"] else "False"
    return _pool(spell, step, count_include_pad=include, divisor_override=unless(None, divisor))


def _conv_keywords(step: Step) -> dict[str, str | None]:
    ones, zeros = (1,) * step.rank, (0,) * step.rank
    return {
        "stride": per_axis(step.stride) if step.stride != ones else None,
        "padding": per_axis(step.symmetric) if step.symmetric != zeros else None,
        "dilation": per_axis(step.dilation) if step.dilated else None,
        "groups": unless(1, step.parameters["groups"]),
    }


ASYMMETRIC = Unsupported("the padding before and after an axis is one number")


def _functional_conv(step: Step) -> Code:
    if step.symmetric is None:
        return ASYMMETRIC
    return call(f"F.conv{step.rank}d", "x", "kernel", "bias" if step.bias else None, **_conv_keywords(step))


def _layer_conv(step: Step) -> Code:
    if step.symmetric is None:
        return ASYMMETRIC
    channels = (str(step.shape[1]), str(step.kernel[0]), per_axis(step.window))
    extra = {"bias": None if step.bias else "False", "dtype": "x.dtype"}
    lines = [f"conv = {call(f'nn.Conv{step.rank}d', *channels, **_conv_keywords(step), **extra)}"]
    lines += ["conv.weight = nn.Parameter(kernel, requires_grad=False)"]
    lines += ["conv.bias = nn.Parameter(bias, requires_grad=False)"] * step.bias
    return (*lines, "x = conv(x)")


def _ends(step: Step) -> str:
    """Return the pads as PyTorch counts them: the last axis first."""
    return tuple_of([end for pair in reversed(step.padding) for end in pair])


def _functional_pad(step: Step) -> Code:
    return call("F.pad", "x", _ends(step), value=unless(0, step.parameters["value"]))


def _layer_pad(step: Step) -> Code:
    if step.rank > 3:  # noqa: PLR2004 - the layers end with three axes
        return Unsupported("padding layers have one to three axes")
    return call(f"nn.ConstantPad{step.rank}d", _ends(step), number(step.parameters["value"])) + "(x)"


def _book_pool(reduce: str, step: Step) -> Code:
    """Return the book's own loop over the positions of a plane, or the padded layer that its tab shows."""
    if book.shows_padding(step, READERS):
        return _max_pool(_layer, step)
    refusal = book.beyond_the_loops(step)
    if refusal:
        return refusal
    height, width = step.window
    return (
        f"y = torch.zeros({tuple_of(step.output)}, dtype=x.dtype)",
        "for plane, out in zip(x.flatten(0, 1), y.flatten(0, 1)):",
        "    for i in range(out.shape[0]):",
        "        for j in range(out.shape[1]):",
        f"            out[i, j] = plane[i:i + {height}, j:j + {width}].{reduce}()",
        "x = y",
    )


# One reader of the PyTorch tab pads both axes.
READERS = (((2, 3), (2, 3), ((1, 1), (1, 1))),)
STACKED = Stacking(_functional_pad, stack="torch.stack", softmax="torch.softmax({}, 0)")
INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8"})
DTYPES = {"max_pool": INTEGERS | FLOATING, "pad": INTEGERS | FLOATING}
ENTER = dict.fromkeys(("x", "kernel", "bias"), "torch.from_numpy({})")
HALF = "Implicit negative infinity padding to be added on both sides, must be >= 0 and <= kernel_size / 2."
PAGES = "https://docs.pytorch.org/docs/2.13/generated/torch.nn"
DECLARES = {
    "max_pool/padding-equal-to-window": Declaration("rejected", f'{PAGES}.functional.max_pool2d.html: "{HALF}"'),
    "max_pool/stride-when-none-is-given": Declaration(
        "window", f'{PAGES}.MaxPool2d.html: "the stride of the window. Default value is kernel_size"'
    ),
    "max_pool/window-larger-than-input": Declaration("rejected"),
    "max_pool/window-larger-than-input-stride-1": Declaration("rejected"),
    "max_pool/nan-in-window": Declaration("propagates"),
    "max_pool/window-of-minus-infinity": Declaration("minus-infinity"),
}


def _verbs(spell: Spelling, conv: Verb, pad: Verb, relu: str) -> Mapping[str, Verb]:
    return {
        "max_pool": partial(_max_pool, spell),
        "avg_pool": partial(_avg_pool, spell),
        "conv": conv,
        "pad": pad,
        "relu": lambda _step: relu,
    }


_surface: Callable[..., Surface] = partial(Surface, enter=ENTER, leave="x.numpy()")
_complete: Callable[..., Surface] = partial(
    _surface, composed={"softmax_pool": STACKED.softmax_pool}, dtypes=DTYPES, declares=DECLARES
)

SURFACES = (
    _complete("torch.nn", _verbs(_layer, _layer_conv, _layer_pad, "nn.ReLU()(x)")),
    _complete("torch.nn.functional", _verbs(_functional, _functional_conv, _functional_pad, "F.relu(x)")),
    _surface(
        "torch.book",
        {"max_pool": partial(_book_pool, "max"), "avg_pool": partial(_book_pool, "mean")},
        compositions=False,
        level="smoke",
    ),
)
