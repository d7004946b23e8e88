"""Adapter of the backend `planted`: one surface per bug and one without. A program calls `conformance_planted` once."""

from functools import partial

from conformance.adapters import numpy as loops
from conformance.adapters.api import Code, Lowering, Surface, Unsupported, source_text
from conformance.cases.operators import FORWARD_OPERATORS, OPERATORS
from conformance.cases.steps import Step

from . import BUGS, NONE, Correct

PACKAGES = ("conformance_planted", "numpy", "ml_dtypes")
SETUP = loops.SETUP + "import conformance_planted as planted\n"
RESET = ""
(LOOPS,) = loops.SURFACES


def _literal(value: object) -> str:
    return source_text.number(value) if isinstance(value, float) else repr(value)


def _call(surface: str, operator: str, step: Step) -> Code:
    """Return the call of the package, or the loops of the backend `numpy` for an operator that the package lacks.

    A case that the backend `numpy` does not support is unsupported here too.
    """
    if not hasattr(Correct, operator):
        return LOOPS.lowerings[operator](step)
    # The loops are unsupported for invalid calls, which a surface that checks its arguments does run.
    if not _validates(surface) and isinstance(looped := LOOPS.lowerings[operator](step), Unsupported):
        return looped
    inputs = [name for name in OPERATORS[operator].inputs if name != "bias" or step.bias]
    known = {*OPERATORS[step.operator].defaults, *(["output"] if "kernel" in inputs and "grad" in inputs else [])}
    given = {name: _literal(value) for name, value in step.parameters.items() if name in known}
    return source_text.call("planted.call", f'"{surface}"', f'"{operator}"', *inputs, **given)


def _validates(surface: str) -> bool:
    return surface != NONE and BUGS[surface].program.validates


def _surface(name: str) -> Surface:
    lowerings: dict[str, Lowering] = {
        operator: partial(_call, name, operator)
        for forward in FORWARD_OPERATORS
        for operator in (forward, f"{forward}_grad")
        if operator in OPERATORS
    }
    relu = {"relu": LOOPS.lowerings["relu"]}
    dtypes, bfloat16 = LOOPS.dtypes, LOOPS.bfloat16
    return Surface(f"planted.{name}", lowerings | relu, dtypes=dtypes, bfloat16=bfloat16, validates=_validates(name))


SURFACES = tuple(map(_surface, (NONE, *BUGS)))
