"""What arguments of layers mean: sizes, padding, words and flags, as most frameworks write them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.adapters.api.layer_parser import PlainName, UnreadableLayer
from conformance.adapters.api.layers import ArgumentReading, BoundCall


def is_whole_number(value: Any) -> bool:
    """Whether a value is a whole number, which True is not."""
    return isinstance(value, int) and not isinstance(value, bool)


def sizes_argument(argument: str) -> ArgumentReading:
    """Read one whole number, or one for each spatial axis; None leaves the word out."""
    return ArgumentReading(argument, _read_sizes)


def _read_sizes(call: BoundCall, value: Any) -> Any:
    if value is None or is_whole_number(value):
        return value
    if isinstance(value, tuple) and value and all(map(is_whole_number, value)):
        if len(value) == 1 != call.spatial_axes(value):
            return value[0]
        if len(value) != call.spatial_axes(value):
            raise UnreadableLayer(f"{len(value)} numbers for {call.spatial_axes(value)} spatial axes")
        return value
    raise UnreadableLayer("not a whole number, nor one for each spatial axis")


def sizes_or_ones_argument(argument: str) -> ArgumentReading:
    """Read sizes that are 1 where None stands."""
    return ArgumentReading(argument, lambda call, value: 1 if value is None else _read_sizes(call, value))


def number_argument(argument: str) -> ArgumentReading:
    """Read a number; None leaves the word out."""
    return ArgumentReading(argument, _read_number)


def _read_number(_call: BoundCall, value: Any) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    if value is None:
        return None
    if isinstance(value, PlainName) and value.rpartition(".")[2] in {"inf", "nan"}:
        return -math.inf if value.startswith("-") else math.inf if value.endswith("inf") else math.nan
    raise UnreadableLayer("not a number")


def count_argument(argument: str) -> ArgumentReading:
    """Read a whole number; None leaves the word out."""
    return ArgumentReading(argument, _read_count)


def _read_count(_call: BoundCall, value: Any) -> Any:
    if value is None or is_whole_number(value):
        return value
    raise UnreadableLayer("not a whole number")


def choice_argument(argument: str, words: Mapping[Any, Any]) -> ArgumentReading:
    """Read one of several values, each with what it means; words in any case."""

    def chosen(_call: BoundCall, value: Any) -> Any:
        plain = value.lower() if isinstance(value, str) and not isinstance(value, PlainName) else value
        for word, meaning in words.items():
            if word == plain and isinstance(word, bool) == isinstance(plain, bool):
                return meaning
        raise UnreadableLayer(f"neither of {', '.join(map(repr, words))}")

    return ArgumentReading(argument, chosen)


def flag_argument(argument: str) -> ArgumentReading:
    """Read yes or no."""
    return choice_argument(argument, {True: True, False: False})


def rounding_argument(argument: str, word: str = "ceil") -> ArgumentReading:
    """Read whether the output size is rounded up, and by which rule then."""
    return choice_argument(argument, {False: "floor", True: word})


SAME_AND_VALID_WORDS = {"same": "same_upper", "valid": 0}
SAME_LOWER_WORDS = {"same_lower": "same_lower"}


def named_padding_argument(argument: str, words: Mapping[str, Any] = SAME_AND_VALID_WORDS) -> ArgumentReading:
    """Read padding by name; `same` depends on the size of the input."""
    return ArgumentReading(argument, lambda call, value: padding_by_name(call, value, words))


def padding_by_name(call: BoundCall, value: Any, words: Mapping[str, Any]) -> Any:
    """Return what a word for padding means. Raises Unread for another, and where it takes an unsaid size."""
    if not isinstance(value, str) or isinstance(value, PlainName) or value.lower() not in words:
        raise UnreadableLayer(f"neither of {', '.join(map(repr, words))}")
    meaning = words[value.lower()]
    if isinstance(meaning, str) and meaning.startswith("same"):
        call.input_extents("how much it pads")
    return meaning


def padding_argument(argument: str, words: Mapping[str, Any] | None = None) -> ArgumentReading:
    """Read padding: a whole number, one or a (before, after) pair for each spatial axis, or one of some words."""

    def read(call: BoundCall, value: Any) -> Any:
        if words is not None and isinstance(value, str):
            return padding_by_name(call, value, words)
        return read_pairs(call, value) if _is_nested(value) else _read_sizes(call, value)

    return ArgumentReading(argument, read)


def _is_nested(value: Any) -> bool:
    return isinstance(value, tuple) and any(isinstance(item, tuple) for item in value)


def read_pairs(call: BoundCall, value: Any) -> Any:
    """Return one (before, after) pair for each spatial axis."""
    if not (isinstance(value, tuple) and len(value) == call.spatial_axes(value)):
        raise UnreadableLayer("not a pair for each spatial axis")
    for pair in value:
        if not (
            is_whole_number(pair) or (isinstance(pair, tuple) and len(pair) == 2 and all(map(is_whole_number, pair)))
        ):  # noqa: PLR2004
            raise UnreadableLayer("not a pair for each spatial axis")
    return tuple(pair if isinstance(pair, tuple) else (pair, pair) for pair in value)


def spatial_entries(values: Any, *, channels_last: bool) -> tuple[Any, ...]:
    """Return what a list for every axis of an array says of its spatial axes."""
    if not isinstance(values, tuple) or len(values) < 3:  # noqa: PLR2004 - batch, channels, and one spatial axis
        raise UnreadableLayer("not a value for each axis of the array")
    return tuple(values[1:-1] if channels_last else values[2:])


def batch_and_channel_entries(values: Sequence[Any], *, channels_last: bool) -> tuple[Any, ...]:
    """Return what a list for every axis of an array says of batch and channels."""
    return (values[0], values[-1]) if channels_last else tuple(values[:2])


def array_pads(call: BoundCall, value: Any, *, channels_last: bool) -> Any:
    """Read a pair for each axis of the array, none for batch and channels."""
    if not isinstance(value, tuple) or not all(isinstance(pair, tuple) for pair in value):
        raise UnreadableLayer(
            "one number or pair pads batch and channels too: only a pair for each axis can be translated"
        )
    axes = spatial_entries(value, channels_last=channels_last)
    if batch_and_channel_entries(value, channels_last=channels_last) != ((0, 0), (0, 0)):
        where = "the first and the last axis" if channels_last else "the first two axes"
        raise UnreadableLayer(f"batch and channels, {where} here, are not padded")
    return read_pairs(call, axes)


Pairs = Sequence[tuple[int, int]]


def one_per_axis(value: Any, axes: int) -> tuple[Any, ...]:
    """Return one number for each axis."""
    return value if isinstance(value, tuple) else (value,) * axes


def kernel_reach(window: Sequence[int], dilation: Sequence[int]) -> tuple[int, ...]:
    """Return how many cells a kernel with holes covers along each axis."""
    return tuple(holes * (cells - 1) + 1 for cells, holes in zip(window, dilation, strict=True))


def padding_from_crop(ends: Pairs, stride: Sequence[int], dilation: Sequence[int]) -> Mapping[str, Any]:
    """Return padding and output_padding where so many cells are taken away before and after, or added if negative.

    Raises Unread for cells before the first, and for as many after the last as no output_padding adds.
    """
    for axis, ((before, after), *limits) in enumerate(zip(ends, stride, dilation, strict=True)):
        most = max(limits) - 1
        if before < 0:
            raise UnreadableLayer(
                f"on axis {axis} its output begins {-before} before the first window, where nothing adds cells"
            )
        if -after > most:
            raise UnreadableLayer(
                f"on axis {axis} its output goes on {-after} past the last window, where at most {most} do"
            )
    further = tuple(max(-after, 0) for _, after in ends)
    padding = tuple((before, max(after, 0)) for before, after in ends)
    return {"padding": padding, "output_padding": further if any(further) else 0}


def crop_from_padding(pads: Pairs, window: Sequence[int], dilation: Sequence[int]) -> Pairs:
    """Return what is taken away by a convolution that slides over the input with holes and this padding around it."""
    covered = zip(pads, kernel_reach(window, dilation), strict=True)
    return tuple((reach - 1 - before, reach - 1 - after) for (before, after), reach in covered)


def split_surplus(surplus: Sequence[int]) -> Pairs:
    """Return a surplus taken away at both ends, the odd cell after; what is missing is added after the end."""
    return tuple((max(cells, 0) // 2, cells - max(cells, 0) // 2) for cells in surplus)


def surplus_over_size(
    sizes: Sequence[int], extents: Sequence[int], stride: Sequence[int], reach: Sequence[int]
) -> tuple[int, ...]:
    """Return by how many cells the whole output is longer than the sizes that are wanted."""
    axes = zip(sizes, extents, stride, reach, strict=True)
    return tuple((extent - 1) * by + covered - size for size, extent, by, covered in axes)


def unpooled_size(call: BoundCall, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the size of the output that a window, stride and padding lead to."""
    spread = [
        value if isinstance(value, tuple) else (value,) * call.spatial_axes()
        for value in (found["window"], found.get("stride", found["window"]), found["padding"])
    ]
    axes = zip(call.input_extents("the size of the output"), *spread, strict=True)
    size = tuple((extent - 1) * stride - 2 * pad + window for extent, window, stride, pad in axes)
    for key in ("window", "stride", "padding"):
        found.pop(key, None)
    return {"output_size": size}


def ends_from_last_axis(call: BoundCall, value: Any) -> Any:
    """Return pads by axis, from a list that begins with the last one."""
    rank = call.rank or (len(call.shape) - 2 if call.shape else len(value) // 2 if isinstance(value, tuple) else 0)
    if is_whole_number(value):
        return ((value, value),) * rank
    if not isinstance(value, tuple) or len(value) % 2 or len(value) > 2 * rank or not all(map(is_whole_number, value)):
        raise UnreadableLayer(f"not a whole number, nor two for each of at most {rank} axes")
    found = [(value[2 * axis], value[2 * axis + 1]) for axis in range(len(value) // 2)]
    return tuple(reversed([*found, *[(0, 0)] * (rank - len(found))]))
