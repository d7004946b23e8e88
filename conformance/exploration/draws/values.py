"""Draw the kind of numbers of a candidate and their dtype, as the sweeps of the operator list them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from conformance.cases.arrays import SHORT_FLOATS, dtype_kind
from conformance.cases.generators import DtypeKind, GeneratorName
from conformance.cases.operators import OPERATORS, Arithmetic
from conformance.catalogue.factors import FactorLevel
from conformance.catalogue.sweeps import DEFAULT_LEVELS, Sweep, generator_of_level
from conformance.exploration.draws.conventions import InputOptions
from conformance.exploration.rng import Rng

EXACT_VALUES = frozenset({GeneratorName.INTEGERS, GeneratorName.DISTINCT, GeneratorName.ARANGE})
"""Usual levels of `values`: integers, whose sums are exact."""
SELECTION_VALUES: Mapping[DtypeKind, Sequence[str]] = {
    DtypeKind.INTEGER: (GeneratorName.EXTREMES.value,),
    DtypeKind.FLOATING: (GeneratorName.MANTISSAS.value, GeneratorName.WIDE.value),
}
"""Additional levels of `values` by kind of dtype.

They are for operators that return input values unchanged, so that limits of integer dtypes and full mantissas cause no
rounding.
"""


@dataclass(frozen=True)
class ValueChoice:
    """Levels of `values` and `dtype`, and the generator options of each input."""

    values: FactorLevel
    dtype: FactorLevel
    inputs: InputOptions


def value_choices(operator: str, sweeps: Iterable[Sweep]) -> tuple[ValueChoice, ...]:
    """Return the value choices of the sweeps of an operator, with SELECTION_VALUES and without duplicates."""
    by_repr = {repr(one): one for sweep in sweeps for one in _choices_of_sweep(operator, sweep)}  # dicts are unhashable
    return tuple(by_repr.values())


def _choices_of_sweep(operator: str, sweep: Sweep) -> Iterator[ValueChoice]:
    described = OPERATORS[operator]
    inputs = {name: sweep.common[name] for name in described.inputs if name in sweep.common}
    only_selects = described.arithmetic is Arithmetic.SELECTION and not described.is_gradient and not described.outputs
    dtypes = sweep.factors.get("dtype", (DEFAULT_LEVELS["dtype"],))
    if described.is_gradient:  # the sweeps of most gradients have no 16-bit dtypes
        dtypes = tuple(dict.fromkeys((*dtypes, *sorted(SHORT_FLOATS))))
    for dtype in dtypes:
        kind = dtype_kind(dtype)
        added = SELECTION_VALUES.get(kind, ()) if only_selects else ()
        for values in (*sweep.factors.get("values", (DEFAULT_LEVELS["values"],)), *added):
            if kind in generator_of_level(values).kinds:
                yield ValueChoice(values, dtype, inputs)


def _dtype_group(dtype: FactorLevel) -> str:
    """Return the group of a dtype. Groups are drawn first, because integer dtypes outnumber the others."""
    return "short floats" if dtype in SHORT_FLOATS else str(dtype_kind(dtype))


def draw_values(choices: Sequence[ValueChoice], rng: Rng) -> ValueChoice:
    """Draw a level of `values`, then a group of its dtypes and one of them, then one of the choices with both."""
    every = list(dict.fromkeys(one.values for one in choices))
    usual = [values for values in every if values in EXACT_VALUES]
    unusual = [values for values in every if values not in EXACT_VALUES]
    values = rng.usual_or_unusual(usual or every, unusual or every)
    dtypes: dict[str, list[FactorLevel]] = {}
    for one in choices:
        if one.values == values and one.dtype not in dtypes.setdefault(_dtype_group(one.dtype), []):
            dtypes[_dtype_group(one.dtype)].append(one.dtype)
    dtype = rng.choice(rng.choice(list(dtypes.values())))
    return rng.choice([one for one in choices if (one.values, one.dtype) == (values, dtype)])
