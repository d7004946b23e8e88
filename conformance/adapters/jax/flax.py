"""Flax Linen and Flax NNX, with channels last: pooling functions, and layers with the weights of the case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from conformance.adapters.api import (
    INDENT,
    Code,
    Step,
    Unsupported,
    call,
    groups_argument,
    is_floating,
    text_unless_default,
    tuple_of,
    uses_framework_defaults,
)
from conformance.adapters.jax.convolution import (
    NO_OUTPUT_PADDING,
    dilation_text,
    transposed_padding,
    unsupported_with_defaults,
)
from conformance.adapters.jax.pooling import neutral_value
from conformance.adapters.jax.windows import padding_text, padding_with_overhang
from conformance.cases.arrays import SHORT_FLOATS
from conformance.cases.operators import Rounding

NO_DILATION = Unsupported("flax pooling has no dilation")
NO_INTEGERS = Unsupported("flax layers compute integers in float32")


@dataclass(frozen=True)
class Flax:
    """Lowerings shared by both APIs. Subclasses define how a layer is created and how it gets its weights.

    name: the API, `linen` or `nnx`; module: the name of the imported module in programs.
    """

    name: str
    module: str

    def feature_arguments(self, step: Step) -> tuple[int, ...]:
        """Return the numbers of channels in the constructor of a layer."""
        raise NotImplementedError

    def random_arguments(self) -> Mapping[str, str]:
        """Return the random number arguments of a constructor."""
        return {}

    def apply_layer(self, layer: str, step: Step) -> Code:
        """Return the call of a layer with the weights of the case."""
        raise NotImplementedError

    def apply_per_group(self, layer: str, arrays: Mapping[str, str], loop: str) -> Code:
        """Return one layer for each group. arrays: the loop variable for the group's part of each input."""
        raise NotImplementedError

    def pool(self, step: Step, **keywords: str | None) -> Code:
        """Return the pooling function."""
        return NO_DILATION if step.dilated else self._pool_call(step, **keywords)

    def average_pool(self, step: Step) -> Code:
        """Return the pooling function, if it divides by the same number as the case."""
        parameters = step.parameters
        include = parameters.get("count_include_pad", True)
        if parameters["divisor"] is not None:
            return Unsupported("flax average pooling has no divisor")
        uses_default = include or not any(any(pair) for pair in padding_with_overhang(step))
        counted = None if uses_default else "False"
        if not is_floating(step):
            integer_call = self._pool_call(step, count_include_pad=counted)
            return Unsupported("flax averages of integers are not integers", rejected_call=integer_call)
        # Rounding up is written as padding at the end, and nn.avg_pool counts all of its padding or none.
        if include and parameters["rounding"] != Rounding.FLOOR and any(step.windows.overhang):
            return Unsupported("cells past the padded input would be counted")
        # The counts without padding are an array of the default dtype, so the average of a 16-bit dtype is float32.
        if step.gradient and not uses_default and step.dtype in SHORT_FLOATS:
            return Unsupported(
                "flax averages without padding cells are float32, which does not match a gradient of 16-bit numbers"
            )
        return self.pool(step, count_include_pad=counted)

    def pool_without_indices(self, step: Step) -> Code:
        """Return the pooling function, which returns no indices."""
        if step.parameters.get("output") == "indices":
            return Unsupported("flax pooling returns no indices")
        return self.pool(step)

    def no_padding(self, _step: Step) -> Code:
        """Return unsupported: Flax has no padding function."""
        return Unsupported(f"flax.{self.name} has no padding function; its users call jnp.pad")

    def conv(self, step: Step, padding: str = "") -> Code:
        """Return the convolution layer with the weights of the case. padding: its text, by default that of the step."""
        layer = self._layer(
            "Conv", step, padding or padding_text(step.padding, step), feature_group_count=groups_argument(step)
        )
        return self.apply_layer(layer, step) if is_floating(step) else NO_INTEGERS

    def conv_transpose(self, step: Step) -> Code:
        """Return the transposed convolution layer, whose padding applies to the dilated input."""
        if step.parameters["groups"] != 1:
            return Unsupported(f"flax.{self.name}.ConvTranspose has no groups")
        if uses_framework_defaults(step):
            layer = self._layer("ConvTranspose", step, padding_text(step.padding, step))
            return unsupported_with_defaults(step) or self.apply_layer(layer, step)
        if min(step.parameters["output_padding"]) < 0:
            return NO_OUTPUT_PADDING
        return self.apply_layer(self._transposed_layer(step), step) if is_floating(step) else NO_INTEGERS

    def grouped_transpose(self, step: Step) -> Code:
        """Return one transposed convolution layer for each group, concatenated along the channels."""
        groups = int(step.parameters["groups"])
        if groups == 1 or not is_floating(step):
            return self.conv_transpose(step)
        # Flax has no groups here because its layers call lax.conv_transpose, which has none.
        arrays = {"x": "part", "kernel": "weights"} | ({"bias": "shift"} if step.bias else {})
        split = ", ".join(f"jnp.split({name}, {groups}, -1)" for name in arrays)
        loop = f"for {', '.join(arrays.values())} in zip({split})"
        return self.apply_per_group(self._transposed_layer(step), arrays, loop)

    def _pool_call(self, step: Step, **keywords: str | None) -> str:
        padding = padding_text(padding_with_overhang(step), step)
        return call(
            f"{self.module}.{step.operator.removesuffix('_with_indices')}",
            "x",
            tuple_of(step.window),
            strides=tuple_of(step.stride) if step.stride is not None else None,
            padding=text_unless_default('"VALID"', padding, padding),
            **keywords,
        )

    def _transposed_layer(self, step: Step) -> str:
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
    """Flax Linen, whose layers are called with their weights as an argument."""

    def feature_arguments(self, step: Step) -> tuple[int, ...]:
        """Return the number of output channels. The layer infers the input channels."""
        return (step.kernel[step.operator == "conv_transpose"],)

    def min_pool(self, step: Step) -> Code:
        """Return `nn.pool` with a minimum. `min_pool` itself is not exported by `flax.linen`."""
        if step.dilated:
            return NO_DILATION
        window, stride = tuple_of(step.window), tuple_of(step.stride or (1,) * step.rank)
        # linen.pool, with an operator of lax, is what linen.min_pool itself calls.
        neutral, padding = neutral_value(step, largest=False), padding_text(padding_with_overhang(step))
        return f"nn.pool(x, {neutral}, lax.min, {window}, {stride}, {padding})"

    def apply_layer(self, layer: str, step: Step) -> Code:
        """Return the layer applied with the weights."""
        weights = '{"kernel": kernel, "bias": bias}' if step.bias else '{"kernel": kernel}'
        return f'{layer}.apply({{"params": {weights}}}, x)'

    def apply_per_group(self, layer: str, arrays: Mapping[str, str], loop: str) -> Code:
        """Return the layer applied with the weights of each group."""
        weights = ", ".join(f'"{name}": {part}' for name, part in arrays.items() if name != "x")
        # A Linen layer has no state, so one layer is applied to the weights of each group.
        return (f"layer = {layer}", f'x = jnp.concatenate([layer.apply({{"params": {{{weights}}}}}, part) {loop}], -1)')


