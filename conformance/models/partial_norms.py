"""Norms of partial last windows as a framework computes them that scales them to whole windows.

The norm is multiplied by the p-th root of the cells of a window over those inside the input, axis by axis. This is the
result of a framework that multiplies the average of the real cells by the size of a whole window, because both counts
are products of those of the axes.
"""

from __future__ import annotations

import numpy as np

from conformance.adapters.api import Program, Surface, Unsupported
from conformance.cases.arrays import NUMPY_DTYPES
from conformance.cases.case import Case
from conformance.cases.steps import BuildingBlock, Step, case_step
from conformance.judging.ledger import load_ledger
from conformance.models.questions import NORM
from conformance.translation.lowering import translate_steps

CONVENTION, AS_IF_WHOLE = "lp_pool/last-partial-window", "as-if-whole"


def scales_partial_windows(surface: Surface) -> bool:
    """Whether a surface is declared or known to return the norm of a partial last window as if it were whole."""
    declared = surface.declarations.get(CONVENTION)
    return bool(declared and declared.answer == AS_IF_WHOLE) or any(
        CONVENTION in entry.cases and entry.matches_surface(surface.name) and AS_IF_WHOLE in entry.observed
        for entry in load_ledger().entries
    )


def scaled_norm(step: Step) -> tuple[Step, ...]:
    """Return a norm and the numbers that multiply it, one step for each axis with a partial window.

    () without a partial window, for padded or dilated windows, which no framework that scales has, and for powers that
    are not even, with which such a framework has another result for negative numbers.
    """
    if step.operator != NORM or step.padded or step.dilated or step.parameters["p"] % 2:
        return ()
    walk, found = step.windows, [step]
    for axis, (size, count, window, stride) in enumerate(
        zip(walk.size, walk.output, walk.window, walk.stride, strict=True)
    ):
        cells = np.minimum(window, size - stride * np.arange(count))
        if (cells == window).all():
            continue
        numbers = ((window / cells) ** (1 / step.parameters["p"])).astype(NUMPY_DTYPES[step.dtype])
        shape = [1] * len(step.shape)
        shape[2 + axis] = count
        found.append(Step(BuildingBlock.SCALE, step.output, step.dtype, constants={"scale": numbers.reshape(shape)}))
    return tuple(found) if len(found) > 1 else ()


def scaled_norm_program(case: Case, surface: Surface) -> Program | None:
    """Return the program on a surface that scales the norms of partial windows of a case; None without one."""
    steps = scaled_norm(case_step(case))
    program = translate_steps(case, surface, steps) if steps else None
    return None if isinstance(program, Unsupported) else program
