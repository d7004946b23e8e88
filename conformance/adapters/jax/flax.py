"""Flax in both its APIs, channels last: pooling is the same functions, layers get the case's weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from conformance.adapters.api.source_text import INDENT, call, text_unless_default, tuple_of, uses_framework_defaults
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.jax.convolution import (
    NO_OUTPUT_PADDING,
    dilation_text,
    transposed_padding,
    unsupported_orientation,
)
from conformance.adapters.jax.pooling import neutral_value
from conformance.adapters.jax.windows import is_floating, padding_text, padding_with_overhang
from conformance.cases.steps import Step

NO_DILATION = Unsupported("flax pooling has no dilation")
NO_INTEGERS = Unsupported("flax layers compute whole numbers in float32")


@dataclass(frozen=True)
class Flax:
    """The verbs that both APIs share; how a layer is made, and gets its weights, is their own.

    name: the API; module: what its programs call it.
    """

    name: str
    module: str

    def feature_arguments(self, step: Step) -> tuple[int, ...]:
        """Return the numbers of channels that a layer is told."""
        raise NotImplementedError

    def random_arguments(self) -> Mapping[str, str]:
        """Return what a layer is told of the weights that it draws at first."""
        return {}

    def apply_layer(self, layer: str, step: Step) -> Code:
        """Return the layer with the case's weights, called."""
        raise NotImplementedError

    def apply_per_group(self, layer: str, arrays: Mapping[str, str], loop: str) -> Code:
        """Return one layer a group; arrays: what the loop calls the group's part of each input."""
        raise NotImplementedError

    def pool(self, step: Step, **keywords: str | None) -> Code:
        """Return the call."""
        return NO_DILATION if step.dilated else self._pool_call(step, **keywords)

    def average_pool(self, step: Step) -> Code:
        """Return the call where its divisor is the case's."""
        parameters = step.parameters
        include = parameters.get("count_include_pad", True)
        if parameters["divisor"] is not None:
            return Unsupported("flax average pooling has no divisor")
        if not is_floating(step):
            return Unsupported("flax averages of whole numbers are not whole", rejected_call=self._pool_call(step))
        if include and parameters["rounding"] != "floor" and any(step.windows.overhang):
            return Unsupported("cells past the padded input would count")
        plain = include or not any(any(pair) for pair in padding_with_overhang(step))
        if step.gradient and not plain and step.dtype != "float64":
            return Unsupported(
                "flax averages that count no padding are float64, which no gradient of another dtype fits"
            )
        return self.pool(step, count_include_pad=None if plain else "False")

    def pool_without_indices(self, step: Step) -> Code:
        """Return the call, which gives no indices."""
        if step.parameters.get("output") == "indices":
            return Unsupported("flax pooling gives no indices")
        return self.pool(step)

    def no_padding(self, _step: Step) -> Code:
        """Say that there is none."""
        return Unsupported(f"flax.{self.name} has no padding; its users call jnp.pad")

    def conv(self, step: Step) -> Code:
        """Return the layer with the case's weights."""
        groups = text_unless_default(1, step.parameters["groups"])
        layer = self._layer("Conv", step, padding_text(step.padding, step), feature_group_count=groups)
        return self.apply_layer(layer, step) if is_floating(step) else NO_INTEGERS

    def transpose(self, step: Step) -> Code:
        """Return the layer; its padding goes around the input with its holes."""
        if step.parameters["groups"] != 1:
            return Unsupported(f"flax.{self.name}.ConvTranspose has no groups")
        if uses_framework_defaults(step):
            layer = self._layer("ConvTranspose", step, padding_text(step.padding, step))
            return unsupported_orientation(step) or self.apply_layer(layer, step)
        if min(step.parameters["output_padding"]) < 0:
            return NO_OUTPUT_PADDING
        return self.apply_layer(self._transposed_kernel(step), step) if is_floating(step) else NO_INTEGERS

    def groups(self, step: Step) -> Code:
        """Return one layer a group, side by side."""
        groups = int(step.parameters["groups"])
        if groups == 1 or not is_floating(step):
            return self.transpose(step)
        arrays = {"x": "part", "kernel": "weights"} | ({"bias": "shift"} if step.bias else {})
        split = ", ".join(f"jnp.split({name}, {groups}, -1)" for name in arrays)
        loop = f"for {', '.join(arrays.values())} in zip({split})"
        return self.apply_per_group(self._transposed_kernel(step), arrays, loop)

    def _pool_call(self, step: Step, **keywords: str | None) -> str:
        written = padding_text(padding_with_overhang(step), step)
        return call(
            f"{self.module}.{step.operator.removesuffix('_with_indices')}",
            "x",
            tuple_of(step.window),
            strides=tuple_of(step.stride) if step.stride is not None else None,
            padding=text_unless_default('"VALID"', written, written),
            **keywords,
        )

    def _transposed_kernel(self, step: Step) -> str:
        return self._layer("ConvTranspose", step, str(transposed_padding(step)), transpose_kernel="True")

    def _layer(self, name: str, step: Step, padding: str, **keywords: str | None) -> str:
        return call(
            f"{self.module}.{name}",
            *map(str, self.feature_arguments(step)),
            tuple_of(step.window),
            strides=tuple_of(step.stride or ()),
            padding=padding,
            kernel_dilation=dilation_text(step),
            **keywords,
            use_bias=None if step.bias else "False",
            **self.random_arguments(),
        )