class Nnx(Flax):
    """Flax NNX, whose layers own their weights.

    `nnx.eval_shape` creates a layer without initializing the weights, which are then set to those of the case. Drawing
    random weights would compile for every kernel shape, which takes about two seconds each.
    """

    def feature_arguments(self, step: Step) -> tuple[int, ...]:
        """Return the numbers of input and output channels, for one group if the layer has no groups."""
        groups = int(step.parameters["groups"])
        # Kernels of the suite: (out, in/groups) for a convolution, (in, out/groups) for a transposed one.
        first, second = step.kernel[:2]
        return (first // groups, second) if step.operator == "conv_transpose" else (second * groups, first)

    def random_arguments(self) -> Mapping[str, str]:
        """Return the random number generator that the constructor requires, even under `nnx.eval_shape`."""
        return {"rngs": "nnx.Rngs(0)"}

    def min_pool(self, step: Step) -> Code:
        """Return the pooling function."""
        return self.pool(step)

    def apply_layer(self, layer: str, step: Step) -> Code:
        """Return lines that create the layer, set its weights and call it."""
        weights = ("kernel", "bias") if step.bias else ("kernel",)
        # `layer.kernel[...] = kernel` would cast to the dtype of the layer, float32; a new Param does not cast.
        assignments = (f"layer.{name} = nnx.Param({name})" for name in weights)
        return (f"layer = nnx.eval_shape(lambda: {layer})", *assignments, "x = layer(x)")

    def apply_per_group(self, layer: str, arrays: Mapping[str, str], loop: str) -> Code:
        """Return lines that create one layer and call it with the weights of each group."""
        assignments = (f"layer.{name} = nnx.Param({part})" for name, part in arrays.items() if name != "x")
        return (
            f"layer = nnx.eval_shape(lambda: {layer})",
            "parts = []",
            f"{loop}:",
            *(INDENT + line for line in assignments),
            f"{INDENT}parts.append(layer(part))",
            "x = jnp.concatenate(parts, -1)",
        )
