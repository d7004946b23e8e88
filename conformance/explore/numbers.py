"""What an operator is tried with: the numbers and dtypes that its sweeps have, and what it hands on as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from conformance.explore.dice import Dice
from conformance.explore.questions import Inputs
from conformance.factors import Level
from conformance.generators import GENERATORS, MARKS
from conformance.operators import OPERATORS
from conformance.sweeps import USUAL, Sweep
from conformance.values import DTYPES

WHOLE = frozenset({"integers", "distinct", "arange"})
"""Values that a sum of any length adds exactly: the usual ones."""
SELECTING = ("max_pool", "min_pool", "global_max_pool", "adaptive_max_pool", "fractional_max_pool", "max_unpool", "pad")
"""Operators that hand on numbers as they are: the ends of a dtype are none the worse, nor are full mantissas."""
HANDED_ON: Mapping[str, Sequence[str]] = {"w": ("extremes",), "f": ("mantissas", "wide")}
"""What they are tried with besides, by the kind of dtype."""


@dataclass(frozen=True)
class Numbers:
    """Values and dtype as levels, and what each input holds."""

    values: Level
    dtype: Level
    inputs: Inputs


def numbers_of(operator: str, sweeps: Iterable[Sweep]) -> tuple[Numbers, ...]:
    """Return all that the sweeps of an operator try it with, and what it hands on besides; each once."""
    found = {repr(one): one for sweep in sweeps for one in _of(operator, sweep)}
    return tuple(found.values())


def _of(operator: str, sweep: Sweep) -> Iterator[Numbers]:
    inputs = {name: sweep.common[name] for name in OPERATORS[operator].inputs if name in sweep.common}
    for dtype in sweep.factors.get("dtype", (USUAL["dtype"],)):
        kind = {"f": "f", "V": "f", "b": "b"}.get(DTYPES[dtype].kind, "w")
        further = HANDED_ON.get(kind, ()) if operator in SELECTING else ()
        for values in (*sweep.factors.get("values", (USUAL["values"],)), *further):
            if kind in ("f" if values in MARKS else GENERATORS[values].kinds):
                yield Numbers(values, dtype, inputs)


def drawn(known: Sequence[Numbers], dice: Dice) -> Numbers:
    """Return some of the numbers: values first, as often as the dice are bold unusual ones, then a dtype."""
    every = list(dict.fromkeys(one.values for one in known))
    plain = [values for values in every if values in WHOLE]
    values = dice.kind(plain or every, [one for one in every if one not in WHOLE] or every)
    dtype = dice.one_of(list(dict.fromkeys(one.dtype for one in known if one.values == values)))
    return dice.one_of([one for one in known if (one.values, one.dtype) == (values, dtype)])