class Linen(Flax):
    """Layers are functions of their weights."""

    def feature_arguments(self, step: Step) -> tuple[int, ...]:
        """Return the channels that come out; those that come in are read off the input."""
        return (step.kernel[step.operator == "conv_transpose"],)

    def min_pool(self, step: Step) -> Code:
        """`min_pool` is not exported, but `pool`, of which it is made, is."""
        if step.dilated:
            return NO_DILATION
        window, stride = tuple_of(step.window), tuple_of(step.stride or (1,) * step.rank)
        return f"nn.pool(x, {neutral_value(step, largest=False)}, lax.min, {window}, {stride}, {padding_text(padding_with_overhang(step))})"

    def apply_layer(self, layer: str, step: Step) -> Code:
        """Return the layer, applied with the weights."""
        weights = '{"kernel": kernel, "bias": bias}' if step.bias else '{"kernel": kernel}'
        return f'{layer}.apply({{"params": {weights}}}, x)'

    def apply_per_group(self, layer: str, arrays: Mapping[str, str], loop: str) -> Code:
        """Return the layer, applied with the weights of each group."""
        weights = ", ".join(f'"{name}": {part}' for name, part in arrays.items() if name != "x")
        return (f"layer = {layer}", f'x = jnp.concatenate([layer.apply({{"params": {{{weights}}}}}, part) {loop}], -1)')


class Nnx(Flax):
    """Layers hold their weights: they are made without drawing any, and given those of the case."""

    def feature_arguments(self, step: Step) -> tuple[int, ...]:
        """Return the channels that come in and out, of one group where the layer has none."""
        groups = int(step.parameters["groups"])
        first, second = step.kernel[:2]
        return (first // groups, second) if step.operator == "conv_transpose" else (second * groups, first)

    def random_arguments(self) -> Mapping[str, str]:
        """Return the random numbers that a layer asks for even where it draws none."""
        return {"rngs": "nnx.Rngs(0)"}

    def min_pool(self, step: Step) -> Code:
        """Return the call."""
        return self.pool(step)

    def apply_layer(self, layer: str, step: Step) -> Code:
        """Return the lines that make the layer, put the weights in and call it."""
        weights = ("kernel", "bias") if step.bias else ("kernel",)
        given = (f"layer.{name} = nnx.Param({name})" for name in weights)
        return (f"layer = nnx.eval_shape(lambda: {layer})", *given, "x = layer(x)")

    def apply_per_group(self, layer: str, arrays: Mapping[str, str], loop: str) -> Code:
        """Return the lines that put the weights of each group in."""
        given = (f"layer.{name} = nnx.Param({part})" for name, part in arrays.items() if name != "x")
        return (
            f"layer = nnx.eval_shape(lambda: {layer})",
            "parts = []",
            f"{loop}:",
            *(INDENT + line for line in given),
            f"{INDENT}parts.append(layer(part))",
            "x = jnp.concatenate(parts, -1)",
        )
