"""Flax in both its APIs, channels last: pooling is the same functions, layers get the case's weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from conformance.adapters.api.source_text import INDENT, by_default, call, tuple_of, unless
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.jax.convolution import NO_FURTHER, holes, laid_out, unnamed
from conformance.adapters.jax.pooling import least
from conformance.adapters.jax.windows import ends, floating, padding_text
from conformance.cases.steps import Step

NO_HOLES = Unsupported("flax pooling has no dilation")
WHOLE = Unsupported("flax layers compute whole numbers in float32")


@dataclass(frozen=True)
class Flax:
    """The verbs that both APIs share; how a layer is made, and gets its weights, is their own.

    name: the API; module: what its programs call it.
    """

    name: str
    module: str

    def features(self, step: Step) -> tuple[int, ...]:
        """Return the numbers of channels that a layer is told."""
        raise NotImplementedError

    def drawn(self) -> Mapping[str, str]:
        """Return what a layer is told of the weights that it draws at first."""
        return {}

    def applied(self, layer: str, step: Step) -> Code:
        """Return the layer with the case's weights, called."""
        raise NotImplementedError

    def side_by_side(self, layer: str, arrays: Mapping[str, str], loop: str) -> Code:
        """Return one layer a group; arrays: what the loop calls the group's part of each input."""
        raise NotImplementedError

    def pool(self, step: Step, **keywords: str | None) -> Code:
        """Return the call."""
        return NO_HOLES if step.dilated else self._pooled(step, **keywords)

    def average(self, step: Step) -> Code:
        """Return the call where its divisor is the case's."""
        parameters = step.parameters
        include = parameters.get("count_include_pad", True)
        if parameters["divisor"] is not None:
            return Unsupported("flax average pooling has no divisor")
        if not floating(step):
            return Unsupported("flax averages of whole numbers are not whole", refused=self._pooled(step))
        if include and parameters["rounding"] != "floor" and any(step.walk.overhang):
            return Unsupported("cells past the padded input would count")
        plain = include or not any(any(pair) for pair in ends(step))
        if step.gradient and not plain and step.dtype != "float64":
            return Unsupported(
                "flax averages that count no padding are float64, which no gradient of another dtype fits"
            )
        return self.pool(step, count_include_pad=None if plain else "False")

    def values(self, step: Step) -> Code:
        """Return the call, which gives no indices."""
        if step.parameters.get("output") == "indices":
            return Unsupported("flax pooling gives no indices")
        return self.pool(step)

    def no_padding(self, _step: Step) -> Code:
        """Say that there is none."""
        return Unsupported(f"flax.{self.name} has no padding; its users call jnp.pad")

    def conv(self, step: Step) -> Code:
        """Return the layer with the case's weights."""
        groups = unless(1, step.parameters["groups"])
        layer = self._layer("Conv", step, padding_text(step.padding, step), feature_group_count=groups)
        return self.applied(layer, step) if floating(step) else WHOLE

    def transpose(self, step: Step) -> Code:
        """Return the layer; its padding goes around the input with its holes."""
        if step.parameters["groups"] != 1:
            return Unsupported(f"flax.{self.name}.ConvTranspose has no groups")
        if by_default(step):
            layer = self._layer("ConvTranspose", step, padding_text(step.padding, step))
            return unnamed(step) or self.applied(layer, step)
        if min(step.parameters["output_padding"]) < 0:
            return NO_FURTHER
        return self.applied(self._turned(step), step) if floating(step) else WHOLE

    def groups(self, step: Step) -> Code:
        """Return one layer a group, side by side."""
        groups = int(step.parameters["groups"])
        if groups == 1 or not floating(step):
            return self.transpose(step)
        arrays = {"x": "part", "kernel": "weights"} | ({"bias": "shift"} if step.bias else {})
        split = ", ".join(f"jnp.split({name}, {groups}, -1)" for name in arrays)
        loop = f"for {', '.join(arrays.values())} in zip({split})"
        return self.side_by_side(self._turned(step), arrays, loop)

    def _pooled(self, step: Step, **keywords: str | None) -> str:
        written = padding_text(ends(step), step)
        return call(
            f"{self.module}.{step.verb.removesuffix('_with_indices')}",
            "x",
            tuple_of(step.window),
            strides=tuple_of(step.stride) if step.stride is not None else None,
            padding=unless('"VALID"', written, written),
            **keywords,
        )

    def _turned(self, step: Step) -> str:
        return self._layer("ConvTranspose", step, str(laid_out(step)), transpose_kernel="True")

    def _layer(self, name: str, step: Step, padding: str, **keywords: str | None) -> str:
        return call(
            f"{self.module}.{name}",
            *map(str, self.features(step)),
            tuple_of(step.window),
            strides=tuple_of(step.stride or ()),
            padding=padding,
            kernel_dilation=holes(step),
            **keywords,
            use_bias=None if step.bias else "False",
            **self.drawn(),
        )


class Linen(Flax):
    """Layers are functions of their weights."""

    def features(self, step: Step) -> tuple[int, ...]:
        """Return the channels that come out; those that come in are read off the input."""
        return (step.kernel[step.verb == "conv_transpose"],)

    def least(self, step: Step) -> Code:
        """`min_pool` is not exported, but `pool`, of which it is made, is."""
        if step.dilated:
            return NO_HOLES
        window, stride = tuple_of(step.window), tuple_of(step.stride or (1,) * step.rank)
        return f"nn.pool(x, {least(step, largest=False)}, lax.min, {window}, {stride}, {padding_text(ends(step))})"

    def applied(self, layer: str, step: Step) -> Code:
        """Return the layer, applied with the weights."""
        weights = '{"kernel": kernel, "bias": bias}' if step.bias else '{"kernel": kernel}'
        return f'{layer}.apply({{"params": {weights}}}, x)'

    def side_by_side(self, layer: str, arrays: Mapping[str, str], loop: str) -> Code:
        """Return the layer, applied with the weights of each group."""
        weights = ", ".join(f'"{name}": {part}' for name, part in arrays.items() if name != "x")
        return (f"layer = {layer}", f'x = jnp.concatenate([layer.apply({{"params": {{{weights}}}}}, part) {loop}], -1)')


class Nnx(Flax):
    """Layers hold their weights: they are made without drawing any, and given those of the case."""

    def features(self, step: Step) -> tuple[int, ...]:
        """Return the channels that come in and out, of one group where the layer has none."""
        groups = int(step.parameters["groups"])
        first, second = step.kernel[:2]
        return (first // groups, second) if step.verb == "conv_transpose" else (second * groups, first)

    def drawn(self) -> Mapping[str, str]:
        """Return the random numbers that a layer asks for even where it draws none."""
        return {"rngs": "nnx.Rngs(0)"}

    def least(self, step: Step) -> Code:
        """Return the call."""
        return self.pool(step)

    def applied(self, layer: str, step: Step) -> Code:
        """Return the lines that make the layer, put the weights in and call it."""
        weights = ("kernel", "bias") if step.bias else ("kernel",)
        given = (f"layer.{name} = nnx.Param({name})" for name in weights)
        return (f"layer = nnx.eval_shape(lambda: {layer})", *given, "x = layer(x)")

    def side_by_side(self, layer: str, arrays: Mapping[str, str], loop: str) -> Code:
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
