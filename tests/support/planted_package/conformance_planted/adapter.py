"""The backend `planted`: a surface for each fault, and one without. A program is one call of `conformance_planted`."""

from functools import partial

from conformance.adapters import numpy as loops
from conformance.adapters.api import source_text
from conformance.adapters.api.surface import Code, Surface, Unsupported, Verb
from conformance.cases.operators import FORWARD, OPERATORS
from conformance.cases.steps import Step

from . import FAULTS, NONE, Correct

PACKAGES = ("conformance_planted", "numpy", "ml_dtypes")
SETUP = loops.SETUP + "import conformance_planted as planted\n"
RESET = ""
(LOOPS,) = loops.SURFACES


def _written(value: object) -> str:
    return source_text.number(value) if isinstance(value, float) else repr(value)


def _call(surface: str, verb: str, step: Step) -> Code:
    """Return the call; what plain loops are not asked is not asked here, and what is not written here they do."""
    looped = LOOPS.verbs[verb](step)
    if isinstance(looped, Unsupported) or not hasattr(Correct, verb):
        return looped
    inputs = [name for name in OPERATORS[verb].inputs if name != "bias" or step.bias]
    known = {*OPERATORS[step.verb].defaults, *(["output"] if "kernel" in inputs and "grad" in inputs else [])}
    given = {name: _written(value) for name, value in step.parameters.items() if name in known}
    return source_text.call("planted.call", f'"{surface}"', f'"{verb}"', *inputs, **given)


def _surface(name: str) -> Surface:
    verbs: dict[str, Verb] = {
        verb: partial(_call, name, verb) for forward in FORWARD for verb in (forward, f"{forward}_grad")
    }
    relu = {"relu": LOOPS.verbs["relu"]}
    return Surface(f"planted.{name}", verbs | relu, dtypes=LOOPS.dtypes, words=LOOPS.words, checks=False)


SURFACES = tuple(map(_surface, (NONE, *FAULTS)))
