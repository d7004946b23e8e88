"""Sweeps: compact YAML descriptions that expand into many cases, each with an id made from its parameters.

A sweep lists factors, their levels, and the strength of the combinations to cover. A level that is a list is repeated
over the spatial axes: window [3, 2] is 3 on one axis, 3 x 2 on two, 3 x 2 x 3 on three. Rows in the lock are permanent.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from conformance.cases.arrays import SHORT_FLOATS, dtype_kind
from conformance.cases.generators import (
    FULL_MANTISSA_GENERATORS,
    GENERATORS,
    SPECIAL_VALUES,
    Generator,
    GeneratorName,
)
from conformance.cases.operators import INPUTS, OPERATORS, PARAMETERS, Geometry, Operator
from conformance.catalogue.covering_array import CoveringArray, LevelRows
from conformance.catalogue.factors import (
    FACTORS,
    GEOMETRY_CHECKS,
    FactorLevel,
    has_unused_dilation,
    level_names,
    level_per_axis,
    spatial_value,
)
from conformance.catalogue.row_inputs import raw_inputs
from reports.results.vocabulary import Word


class Cover(Word):
    """The combinations of levels that the rows of a sweep contain: those of two, three or all factors."""

    PAIRS = "pairs"
    TRIPLES = "triples"
    ALL = "all"


STRENGTHS: Mapping[Cover, int | None] = MappingProxyType({Cover.PAIRS: 2, Cover.TRIPLES: 3, Cover.ALL: None})
"""Number of factors in a combination; None for all factors."""
MAX_FACTOR_PRODUCT = 200_000
"""Maximum product of the numbers of levels of all factors."""
MAX_GEOMETRIES = 20_000
"""Maximum product of the numbers of levels of the factors in GEOMETRY_FACTORS."""
MAX_ID_LENGTH = 100
"""Maximum number of characters of a row's id without the operator."""


GEOMETRY_FACTORS = frozenset(
    {"rank", "extent", *(one.name for one in PARAMETERS.values() if one.is_per_axis or one.is_geometric)}
)
"""Factors that determine whether the geometry of a row is possible."""

COMMON_FACTORS = frozenset({"rank", "batch", "channels", "extent", "values", "dtype"})
"""Factors of every operator, in addition to its parameters."""
WEIGHT_FACTORS = frozenset({"window", "out"})
"""Further factors of operators with weights."""
# Level of a factor that a sweep does not list.
DEFAULT_LEVELS: Mapping[str, FactorLevel] = MappingProxyType(
    {"batch": 2, "channels": 3, "out": 2, "groups": 1, "values": GeneratorName.INTEGERS.value, "dtype": "float32"}
)


def generator_of_level(values: FactorLevel) -> Generator:
    """Return the generator for a level of the factor `values`, which is a special value or the name of a generator."""
    return GENERATORS[GeneratorName.MARKED if values in SPECIAL_VALUES else values]


