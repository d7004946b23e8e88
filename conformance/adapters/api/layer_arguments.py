"""Conversions of layer arguments that several frameworks share: sizes, padding, choices and flags."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.adapters.api.layer_parser import PlainName, UnreadableLayer
from conformance.adapters.api.layers import ArgumentReading, BoundCall


def is_whole_number(value: Any) -> bool:
    """Whether a value is an integer; True and False are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def sizes_argument(argument: str, *, default: int | None = None) -> ArgumentReading:
    """Read one integer, or one for each spatial axis. default: the value for None; None leaves the parameter out."""
    return ArgumentReading(argument, lambda call, value: default if value is None else _read_sizes(call, value))


def _read_sizes(call: BoundCall, value: Any) -> Any:
    if value is None or is_whole_number(value):
        return value
    if isinstance(value, tuple) and value and all(map(is_whole_number, value)):
        # A list of one number means that number for all axes, in all frameworks that take lists.
        if len(value) == 1 != call.spatial_axes(value):
            return value[0]
        if len(value) != call.spatial_axes(value):
            raise UnreadableLayer(f"{len(value)} numbers for {call.spatial_axes(value)} spatial axes")
        return value
    raise UnreadableLayer("neither an integer nor one for each spatial axis")


def number_argument(argument: str) -> ArgumentReading:
    """Read a number; None leaves the parameter out."""
    return ArgumentReading(argument, _read_number)


def _read_number(_call: BoundCall, value: Any) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    if value is None:
        return None
    if isinstance(value, PlainName) and value.rpartition(".")[2].removeprefix("-") in {"inf", "nan"}:
        return -math.inf if value.startswith("-") else math.inf if value.endswith("inf") else math.nan
    raise UnreadableLayer("not a number")


def count_argument(argument: str) -> ArgumentReading:
    """Read an integer; None leaves the parameter out."""
    return ArgumentReading(argument, _read_count)


def _read_count(_call: BoundCall, value: Any) -> Any:
    if value is None or is_whole_number(value):
        return value
    raise UnreadableLayer("not an integer")


def choice_argument(argument: str, choices: Mapping[Any, Any]) -> ArgumentReading:
    """Read one of several values. choices: the parameter for each value; strings are compared without case."""

    def read(_call: BoundCall, value: Any) -> Any:
        key = value.lower() if isinstance(value, str) and not isinstance(value, PlainName) else value
        for choice, parameter in choices.items():
            # True equals 1 in Python, but not in a signature.
            if choice == key and isinstance(choice, bool) == isinstance(key, bool):
                return parameter
        raise UnreadableLayer(f"not one of {', '.join(map(repr, choices))}")

    return ArgumentReading(argument, read)


def flag_argument(argument: str) -> ArgumentReading:
    """Read True or False."""
    return choice_argument(argument, {True: True, False: False})


def modes_argument(argument: str, *modes: str) -> ArgumentReading:
    """Read a padding mode that has its name in the catalogue."""
    return choice_argument(argument, {mode: mode for mode in modes})


def optional_array_argument(argument: str) -> ArgumentReading:
    """Read whether an array is passed, for example a bias."""
    return ArgumentReading(argument, lambda _call, value: value is not None)


