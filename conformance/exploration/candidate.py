"""Candidates: generated cases, described by an operator and one level of each factor, like a row of a sweep."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import Any

from conformance.cases.arrays import BFLOAT16
from conformance.cases.case import ARRAYS_KEY, NUMPY_USES, WORDS_KEY, ArrayUse, Case
from conformance.cases.compositions import plan_steps
from conformance.cases.invalid import violations_of
from conformance.cases.operators import OPERATORS, PARAMETERS, Arithmetic, Geometry, ParameterKind
from conformance.cases.parameters import CaseError
from conformance.cases.parsing import DERIVED_SHAPE_INPUTS, parse_case
from conformance.catalogue.factors import (
    FACTORS,
    FactorLevel,
    has_valid_dtype,
    has_valid_pads,
    has_valid_windows,
    level_pairs,
    level_per_axis,
)
from conformance.catalogue.sweeps import DEFAULT_LEVELS, MAX_ID_LENGTH, Sweep
from conformance.exploration.conditions.vocabulary import condition_features
from conformance.exploration.draws.invalid_calls import Violation

CASE_ID_PREFIX = "explored"
CASE_SOURCE = "found by exploring"
ID_DIGEST_BYTES = 8
"""Size of the digest that ends a shortened id."""
WHOLE_NUMBER_VALUES = frozenset({"integers", "distinct"})
"""Levels of the factor `values` that are the simplest for an operator: whole numbers, distinct where ties matter."""
NUMBER_PER_AXIS_FACTORS = ("extent", *(one.name for one in PARAMETERS.values() if one.kind is ParameterKind.SIZES))
"""Factors with one number per spatial axis."""
PAIR_FACTORS = tuple(
    one.name for one in PARAMETERS.values() if one.kind in {ParameterKind.PADDING, ParameterKind.PAIRS}
)
"""Factors with a pair (before, after) per spatial axis."""


@dataclass(frozen=True)
class FollowingPool:
    """A pooling that reads the output of an operator. window: its extent and stride on every axis."""

    operator: str
    window: int


@dataclass(frozen=True)
class Candidate:
    """An operator, the levels of its factors, and its inputs.

    levels: level of each factor, per spatial axis where the factor has one value per axis.
    inputs: generator options of each input, as in a sweep.
    written_numbers: inputs that are given as nested lists instead of generated.
    violation: the precondition that the call violates, None for a valid call.
    following: a pooling that reads the output, None if the operator is the only one.
    array_use: how the program passes its arrays (`ArrayUse`), "" for contiguous arrays.
    has_words: whether the program names parameters by the framework's own words, such as padding by name.
    """

    operator: str
    levels: Mapping[str, FactorLevel]
    inputs: Mapping[str, Mapping[str, Any]]
    written_numbers: Mapping[str, Any] = field(default_factory=dict)
    violation: Violation | None = None
    following: FollowingPool | None = None
    array_use: str = ""
    has_words: bool = False

    def __reduce__(self) -> tuple[type[Candidate], tuple[Any, ...]]:
        """Pickle the fields only: cached properties are computed again in the other process."""
        return Candidate, tuple(getattr(self, one.name) for one in fields(self))

    @cached_property
    def valid(self) -> Candidate:
        """The candidate without its violation."""
        return replace(self, violation=None) if self.violation else self

    @property
    def rank(self) -> int:
        """Number of spatial axes."""
        return int(self.levels["rank"])

    @cached_property
    def _sweep(self) -> Sweep:
        factors = {name: (self.levels[name],) for name in FACTORS if name in self.levels}
        return Sweep(self.operator, CASE_ID_PREFIX, factors, len(factors), self.inputs)

    @cached_property
    def name(self) -> str:
        """Name of the levels, in the order of the factors: `2d-n1-c1-i3-w2-s3`, and of what follows or is violated."""
        return "-".join([self._row_name, *self._suffixes])

    @cached_property
    def _row_name(self) -> str:
        return self._sweep.name((0,) * len(self._sweep.factors))

    @property
    def _suffixes(self) -> list[str]:
        parts = []
        if self.following:
            parts.append(f"then-{self.following.operator.replace('_', '-')}-w{self.following.window}")
        if self.array_use:
            parts.append(self.array_use.replace("_", "-"))
        if self.has_words:
            parts.append(WORDS_KEY)
        if self.violation:
            words = re.sub("([A-Z])", r"-\1", self.violation.name).lower()
            parts.append(f"{words[1:]}-{self.violation.axis}.{self.violation.amount}")
        return parts

    def is_possible(self) -> bool:
        """Check that the output is not empty and that the values exist in the dtype.

        Every window must contain an input cell, and every pad needs enough cells to copy. Geometries without these are
        possible only for convolutions, and if the operator has a convention about them.
        """
        row, operator = (0,) * len(self._sweep.factors), OPERATORS[self.operator]
        # A convolution of padding alone is a sum of zeros.
        is_sum = operator.arithmetic is Arithmetic.SUM and operator.geometry is Geometry.WINDOWS
        possible = DISPUTED_GEOMETRIES[operator.geometry] if operator.has_disputed_geometry or is_sum else None
        disputed = bool(possible and possible(self.levels, self.per_axis("extent"), self.rank))
        has_dtype = has_valid_dtype(operator.geometry, {**DEFAULT_LEVELS, **self.levels})
        return has_dtype and (disputed or self._sweep.is_possible(row)) and self._sweep.is_generated(row)

    @cached_property
    def raw_case(self) -> dict[str, Any]:
        """The case in the format of a catalogue file."""
        raw = {**self._sweep.raw_case(self._row_name), "source": CASE_SOURCE}
        raw["id"] = "-".join([raw["id"], *self._suffixes])
        for name, spec in self.inputs.items():
            if "dtype" in spec:
                raw[name]["dtype"] = spec["dtype"]
        for name, numbers in self.written_numbers.items():
            raw[name] = {"values": numbers, "dtype": raw[name]["dtype"]}
        if self.following:
            window = [self.following.window] * self.rank
            raw["then"] = [{"operator": self.following.operator, "window": window}]
        if self.array_use:
            raw[ARRAYS_KEY] = self.array_use
        if self.has_words:
            raw[WORDS_KEY] = True
        # The name of the levels does not contain the numbers, so a digest keeps ids unique.
        unusual = self.written_numbers or {name: spec for name, spec in self.inputs.items() if len(spec) > 1}
        if unusual:
            digest = hashlib.blake2b(repr(sorted(unusual.items())).encode(), digest_size=4).hexdigest()
            raw["id"] = f"{raw['id']}-{digest}"
        raw["id"] = shortened_id(raw["id"])
        return raw

    @property
    def raw_changes(self) -> Mapping[str, Any]:
        """The keys that the violation changes, in the format of a catalogue file; empty for a valid call."""
        return self.violation.changes(self.valid.case) if self.violation else {}

    @cached_property
    def case(self) -> Case:
        """The parsed case. Raises CaseError if the levels describe no case."""
        family, raw = {"operator": self.operator, "source": CASE_SOURCE}, self.raw_case
        if not self.violation:
            return parse_case(family, raw, CASE_ID_PREFIX)
        raw = {**raw, **self._derived_shapes(raw), **self.raw_changes, "expect": {"rejected": self.violation.name}}
        return replace(parse_case(family, raw, CASE_ID_PREFIX), valid_case=self.valid.case)

    def _derived_shapes(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Return the inputs whose shape follows from the valid call. An invalid call does not define it."""
        shapes = {name: spec.shape for name, spec in self.valid.case.inputs.items() if name in DERIVED_SHAPE_INPUTS}
        derived = {name: shape for name, shape in shapes.items() if name not in self.written_numbers}
        return {name: {**raw[name], "shape": list(shape)} for name, shape in derived.items()}

    @cached_property
    def features(self) -> frozenset[str]:
        """All phrases that may be conditions and are true for the case."""
        return condition_features(self.case)

    def is_valid(self) -> bool:
        """Check whether the levels describe a case. The output of an invalid call cannot be the input of another."""
        return self._is_valid

    @property
    def has_possible_arrays(self) -> bool:
        """Whether the program can pass its arrays in this way.

        Only one item can be repeated without a comparison of items. A gradient is taken with respect to an array of the
        framework. Programs get bfloat16 as 16-bit words, which have no other byte order and are converted first.
        """
        if self.array_use == ArrayUse.EXPANDED:
            return bool(self.levels.get("batch", 1) == 1)
        if self.levels.get("dtype") == BFLOAT16 and self.array_use in {ArrayUse.BYTE_SWAPPED, *NUMPY_USES}:
            return False
        return self.array_use not in NUMPY_USES or not OPERATORS[self.operator].is_gradient

    @cached_property
    def _is_valid(self) -> bool:
        try:
            if not (self.has_possible_arrays and self.is_possible() and self.valid.case):
                return False
            if self.following and (self.violation or self.has_words):
                return False
            if self.following:
                plan_steps(self.case)
            return not self.violation or violations_of(self.case) == [self.violation.name]
        except (CaseError, ValueError, LookupError, TypeError, OverflowError, StopIteration):
            return False

    @property
    def per_axis_factors(self) -> list[str]:
        """The factors with a level for each axis; padding that is computed from the extents has none."""
        names = (*NUMBER_PER_AXIS_FACTORS, *PAIR_FACTORS)
        return [name for name in names if name in self.levels and not isinstance(self.levels[name], str)]

    def per_axis(self, factor: str) -> tuple[Any, ...]:
        """Return the level of a factor on each axis: numbers, or pairs (before, after) for padding."""
        level = self.levels[factor]
        if factor in PAIR_FACTORS:
            return level_pairs(level, self.rank) if not isinstance(level, str) else ()
        return level_per_axis(level, self.rank)

    def with_levels(self, **levels: FactorLevel) -> Candidate:
        """Return the candidate with other levels. All inputs are generated again."""
        return replace(self, levels={**self.levels, **levels}, written_numbers={})

    def with_levels_on_axis(self, axis: int, **levels: FactorLevel) -> Candidate:
        """Return the candidate with other levels on one axis."""
        every = {name: self.per_axis(name) for name in levels}
        return self.with_levels(
            **{name: (*every[name][:axis], level, *every[name][axis + 1 :]) for name, level in levels.items()}
        )

    def without_axis(self, axis: int) -> Candidate:
        """Return the candidate without one of its spatial axes."""
        every = {name: self.per_axis(name) for name in self.per_axis_factors}
        fewer = {name: levels[:axis] + levels[axis + 1 :] for name, levels in every.items()}
        return self.with_levels(rank=self.rank - 1, **fewer)

    def with_numbers(self, **numbers: Any) -> Candidate:
        """Return the candidate with explicit numbers for some inputs."""
        return replace(self, written_numbers={**self.written_numbers, **numbers})

    def non_default_factors(self) -> Iterator[str]:
        """Yield the factors that are not at their simplest level, once per axis that deviates."""
        yield from ["following"] * bool(self.following)
        yield from ["array_use"] * bool(self.array_use)
        yield from [WORDS_KEY] * self.has_words
        for factor, level in self.levels.items():
            simplest = SIMPLEST_LEVELS.get(factor, OPERATORS[self.operator].defaults.get(factor))
            if factor == "values":
                yield from [factor] * (level not in WHOLE_NUMBER_VALUES and "x" not in self.written_numbers)
            elif factor in {"extent", "output_size"}:
                continue  # the number of cells in shrink_key includes these
            elif factor in PAIR_FACTORS:
                yield from [factor] * sum(any(pair) for pair in self.per_axis(factor))
                yield from [factor] * isinstance(level, str)
            elif factor in NUMBER_PER_AXIS_FACTORS:
                yield from [factor] * sum(number != simplest for number in self.per_axis(factor))
            elif level != simplest:
                yield factor

    @cached_property
    def shrink_key(self) -> tuple[int, int, int, float, str]:
        """Sort key for shrinking, smallest first.

        Number of non-default factors, number of input cells, sum of all sizes, magnitude of the numbers, name.
        """
        reach = sum(sum(self.per_axis(name)) for name in NUMBER_PER_AXIS_FACTORS if name in self.levels)
        reach += sum(
            sum(map(abs, pair)) for name in PAIR_FACTORS if name in self.levels for pair in self.per_axis(name)
        )
        reach += self.following.window if self.following else 0
        reach += self.violation.amount + self.violation.axis if self.violation else 0
        cells = {name: math.prod(spec.shape) for name, spec in self.case.inputs.items()}
        magnitude = sum(
            _numbers_magnitude(self.written_numbers[name]) if name in self.written_numbers else 2 * cells[name]
            for name in cells
        )
        return (
            sum(1 for _ in self.non_default_factors()),
            sum(cells.values()),
            reach,
            magnitude - len(self.written_numbers) / 2,
            self.name,
        )


