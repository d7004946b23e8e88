"""Why the inputs of two layers differ, although the layers before them compute the same.

The numbers of both inputs are compared with each other and with expressions of earlier arrays. The first relation that
explains all numbers is the likely cause.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from conformance.cases.arrays import Array
from conformance.models.comparison.expressions import NamedArray, find_expression, is_close, leaky_slope
from conformance.models.comparison.layers import ModelLayer
from conformance.models.comparison.reasons import order_text
from conformance.translation.option_text import size_text

MAX_POSITIONS = 2048
"""Number of positions of each channel that are compared to find an order of channels."""
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
SMALL_DIFFERENCE = 1e-2
"""Largest difference, in units of the largest number, that is called small."""


@dataclass(frozen=True)
class InputPair:
    """What two models have computed at one place.

    earlier: the layers of both models before this place, in order; None for a layer without a partner.
    weights: of the source, by name.
    """

    source: Array
    port: Array
    earlier: Sequence[tuple[ModelLayer | None, ModelLayer | None]]
    weights: Mapping[str, Array]

    @property
    def pairs(self) -> Sequence[tuple[ModelLayer, ModelLayer]]:
        """The layers with a partner."""
        return [(one, other) for one, other in self.earlier if one and other]


def input_reasons(pair: InputPair) -> list[str]:
    """Return likely reasons why two arrays differ, as sentences."""
    if pair.source.shape != pair.port.shape:
        return list(_shape_reasons(pair))
    if not np.array_equal(np.isfinite(pair.source), np.isfinite(pair.port)):
        return [_not_finite_text(pair)]
    arrays = [list(_arrays(pair.earlier, side)) for side in (0, 1)]
    texts = [find_expression(x, one) for x, one in zip((pair.source, pair.port), arrays, strict=True)]
    is_explained = all(texts) and texts[0] != texts[1]
    relations = [] if is_explained else list(itertools.islice(_relations(pair), 1))
    if texts[0] == texts[1] or relations:
        return relations or [_unknown(pair)]
    one, two = (text or "another function of the layers before" for text in texts)
    return [f"The source reads {one}; the port reads {two}."]


def _shape_reasons(pair: InputPair) -> Iterator[str]:
    one, two = pair.source.shape, pair.port.shape
    yield f"The shape is {size_text(one)} in the source, {size_text(two)} in the port."
    if one[:2] != two[:2] or len(one) != len(two):
        return
    for source, port in reversed(pair.pairs):
        # The layer before has this shape in one model, so that the other one crops or pads.
        if (source.call.result.shape, port.call.result.shape) == (one, two):
            yield f"These are the shapes of the results of layer {source.name}: compare what is cropped after it."
            return
    shared = tuple(slice(0, min(extents)) for extents in zip(one, two, strict=True))
    if is_close(pair.port[shared].astype(np.float64), pair.source[shared].astype(np.float64)):
        yield "The numbers at the same positions are the same: rows are missing at the end."


def _not_finite_text(pair: InputPair) -> str:
    """Return where one model has NaN or infinite numbers and the other has not."""
    other = np.isfinite(pair.source) != np.isfinite(pair.port)
    rows = np.moveaxis(other, 1, 0).reshape(other.shape[1], -1)
    channels = [int(one) for one in np.flatnonzero(rows.all(1))]
    if not channels or rows.any(1).sum() != len(channels):
        return "NaN or infinite numbers are at other positions."
    own = "source" if np.isfinite(pair.port[other]).all() else "port"
    return (
        f"All numbers of the {own} in the channels {order_text(channels)} are NaN or infinite, as with a negative "
        "variance of a normalization."
    )


def _arrays(earlier: Sequence[tuple[ModelLayer | None, ModelLayer | None]], side: int) -> Iterator[NamedArray]:
    """Yield the inputs and results of layers, by the names of the source. A result includes its bias."""
    for layers in earlier:
        layer, source = layers[side], layers[0]
        if layer is None:
            continue
        name = source.name if source else f"{layer.name}, which has no partner"
        yield NamedArray(f"the input of {name}", layer.x)
        result, bias = layer.call.result, source.call.inputs.get("bias") if source else None
        if bias is not None and "bias" not in layer.call.inputs:
            yield NamedArray(f"the result of {name} without its bias", result)
            result = result + bias.reshape(-1, *[1] * (result.ndim - 2))
        yield NamedArray(f"the result of {name}", result)


def _relations(pair: InputPair) -> Iterator[str]:
    source, port = (one.astype(np.float64) for one in (pair.source, pair.port))
    for relation in (_turned, _reordered, _scaled, _negative, _dropped, _shifted):
        text = relation(source, port)
        if text:
            yield text
    normalization = _normalization(pair)
    if normalization:
        yield normalization
    for relation in (_per_channel, _like_reordered):
        text = relation(source, port)
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
    rows = [one - one.mean(1, keepdims=True) for one in rows]
    with np.errstate(invalid="ignore", divide="ignore"):
        rows = [np.nan_to_num(one / np.linalg.norm(one, axis=1, keepdims=True)) for one in rows]
    likeness = rows[1] @ rows[0].T
    order = [int(one) for one in likeness.argmax(1)]
    if order == list(range(len(order))) or sorted(order) != list(range(len(order))):
        return None
    return order, float(likeness.max(1).min())


def _reordered(source: Array, port: Array) -> str | None:
    found = _likely_order(source, port)
    if found is None or not is_close(source[:, found[0]], port):
        return None
    return f"The port's channels are the source's in the order {order_text(found[0])}{_shuffle_text(found[0])}."


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
        return f"The port's numbers are {factor:.6g} times the source's."
    if is_close(x + (y - x).mean(), y):
        return f"The port's numbers are the source's plus {(y - x).mean():.6g}."
    if x.std() == 0:
        return None
    factor, constant = (float(one) for one in np.polyfit(x, y, 1))
    if factor and is_close(factor * x + constant, y):
        return f"The port's numbers are {factor:.6g} times the source's plus {constant:.6g}."
    return None


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


def _fit_channels(x: Array, y: Array) -> tuple[Array, Array] | None:
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
            factors[channel], constants[channel] = np.polyfit(own[used], theirs[used], 1)
            error = np.abs(factors[channel] * own[used] + constants[channel] - theirs[used]).max()
            if error > 10 * scale * 1e-6:
                return None
    return (factors, constants) if np.isfinite(factors).mean() > MIN_SHARE else None


def _per_channel(source: Array, port: Array) -> str | None:
    if source.min() >= 0 and port.min() >= 0:
        both = (source != 0) & (port != 0)
        source, port = np.where(both, source, 0), np.where(both, port, 0)
    found = _fit_channels(source, port)
    if found is None:
        return None
    known = np.isfinite(found[0])
    if np.abs(found[0][known] - 1).max() < SMALL_DIFFERENCE / 10:
        return (
            "Each channel of the port differs by a constant, as with another bias or another mean of a normalization."
        )
    return (
        "Each channel of the port has a factor and a constant, as with another normalization. "
        "Compare its epsilon, statistics and weights."
    )


def _normalization(pair: InputPair) -> str | None:
    """Return the epsilons of a normalization between an earlier layer and this place, by the weights of the source."""
    for layers in reversed(pair.pairs):
        results = [layer.call.result for layer in layers]
        if any(result.shape != pair.source.shape for result in results):
            continue
        source, port = (_fit_channels(x, y) for x, y in zip(results, (pair.source, pair.port), strict=True))
        if source is None or port is None:
            continue
        vectors = [one.astype(np.float64) for one in pair.weights.values() if one.shape == source[0].shape]
        for variance, weight in itertools.permutations(vectors, 2):
            one, two = (_epsilon(factors, variance, weight) for factors, _ in (source, port))
            if one and two and f"{one:.1g}" != f"{two:.1g}":
                return f"The epsilon of a normalization is {one:.1g} in the source, {two:.1g} in the port."
    return None


def _epsilon(factors: Array, variance: Array, weight: Array) -> float | None:
    """Return the epsilon with which weight / sqrt(variance + epsilon) are the factors, None if there is none."""
    with np.errstate(all="ignore"):
        found = (weight / factors) ** 2 - variance
    found = found[np.isfinite(found)]
    if not found.size or not np.array_equal(variance, np.abs(variance)):
        return None
    middle = float(np.median(found))
    spread = float(np.abs(found - middle).max())
    return middle if middle > 0 and spread < MAX_SPREAD * middle + NOISE * float(variance.max()) else None


SMALL_TEXT = (
    "The difference is small: compare the epsilon of normalizations, and approximations of activations, between these "
    "layers."
)
OTHER_TEXT = "The operators between these layers differ. Compare their order, their parameters and their weights."


def _unknown(pair: InputPair) -> str:
    """Return what to compare if no reason is found."""
    scale = float(np.abs(pair.source).max(initial=0))
    largest = float(np.abs(pair.source.astype(np.float64) - pair.port).max(initial=0))
    return SMALL_TEXT if largest <= SMALL_DIFFERENCE * scale else OTHER_TEXT


def is_known(reasons: Sequence[str]) -> bool:
    """Whether one of the reasons explains the difference."""
    return not {SMALL_TEXT, OTHER_TEXT} & {*reasons}


def with_missing_layers(missing: Sequence[str], reasons: Sequence[str]) -> list[str]:
    """Return layers without a partner before other reasons, which count only if they say more."""
    return [*missing, *(one for one in reasons if not missing or one != OTHER_TEXT)]


MATRIX_RANK = 2
RESULT_ORDERS: Sequence[tuple[str, Callable[[Array], Array]]] = (
    ("with the channels first", lambda x: x),
    ("with the channels last", lambda x: np.moveaxis(x, 1, -1)),
)


def result_reasons(pair: InputPair) -> list[str]:
    """Return likely reasons why the results of two models differ, among them a dense layer after the last layer."""
    if not pair.pairs or pair.source.shape != pair.port.shape or pair.source.ndim > MATRIX_RANK:
        return input_reasons(pair)
    number = max(index for index, layers in enumerate(pair.earlier) if all(layers))
    missing = [source for source, _ in pair.earlier[number + 1 :] if source]
    texts = [_dense_text(pair, layers, missing, side) for side, layers in enumerate(zip(*pair.pairs[-1:], strict=True))]
    if all(texts) and texts[0] != texts[1]:
        return [f"The dense layer reads {texts[0]} in the source, {texts[1]} in the port."]
    return [_unknown(pair)]


def _dense_text(pair: InputPair, layers: Sequence[ModelLayer], missing: Sequence[ModelLayer], side: int) -> str:
    """Return how the result of a model is that of a dense layer, whose weights the source has.

    layers: the last layer. missing: those of the source after it, which the port writes without a window operator.
    """
    (layer,) = layers
    x, name = layer.call.result, pair.pairs[-1][0].name
    for following in (None, *missing):
        if following is not None:
            if following.x.shape != x.shape:
                return ""
            x, name = following.expected(x).value, following.name
        found = _dense_order((pair.source, pair.port)[side].astype(np.float64), x.astype(np.float64), pair.weights)
        if found:
            return f"{name} {found}"
    return ""


def _dense_order(result: Array, x: Array, weights: Mapping[str, Array]) -> str:
    for weight in weights.values():
        if weight.shape != (result.shape[-1], x[0].size):
            continue
        biases = [one for one in weights.values() if one.shape == result.shape[-1:]]
        for words, order in RESULT_ORDERS:
            product = order(x).reshape(len(x), -1) @ weight.T.astype(np.float64)
            if is_close(product, result):
                return f"{words}, without a bias,"
            if any(is_close(product + bias, result) for bias in biases):
                return words
    return ""
