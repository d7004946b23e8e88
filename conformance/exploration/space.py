"""The space of candidates of an operator: factors from the sweeps of the catalogue, sizes from a wider range.

The sweeps of an operator define its input values, dtypes and named options (output-size rules, modes, ties). These
observe no convention by accident. Extents, windows, strides, padding, dilation, channels and groups are drawn
independently of the sweeps, see `sizes`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from conformance import CatalogueError
from conformance.adapters.api.resizing.rules import LANCZOS_MODES
from conformance.cases.arrays import SHORT_FLOATS, dtype_kind
from conformance.cases.generators import SPECIAL_VALUES, DtypeKind
from conformance.cases.operators import OPERATORS, PARAMETERS, Arithmetic, Geometry, Operator, PadMode, ParameterKind
from conformance.cases.steps import case_step
from conformance.catalogue.factors import FactorLevel
from conformance.catalogue.sweeps import Sweep
from conformance.exploration.candidate import Candidate
from conformance.exploration.convention_domains import conventions_of, domains_of
from conformance.exploration.conventions import is_checkable_violation
from conformance.exploration.draws.conventions import InputOptions
from conformance.exploration.draws.invalid_calls import AMOUNTS, Violation, violations_for
from conformance.exploration.draws.numbers import (
    FOLLOWED_OPERATORS,
    draw_array_use,
    draw_following,
    draw_numbers,
    may_have_words,
    with_index_dtype,
)
from conformance.exploration.draws.sizes import LONG_AXIS_CELLS, draw_sizes
from conformance.exploration.draws.values import EXACT_VALUES, ValueChoice, draw_values, value_choices
from conformance.exploration.rng import Rng

MAX_TERMS = 400_000
"""Maximum number of terms of a case: output cells · window cells · channels.

