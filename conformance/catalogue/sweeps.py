"""Sweeps: a few lines of YAML that stand for many cases, each with an id made of its parameters.

A sweep names factors and their levels, and how thoroughly to cross them. A level that is a list goes round the spatial
axes: window [3, 2] is 3 on one axis, 3 x 2 on two, 3 x 2 x 3 on three. Rows that the lock holds are kept for ever.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from conformance.cases.arrays import NUMPY_DTYPES, SHORT_FLOATS
from conformance.cases.generators import FULL_MANTISSA_GENERATORS, GENERATORS, SPECIAL_VALUES
from conformance.cases.operators import INPUT_ORDER, OPERATORS
from conformance.catalogue.covering_array import CoveringArray, LevelRows
from conformance.catalogue.factors import (
    FACTORS,
    GEOMETRY_CHECKS,
    FactorLevel,
    has_unused_dilation,
    has_valid_windows,
    level_names,
    level_per_axis,
    spatial_value,
)

# How many factors are crossed; None: all of them.
STRENGTH_BY_WORD: Mapping[str, int | None] = MappingProxyType({"pairs": 2, "triples": 3, "all": None})
MAX_FACTOR_PRODUCT = 200_000
MAX_GEOMETRIES = 20_000
MAX_ID_LENGTH = 100


# Factors on which it depends whether a row is possible.
GEOMETRY_FACTORS = (
    "rank", "extent", "window", "stride", "padding", "dilation", "rounding", "pads", "mode", "output_size",
    "output_padding",
)  # fmt: skip

# What a factor is where the sweep does not name it.
DEFAULT_LEVELS: Mapping[str, FactorLevel] = MappingProxyType(
    {"batch": 2, "channels": 3, "out": 2, "groups": 1, "values": "integers", "dtype": "float32"}
)


@dataclass(frozen=True, eq=False)
class Sweep:
    """Many cases of one operator: factors with their levels, how far these are crossed, and what is alike in all."""

    operator: str
    id: str
    factors: Mapping[str, tuple[FactorLevel, ...]]
    strength: int
    common: Mapping[str, Any]
    place: str = ""

    @classmethod
    def parse(cls, operator: str, raw: Mapping[str, Any], place: str = "") -> Sweep:
        """Parse what a catalogue file says. Raises ValueError for what the operator has not, or for no possible row."""
        given = raw["factors"]
        factors = {name: tuple(map(_hashable_level, given[name])) for name in FACTORS if name in given}
        common = {key: raw[key] for key in raw if key not in {"id", "factors", "cover"}}
        strength = STRENGTH_BY_WORD[raw["cover"]] or len(factors)
        sweep = cls(operator, raw["id"], factors, strength, common, place)
        sweep._check()
        return sweep

    def _check(self) -> None:
        known = OPERATORS[self.operator]
        has = {"rank", "batch", "channels", "extent", "values", "dtype", *known.defaults, *known.optional_inputs}
        has |= {"window", "out"} if "kernel" in known.inputs else set()
        for name in self.factors.keys() - has:
            raise ValueError(f"key 'factors.{name}': {self.operator} has no such factor")
        if "/" in self.id:
            raise ValueError("key 'id': the id of a sweep has no slash: those of its cases have")
        if "bias" in self.factors and "bias" not in self.common:
            raise ValueError("key 'bias' is missing: what a bias holds, where there is one")
        for name in self.common.keys() & set(INPUT_ORDER) - set(known.inputs):
            raise ValueError(f"key {name!r}: {self.operator} has no such input")
        for name in known.inputs:
            if name not in self.common and name not in known.optional_inputs:
                raise ValueError(f"key {name!r} is missing: what it holds")
        for name in known.required_parameters:
            if name not in self.factors and name not in self.common:
                raise ValueError(f"key 'factors.{name}' is missing: {self.operator} needs it")
        if "kernel" in known.inputs and "window" not in self.factors:
            raise ValueError("key 'factors.window' is missing: it is the extent of the kernel")
        values = set(self.factors.get("values", ()))
        if values & FULL_MANTISSA_GENERATORS and "integers" not in values:
            raise ValueError("key 'factors.values': full mantissas need integers beside them, in the same geometry")
        for what, names, limit in (
            ("rows", self.factors.keys(), MAX_FACTOR_PRODUCT),
            ("geometries", self.factors.keys() & set(GEOMETRY_FACTORS), MAX_GEOMETRIES),
        ):
            product = math.prod(len(self.factors[name]) for name in names)
            if product > limit:
                raise ValueError(f"key 'factors': {product} {what} in all are more than the limit of {limit}")

    @cached_property
    def cover(self) -> CoveringArray:
        """All possible rows, and what is to be covered of them."""
        numbers = [range(len(levels)) for levels in self.factors.values()]
        geometry = [name in GEOMETRY_FACTORS for name in self.factors]
        shapes = itertools.product(*(n if fixed else (0,) for n, fixed in zip(numbers, geometry, strict=True)))
        others = itertools.product(*((0,) if fixed else n for n, fixed in zip(numbers, geometry, strict=True)))
        possible = np.array([row for row in shapes if self.is_possible(row)], np.int64).reshape(-1, len(numbers))
        rest = np.array([row for row in others if self.is_generated(row)], np.int64).reshape(-1, len(numbers))
        return CoveringArray((possible[:, None] + rest).reshape(-1, len(numbers)), self.strength)

    def rows(self, frozen: Iterable[str] = (), *, extend: bool = True) -> list[str]:
        """Return the names of the rows: those frozen, and where there are none, or to grow, what they leave uncovered.

        Raises ValueError for a frozen name that no row has any more, or where no row is possible.
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
        """Yield, in words, each combination of levels that is possible and stands in none of these rows."""
        factors = list(self.factors)
        for subset, levels in self.cover.missing_combinations(self.row_levels(names)):
            pairs = zip((factors[factor] for factor in subset), levels, strict=True)
            yield ", ".join(f"{name} {_yaml_level(self.factors[name][level])}" for name, level in pairs)

    def rows_without_integer_twin(self, names: Iterable[str]) -> list[str]:
        """Return the names of rows that are missing: for full mantissas, the same geometry with whole numbers.

        A large error bound can hide a lost element, but not where the numbers are whole. Those are in float32 where the
        sweep has it, as 16 bits tell too few whole numbers apart.
        """
        present = list(names)
        twins = (self._integer_twin(row) for row in map(self._row_from_name, present))
        return list(dict.fromkeys(name for name in twins if name and name not in set(present)))

    def _integer_twin(self, row: Sequence[int]) -> str | None:
        if self._levels_of_row(row)["values"] not in FULL_MANTISSA_GENERATORS:
            return None
        usual = {"values": "integers", "dtype": "float32"}
        pairs = zip(self.factors.items(), row, strict=True)
        return self.name(
            [
                levels.index(usual[name]) if name in usual and usual[name] in levels else number
                for (name, levels), number in pairs
            ]
        )

    def row_levels(self, names: Iterable[str]) -> LevelRows:
        """Return the rows of some names, (rows, factors)."""
        return np.array([self._row_from_name(name) for name in names], np.int64).reshape(-1, len(self.factors))

    def name(self, row: Sequence[int]) -> str:
        """Return what a row is called: its levels in the order of FACTORS, but for those that are left out."""
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
            raise ValueError(f"the frozen case {name} is none of this sweep any more: its levels must stay")
        return tuple(row)

    def is_possible(self, row: Sequence[int]) -> bool:
        """Whether the geometry is one: output everywhere, and in every window a cell of the input; each only once."""
        level = self._levels_of_row(row)
        rank, size = level["rank"], level_per_axis(level["extent"], level["rank"])
        for factor, number in zip(self.factors, row, strict=True):
            known = self._level_names(factor, rank)
            if known.index(known[number]) < number:
                return False
        possible = GEOMETRY_CHECKS.get(OPERATORS[self.operator].forward, has_valid_windows)
        # Where all is crossed, such a row is one of all; elsewhere it would stand for a combination and test nothing.
        idle = self.strength < len(self.factors) and has_unused_dilation(level, rank)
        return possible(level, size, rank) and not idle

    def is_generated(self, row: Sequence[int]) -> bool:
        """Whether the values are ones of the dtype: marks and full mantissas are floating.

        Beside full mantissas, whole numbers stand for the geometry, and 16 bits tell too few of them apart. A bias that
        is not there has no gradient.
        """
        level = self._levels_of_row(row)
        if (
            level["values"] == "integers"
            and level["dtype"] in SHORT_FLOATS
            and FULL_MANTISSA_GENERATORS & set(self.factors.get("values", ()))
        ):
            return False
        if level.get("output") == "bias" and not level.get("bias", "bias" in self.common):
            return False
        kind = {"f": "f", "V": "f", "b": "b"}.get(NUMPY_DTYPES[level["dtype"]].kind, "w")
        return kind in ("f" if level["values"] in SPECIAL_VALUES else GENERATORS[level["values"]].kinds)

    def _levels_of_row(self, row: Sequence[int]) -> dict[str, FactorLevel]:
        chosen = zip(self.factors.items(), row, strict=True)
        return {**DEFAULT_LEVELS, **{name: levels[number] for (name, levels), number in chosen}}

    def raw_case(self, name: str) -> dict[str, Any]:
        """Return a row as a catalogue file would have it as a case."""
        level = self._levels_of_row(self._row_from_name(name))
        rank, whole = level["rank"], f"{self.id}/{name}"
        raw: dict[str, Any] = {**self.common, "id": whole}
        shapes = self._shapes(level)
        for key in OPERATORS[self.operator].inputs:
            raw[key] = self._raw_array(key, shapes.get(key), level, whole)
        if not level.get("bias", "bias" in self.common):
            raw.pop("bias", None)
        parameters = [key for key in OPERATORS[self.operator].defaults if key in self.factors]
        raw |= {key: spatial_value(key, level[key], rank) for key in parameters if level[key] is not None}
        return raw

    def _shapes(self, level: Mapping[str, FactorLevel]) -> dict[str, list[int]]:
        """Return the shapes of x, kernel and bias; those of the other inputs follow from the case."""
        rank, groups = level["rank"], level["groups"]
        inner, outer = level["channels"], level["out"]
        window = level_per_axis(level.get("window", 1), rank)
        transposed = OPERATORS[self.operator].forward == "conv_transpose"
        return {
            "x": [level["batch"], inner * groups, *level_per_axis(level["extent"], rank)],
            "kernel": [inner * groups, outer, *window] if transposed else [outer * groups, inner, *window],
            "bias": [outer * groups],
        }

    def _raw_array(
        self, name: str, shape: list[int] | None, level: Mapping[str, FactorLevel], whole: str
    ) -> dict[str, Any]:
        """Return one input: its generator from what all rows share or from the row, its seed from the row's own id."""
        if name not in self.common:
            return {}
        seed = zlib.crc32(f"{self.operator}/{whole}/{name}".encode())
        dtype = _input_dtype(name, level["dtype"])
        raw = {**_generator_options(self.common[name], name, level), "seed": seed, "dtype": dtype}
        options = GENERATORS[raw["values"]].options
        if name == "indices":
            raw |= {
                "low": raw.get("low", 0),
                "high": math.prod(level_per_axis(level["output_size"], level["rank"])) - 1,
            }
        elif raw["values"] != "distinct" and "low" in options:
            low, high = raw.get("low", -9), raw.get("high", 9)
            kind = NUMPY_DTYPES[dtype].kind
            raw |= {"low": max(low, 0) if kind in "ub" else low, "high": min(high, 1) if kind == "b" else high}
        elif raw["values"] == "distinct" and NUMPY_DTYPES[dtype].kind == "u":
            raw["low"] = 0
        raw = {key: value for key, value in raw.items() if key in options or key in {"values", "dtype"}}
        return raw if shape is None else {**raw, "shape": shape}


def _generator_options(common: Mapping[str, Any], name: str, level: Mapping[str, FactorLevel]) -> dict[str, Any]:
    """Return what an input is made with: marks and distinct numbers are in x alone, other values in all inputs."""
    values = level["values"]
    if values == "integers" or name in {"indices", "samples", "draws"} or (name != "x" and _applies_to_x_only(values)):
        return dict(common)
    return {**common, "values": "marked", "mark": values} if values in SPECIAL_VALUES else {**common, "values": values}


def _applies_to_x_only(values: str) -> bool:
    return values in SPECIAL_VALUES or values == "distinct"


def _input_dtype(name: str, dtype: str) -> str:
    """Return the dtype of an input beside those of x: random numbers are floating, indices whole."""
    if name == "indices":
        return "int64"
    return "float32" if name in {"samples", "draws"} and NUMPY_DTYPES[dtype].kind not in "fV" else dtype


def _hashable_level(level: Any) -> FactorLevel:
    return tuple(map(_hashable_level, level)) if isinstance(level, list) else level


def _yaml_level(level: FactorLevel) -> str:
    return str(level).replace("(", "[").replace(")", "]")