def shortened_id(case_id: str) -> str:
    """Return an id without operator, of at most MAX_ID_LENGTH characters: a longer one ends with a digest of itself."""
    if len(case_id) <= MAX_ID_LENGTH:
        return case_id
    digest = hashlib.blake2b(case_id.encode(), digest_size=ID_DIGEST_BYTES).hexdigest()
    return f"{case_id[: MAX_ID_LENGTH - len(digest) - 1]}-{digest}"


def _numbers_magnitude(numbers: Any) -> float:
    """Return the magnitude of nested lists.

    Each number other than 0 counts 1, and up to 0.1 more for its size. NaN counts 1.5.
    """
    if isinstance(numbers, list):
        return sum(map(_numbers_magnitude, numbers))
    return 0.0 if numbers == 0 else 1 + min(abs(numbers), 1e6) / 1e7 if numbers == numbers else 1.5  # noqa: PLR0124 - NaN


DISPUTED_GEOMETRIES: Mapping[Geometry, Callable[[Mapping[str, FactorLevel], Sequence[int], int], bool]] = {
    Geometry.WINDOWS: partial(has_valid_windows, allow_padding_only=True),
    Geometry.PADS: partial(has_valid_pads, far=True),
}
"""Checks for geometries of operators with `has_disputed_geometry`, see `convention_domains`."""
SIMPLEST_LEVELS: Mapping[str, FactorLevel] = {
    "rank": 1, "batch": 1, "channels": 1, "out": 1, "window": 1, "stride": 1, "dtype": "float32", "bias": False,
    "values": "integers",
}  # fmt: skip
"""Simplest level of each factor for which this is not the default of the operator."""