It limits the time of the reference and of the slowest framework.
"""
MAX_METAMORPHIC_TERMS = 8_000_000
"""Maximum number of terms of a case that is not checked against the reference."""
MAX_SLOW_TERMS = 8_000
"""Maximum number of terms of the operators for which the reference is slow."""
MAX_BINNED_CELLS = 150
"""Maximum number of output cells of an operator that is computed bin by bin."""
MAX_WEIGHTED_CELLS = 2000
"""Maximum extent of the output in a gradient of resizing whose weights are divided by their sums."""
MAX_DRAW_ATTEMPTS = 4000
"""Maximum number of draws until one is valid and affordable. Of `resize`, one in 40 is."""
MAX_CHANGE_ATTEMPTS = 40
"""Maximum number of draws for a larger case, or for a change of a candidate. Without a valid one there is none."""
SIZE_KINDS = frozenset(
    {ParameterKind.SIZES, ParameterKind.SCALES, ParameterKind.PADDING, ParameterKind.PAIRS, ParameterKind.COUNT}
)
"""Kinds of parameters that are drawn independently of the sweeps."""
WORD_FACTORS = (*(one.name for one in PARAMETERS.values() if one.kind not in SIZE_KINDS), "bias")
"""Factors whose levels are taken from the sweeps of the operator."""
EXTRA_LEVELS: Mapping[str, Sequence[FactorLevel]] = {
    "p": (1.5,),
    "value": (-1, 0.5, 1000, math.inf, -math.inf, math.nan),
}
"""Levels that no sweep has. All frameworks agree on their meaning."""
LARGE_DIVISORS = (64, 100, 257, 1000)
"""Divisors beyond 6 and 8 bits."""
WHOLE_PAD_VALUES = (0, 7)
"""Pad values that every integer dtype has."""
EXTRA_SPECIALS: Mapping[str, Sequence[str]] = {"adaptive_max_pool": ("nan",)}
"""Special values that no sweep has, although the catalogue has cases with them."""
PLANE_RANK = 2
"""Number of spatial axes of most common configurations."""
FEW_CELLS = {"batch": 2, "channels": 3, "out": 3}
MAX_FEW_EXTENT = 9
"""Sizes of candidates whose numbers are drawn."""
NUMBERS_INTERVAL, INVALID_INTERVAL, FOLLOWING_INTERVAL, ARRAYS_INTERVAL = 3, 12, 8, 24
"""One in this number of candidates has drawn numbers, violates a precondition, is followed by a pooling, or passes its
arrays in another way."""
NAMED_PADDING_INTERVAL, WORDS_INTERVAL = 4, 48
"""One in this number of candidates has words of the framework: of those with the padding `same`, and of the others."""


@dataclass(frozen=True)
class OperatorSpace:
    """The candidates of one operator.

    sweeps: its sweeps in the catalogue. word_levels: levels of WORD_FACTORS. value_choices: input values with dtypes.
    ranks: numbers of spatial axes. specials: special values that x may have.
    violations: violations for which a surface may have to reject a call.
    """

    operator: str
    sweeps: Sequence[Sweep]
    word_levels: Mapping[str, Sequence[FactorLevel]]
    value_choices: Sequence[ValueChoice]
    ranks: Sequence[int]
    specials: Sequence[str] = ()
    violations: Sequence[str] = ()

    @classmethod
    def from_sweeps(cls, operator: str, sweeps: Iterable[Sweep]) -> OperatorSpace:
        """Return the space of an operator. Raises CatalogueError if the catalogue has no sweep of it."""
        own = [sweep for sweep in sweeps if sweep.operator == operator]
        if not own:
            raise CatalogueError(f"{operator}: the catalogue has no sweep of this operator, so it cannot be explored")
        defaults = OPERATORS[operator].defaults
        swept = {
            name: dict.fromkeys(level for sweep in own for level in sweep.factors.get(name, ()))
            for name in WORD_FACTORS
        }
        words = {name: (*levels, *EXTRA_LEVELS.get(name, ())) for name, levels in swept.items() if levels}
        # A sweep without a factor uses its default. Another sweep with this factor need not list the default.
        every = {name: (defaults[name], *levels) if name in defaults else levels for name, levels in words.items()}
        words = {name: tuple(dict.fromkeys(levels)) for name, levels in every.items()}
        ranks = sorted({rank for sweep in own for rank in sweep.factors["rank"]})
        choices = value_choices(operator, own)
        swept_specials = {one.values for one in choices if one.values in SPECIAL_VALUES}
        swept_specials |= {*EXTRA_SPECIALS.get(operator, ())}
        specials = sorted(swept_specials | {mark for domain in domains_of(operator) for mark in domain.marks})
        violations = [name for name in violations_for(operator) if is_checkable_violation(operator, name)]
        return cls(operator, own, words, choices, ranks, specials, violations)

    def draw(self, rng: Rng, *, common: bool = False) -> Candidate:
        """Return a random candidate. Raises ValueError if no draw is valid.

        common: whether the windows are a common configuration, for which frameworks have special code paths.
        """
        for _ in range(MAX_DRAW_ATTEMPTS):
            candidate = self._draw_once(rng, common=common)
            if candidate and is_affordable(candidate):
                return self._draw_extras(candidate, rng)
        raise ValueError(f"{self.operator}: no valid candidate in {MAX_DRAW_ATTEMPTS} draws")

    def _draw_extras(self, candidate: Candidate, rng: Rng) -> Candidate:
        """Return the candidate with drawn numbers, with a following operator, or with a violated precondition."""
        changed = candidate
        if rng.one_in(NUMBERS_INTERVAL):
            changed = draw_numbers(_with_few_cells(candidate), self.specials, rng)
        if self.operator in FOLLOWED_OPERATORS and rng.one_in(FOLLOWING_INTERVAL):
            changed = draw_following(candidate, rng)
        elif rng.one_in(ARRAYS_INTERVAL):
            changed = draw_array_use(changed, rng)
        elif self.violations and rng.one_in(INVALID_INTERVAL):
            violation = Violation(rng.choice(self.violations), rng.randrange(candidate.rank), rng.choice(AMOUNTS))
            changed = replace(candidate, violation=violation)
        elif may_have_words(candidate) and rng.one_in(_words_interval(candidate)):
            changed = replace(changed, has_words=True)
        return changed if changed is candidate or is_affordable(changed) else candidate

    def draw_large(self, rng: Rng) -> Candidate | None:
        """Return a candidate with integers that is too large for the reference; None if no draw gives one."""
        for _ in range(MAX_CHANGE_ATTEMPTS):
            candidate = self._draw_once(rng)
            # Relations are checked only without a convention, see `oracles`.
            if not candidate or conventions_of(candidate):
                continue
            candidate = self._with_whole_numbers(candidate, rng)
            extent = list(candidate.per_axis("extent"))
            axis = rng.randrange(candidate.rank)
            extent[axis] *= rng.choice((16, 64, 256, 1024))
            if extent[axis] > 3 * LONG_AXIS_CELLS:
                continue
            larger = candidate.with_levels(extent=tuple(extent), batch=2)
            if (
                larger.is_valid()
                and not _has_too_many_bins(larger)
                and MAX_TERMS < count_terms(larger) <= MAX_METAMORPHIC_TERMS
            ):
                return larger
        return None

    def _with_whole_numbers(self, candidate: Candidate, rng: Rng) -> Candidate:
        """Return the candidate with integers whose sums are exact."""
        exact = [one for one in self.value_choices if one.values in EXACT_VALUES and one.dtype not in SHORT_FLOATS]
        choice = rng.choice(exact)
        levels = {**candidate.levels, "values": choice.values, "dtype": choice.dtype}
        # A bias needs a generator, which only sweeps with a bias have.
        bias = {"bias": False} if "bias" in levels and "bias" not in choice.inputs else {}
        return Candidate(self.operator, {**levels, **bias}, choice.inputs)

    def mutate(self, candidate: Candidate, rng: Rng) -> Candidate:
        """Return the candidate with one or two levels of another draw; the candidate itself if no result is valid."""
        for _ in range(MAX_CHANGE_ATTEMPTS):
            other = self._draw_once(rng)
            if not other or other.rank != candidate.rank or other.inputs != candidate.inputs:
                continue
            names = [name for name in other.levels if name not in {"rank", "values", "dtype"}]
            changed = {name: other.levels[name] for name in (rng.choice(names) for _ in range(rng.randint(1, 2)))}
            neighbour = candidate.with_levels(**changed)
            if is_affordable(neighbour):
                return self._draw_extras(neighbour, rng)
        return candidate

    def _draw_once(self, rng: Rng, *, common: bool = False) -> Candidate | None:
        """Return a draw; None if it is invalid or observes a convention by accident.

        One draw in four is meant to observe a convention.
        """
        rng.start_draw()
        levels, inputs = self._draw_usual(rng, common=common)
        domains = [domain for domain in domains_of(self.operator) if domain.draw_inside]
        domain = rng.choice(domains) if domains and rng.one_in(4) else None
        if domain and domain.draw_inside and (domain.interval == 1 or rng.one_in(domain.interval)):
            levels, inputs = domain.draw_inside((levels, inputs), rng)
        candidate = Candidate(self.operator, levels, inputs)
        return candidate if candidate.is_valid() and (domain or not conventions_of(candidate)) else None

    def _draw_usual(self, rng: Rng, *, common: bool = False) -> tuple[dict[str, FactorLevel], InputOptions]:
        """Draw levels and inputs that are not meant to observe a convention."""
        choice = draw_values(self.value_choices, rng)
        # Most special code paths are for planes.
        rank = PLANE_RANK if common and PLANE_RANK in self.ranks and rng.one_in(2) else rng.choice(self.ranks)
        inputs = dict(with_index_dtype(choice.inputs, rng))
        levels: dict[str, FactorLevel] = {"rank": rank, "dtype": choice.dtype, "values": choice.values}
        for name, choices in self.word_levels.items():
            levels[name] = self._draw_word(name, choices, rng)
        if "bias" in levels and "bias" not in inputs:
            levels["bias"] = False
        if "value" in self.word_levels and rng.one_in(3):
            levels["mode"] = PadMode.CONSTANT.value
        if "value" in levels and levels.get("mode", PadMode.CONSTANT) != PadMode.CONSTANT:
            levels["value"] = 0  # other modes do not use it
        if dtype_kind(choice.dtype) is not DtypeKind.FLOATING and levels.get("value", 0) not in WHOLE_PAD_VALUES:
            levels["value"] = WHOLE_PAD_VALUES[-1]
        if "divisor" in OPERATORS[self.operator].defaults:
            levels["divisor"] = rng.usual_or_unusual((None,), (1, 2, 3, 5, 7, rng.choice(LARGE_DIVISORS)))
        levels |= draw_sizes(self.operator, rank, rng, common=common)
        if levels["values"] in SPECIAL_VALUES:
            inputs |= {"x": {**inputs["x"], "at": rng.randrange(math.prod(levels["extent"]))}}
        return levels, inputs

    def _draw_word(self, name: str, choices: Sequence[FactorLevel], rng: Rng) -> FactorLevel:
        """Draw a level of one of WORD_FACTORS: the default is the usual one."""
        default = [level for level in choices if level == OPERATORS[self.operator].defaults.get(name, False)]
        others = [level for level in choices if level not in default]
        return rng.usual_or_unusual(default, others) if default and others else rng.choice(choices)


def _words_interval(candidate: Candidate) -> int:
    is_named = isinstance(candidate.levels.get("padding"), str)
    return NAMED_PADDING_INTERVAL if is_named else WORDS_INTERVAL


def _with_few_cells(candidate: Candidate) -> Candidate:
    """Return the candidate with sizes for which numbers are drawn; the candidate itself if these are invalid."""
    levels = candidate.levels
    fewer = {name: min(levels[name], most) for name, most in FEW_CELLS.items() if name in levels}
    fewer["extent"] = tuple(min(size, MAX_FEW_EXTENT) for size in candidate.per_axis("extent"))
    if all(levels[name] == level for name, level in fewer.items()):
        return candidate
    smaller = candidate.with_levels(**fewer)
    return smaller if smaller.is_valid() and not conventions_of(smaller) else candidate


def is_affordable(candidate: Candidate) -> bool:
    """Check that a candidate is valid and that the reference computes it in a fraction of a second."""
    if not candidate.is_valid():
        return False
    if _has_too_many_bins(candidate) or _has_too_many_weights(candidate):
        return False
    candidate = candidate.valid
    slow = _has_slow_reference(OPERATORS[candidate.operator])
    return count_terms(candidate) <= (MAX_SLOW_TERMS if slow else MAX_TERMS)


def _has_slow_reference(operator: Operator) -> bool:
    """Check whether the reference evaluates functions to certified accuracy, or coordinates or gradients one by one."""
    selects_or_adds = operator.arithmetic is Arithmetic.SELECTION or operator.arithmetic.is_linear
    if operator.geometry in {Geometry.SAMPLING, Geometry.DEFORMED}:
        return True
    return not selects_or_adds or (operator.is_gradient and operator.geometry in {Geometry.GLOBAL, Geometry.BINS})


def _has_too_many_bins(candidate: Candidate) -> bool:
    """Check whether there are too many bins for the reference and for programs that slice bins one by one."""
    return (
        OPERATORS[candidate.operator].geometry in {Geometry.BINS, Geometry.FRACTIONS}
        and math.prod(candidate.per_axis("output_size")) > MAX_BINNED_CELLS
    )


def _has_too_many_weights(candidate: Candidate) -> bool:
    """Check whether the exact weights of a gradient of resizing take more than a fraction of a second."""
    if candidate.operator != "resize_grad":
        return False
    step = case_step(candidate.valid.case)
    given = step.parameters
    is_divided = given["mode"] in LANCZOS_MODES or given.get("antialias") or given.get("exclude_outside")
    return bool(is_divided) and max(axis.output for axis in step.resampled) > MAX_WEIGHTED_CELLS


def count_terms(candidate: Candidate) -> int:
    """Return the number of terms that a case adds or compares."""
    step = case_step(candidate.valid.case)
    inner = max(step.kernel[:2], default=1) if step.kernel else 1
    return max(math.prod(step.output) * max(math.prod(step.window), 1) * inner, math.prod(step.shape))
