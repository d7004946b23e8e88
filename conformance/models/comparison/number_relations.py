"""Relations of the numbers that two layers read: what one array has to be changed to be the other one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from conformance.cases.arrays import Array
from conformance.models.comparison.expressions import TOLERANCE, is_close, leaky_slope
from conformance.models.comparison.weight_relations import order_text
from conformance.translation.option_text import size_text

MAX_POSITIONS = 2048
"""Number of positions of each channel that are compared to find an order of channels."""
MIN_POSITIONS = 3
"""Number of positions of a channel from which it is compared with other channels."""
MAX_CHANNELS = 8192
"""Largest number of channels that are compared with each other."""
MAX_SHIFT = 2
"""Largest number of cells by which the numbers of the port may be shifted."""
MIN_CORRELATION = 0.9
"""Smallest correlation of channels that are probably the same."""
MIN_SHARE = 0.25
"""Smallest share of numbers that are neither zero nor negative, from which factors of channels are computed."""
MIN_NUMBERS = 4
"""Smallest number of elements of a channel from which its factor is computed."""
MAX_SPREAD, NOISE = 0.05, 1e-6
"""Largest differences of an epsilon between channels, in units of the epsilon and of the largest variance."""
MAX_FACTOR_CHANGE = 1e-3
"""Largest difference of a factor of a channel from 1 that counts as no factor."""


def exact_relations(source: Array, port: Array) -> Iterator[str]:
    """Yield relations that give the numbers of a port from those of the source."""
    yield from _texts((_turned, _reordered, _reordered_numbers, _scaled, _negative, _dropped, _shifted), source, port)


def channel_relations(source: Array, port: Array) -> Iterator[str]:
    """Yield relations of the channels that have more parameters, or are only probable."""
    yield from _texts((_per_channel, _like_reordered), source, port)


def _texts(relations: Sequence[Callable[[Array, Array], str | None]], source: Array, port: Array) -> Iterator[str]:
    one, two = source.astype(np.float64), port.astype(np.float64)
    for relation in relations:
        with np.errstate(all="ignore"):
            text = relation(one, two)
        if text:
            yield text


def _turned(source: Array, port: Array) -> str | None:
    axes = tuple(range(2, source.ndim))
    for order in itertools.permutations(axes):
        for count in range(len(axes) + 1):
            for flipped in itertools.combinations(axes, count):
                if (order, flipped) != (axes, ()) and is_close(np.flip(source.transpose(0, 1, *order), flipped), port):
                    words = [f"flipped on spatial axis {axis - 2}" for axis in flipped]
                    words += ["with its spatial axes exchanged"] if order != axes else []
                    return f"The port has the numbers of the source {', '.join(words)}."
    return None


def _shifted(source: Array, port: Array) -> str | None:
    """Return that the cells of the port are those of the source at other places, as after another crop."""
    axes = source.ndim - 2
    if min(source.shape[2:], default=0) <= 2 * MAX_SHIFT:
        return None
    for shift in itertools.product(range(-MAX_SHIFT, MAX_SHIFT + 1), repeat=axes):
        one, two = (
            (slice(None), slice(None), *(slice(max(step, 0), extent + min(step, 0)) for step, extent in steps))
            for steps in (
                list(zip(signed, source.shape[2:], strict=True)) for signed in (shift, [-step for step in shift])
            )
        )
        if any(shift) and is_close(source[one], port[two]):
            text = size_text(shift)
            return f"The port has the numbers of the source shifted by {text} cells: compare crops and padding."
    return None


def _positions(array: Array) -> Array:
    """Return the numbers of each channel at some positions, (channels, positions)."""
    rows = np.moveaxis(array, 1, 0).reshape(array.shape[1], -1)
    return rows[:, :: max(rows.shape[1] // MAX_POSITIONS, 1)]


def _likely_order(source: Array, port: Array) -> tuple[list[int], float] | None:
    """Return for each channel of the port the channel of the source that is most like it, and the least correlation."""
    rows = [_positions(one) for one in (source, port)]
    if rows[0].shape[1] < MIN_POSITIONS or len(rows[0]) > MAX_CHANNELS:
        return None
    scale = max(float(np.abs(one).max(initial=0)) for one in rows)
    rows = [one - one.mean(1, keepdims=True) for one in rows]
    constant = [np.abs(one).max(1, initial=0) <= TOLERANCE * scale for one in rows]
    with np.errstate(invalid="ignore", divide="ignore"):
        rows = [np.nan_to_num(one / np.linalg.norm(one, axis=1, keepdims=True)) for one in rows]
    likeness = rows[1] @ rows[0].T
    likely = [
        None if is_constant else int(one) for is_constant, one in zip(constant[1], likeness.argmax(1), strict=True)
    ]
    order = _with_constant_channels(likely, [int(one) for one in np.flatnonzero(constant[0])])
    if order == list(range(len(order))) or sorted(order) != list(range(len(order))):
        return None
    return order, float(likeness.max(1)[~constant[1]].min(initial=1))


def _with_constant_channels(order: Sequence[int | None], constant: Sequence[int]) -> list[int]:
    """Return an order of channels with one for each None, so that neighbours remain neighbours where possible.

    constant: the channels of the source with a single number, which are like any other one, such as zeros after ReLU.
    """
    found, unused = list(order), {int(one) for one in constant}
    positions = range(len(found))
    for step, some in ((1, positions), (-1, positions[::-1])):
        for position in some:
            before = position - step
            neighbour = found[before] if 0 <= before < len(found) else None
            if found[position] is None and neighbour is not None and neighbour + step in unused:
                found[position] = neighbour + step
                unused.remove(neighbour + step)
    rest = iter(sorted(unused))
    return [next(rest, 0) if one is None else one for one in found]


def _reordered(source: Array, port: Array) -> str | None:
    found = _likely_order(source, port)
    if found is None or not is_close(source[:, found[0]], port):
        return None
    return f"The port's channels are the source's in the order {order_text(found[0])}{_shuffle_text(found[0])}."


def _reordered_numbers(source: Array, port: Array) -> str | None:
    """Return the order of the channels of vectors, which have one number for each channel."""
    if source[0, 0].size != 1:
        return None
    one, other = (array[0].ravel() for array in (source, port))
    order = np.zeros(one.size, np.int64)
    order[np.argsort(other)] = np.argsort(one)
    if not is_close(source[:, order], port):
        return None
    return f"The port's channels are the source's in the order {order_text(order.tolist())}."


def _like_reordered(source: Array, port: Array) -> str | None:
    found = _likely_order(source, port)
    if found is None or found[1] < MIN_CORRELATION:
        return None
    return (
        f"The port's channels are nearly the source's in the order {order_text(found[0])}{_shuffle_text(found[0])}: "
        "probably the order of channels, before a bias or a normalization."
    )


def _shuffle_text(order: Sequence[int]) -> str:
    count = len(order)
    for groups in range(2, count):
        if count % groups == 0 and list(order) == np.arange(count).reshape(groups, -1).T.ravel().tolist():
            return f" (a channel shuffle with {groups} groups)"
    return ""


def _scaled(source: Array, port: Array) -> str | None:
    """Return that all numbers differ by one factor, by one constant, or by both."""
    x, y = source.ravel(), port.ravel()
    factor = float(x @ y / (x @ x)) if x.any() else 0.0
    if factor and is_close(factor * x, y):
        inverse = f" (1 / {1 / factor:.6g})" if abs(factor) < 1 else ""
        return f"The port's numbers are {factor:.6g}{inverse} times the source's."
    if is_close(x + (y - x).mean(), y):
        return f"The port's numbers are the source's plus {(y - x).mean():.6g}."
    if x.std() == 0:
        return None
    factor, constant = _line(x, y)
    if factor and is_close(factor * x + constant, y):
        return f"The port's numbers are {factor:.6g} times the source's plus {constant:.6g}."
    return None


def _line(x: Array, y: Array) -> tuple[float, float]:
    """Return factor and constant of the line with the least squares, where x is not constant."""
    change = x - x.mean()
    factor = float(change @ (y - y.mean()) / (change @ change))
    return factor, float(y.mean() - factor * x.mean())


def _negative(source: Array, port: Array) -> str | None:
    """Return that only numbers below zero differ, as after another activation."""
    for x, y, names in ((source, port, ("port", "source")), (port, source, ("source", "port"))):
        if not (x < 0).any():
            continue
        slope = leaky_slope(x.ravel(), y.ravel())
        if slope == 0:
            return f"Negative numbers of the {names[1]} are 0 in the {names[0]}: ReLU."
        if slope is not None and slope < 1:
            return f"Negative numbers of the {names[0]} are {slope:.6g} times those of the {names[1]}: compare slopes."
    return None


def _dropped(source: Array, port: Array) -> str | None:
    """Return that some numbers are zero in the port, and all others are larger by one factor, as after a dropout."""
    used, lost = (port != 0) & (source != 0), (port == 0) & (source != 0)
    if not used.any() or not lost.any():
        return None
    factor = float(np.median(port[used] / source[used]))
    if factor <= 1 or not is_close(factor * source[used], port[used]):
        return None
    share = lost.sum() / (source != 0).sum()
    return (
        f"{share:.0%} of the port's numbers are 0, and the others {factor:.4g} times the source's: an active dropout."
    )


def fit_channels(x: Array, y: Array) -> tuple[Array, Array] | None:
    """Return factor and constant of each channel with which x gives y; None if they do not.

    Numbers of y that are 0 do not count if none is negative: they may be the result of ReLU.
    """
    rows = [_positions(one.astype(np.float64)) for one in (x, y)]
    counts = rows[1] != 0 if rows[1].min() >= 0 else np.ones(rows[1].shape, bool)
    if counts.mean() < MIN_SHARE:
        return None
    factors, constants = np.full((2, len(rows[0])), np.nan)
    scale = float(np.abs(rows[1]).max())
    for channel, (own, theirs, used) in enumerate(zip(*rows, counts, strict=True)):
        if used.sum() >= MIN_NUMBERS and own[used].std() > 0:
            factors[channel], constants[channel] = _line(own[used], theirs[used])
            error = np.abs(factors[channel] * own[used] + constants[channel] - theirs[used]).max()
            if error > 10 * scale * 1e-6:
                return None
    return (factors, constants) if np.isfinite(factors).mean() > MIN_SHARE else None


def _per_channel(source: Array, port: Array) -> str | None:
    if source.min() >= 0 and port.min() >= 0:
        both = (source != 0) & (port != 0)
        source, port = np.where(both, source, 0), np.where(both, port, 0)
    found = fit_channels(source, port)
    if found is None:
        return None
    known = np.isfinite(found[0])
    if np.abs(found[0][known] - 1).max() < MAX_FACTOR_CHANGE:
        return (
            "Each channel of the port differs by a constant, as with another bias or another mean of a normalization."
        )
    return (
        "Each channel of the port has a factor and a constant, as with another normalization. "
        "Compare its epsilon, statistics and weights."
    )


def epsilon_of(factors: Array, variance: Array, weight: Array) -> float | None:
    """Return the epsilon with which weight / sqrt(variance + epsilon) are the factors, None if there is none."""
    with np.errstate(all="ignore"):
        found = (weight / factors) ** 2 - variance
    found = found[np.isfinite(found)]
    if not found.size or not np.array_equal(variance, np.abs(variance)):
        return None
    middle = float(np.median(found))
    spread = float(np.abs(found - middle).max())
    return middle if middle > 0 and spread < MAX_SPREAD * middle + NOISE * float(variance.max()) else None
