"""Data classes of the catalogue: a case and its expectation (a value, a rejection, or the answers of a convention)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any

from conformance.cases.arrays import ArraySpec
from reports.results.vocabulary import Level, Word

PrintedArray = tuple[tuple[int, ...], tuple[int | Decimal, ...] | None]
"""A printed output: its shape and its numbers in row-major order; decimals have the printed number of digits.

Without numbers, the shape must be equal. With numbers, extents of 1 are ignored.
"""

FRAMEWORK_SAME = "same"
"""Padding of a convention case: the framework's own word `same`, whose meaning the framework decides."""
FLAT_PADS_KEY = "flat_pads"
"""Parameter of a convention case: pads as one flat list, as the call takes them; the answers have pairs."""
DEFAULTS_KEY = "defaults"
"""Parameter of a convention case whose call passes no argument that the case does not name (no dtype, no layout)."""

ARRAYS_KEY = "arrays"
"""Parameter of a case whose program does not simply pass contiguous arrays of its own, see ArrayUse."""
WORDS_KEY = "words"
"""Parameter of a case whose programs name parameters by the framework's own words, such as padding by name."""
MIXED_KEY = "mixed"
"""Parameter of a convention case that is computed in the framework's mixed precision with a 16-bit dtype."""
DRAWN_KEY = "drawn"
"""Parameter of a case whose call draws the regions of pooling at random, see DrawnRegions."""
SEED_KEY = "seed"
"""Parameter of a case with `drawn`: the seed of the random numbers."""
CALL_KEYS = frozenset({DEFAULTS_KEY, FLAT_PADS_KEY, ARRAYS_KEY, WORDS_KEY, MIXED_KEY, DRAWN_KEY, SEED_KEY})
"""Parameters of a case that describe the call and do not change the result of the operator."""


class ArrayUse(Word):
    """How a program passes its input arrays to the call. None of these changes the result."""

    FORTRAN = "fortran"  # Fortran order
    TRANSPOSED = "transposed"  # the memory has the channels last
    STRIDED = "strided"  # every second element of a larger array
    EXPANDED = "expanded"  # one item of the batch, repeated with stride 0
    BYTE_SWAPPED = "byte_swapped"  # the other byte order
    READ_ONLY = "read_only"
    OFFSET = "offset"  # the data begins one element after its memory
    VIEW = "view"  # the inner part of a larger array
    NUMPY = "numpy"  # NumPy arrays are passed to the call, without conversion
    NUMPY_TWICE = "numpy_twice"  # NumPy arrays are passed to two calls, of which the second gives the result
    TWICE = "twice"  # a second call with the same arrays gives the result
    OVERWRITTEN = "overwritten"  # the caller overwrites its arrays after the call


NUMPY_USES = frozenset({ArrayUse.NUMPY, ArrayUse.NUMPY_TWICE})
"""Uses in which calls get NumPy arrays."""
REPEATED_USES = frozenset({ArrayUse.TWICE, ArrayUse.NUMPY_TWICE})
"""Uses in which a second call gives the result."""


class MixedDtype(Word):
    """The 16-bit dtype of mixed precision."""

    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"


class DrawnRegions(Word):
    """The regions that a call draws at random for a seed. Documents limit the regions, and do not give the numbers.

    The starts of windows, and the boundaries of bins, differ by one of two consecutive numbers.
    """

    WINDOWS = "windows"  # windows of a given extent, for each plane; the first and the last touch the ends
    BINS = "bins"  # disjoint bins, the same for all planes
    OVERLAPPING_BINS = "overlapping_bins"  # the first cell of a bin also belongs to the bin before it
    PSEUDORANDOM_BINS = "pseudorandom_bins"  # bins at multiples of one number, plus a random one
    OVERLAPPING_PSEUDORANDOM_BINS = "overlapping_pseudorandom_bins"

    @property
    def overlap(self) -> bool:
        """Whether the first cell of a bin also belongs to the bin before it."""
        return self in {DrawnRegions.OVERLAPPING_BINS, DrawnRegions.OVERLAPPING_PSEUDORANDOM_BINS}

    @property
    def is_pseudorandom(self) -> bool:
        """Whether the boundaries are multiples of one number, plus a random one."""
        return self in {DrawnRegions.PSEUDORANDOM_BINS, DrawnRegions.OVERLAPPING_PSEUDORANDOM_BINS}


@dataclass(frozen=True)
class Value:
    """The backend must return the result of the reference; every printed output must match both.

    printed: the printed outputs.
    inexact: the reason why a printed number is not correctly rounded; "" if all numbers are correctly rounded.
    """

    printed: tuple[PrintedArray, ...] = ()
    inexact: str = ""


@dataclass(frozen=True)
class Rejected:
    """The backend must reject the call; `violation` names the reason (see conformance.cases.invalid)."""

    violation: str