@dataclass(frozen=True, eq=False)
class Sweep:
    """A sweep of one operator.

    factors: the levels of each factor; strength: number of factors in a combination to cover; common: the keys that all
    cases share; location: file and line.
    """

    operator: str
    id: str
    factors: Mapping[str, tuple[FactorLevel, ...]]
    strength: int
    common: Mapping[str, Any]
    location: str = ""

    @classmethod
    def parse(cls, operator: str, raw: Mapping[str, Any], location: str = "") -> Sweep:
        """Parse a sweep of a YAML file. Raises ValueError for a missing key, or one that the operator does not have."""
        given = raw["factors"]
        factors = {name: tuple(map(_hashable_level, given[name])) for name in FACTORS if name in given}
        common = {key: raw[key] for key in raw if key not in {"id", "factors", "cover"}}
        strength = STRENGTHS[Cover(raw["cover"])] or len(factors)
        sweep = cls(operator, raw["id"], factors, strength, common, location)
        sweep._check()
        return sweep

    def _check(self) -> None:
        operator = OPERATORS[self.operator]
        known = COMMON_FACTORS | {*operator.defaults, *operator.optional_inputs}
        known |= WEIGHT_FACTORS if operator.has_weights else set()
        known -= {"out"} if operator.has_channel_kernels else set()
        self._check_extent(operator)
        for name in self.factors.keys() - known:
            raise ValueError(f"key 'factors.{name}': {self.operator} has no such factor")
        if "/" in self.id:
            raise ValueError("key 'id': the id of a sweep must not contain a slash")
        if "bias" in self.factors and "bias" not in self.common:
            raise ValueError("key 'bias' is missing: the values of the bias")
        for name in self.common.keys() & set(INPUTS) - set(operator.inputs):
            raise ValueError(f"key {name!r}: {self.operator} has no such input")
        for name in operator.inputs:
            if name not in self.common and name not in operator.optional_inputs:
                raise ValueError(f"key {name!r} is missing: the values of the input")
        for name in operator.required_parameters:
            if name not in self.factors and name not in self.common:
                raise ValueError(f"key 'factors.{name}' is missing: {self.operator} needs it")
        if operator.has_weights and "window" not in self.factors:
            raise ValueError("key 'factors.window' is missing: it is the extent of the kernel")
        values = set(self.factors.get("values", ()))
        if values & FULL_MANTISSA_GENERATORS and GeneratorName.INTEGERS not in values:
            raise ValueError("key 'factors.values': full mantissas need the level integers for the same geometry")
        for product_name, names, limit in (
            ("rows", self.factors.keys(), MAX_FACTOR_PRODUCT),
            ("geometries", self.factors.keys() & GEOMETRY_FACTORS, MAX_GEOMETRIES),
        ):
            product = math.prod(len(self.factors[name]) for name in names)
            if product > limit:
                raise ValueError(f"key 'factors': {product} {product_name} exceed the limit of {limit}")

    def _check_extent(self, operator: Operator) -> None:
        """Raise ValueError unless there are extents of x. Those of columns and matrices follow from the output."""
        is_derived = operator.geometry in {Geometry.FROM_COLUMNS, Geometry.POINTS}
        if is_derived and "extent" in self.factors:
            raise ValueError(f"key 'factors.extent': {self.operator} has no such factor")
        if not is_derived and "extent" not in self.factors:
            raise ValueError("key 'factors': needs the key 'extent'")

    @cached_property
    def cover(self) -> CoveringArray:
        """All possible rows, and the combinations to cover.

        The geometry and the other factors are filtered separately, so that impossible rows are never enumerated.
        """
        numbers = [range(len(levels)) for levels in self.factors.values()]
        geometry = [name in GEOMETRY_FACTORS for name in self.factors]
        # Position 0 stands for the factors of the other part. The sum of two rows below has the positions of both.
        shapes = itertools.product(*(n if fixed else (0,) for n, fixed in zip(numbers, geometry, strict=True)))
        others = itertools.product(*((0,) if fixed else n for n, fixed in zip(numbers, geometry, strict=True)))
        possible = np.array([row for row in shapes if self.is_possible(row)], np.int64).reshape(-1, len(numbers))
        rest = np.array([row for row in others if self.is_generated(row)], np.int64).reshape(-1, len(numbers))
        return CoveringArray((possible[:, None] + rest).reshape(-1, len(numbers)), self.strength)

    def forget_possible_rows(self) -> None:
        """Free the memory of all possible rows. They are computed again when they are needed."""
        vars(self).pop("cover", None)

    def rows(self, frozen: Iterable[str] = (), *, extend: bool = True) -> list[str]:
        """Return the names of the rows: the frozen ones, and with `extend` or without frozen ones, further rows.

        The further rows cover the missing combinations. Raises ValueError for a frozen name that is not a row any more,
        or if no row is possible.
        """
        names = list(frozen)
        if extend or not names:
            names += map(self.name, self.cover.complete(self.row_levels(names)))
            names += self.rows_without_integer_twin(names)
        if not names:
            raise ValueError("key 'factors': no combination of levels is possible")
        longest = max(names, key=len)
        if len(f"{self.id}/{longest}") > MAX_ID_LENGTH:
            raise ValueError(f"the id {self.id}/{longest} is longer than {MAX_ID_LENGTH} characters: use fewer factors")
        return names

    def missing(self, names: Iterable[str]) -> Iterator[str]:
        """Yield the text of each possible combination of levels that these rows do not contain."""
        factors = list(self.factors)
        for subset, levels in self.cover.missing_combinations(self.row_levels(names)):
            pairs = zip((factors[factor] for factor in subset), levels, strict=True)
            yield ", ".join(f"{name} {_yaml_level(self.factors[name][level])}" for name, level in pairs)

    def rows_without_integer_twin(self, names: Iterable[str]) -> list[str]:
        """Return the names of the missing integer twins: rows with the same geometry and integer values.

        A large error bound can hide a missing element, but results of integers are exact. These rows are in float32
        if the sweep has it, because 16-bit types represent too few integers exactly.
        """
        present = list(names)
        twins = (self._integer_twin(row) for row in map(self._row_from_name, present))
        return list(dict.fromkeys(name for name in twins if name and name not in set(present)))

    def _integer_twin(self, row: Sequence[int]) -> str | None:
        if self._levels_of_row(row)["values"] not in FULL_MANTISSA_GENERATORS:
            return None
        twin_levels = {"values": GeneratorName.INTEGERS.value, "dtype": "float32"}
        pairs = zip(self.factors.items(), row, strict=True)
        return self.name(
            [
                levels.index(twin_levels[name]) if name in twin_levels and twin_levels[name] in levels else number
                for (name, levels), number in pairs
            ]
        )

    def row_levels(self, names: Iterable[str]) -> LevelRows:
        """Return the rows with these names as an array (rows, factors) of positions of levels."""
        return np.array([self._row_from_name(name) for name in names], np.int64).reshape(-1, len(self.factors))

    def name(self, row: Sequence[int]) -> str:
        """Return the name of a row: its levels in the order of FACTORS, without default levels."""
        rank = self._levels_of_row(row)["rank"]
        written = (self._level_names(factor, rank)[number] for factor, number in zip(self.factors, row, strict=True))
        return "-".join(filter(None, written))

    def _level_names(self, factor: str, rank: int) -> tuple[str, ...]:
        return level_names(factor, self.factors[factor], rank)

    def _row_from_name(self, name: str) -> tuple[int, ...]:
        parts, row = name.split("-"), []
        ranks = [level for level in self.factors["rank"] if f"{level}d" == parts[0]]
        rank = ranks[0] if ranks else 0
        for factor in self.factors:
            known = self._level_names(factor, rank) if rank else []
            word = parts.pop(0) if parts and parts[0] in known else ""
            row += [known.index(word)] if word in known else []
        if parts or len(row) < len(self.factors):
            raise ValueError(
                f"the frozen case {name} is not a row of this sweep: levels of frozen cases must not be removed"
            )
        return tuple(row)

    def is_possible(self, row: Sequence[int]) -> bool:
        """Whether the geometry of a row is valid and does not repeat a geometry with equal level names."""
        level = self._levels_of_row(row)
        rank = level["rank"]
        # Sweeps of fold and affine_grid have no extents: they follow from the output size.
        size = level_per_axis(level.get("extent", 1), rank)
        for factor, number in zip(self.factors, row, strict=True):
            known = self._level_names(factor, rank)
            if known.index(known[number]) < number:
                return False
        possible = GEOMETRY_CHECKS[OPERATORS[self.operator].geometry]
        # In a covering array, a row with a dilation that has no effect would cover a combination without testing it.
        untested = self.strength < len(self.factors) and has_unused_dilation(level, rank)
        return possible(level, size, rank) and not untested

    def is_generated(self, row: Sequence[int]) -> bool:
        """Whether the generator supports the dtype, and the row tests something.

        In a sweep with full mantissas, the rows with integers test the geometry, for which 16-bit types represent too
        few integers exactly. Without an optional input there is no gradient with respect to it.
        """
        level = self._levels_of_row(row)
        if (
            level["values"] == GeneratorName.INTEGERS
            and level["dtype"] in SHORT_FLOATS
            and FULL_MANTISSA_GENERATORS & set(self.factors.get("values", ()))
        ):
            return False
        output = level.get("output")
        if output in OPERATORS[self.operator].optional_inputs and not level.get(str(output), output in self.common):
            return False
        return dtype_kind(level["dtype"]) in generator_of_level(level["values"]).kinds

    def _levels_of_row(self, row: Sequence[int]) -> dict[str, FactorLevel]:
        chosen = zip(self.factors.items(), row, strict=True)
        return {**DEFAULT_LEVELS, **{name: levels[number] for (name, levels), number in chosen}}

    def raw_case(self, name: str) -> dict[str, Any]:
        """Return a row in the form of a case in a YAML file."""
        level = self._levels_of_row(self._row_from_name(name))
        rank, case_id = level["rank"], f"{self.id}/{name}"
        inputs = raw_inputs(OPERATORS[self.operator], self.common, level, case_id)
        given = {name: one for name, one in inputs.items() if one}
        raw: dict[str, Any] = {**self.common, "id": case_id, **given}
        if not level.get("bias", "bias" in self.common):
            raw.pop("bias", None)
        parameters = [key for key in OPERATORS[self.operator].defaults if key in self.factors]
        raw |= {key: spatial_value(key, level[key], rank) for key in parameters if level[key] is not None}
        return raw


def _hashable_level(level: Any) -> FactorLevel:
    return tuple(map(_hashable_level, level)) if isinstance(level, list) else level


def _yaml_level(level: FactorLevel) -> str:
    return str(level).replace("(", "[").replace(")", "]")
