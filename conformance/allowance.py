"""How far a surface may be off: the error bound in the type that it declares to add in.

Sums of 16-bit numbers are added in float32, or in their own type and rounded after every addition: frameworks differ,
so it is a question for each operator, and a surface is judged by its answer. One that answers none adds in float32. A
composition of several calls has no choice: what one call hands to the next is rounded to the dtype.
"""

from __future__ import annotations

from dataclasses import replace

from conformance.adapter import Surface
from conformance.cases import Case
from conformance.expected import Target
from conformance.values import DTYPES, HALF
from reference import NoBound

OWN = "own"


def accumulation(operator: str, dtype: str) -> str:
    """Return the id of the question in which type an operator adds a dtype."""
    return f"{operator}/accumulation-in-{dtype}"


def adds_in_own(case: Case, surface: Surface, how: str) -> bool:
    """Whether something is rounded to the case's own dtype, of 16 bits, on the way."""
    if case.dtype not in HALF:
        return False
    declaration = surface.declares.get(accumulation(case.operator, case.dtype))
    return how == "composed" or (declaration is not None and declaration.answer == OWN)


def held_to(target: Target, case: Case, surface: Surface, how: str = "native") -> Target | None:
    """Return the target with the bound that the surface is held to; None where rounding leaves no bound.

    how: the program's, see translate.
    """
    if target.exact is None or target.exact.exact or not adds_in_own(case, surface, how):
        return target
    try:
        return replace(target, bound=target.exact.bound(accumulate=DTYPES[case.dtype]))
    except NoBound:
        return None
