"""Mix a shrunk case with random draws: cases that satisfy some of its conditions, and violate the others.

The neighbours of a case differ from it in one parameter, so they cannot show which of two conditions matters if no
single change violates only one of them. A mixed case has each level either from the shrunk case or from a new draw.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.exploration.candidate import NUMBER_PER_AXIS_FACTORS, PAIR_FACTORS, Candidate
from conformance.exploration.draws.numbers import draw_numbers, nested
from conformance.exploration.rng import Rng
from conformance.exploration.space import NUMBERS_INTERVAL, OperatorSpace, is_affordable

MIXED_CANDIDATES = 160
"""Number of mixed cases for each shrunk case."""
MAX_ATTEMPTS = 6
"""Maximum number of draws for each mixed case. Many combinations of levels are invalid."""
MIXED_OF_ONE_DRAW = 4
"""Number of mixed cases made from each draw, because draws take the most time."""
KEPT_OF_EIGHT = (3, 4, 6, 7)
"""Number of levels, of eight on average, that a mixed case has from the shrunk case. One is drawn for each mixed case:
cases near the shrunk one violate a single condition, and cases further away are like other draws."""
CALL_FIELDS = ("violation", "following", "array_use", "has_words")
"""Fields of a candidate that a mixed case has from one of the two cases."""
MAX_MIXED_CELLS = 400
"""Maximum number of cells of an input whose numbers are those of the shrunk case in another order."""


def mixed_candidates(
    smallest: Candidate, space: OperatorSpace, *, seed: int = 0, count: int = MIXED_CANDIDATES
) -> Iterator[Candidate]:
    """Yield different affordable candidates that have some levels of the shrunk case, always the same for a seed."""
    names = {smallest.name}
    for number in range(count * MAX_ATTEMPTS):
        rng = Rng("mixed", smallest.case.id, *([seed] if seed else []), number)
        if number % MIXED_OF_ONE_DRAW == 0:
            drawn = space.draw(rng)
        mixed = _mix(smallest, drawn, space, rng)
        if mixed and mixed.name not in names and is_affordable(mixed):
            names.add(mixed.name)
            yield mixed
            if len(names) > count:
                return


def _mix(smallest: Candidate, drawn: Candidate, space: OperatorSpace, rng: Rng) -> Candidate | None:
    """Return a mixed candidate; None if its levels describe no case. Its numbers may be invalid."""
    kept = rng.choice(KEPT_OF_EIGHT)

    def keeps() -> bool:
        return rng.randrange(8) < kept

    # The values of the inputs depend on the dtype.
    source = smallest if keeps() else drawn
    levels: dict[str, Any] = {name: source.levels[name] for name in ("dtype", "values")}
    for name, level in drawn.levels.items():
        if name not in levels:
            levels[name] = smallest.levels.get(name, level) if keeps() else level
    levels["bias"] = levels.get("bias") and "bias" in source.inputs
    if "bias" not in drawn.levels:
        del levels["bias"]
    others = {name: getattr(smallest if keeps() else drawn, name) for name in CALL_FIELDS}
    if others["violation"] or others["has_words"]:
        others["following"] = None
    mixed = replace(drawn, levels=levels, inputs=source.inputs, written_numbers={}, **others)
    per_axis = [*NUMBER_PER_AXIS_FACTORS, *PAIR_FACTORS]
    fitted = {name: mixed.per_axis(name) for name in per_axis if isinstance(levels.get(name), tuple)}
    mixed = mixed.with_levels(**fitted)
    if not mixed.is_valid():
        return None
    if smallest.written_numbers and keeps():
        return _with_numbers_of(smallest, mixed, rng)
    return draw_numbers(mixed, space.specials, rng) if rng.one_in(NUMBERS_INTERVAL) else mixed


def _with_numbers_of(smallest: Candidate, mixed: Candidate, rng: Rng) -> Candidate:
    """Return the candidate with numbers of the shrunk case, in another order and among other small integers."""
    written, others = {}, rng.one_in(2)
    for name, numbers in smallest.written_numbers.items():
        spec = mixed.case.inputs.get(name)
        if not spec or np.prod(spec.shape) > MAX_MIXED_CELLS or 0 in spec.shape:
            continue
        cells = np.asarray(numbers, object).ravel().tolist()
        whole = [rng.choice(cells) for _ in range(int(np.prod(spec.shape)))]
        integers = name == "x" and others
        mixture = [rng.randint(0, 9) if integers and rng.one_in(2) else number for number in whole]
        written[name] = nested(mixture, spec.shape)
    return mixed.with_numbers(**written)
