"""JAX and Flax: padding by name, and layers that reflect or wrap."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from conformance.adapters.api import ChainLowering, Code, Lowering, Step, Unsupported, is_causal, named_padding
from conformance.adapters.jax.windows import padding_text
from conformance.cases.operators import PaddingWord

PADDING_NAMES = {PaddingWord.VALID: "VALID", PaddingWord.SAME_UPPER: "SAME", PaddingWord.SAME_LOWER: "SAME_LOWER"}
PADDED_LAYER_NAMES: Mapping[str, str] = {"reflect": '"REFLECT"', "wrap": '"CIRCULAR"'}
ConvolutionWriter = Callable[[Step, str], Code]
"""Writes a convolution layer with the text of its padding."""
NO_PADDED_LAYER = Unsupported("layers of Flax reflect or wrap by half the kernel, rounded down before and up after")
NO_NAME = Unsupported("no name for the padding")


def replace_pairs(
    lowering: Lowering, name_of: Callable[[Step], str | None], text_of: Callable[[Step], str], step: Step
) -> Code:
    """Return the code of a lowering with the name of the padding in place of its numbers."""
    name, code = name_of(step), lowering(step)
    if name is None or isinstance(code, Unsupported):
        return NO_NAME
    lines = (code,) if isinstance(code, str) else code
    named = tuple(line.replace(text_of(step), name) for line in lines)
    return NO_NAME if named == lines and name != '"VALID"' else named[0] if isinstance(code, str) else named


def _lax_name(step: Step) -> str | None:
    return named_padding(step, PADDING_NAMES)


def _flax_name(step: Step) -> str | None:
    return '"CAUSAL"' if is_causal(step) and step.operator == "conv" else _lax_name(step)


def _spatial_pairs(step: Step) -> str:
    return padding_text(step.padding)


def _window_pairs(step: Step) -> str:
    return padding_text(((0, 0), (0, 0), *step.padding))


def lax_words(lowerings: Mapping[str, Lowering]) -> Mapping[str, Lowering]:
    """Return the calls of `jax.lax` with padding by name."""
    words = dict.fromkeys(("max_pool", "min_pool"), _window_pairs) | {"conv": _spatial_pairs}
    return {name: partial(replace_pairs, lowerings[name], _lax_name, pairs) for name, pairs in words.items()}


def flax_words(lowerings: Mapping[str, Lowering]) -> Mapping[str, Lowering]:
    """Return the calls of Flax with padding by name."""
    names = ("max_pool", "min_pool", "conv")
    return {name: partial(replace_pairs, lowerings[name], _flax_name, _spatial_pairs) for name in names}


def _padded_layer(conv: ConvolutionWriter, padding: Step, step: Step) -> Code:
    """Return the convolution layer that pads in the mode of a `pad` step."""
    name = PADDED_LAYER_NAMES.get(padding.parameters["mode"])
    reaches = (dilation * (extent - 1) for extent, dilation in zip(step.window, step.dilation, strict=True))
    pads = tuple((reach // 2, (reach + 1) // 2) for reach in reaches)
    if name is None or step.padded or padding.padding != pads:
        return NO_PADDED_LAYER
    return conv(step, name)


def flax_chain_words(conv: ConvolutionWriter) -> Mapping[tuple[str, ...], ChainLowering]:
    """Return the layers that pad in another mode than zeros."""
    return {("pad", "conv"): partial(_padded_layer, conv)}
