"""Sweeps: a few lines of YAML that stand for many cases, each with an id made of its parameters.

A sweep names factors and their levels, and how thoroughly to cross them. A level that is a list goes round the spatial
axes: window [3, 2] is 3 on one axis, 3 x 2 on two, 3 x 2 x 3 on three. Rows that the lock holds are kept for ever.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from conformance.covering import Cover, Rows
from conformance.operators import OPERATORS
from conformance.values import DTYPES
from reference import Windows

Level = Any
Writer = Callable[[Level, int], str]

# How many factors are crossed; None: all of them.
STRENGTHS: Mapping[str, int | None] = MappingProxyType({"pairs": 2, "triples": 3, "all": None})
MAX_PRODUCT = 200_000
MAX_GEOMETRIES = 20_000
MAX_ID = 100


def _axes(letter: str) -> Writer:
    """Return a writer of one number for each axis, or for all if they are alike: w3, w3x2."""
    return lambda level, rank: letter + _joined([_number(part) for part in along(level, rank)])


def _ends(level: Level, rank: int) -> str:
    """Write numbers before and after each axis: p1, p1.0, p1.0x0.2, same.upper."""
    if isinstance(level, str):
        return level.replace("_", ".")
    pairs = (pair[:1] if pair[0] == pair[1] else pair for pair in _pairs(level, rank))
    return "p" + _joined([".".join(map(_number, pair)) for pair in pairs])


def _joined(parts: list[str]) -> str:
    return parts[0] if len(set(parts)) == 1 else "x".join(parts)


def _number(value: float) -> str:
    return str(value).replace("-", "m")


def _one(letter: str) -> Writer:
    return lambda level, _: letter + _number(level)


def _either(yes: str, no: str) -> Writer:
    return lambda level, _: yes if level else no


def _word(level: Level, _: int) -> str:
    return str(level)


# Factors in the order of an id: how each writes a level at a rank, and the level that it leaves out.
FACTORS: Mapping[str, tuple[Writer, Level]] = MappingProxyType(
    {
        "rank": (lambda level, _: f"{level}d", ...),
        "batch": (_one("n"), ...),
        "channels": (_one("c"), ...),
        "out": (_one("o"), ...),
        "extent": (_axes("i"), ...),
        "window": (_axes("w"), ...),
        "pads": (_ends, ...),
        "stride": (_axes("s"), ...),
        "padding": (_ends, 0),
        "dilation": (_axes("d"), 1),
        "rounding": (_word, "floor"),
        "count_include_pad": (_either("include", "exclude"), False),
        "divisor": (lambda level, _: f"by{level}" if level else "by.count", None),
        "groups": (_one("g"), 1),
        "bias": (_either("bias", "no.bias"), False),
        "mode": (_word, "constant"),
        "value": (_one("v"), 0),
        "dtype": (_word, "float32"),
    }
)

# Factors on which it depends whether a row is possible.
GEOMETRY = ("rank", "extent", "window", "stride", "padding", "dilation", "rounding", "pads")

# What a factor is where the sweep does not name it.
USUAL: Mapping[str, Level] = MappingProxyType({"batch": 2, "channels": 3, "out": 2, "groups": 1, "dtype": "float32"})


@dataclass(frozen=True, eq=False)
class Sweep:
    """Many cases of one operator: factors with their levels, how far these are crossed, and what is alike in all."""

    operator: str
    id: str
    factors: Mapping[str, tuple[Level, ...]]
    strength: int
    common: Mapping[str, Any]
    place: str = ""

    @classmethod
    def of(cls, operator: str, raw: Mapping[str, Any], place: str = "") -> Sweep:
        """Parse what a catalogue file says. Raises ValueError for what the operator has not, or for no possible row."""
        given = raw["factors"]
        factors = {name: tuple(map(_frozen, given[name])) for name in FACTORS if name in given}
        common = {key: raw[key] for key in raw if key not in {"id", "factors", "cover"}}
        strength = STRENGTHS[raw["cover"]] or len(factors)
        sweep = cls(operator, raw["id"], factors, strength, common, place)
        sweep._check()
        return sweep

    def _check(self) -> None:
        known = OPERATORS[self.operator]
        has = {"rank", "batch", "channels", "extent", "dtype", *known.defaults, *known.optional}
        has |= {"window", "out"} if "kernel" in known.inputs else set()
        for name in self.factors.keys() - has:
            raise ValueError(f"key 'factors.{name}': {self.operator} has no such factor")
        if "/" in self.id:
            raise ValueError("key 'id': the id of a sweep has no slash: those of its cases have")
        if ("bias" in self.factors) != ("bias" in self.common):
            raise ValueError("keys 'bias' and 'factors.bias' go together: what a bias holds, and whether there is one")
        if "kernel" in known.inputs and "window" not in self.factors:
            raise ValueError("key 'factors.window' is missing: it is the extent of the kernel")
        for words, names, limit in (
            ("rows", self.factors.keys(), MAX_PRODUCT),
            ("geometries", self.factors.keys() & set(GEOMETRY), MAX_GEOMETRIES),
        ):
            product = math.prod(len(self.factors[name]) for name in names)
            if product > limit:
                raise ValueError(f"key 'factors': {product} {words} in all are more than the limit of {limit}")

    @cached_property
    def cover(self) -> Cover:
        """All possible rows, and what is to be covered of them."""
        numbers = [range(len(levels)) for levels in self.factors.values()]
        geometry = [name in GEOMETRY for name in self.factors]
        shapes = itertools.product(*(n if fixed else (0,) for n, fixed in zip(numbers, geometry, strict=True)))
        others = itertools.product(*((0,) if fixed else n for n, fixed in zip(numbers, geometry, strict=True)))
        possible = np.array([row for row in shapes if self._possible(row)], np.int64).reshape(-1, len(numbers))
        rest = np.array(list(others), np.int64)
        return Cover((possible[:, None] + rest).reshape(-1, len(numbers)), self.strength)

    def rows(self, frozen: Iterable[str] = (), *, grow: bool = True) -> list[str]:
        """Return the names of the rows: those frozen, and where there are none, or to grow, what they leave uncovered.

        Raises ValueError for a frozen name that no row has any more, or where no row is possible.
        """
        names = list(frozen)
        if grow or not names:
            names += map(self.name, self.cover.complete(self.numbers(names)))
        if not names:
            raise ValueError("key 'factors': no combination of levels is possible")
        longest = max(names, key=len)
        if len(f"{self.id}/{longest}") > MAX_ID:
            raise ValueError(f"the id {self.id}/{longest} is longer than {MAX_ID} characters: use fewer factors")
        return names

    def missing(self, names: Iterable[str]) -> Iterator[str]:
        """Yield, in words, each combination of levels that is possible and stands in none of these rows."""
        factors = list(self.factors)
        for subset, levels in self.cover.missing(self.numbers(names)):
            pairs = zip((factors[factor] for factor in subset), levels, strict=True)
            yield ", ".join(f"{name} {_plain(self.factors[name][level])}" for name, level in pairs)

    def numbers(self, names: Iterable[str]) -> Rows:
        """Return the rows of some names, (rows, factors)."""
        return np.array([self._row(name) for name in names], np.int64).reshape(-1, len(self.factors))

    def name(self, row: Sequence[int]) -> str:
        """Return what a row is called: its levels in the order of FACTORS, but for those that are left out."""
        rank = self._levels(row)["rank"]
        words = (self._words(factor, rank)[number] for factor, number in zip(self.factors, row, strict=True))
        return "-".join(filter(None, words))

    def _words(self, factor: str, rank: int) -> tuple[str, ...]:
        return _words(factor, self.factors[factor], rank)

    def _row(self, name: str) -> tuple[int, ...]:
        parts, row = name.split("-"), []
        ranks = [level for level in self.factors["rank"] if f"{level}d" == parts[0]]
        rank = ranks[0] if ranks else 0
        for factor in self.factors:
            words = self._words(factor, rank) if rank else []
            word = parts.pop(0) if parts and parts[0] in words else ""
            row += [words.index(word)] if word in words else []
        if parts or len(row) < len(self.factors):
            raise ValueError(f"the frozen case {name} is none of this sweep any more: its levels must stay")
        return tuple(row)

    def _possible(self, row: Sequence[int]) -> bool:
        """Whether the geometry is one: output everywhere, and in every window a cell of the input; each only once."""
        level = self._levels(row)
        rank, size = level["rank"], along(level["extent"], level["rank"])
        for factor, number in zip(self.factors, row, strict=True):
            words = self._words(factor, rank)
            if words.index(words[number]) < number:
                return False
        if "pads" in level:
            ends = _pairs(level["pads"], rank)
            return all(extent + sum(min(end, 0) for end in pair) > 0 for extent, pair in zip(size, ends, strict=True))
        padding, rounding = level.get("padding", 0), level.get("rounding", "floor")
        if isinstance(padding, str) and rounding != "floor":
            return False
        walked = padding if isinstance(padding, str) else _pairs(padding, rank)
        window, stride, dilation = (along(level.get(name, 1), rank) for name in ("window", "stride", "dilation"))
        try:
            return bool(Windows.of(size, window, stride, walked, dilation, rounding).counts(False).all())
        except ValueError:
            return False

    def _levels(self, row: Sequence[int]) -> dict[str, Level]:
        chosen = zip(self.factors.items(), row, strict=True)
        return {**USUAL, **{name: levels[number] for (name, levels), number in chosen}}

    def case(self, name: str) -> dict[str, Any]:
        """Return a row as a catalogue file would have it as a case."""
        level = self._levels(self._row(name))
        rank, groups, dtype = level["rank"], level["groups"], level["dtype"]
        size, whole = along(level["extent"], rank), f"{self.id}/{name}"
        raw: dict[str, Any] = {**self.common, "id": whole}
        raw["x"] = self._array("x", [level["batch"], level["channels"] * groups, *size], dtype, whole)
        if "kernel" in self.common:
            shape = [level["out"] * groups, level["channels"], *along(level["window"], rank)]
            raw["kernel"] = self._array("kernel", shape, dtype, whole)
        if level.get("bias"):
            raw["bias"] = self._array("bias", [level["out"] * groups], dtype, whole)
        else:
            raw.pop("bias", None)
        parameters = OPERATORS[self.operator].defaults.keys() & self.factors.keys()
        raw |= {key: _spatial(key, level[key], rank) for key in parameters if level[key] is not None}
        return raw

    def _array(self, name: str, shape: list[int], dtype: str, whole: str) -> dict[str, Any]:
        """Return one input: its generator from what all rows share, its seed from the row's own id."""
        low, high = self.common[name].get("low", -9), self.common[name].get("high", 9)
        kind = DTYPES[dtype].kind
        low, high = max(low, 0) if kind in "ub" else low, min(high, 1) if kind == "b" else high
        seed = zlib.crc32(f"{self.operator}/{whole}/{name}".encode())
        return {**self.common[name], "low": low, "high": high, "seed": seed, "shape": shape, "dtype": dtype}