@dataclass(frozen=True)
class Answers:
    """The named answers of a convention: parameters that differ from those of the case, an array, or a rejection."""

    named: Mapping[str, Mapping[str, Any] | ArraySpec | Rejected]


class ExpectationKind(Word):
    """The kind of an expectation."""

    VALUE = "value"
    PINNED = "pinned"  # a value with printed outputs
    REJECTED = "rejected"
    DRAWN = "drawn"  # one of several values, because the call draws random numbers
    CONVENTION = "question"  # the word for a convention in case files


EXPECTATION_KINDS: Mapping[type, ExpectationKind] = {
    Value: ExpectationKind.VALUE,
    Rejected: ExpectationKind.REJECTED,
    Answers: ExpectationKind.CONVENTION,
}


@dataclass(frozen=True)
class FollowingOperator:
    """An operator that reads the output of the previous one.

    inputs: its other inputs, kernel and bias, which are constants of the program.
    """

    operator: str
    parameters: Mapping[str, Any]
    inputs: Mapping[str, ArraySpec] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Case:
    """One operator, one set of parameters, inputs, and an expectation, identified by its id.

    parameters: all parameters, expanded and explicit, except those that a convention case omits.
    via: the composition that every surface must use in place of the operator.
    then: operators applied to the output, one after the other.
    omitted_parameters: parameters of a convention case that the call omits; only the answers have values for them.
    convention_name: the name of the convention that the case observes, if it differs from the name of the case.
    tags: words that select cases for a surface in addition to its level, see `Surface.slow_tag`.
    location: file and line.
    valid_case: for a case that must be rejected, the same case without the violation.
    """

    id: str
    operator: str
    inputs: Mapping[str, ArraySpec]
    parameters: Mapping[str, Any]
    expect: Value | Rejected | Answers = Value()
    via: tuple[str, ...] = ()
    then: tuple[FollowingOperator, ...] = ()
    omitted_parameters: tuple[str, ...] = ()
    convention_name: str = ""
    level: Level = Level.SMOKE
    tags: tuple[str, ...] = ()
    about: str = ""
    source: str = ""
    location: str = ""
    valid_case: Case | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of x, (n, c, *spatial)."""
        return self.inputs["x"].shape

    @property
    def dtype(self) -> str:
        """The dtype of x."""
        return self.inputs["x"].dtype

    @property
    def array_dtypes(self) -> frozenset[str]:
        """The dtypes of the inputs and of the result. A result of indices is int64."""
        inputs = {spec.dtype for spec in self.inputs.values()}
        results = {"int64"} if self.parameters.get("output") == "indices" else set()
        results |= {self.parameters[name] for name in ("output_dtype",) if name in self.parameters}
        return frozenset(inputs | results)

    @property
    def convention_id(self) -> str | None:
        """The id of the convention that the case observes, or None. Several cases may observe one convention."""
        if not isinstance(self.expect, Answers):
            return None
        return f"{self.operator}/{self.convention_name}" if self.convention_name else self.id

    @cached_property
    def content_digest(self) -> str:
        """A 128-bit digest of everything in the case except its tags and its location."""
        text = json.dumps([self.canonical_text(), self.level, self.about, self.source])
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def canonical_text(self) -> str:
        """Return everything that determines the behaviour of the case as text; equal cases have equal texts."""
        meaning: list[Any] = [
            self.id,
            self.operator,
            self.inputs,
            self.parameters,
            self.expect,
            self.via,
            self.then,
            self.omitted_parameters,
        ]
        meaning += [self.convention_name] if self.convention_name else []
        meaning += [self.valid_case.canonical_text()] if self.valid_case else []
        return json.dumps(meaning, default=_json_default, sort_keys=True)


def _json_default(value: Any) -> Any:
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    # Names of classes and fields are part of every digest of a case, so that renaming one would change all digests.
    fields = {
        CANONICAL_FIELD_NAMES.get((type(value), name), name): part
        for name, part in vars(value).items()
        if part or (type(value), name) not in OMITTED_IF_EMPTY
    }
    return [CANONICAL_CLASS_NAMES.get(type(value), type(value).__name__), fields]


CANONICAL_CLASS_NAMES: Mapping[type, str] = {FollowingOperator: "Following"}
"""Names of classes in canonical texts, where they differ from the name of the class."""
CANONICAL_FIELD_NAMES: Mapping[tuple[type, str], str] = {
    (Value, "printed"): "readings",
    (Rejected, "violation"): "predicate",
}
"""Names of fields in canonical texts, where they differ from the name of the field."""
OMITTED_IF_EMPTY = frozenset({(FollowingOperator, "inputs")})
"""Fields that canonical texts omit if they are empty, because digests are older than the fields."""
