"""The inputs with which a layer is checked. Each tests one situation that can occur in the model.

Integers find a lost or doubled cell, negative integers find padding that is taken for a value, NaN and infinities find
other rules for special values, windows that contain only minus infinity find a search that starts from the lowest
finite number, full mantissas and the model's own weights find an error of rounding, and large integers
find sums in 16 bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conformance.cases.arrays import NUMPY_DTYPES, SHORT_FLOATS, dtype_kind
from conformance.cases.generators import DtypeKind
from conformance.cases.operators import OPERATORS, Arithmetic, Geometry
from conformance.exploration.candidate import Candidate
from conformance.exploration.convention_domains import conventions_of
from conformance.exploration.draws.conventions import LARGE_INTEGER_INPUT, NEGATIVE_INTEGER_INPUT, SIGNED_INTEGER_INPUT
from conformance.models.geometry import CheckedLayer
from conformance.models.layer import ModelLayer
from conformance.translation.single_call import case_in_effect
from reports.results.vocabulary import Word

SPECIAL_BATCH = 2
"""Number of items of a batch with special values. The special value is in another cell in each item."""


class Numbers(Word):
    """The numbers of an input."""

    DISTINCT = "different integers"
    INTEGERS = "integers"
    NEGATIVE = "negative integers"
    MANTISSAS = "full mantissas"
    NAN = "NaN"
    INFINITY = "infinity"
    MINUS_INFINITY = "minus infinity"
    ONLY_MINUS_INFINITY = "windows of only minus infinity"
    LARGE = "large integers"
    OWN_WEIGHTS = "the weights of the model"


NORM, INDICES = "lp_pool", "indices"
P_1_CONVENTION, ODD_P_CONVENTION = "lp_pool/p-1-of-negative-values", "lp_pool/odd-p-of-negative-values"
MARKS: Mapping[Numbers, str] = {Numbers.NAN: "nan", Numbers.INFINITY: "inf", Numbers.MINUS_INFINITY: "-inf"}
SPECIAL_NUMBERS = frozenset({*MARKS, Numbers.ONLY_MINUS_INFINITY})
"""The inputs with NaN or infinities."""
FILLED_GEOMETRIES = frozenset({Geometry.WINDOWS, Geometry.BINS})
"""Geometries whose maxima are checked with minus infinity in every cell. The maximum of an image has a convention."""


@dataclass(frozen=True)
class Question:
    """A layer with numbers; conventions: the ids of the conventions that it observes."""

    numbers: Numbers
    candidate: Candidate

    @property
    def conventions(self) -> tuple[str, ...]:
        """The conventions on which the result depends."""
        norms = _conventions_of_norm(self.candidate) if self.numbers is Numbers.INTEGERS else ()
        return (*conventions_of(self.candidate), *norms)


def _conventions_of_norm(candidate: Candidate) -> Iterator[str]:
    """Yield the convention about the sign of powers that a norm in a model observes.

    The programs of the suite take absolute values first if the call of a framework does not. A model does not.
    """
    has_negative = candidate.inputs["x"].get("low", 0) < 0
    if candidate.operator == NORM and has_negative and candidate.levels["p"] % 2 == 1:
        yield P_1_CONVENTION if candidate.levels["p"] == 1 else ODD_P_CONVENTION


def questions_of(checked: CheckedLayer) -> list[Question]:
    """Return the questions of a layer; none if its geometry is impossible."""
    return [one for one in _questions(checked) if one.candidate.is_valid()]


def _questions(checked: CheckedLayer) -> Iterator[Question]:
    layer, small, special = checked.layer, checked.small, checked.special
    if layer.parameters.get("output") == INDICES:
        # First, because which of equal cells is the largest is a convention, which not every target can be asked.
        yield Question(Numbers.DISTINCT, make_candidate(layer, {"values": "distinct"}))
    arithmetic, kind = OPERATORS[layer.operator].arithmetic, dtype_kind(layer.dtype)
    yield Question(Numbers.INTEGERS, make_candidate(layer, SIGNED_INTEGER_INPUT))
    if arithmetic is Arithmetic.SELECTION and NUMPY_DTYPES[layer.dtype].kind != "u":
        yield Question(Numbers.NEGATIVE, make_candidate(small, NEGATIVE_INTEGER_INPUT))
    if kind is not DtypeKind.FLOATING:
        return
    if arithmetic is not Arithmetic.SELECTION:
        yield Question(Numbers.MANTISSAS, candidate_with(Numbers.MANTISSAS, small))
    for numbers in MARKS:
        yield Question(numbers, candidate_with(numbers, special))
    if _selects_values(layer):
        yield Question(Numbers.ONLY_MINUS_INFINITY, candidate_with(Numbers.ONLY_MINUS_INFINITY, small))
    if layer.dtype in SHORT_FLOATS and arithmetic is Arithmetic.AVERAGE:
        yield Question(Numbers.LARGE, make_candidate(small, LARGE_INTEGER_INPUT))
    if small.weights:
        candidate = make_candidate(small, SIGNED_INTEGER_INPUT, values="mantissas")
        own = own_weights(small)
        if own:
            yield Question(Numbers.OWN_WEIGHTS, candidate.with_numbers(**own))


def _selects_values(layer: ModelLayer) -> bool:
    """Whether a layer returns the largest value of each window or bin."""
    operator = OPERATORS[layer.operator]
    is_maximum = operator.arithmetic is Arithmetic.SELECTION and operator.geometry in FILLED_GEOMETRIES
    return is_maximum and layer.parameters.get("output") != INDICES


def candidate_with(numbers: Numbers, layer: ModelLayer) -> Candidate:
    """Return a layer with integers, full mantissas, integers and a special value, or minus infinity in every cell."""
    if numbers is Numbers.ONLY_MINUS_INFINITY:
        cells = np.full((1, *layer.shape[1:]), -np.inf)
        return make_candidate(layer, SIGNED_INTEGER_INPUT).with_numbers(x=cells.tolist())
    if numbers in MARKS:
        cell = {**SIGNED_INTEGER_INPUT, "at": _inner_cell(layer)}
        return make_candidate(layer, cell, values=MARKS[numbers], batch=SPECIAL_BATCH)
    values = "mantissas" if numbers is Numbers.MANTISSAS else "integers"
    return make_candidate(layer, SIGNED_INTEGER_INPUT, values=values)


def _inner_cell(layer: ModelLayer) -> int:
    """Return a cell in the middle of the plane, which is not the first cell of a window."""
    cell = 0
    for extent in layer.shape[2:]:
        cell = cell * extent + extent // 2
    return cell


def make_candidate(layer: ModelLayer, x: Mapping[str, Any], *, values: str = "integers", batch: int = 1) -> Candidate:
    """Return a layer with generated numbers. x: the options of its input."""
    operator, groups = OPERATORS[layer.operator], layer.groups
    levels = {
        "rank": layer.rank,
        "batch": batch,
        "channels": layer.shape[1] // groups,
        "extent": layer.shape[2:],
        **{name: value for name, value in operator.defaults.items() if name not in operator.required_parameters},
        **layer.parameters,
        "values": values,
        "dtype": layer.dtype,
    }
    inputs: dict[str, Mapping[str, Any]] = {"x": x}
    if operator.has_weights:
        levels |= {"out": layer.out_channels // groups, "window": layer.window, "bias": layer.bias}
        inputs |= dict.fromkeys(("kernel", "bias") if layer.bias else ("kernel",), SIGNED_INTEGER_INPUT)
    if not layer.bias:
        levels.pop("bias", None)
    # A parameter without a value, such as no divisor, is left out as in a case file.
    return Candidate(layer.operator, {name: level for name, level in levels.items() if level is not None}, inputs)


def candidate_in_effect(candidate: Candidate) -> Candidate:
    """Return a candidate with the same result, whose padding and rounding are those of its input size."""
    other = case_in_effect(candidate.case)
    if other is None:
        return candidate
    names = ("padding", "rounding", "count_include_pad")
    changed = {name: other.parameters[name] for name in names if name in other.parameters}
    # The shapes and the numbers are the same.
    return replace(candidate, levels={**candidate.levels, **changed})


def own_weights(layer: ModelLayer) -> Mapping[str, Any]:
    """Return the model's weights cut to the channels of a layer; empty if the model has fewer."""
    shapes = {"kernel": layer.kernel} | ({"bias": (layer.out_channels,)} if layer.bias else {})
    try:
        return {name: _cut(layer.weights[name], shape) for name, shape in shapes.items()}
    except (KeyError, IndexError, TypeError):
        return {}


def _cut(values: Any, shape: tuple[int, ...]) -> Any:
    """Return the first numbers on every axis of a nested list. Raises IndexError if it has too few."""
    if not shape:
        return float(values)
    if len(values) < shape[0]:
        raise IndexError(f"{len(values)} numbers on an axis of {shape[0]}")
    return [_cut(one, shape[1:]) for one in values[: shape[0]]]