@cache
def _words(factor: str, levels: tuple[Level, ...], rank: int) -> tuple[str, ...]:
    """Return what the levels of a factor are called at a rank; nothing for the one that is left out."""
    write, silent = FACTORS[factor]
    usual = None if silent is ... else write(silent, rank)
    words = (write(level, rank) for level in levels)
    return tuple("" if word == usual else word for word in words)


def along(level: Level, rank: int) -> tuple[int, ...]:
    """Return a level on each of so many axes, going round a list."""
    levels = level if isinstance(level, tuple) else (level,)
    return tuple(levels[axis % len(levels)] for axis in range(rank))


def _pairs(level: Level, rank: int) -> tuple[tuple[int, int], ...]:
    if isinstance(level, int):
        level = (level, level)
    # One pair is for every axis, not one number for each.
    pairs = (level,) if isinstance(level[0], int) else level
    return tuple(pairs[axis % len(pairs)] for axis in range(rank))


def _spatial(key: str, level: Level, rank: int) -> Any:
    if key in {"padding", "pads"} and not isinstance(level, str):
        return [list(pair) for pair in _pairs(level, rank)]
    return list(along(level, rank)) if key in {"window", "stride", "dilation"} else level


def _frozen(level: Any) -> Level:
    return tuple(map(_frozen, level)) if isinstance(level, list) else level


def _plain(level: Level) -> str:
    return str(level).replace("(", "[").replace(")", "]")
