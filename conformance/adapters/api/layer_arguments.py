"""What arguments of layers mean: sizes, padding, words and flags, as most frameworks write them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.adapters.api.layer_parser import Unread, Word
from conformance.adapters.api.layers import Call, Reading


def whole(value: Any) -> bool:
    """Whether a value is a whole number, which True is not."""
    return isinstance(value, int) and not isinstance(value, bool)


def sizes(argument: str) -> Reading:
    """Read one whole number, or one for each spatial axis; None leaves the word out."""
    return Reading(argument, _sizes)


def _sizes(call: Call, value: Any) -> Any:
    if value is None or whole(value):
        return value
    if isinstance(value, tuple) and value and all(map(whole, value)):
        if len(value) == 1 != call.axes(value):
            return value[0]
        if len(value) != call.axes(value):
            raise Unread(f"{len(value)} numbers for {call.axes(value)} spatial axes")
        return value
    raise Unread("not a whole number, nor one for each spatial axis")


def ones(argument: str) -> Reading:
    """Read sizes that are 1 where None stands."""
    return Reading(argument, lambda call, value: 1 if value is None else _sizes(call, value))


def number(argument: str) -> Reading:
    """Read a number; None leaves the word out."""
    return Reading(argument, _number)


def _number(_call: Call, value: Any) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    if value is None:
        return None
    if isinstance(value, Word) and value.rpartition(".")[2] in {"inf", "nan"}:
        return -math.inf if value.startswith("-") else math.inf if value.endswith("inf") else math.nan
    raise Unread("not a number")


def count(argument: str) -> Reading:
    """Read a whole number; None leaves the word out."""
    return Reading(argument, _count)


def _count(_call: Call, value: Any) -> Any:
    if value is None or whole(value):
        return value
    raise Unread("not a whole number")


def choice(argument: str, words: Mapping[Any, Any]) -> Reading:
    """Read one of several values, each with what it means; words in any case."""

    def chosen(_call: Call, value: Any) -> Any:
        plain = value.lower() if isinstance(value, str) and not isinstance(value, Word) else value
        for word, meaning in words.items():
            if word == plain and isinstance(word, bool) == isinstance(plain, bool):
                return meaning
        raise Unread(f"neither of {', '.join(map(repr, words))}")

    return Reading(argument, chosen)


def flag(argument: str) -> Reading:
    """Read yes or no."""
    return choice(argument, {True: True, False: False})


def ceiling(argument: str, word: str = "ceil") -> Reading:
    """Read whether the output size is rounded up, and by which rule then."""
    return choice(argument, {False: "floor", True: word})


SAME = {"same": "same_upper", "valid": 0}
LOWER = {"same_lower": "same_lower"}


def named_padding(argument: str, words: Mapping[str, Any] = SAME) -> Reading:
    """Read padding by name; `same` depends on the size of the input."""
    return Reading(argument, lambda call, value: by_name(call, value, words))


def by_name(call: Call, value: Any, words: Mapping[str, Any]) -> Any:
    """Return what a word for padding means. Raises Unread for another, and where it takes an unsaid size."""
    if not isinstance(value, str) or isinstance(value, Word) or value.lower() not in words:
        raise Unread(f"neither of {', '.join(map(repr, words))}")
    meaning = words[value.lower()]
    if isinstance(meaning, str) and meaning.startswith("same"):
        call.extents("how much it pads")
    return meaning


def padding(argument: str, words: Mapping[str, Any] | None = None) -> Reading:
    """Read padding: a whole number, one or a (before, after) pair for each spatial axis, or one of some words."""

    def read(call: Call, value: Any) -> Any:
        if words is not None and isinstance(value, str):
            return by_name(call, value, words)
        return pairs(call, value) if _nested(value) else _sizes(call, value)

    return Reading(argument, read)


def _nested(value: Any) -> bool:
    return isinstance(value, tuple) and any(isinstance(item, tuple) for item in value)


def pairs(call: Call, value: Any) -> Any:
    """Return one (before, after) pair for each spatial axis."""
    if not (isinstance(value, tuple) and len(value) == call.axes(value)):
        raise Unread("not a pair for each spatial axis")
    for pair in value:
        if not (whole(pair) or (isinstance(pair, tuple) and len(pair) == 2 and all(map(whole, pair)))):  # noqa: PLR2004
            raise Unread("not a pair for each spatial axis")
    return tuple(pair if isinstance(pair, tuple) else (pair, pair) for pair in value)


def spatial(values: Any, *, channels_last: bool) -> tuple[Any, ...]:
    """Return what a list for every axis of an array says of its spatial axes."""
    if not isinstance(values, tuple) or len(values) < 3:  # noqa: PLR2004 - batch, channels, and one spatial axis
        raise Unread("not a value for each axis of the array")
    return tuple(values[1:-1] if channels_last else values[2:])


def outer(values: Sequence[Any], *, channels_last: bool) -> tuple[Any, ...]:
    """Return what a list for every axis of an array says of batch and channels."""
    return (values[0], values[-1]) if channels_last else tuple(values[:2])


def array_ends(call: Call, value: Any, *, channels_last: bool) -> Any:
    """Read a pair for each axis of the array, none for batch and channels."""
    if not isinstance(value, tuple) or not all(isinstance(pair, tuple) for pair in value):
        raise Unread("one number or pair pads batch and channels too: only a pair for each axis can be translated")
    axes = spatial(value, channels_last=channels_last)
    if outer(value, channels_last=channels_last) != ((0, 0), (0, 0)):
        where = "the first and the last axis" if channels_last else "the first two axes"
        raise Unread(f"batch and channels, {where} here, are not padded")
    return pairs(call, axes)


Pairs = Sequence[tuple[int, int]]


def spread(value: Any, axes: int) -> tuple[Any, ...]:
    """Return one number for each axis."""
    return value if isinstance(value, tuple) else (value,) * axes


def reaches(window: Sequence[int], dilation: Sequence[int]) -> tuple[int, ...]:
    """Return how many cells a kernel with holes covers along each axis."""
    return tuple(holes * (cells - 1) + 1 for cells, holes in zip(window, dilation, strict=True))


def cropped(ends: Pairs, stride: Sequence[int], dilation: Sequence[int]) -> Mapping[str, Any]:
    """Return padding and output_padding where so many cells are taken away before and after, or added if negative.

    Raises Unread for cells before the first, and for as many after the last as no output_padding adds.
    """
    for axis, ((before, after), *limits) in enumerate(zip(ends, stride, dilation, strict=True)):
        most = max(limits) - 1
        if before < 0:
            raise Unread(
                f"on axis {axis} its output begins {-before} before the first window, where nothing adds cells"
            )
        if -after > most:
            raise Unread(f"on axis {axis} its output goes on {-after} past the last window, where at most {most} do")
    further = tuple(max(-after, 0) for _, after in ends)
    padding = tuple((before, max(after, 0)) for before, after in ends)
    return {"padding": padding, "output_padding": further if any(further) else 0}


def around(pads: Pairs, window: Sequence[int], dilation: Sequence[int]) -> Pairs:
    """Return what is taken away by a convolution that slides over the input with holes and this padding around it."""
    covered = zip(pads, reaches(window, dilation), strict=True)
    return tuple((reach - 1 - before, reach - 1 - after) for (before, after), reach in covered)


def halved(surplus: Sequence[int]) -> Pairs:
    """Return a surplus taken away at both ends, the odd cell after; what is missing is added after the end."""
    return tuple((max(cells, 0) // 2, cells - max(cells, 0) // 2) for cells in surplus)


def up_to(sizes: Sequence[int], extents: Sequence[int], stride: Sequence[int], reach: Sequence[int]) -> tuple[int, ...]:
    """Return by how many cells the whole output is longer than the sizes that are wanted."""
    axes = zip(sizes, extents, stride, reach, strict=True)
    return tuple((extent - 1) * by + covered - size for size, extent, by, covered in axes)


def unpooled(call: Call, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the size of the output that a window, stride and padding lead to."""
    spread = [
        value if isinstance(value, tuple) else (value,) * call.axes()
        for value in (found["window"], found.get("stride", found["window"]), found["padding"])
    ]
    axes = zip(call.extents("the size of the output"), *spread, strict=True)
    size = tuple((extent - 1) * stride - 2 * pad + window for extent, window, stride, pad in axes)
    for key in ("window", "stride", "padding"):
        found.pop(key, None)
    return {"output_size": size}


def ends_from_last_axis(call: Call, value: Any) -> Any:
    """Return pads by axis, from a list that begins with the last one."""
    rank = call.rank or (len(call.shape) - 2 if call.shape else len(value) // 2 if isinstance(value, tuple) else 0)
    if whole(value):
        return ((value, value),) * rank
    if not isinstance(value, tuple) or len(value) % 2 or len(value) > 2 * rank or not all(map(whole, value)):
        raise Unread(f"not a whole number, nor two for each of at most {rank} axes")
    found = [(value[2 * axis], value[2 * axis + 1]) for axis in range(len(value) // 2)]
    return tuple(reversed([*found, *[(0, 0)] * (rank - len(found))]))
