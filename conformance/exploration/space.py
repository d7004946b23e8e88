"""The space of an operator: what its sweeps in the catalogue cross, with sizes drawn anew and far wider.

What numbers an operator is tried with, in which dtypes, and what its words are (output-size rules, modes, ties) is what
the catalogue's sweeps say of it; so no question of convention is asked here by accident. Extents, windows, strides,
padding, dilations, channels and groups are drawn: a kind first, each as likely as the others, then a number of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from conformance.cases.arrays import NUMPY_DTYPES, SHORT_FLOATS
from conformance.cases.generators import GENERATORS, SPECIAL_VALUES
from conformance.cases.operators import OPERATORS
from conformance.cases.steps import case_step
from conformance.catalogue.factors import FactorLevel
from conformance.catalogue.sweeps import DEFAULT_LEVELS, Sweep
from conformance.exploration.candidate import Candidate
from conformance.exploration.conventions import InputOptions, convention_domains, conventions_of
from conformance.exploration.rng import Rng
from conformance.exploration.sizes import LONG_AXIS_CELLS, draw_sizes

MAX_TERMS = 400_000
"""Of one case, for the reference and the slowest framework to bear: output cells x window x channels."""
MAX_METAMORPHIC_TERMS = 8_000_000
"""Of a case that is held to laws alone."""
MAX_CURVED_TERMS = 8_000
"""Of what the reference evaluates to certainty, powers and exponentials; and of gradients that it reckons by cells."""
SLOW_REFERENCE_OPERATORS = (
    "lp_pool",
    "softmax_pool",
    "stochastic_pool",
    "global_max_pool_grad",
    "global_avg_pool_grad",
)
MAX_BINNED_CELLS = 150
"""Cells of an output that is reckoned bin by bin."""
BINNED_OPERATOR_PREFIXES = ("adaptive", "fractional")
MAX_DRAW_ATTEMPTS = 400
"""Draws of which one must be sound."""
WORD_FACTORS = ("rounding", "count_include_pad", "mode", "ties", "output", "bias", "p", "value")
"""Factors whose levels are those that stand in any sweep of the operator."""
EXTRA_LEVELS: Mapping[str, Sequence[FactorLevel]] = {"p": (1.5,)}
"""Levels that no sweep has, and that mean the same to everybody."""


@dataclass(frozen=True)
class OperatorSpace:
    """One operator: its sweeps, and the levels that its words have in any of them."""

    operator: str
    sweeps: Sequence[Sweep]
    word_levels: Mapping[str, Sequence[FactorLevel]]
    value_choices: Sequence[ValueChoice]
    ranks: Sequence[int]

    @classmethod
    def from_sweeps(cls, operator: str, sweeps: Iterable[Sweep]) -> OperatorSpace:
        """Return the space that the sweeps of an operator span. Raises ValueError if it has none."""
        own = [one for one in sweeps if one.operator == operator]
        if not own:
            raise ValueError(f"{operator}: no sweep of the catalogue says what it is tried with")
        usual = OPERATORS[operator].defaults
        found = {
            name: dict.fromkeys(level for one in own for level in one.factors.get(name, ())) for name in WORD_FACTORS
        }
        words = {name: (*levels, *EXTRA_LEVELS.get(name, ())) for name, levels in found.items() if levels}
        # What a sweep leaves out is the default to it, which another one need not name.
        every = {name: (usual[name], *levels) if name in usual else levels for name, levels in words.items()}
        words = {name: tuple(dict.fromkeys(levels)) for name, levels in every.items()}
        ranks = sorted({rank for one in own for rank in one.factors["rank"]})
        return cls(operator, own, words, value_choices(operator, own), ranks)

    def draw(self, rng: Rng) -> Candidate:
        """Return a recipe of the space."""
        for _ in range(MAX_DRAW_ATTEMPTS):
            recipe = self._draw_once(rng)
            if recipe and is_affordable(recipe):
                return recipe
        raise ValueError(f"{self.operator}: nothing sound in {MAX_DRAW_ATTEMPTS} draws")

    def draw_large(self, rng: Rng) -> Candidate | None:
        """Return a recipe that would take the reference long, with whole numbers; None if none was drawn."""
        for _ in range(MAX_DRAW_ATTEMPTS // 10):
            recipe = self._draw_once(rng)
            if not recipe or conventions_of(recipe):
                continue
            recipe = self._with_whole_numbers(recipe, rng)
            extent = list(recipe.per_axis("extent"))
            axis = rng.randrange(recipe.rank)
            extent[axis] *= rng.choice((16, 64, 256, 1024))
            if extent[axis] > 3 * LONG_AXIS_CELLS:
                continue
            larger = recipe.with_levels(extent=tuple(extent), batch=2)
            if (
                larger.is_valid()
                and not _has_too_many_bins(larger)
                and MAX_TERMS < count_terms(larger) <= MAX_METAMORPHIC_TERMS
            ):
                return larger
        return None

    def _with_whole_numbers(self, candidate: Candidate, rng: Rng) -> Candidate:
        """Return the recipe with whole numbers of which sums are exact."""
        whole = [one for one in self.value_choices if one.values in EXACT_VALUES and one.dtype not in SHORT_FLOATS]
        numbers = rng.choice(whole)
        levels = {**candidate.levels, "values": numbers.values, "dtype": numbers.dtype}
        bias = {"bias": False} if "bias" in levels and "bias" not in numbers.inputs else {}
        return Candidate(self.operator, {**levels, **bias}, numbers.inputs)

    def mutate(self, candidate: Candidate, rng: Rng) -> Candidate:
        """Return the recipe with one or two factors as another draw has them; the same if nothing sound comes of it."""
        for _ in range(MAX_DRAW_ATTEMPTS // 10):
            other = self._draw_once(rng)
            if not other or other.rank != candidate.rank or other.inputs != candidate.inputs:
                continue
            names = [name for name in other.levels if name not in {"rank", "values", "dtype"}]
            changed = {name: other.levels[name] for name in (rng.choice(names) for _ in range(rng.randint(1, 2)))}
            neighbour = candidate.with_levels(**changed)
            if is_affordable(neighbour):
                return neighbour
        return candidate

    def _draw_once(self, rng: Rng) -> Candidate | None:
        """Return what may be a recipe; None where it puts a question without having entered its ground."""
        rng.start_draw()
        levels, inputs = self._draw_usual(rng)
        known = convention_domains(self.operator)
        ground = rng.choice(known) if known and rng.one_in(4) else None
        if ground:
            levels, inputs = ground.draw_inside((levels, inputs), rng)
        recipe = Candidate(self.operator, levels, inputs)
        return recipe if recipe.is_valid() and (ground or not conventions_of(recipe)) else None

    def _draw_usual(self, rng: Rng) -> tuple[dict[str, FactorLevel], InputOptions]:
        numbers, rank = draw_values(self.value_choices, rng), rng.choice(self.ranks)
        inputs = dict(numbers.inputs)
        levels: dict[str, FactorLevel] = {"rank": rank, "dtype": numbers.dtype, "values": numbers.values}
        for name, known in self.word_levels.items():
            levels[name] = self._draw_word(name, known, rng)
        if "bias" in levels and "bias" not in inputs:
            levels["bias"] = False
        if levels.get("mode", "constant") != "constant":
            levels["value"] = 0
        if "divisor" in OPERATORS[self.operator].defaults:
            levels["divisor"] = rng.usual_or_unusual((None,), (1, 2, 3, 5, 7))
        levels |= draw_sizes(self.operator, rank, rng)
        if levels["values"] in SPECIAL_VALUES:
            inputs |= {"x": {**inputs["x"], "at": rng.randrange(math.prod(levels["extent"]))}}
        return levels, inputs

    def _draw_word(self, name: str, known: Sequence[FactorLevel], rng: Rng) -> FactorLevel:
        """Return a level of a factor of words: its default, or as often as the dice are bold another one."""
        plain = [level for level in known if level == OPERATORS[self.operator].defaults.get(name, False)]
        rest = [level for level in known if level not in plain]
        return rng.usual_or_unusual(plain, rest) if plain and rest else rng.choice(known)


def is_affordable(candidate: Candidate) -> bool:
    """Whether a recipe is sound, and no more than the reference reckons in a fraction of a second."""
    if not candidate.is_valid():
        return False
    if _has_too_many_bins(candidate):
        return False
    return count_terms(candidate) <= (
        MAX_CURVED_TERMS if candidate.operator.startswith(SLOW_REFERENCE_OPERATORS) else MAX_TERMS
    )


def _has_too_many_bins(candidate: Candidate) -> bool:
    """Whether more bins are asked for than the reference, and programs that slice them one by one, take soon."""
    return (
        candidate.operator.startswith(BINNED_OPERATOR_PREFIXES)
        and math.prod(candidate.per_axis("output_size")) > MAX_BINNED_CELLS
    )


def count_terms(candidate: Candidate) -> int:
    """Return how many terms a case adds or compares."""
    step = case_step(candidate.case)
    inner = max(step.kernel[:2], default=1) if step.kernel else 1
    return max(math.prod(step.output) * max(math.prod(step.window), 1) * inner, math.prod(step.shape))


EXACT_VALUES = frozenset({"integers", "distinct", "arange"})
"""Values that a sum of any length adds exactly: the usual ones."""
SELECTION_OPERATORS = (
    "max_pool",
    "min_pool",
    "global_max_pool",
    "adaptive_max_pool",
    "fractional_max_pool",
    "max_unpool",
    "pad",
)
"""Operators that hand on numbers as they are: the ends of a dtype are none the worse, nor are full mantissas."""
SELECTION_VALUES: Mapping[str, Sequence[str]] = {"w": ("extremes",), "f": ("mantissas", "wide")}
"""What they are tried with besides, by the kind of dtype."""


@dataclass(frozen=True)
class ValueChoice:
    """Values and dtype as levels, and what each input holds."""

    values: FactorLevel
    dtype: FactorLevel
    inputs: InputOptions


def value_choices(operator: str, sweeps: Iterable[Sweep]) -> tuple[ValueChoice, ...]:
    """Return all that the sweeps of an operator try it with, and what it hands on besides; each once."""
    found = {repr(one): one for sweep in sweeps for one in _choices_of_sweep(operator, sweep)}
    return tuple(found.values())


def _choices_of_sweep(operator: str, sweep: Sweep) -> Iterator[ValueChoice]:
    inputs = {name: sweep.common[name] for name in OPERATORS[operator].inputs if name in sweep.common}
    for dtype in sweep.factors.get("dtype", (DEFAULT_LEVELS["dtype"],)):
        kind = {"f": "f", "V": "f", "b": "b"}.get(NUMPY_DTYPES[dtype].kind, "w")
        further = SELECTION_VALUES.get(kind, ()) if operator in SELECTION_OPERATORS else ()
        for values in (*sweep.factors.get("values", (DEFAULT_LEVELS["values"],)), *further):
            if kind in ("f" if values in SPECIAL_VALUES else GENERATORS[values].kinds):
                yield ValueChoice(values, dtype, inputs)


def draw_values(known: Sequence[ValueChoice], rng: Rng) -> ValueChoice:
    """Return some of the numbers: values first, as often as the dice are bold unusual ones, then a dtype."""
    every = list(dict.fromkeys(one.values for one in known))
    plain = [values for values in every if values in EXACT_VALUES]
    values = rng.usual_or_unusual(plain or every, [one for one in every if one not in EXACT_VALUES] or every)
    dtype = rng.choice(list(dict.fromkeys(one.dtype for one in known if one.values == values)))
    return rng.choice([one for one in known if (one.values, one.dtype) == (values, dtype)])