def operator_with_indices(call: BoundCall, _found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the operator: max pooling with `return_indices` is max_pool_with_indices."""
    return {"operator": "max_pool_with_indices"} if call.arguments["return_indices"] is True else {}


def rounding_argument(argument: str, rule: str = "ceil") -> ArgumentReading:
    """Read whether the output size is rounded up. rule: the rounding rule for True."""
    return choice_argument(argument, {False: "floor", True: rule})


SAME_AND_VALID_WORDS = {"same": "same_upper", "valid": 0}
AUTO_PAD_NAMES = {"same_upper": "same_upper", "same_lower": "same_lower", "valid": 0}
CAUSAL = "causal"
"""The name of padding before the axis only, by the reach of the kernel. `causal_padding` replaces it."""


def named_padding_argument(argument: str, names: Mapping[str, Any] = SAME_AND_VALID_WORDS) -> ArgumentReading:
    """Read padding by name."""
    return ArgumentReading(argument, lambda _call, value: padding_by_name(value, names))


def padding_by_name(value: Any, names: Mapping[str, Any]) -> Any:
    """Return the padding for a name. Raises UnreadableLayer for other names."""
    if not isinstance(value, str) or isinstance(value, PlainName) or value.lower() not in names:
        raise UnreadableLayer(f"not one of {', '.join(map(repr, names))}")
    return names[value.lower()]


def padding_argument(argument: str, names: Mapping[str, Any] | None = None) -> ArgumentReading:
    """Read padding: an integer, an integer or a (before, after) pair for each spatial axis, or a name."""

    def read(call: BoundCall, value: Any) -> Any:
        if names is not None and isinstance(value, str):
            return padding_by_name(value, names)
        has_pairs = isinstance(value, tuple) and any(isinstance(item, tuple) for item in value)
        return read_pairs(call, value) if has_pairs else _read_sizes(call, value)

    return ArgumentReading(argument, read)


def read_pairs(call: BoundCall, value: Any) -> Any:
    """Return one (before, after) pair for each spatial axis."""
    if not (isinstance(value, tuple) and len(value) == call.spatial_axes(value)):
        raise UnreadableLayer("not a pair for each spatial axis")
    for pair in value:
        is_pair = isinstance(pair, tuple) and len(pair) == 2 and all(map(is_whole_number, pair))  # noqa: PLR2004
        if not is_whole_number(pair) and not is_pair:
            raise UnreadableLayer("not a pair for each spatial axis")
    return tuple(pair if isinstance(pair, tuple) else (pair, pair) for pair in value)


def spatial_entries(values: Any, *, channels_last: bool) -> tuple[Any, ...]:
    """Return the entries for the spatial axes, from a list with one entry for each axis of an array."""
    if not isinstance(values, tuple) or len(values) < 3:  # noqa: PLR2004 - batch, channels, and one spatial axis
        raise UnreadableLayer("not a value for each axis of the array")
    return tuple(values[1:-1] if channels_last else values[2:])


def batch_and_channel_entries(values: Sequence[Any], *, channels_last: bool) -> tuple[Any, ...]:
    """Return the entries for batch and channels, from a list with one entry for each axis of an array."""
    return (values[0], values[-1]) if channels_last else tuple(values[:2])


def array_pads(call: BoundCall, value: Any, *, channels_last: bool) -> Any:
    """Read a pair for each axis of the array; batch and channels must have (0, 0)."""
    if not isinstance(value, tuple) or not all(isinstance(pair, tuple) for pair in value):
        raise UnreadableLayer("one number or pair also pads batch and channels: write a pair for each axis")
    axes = spatial_entries(value, channels_last=channels_last)
    if batch_and_channel_entries(value, channels_last=channels_last) != ((0, 0), (0, 0)):
        where = "the first and the last axis" if channels_last else "the first two axes"
        raise UnreadableLayer(f"only spatial axes may be padded; batch and channels are {where}")
    return read_pairs(call, axes)


Pairs = Sequence[tuple[int, int]]


def one_per_axis(value: Any, axes: int) -> tuple[Any, ...]:
    """Return one number for each axis."""
    return value if isinstance(value, tuple) else (value,) * axes


def kernel_reach(window: Sequence[int], dilation: Sequence[int]) -> tuple[int, ...]:
    """Return the extent of a dilated kernel on each axis."""
    return tuple(spacing * (cells - 1) + 1 for cells, spacing in zip(window, dilation, strict=True))


def causal_padding(call: BoundCall, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the padding of a convolution, as numbers if its name is `causal`, which needs a single axis."""
    if found.get("padding") != CAUSAL:
        return {}
    window = found["window"]
    if call.spatial_axes(window) != 1:
        raise UnreadableLayer(f"padding={CAUSAL!r}: only a convolution with one spatial axis has it")
    (reach,) = kernel_reach(one_per_axis(window, 1), one_per_axis(found["dilation"], 1))
    return {"padding": ((reach - 1, 0),)}


def padding_from_crop(ends: Pairs, stride: Sequence[int], dilation: Sequence[int]) -> Mapping[str, Any]:
    """Return padding and output_padding for a crop of the output.

    ends: the cells removed before and after on each axis; a negative number adds cells. Raises UnreadableLayer if cells
    are added before the first, or more after the last than output_padding can add.
    """
    # output_padding may be less than the stride or than the dilation, in the catalogue as in PyTorch.
    for axis, ((before, after), *limits) in enumerate(zip(ends, stride, dilation, strict=True)):
        most = max(limits) - 1
        if before < 0:
            raise UnreadableLayer(f"axis {axis}: the output starts {-before} cells before the first window")
        if -after > most:
            raise UnreadableLayer(
                f"axis {axis}: the output ends {-after} cells after the last window, at most {most} can be"
            )
    added = tuple(max(-after, 0) for _, after in ends)
    padding = tuple((before, max(after, 0)) for before, after in ends)
    return {"padding": padding, "output_padding": added if any(added) else 0}


def crop_from_padding(pads: Pairs, window: Sequence[int], dilation: Sequence[int]) -> Pairs:
    """Return the crop that corresponds to this padding of the dilated input of a transposed convolution."""
    axes = zip(pads, kernel_reach(window, dilation), strict=True)
    return tuple((reach - 1 - before, reach - 1 - after) for (before, after), reach in axes)


def split_surplus(surplus: Sequence[int]) -> Pairs:
    """Split a surplus between both ends, an odd cell at the end. A negative surplus adds cells at the end."""
    return tuple((max(cells, 0) // 2, cells - max(cells, 0) // 2) for cells in surplus)


def surplus_over_size(
    sizes: Sequence[int], extents: Sequence[int], stride: Sequence[int], reach: Sequence[int]
) -> tuple[int, ...]:
    """Return by how many cells the full output of a transposed convolution exceeds the given sizes."""
    axes = zip(sizes, extents, stride, reach, strict=True)
    return tuple((extent - 1) * by + covered - size for size, extent, by, covered in axes)


def unpooled_size(call: BoundCall, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the output size of an unpooling with this window, stride and padding, which it removes from `found`."""
    window, rank = found.pop("window"), call.spatial_axes()
    stride, padding = found.pop("stride", None) or window, one_per_axis(found.pop("padding"), rank)
    pads = (sum(pad) if isinstance(pad, tuple) else 2 * pad for pad in padding)
    extents = call.input_extents("the size of the output")
    axes = zip(extents, one_per_axis(stride, rank), pads, one_per_axis(window, rank), strict=False)
    return {"output_size": tuple((extent - 1) * by - ends + size for extent, by, ends, size in axes)}


def ends_from_last_axis(call: BoundCall, value: Any) -> Any:
    """Return pads by axis, from a flat list that starts with the last axis."""
    rank = call.rank or (len(call.shape) - 2 if call.shape else len(value) // 2 if isinstance(value, tuple) else 0)
    if is_whole_number(value):
        return ((value, value),) * rank
    if not isinstance(value, tuple) or len(value) % 2 or len(value) > 2 * rank or not all(map(is_whole_number, value)):
        raise UnreadableLayer(f"neither an integer nor two for each of at most {rank} axes")
    # Axes that the list does not reach are not padded.
    found = [(value[2 * axis], value[2 * axis + 1]) for axis in range(len(value) // 2)]
    return tuple(reversed([*found, *[(0, 0)] * (rank - len(found))]))
