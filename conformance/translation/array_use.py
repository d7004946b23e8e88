"""Programs that pass their input arrays in an unusual way: in another memory layout, to two calls, or overwritten."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from conformance.adapters.api import Surface, Unsupported
from conformance.cases.case import ARRAYS_KEY, NUMPY_USES, REPEATED_USES, ArrayUse, Case

ARRAY_STATEMENTS: Mapping[ArrayUse, str] = MappingProxyType(
    {
        ArrayUse.FORTRAN: "{x} = np.asfortranarray({x})",
        ArrayUse.TRANSPOSED: "{x} = np.moveaxis(np.moveaxis({x}, 1, -1).copy(), -1, 1)",
        ArrayUse.STRIDED: "{x} = np.repeat({x}, 2, -1)[..., ::2]",
        ArrayUse.EXPANDED: "{x} = np.broadcast_to({x}[:1], {x}.shape)",
        ArrayUse.BYTE_SWAPPED: "{x} = {x}.astype({x}.dtype.newbyteorder())",
        ArrayUse.READ_ONLY: "{x}.setflags(write=False)",
        ArrayUse.OFFSET: "{x} = np.append({x}.flat[:1], {x})[1:].reshape({x}.shape)",
        ArrayUse.VIEW: "{x} = np.pad({x}, 1)[{inner}]",
    }
)
"""Statements that store an array again in another way, with the same values."""
EXPANDED_INPUTS = frozenset({"x"})


def unsupported_use(case: Case, surface: Surface) -> Unsupported | None:
    """Return why the surface cannot take the arrays of a case as the case passes them, None if it can."""
    use = case.parameters.get(ARRAYS_KEY)
    if use and surface.language is not None:
        return Unsupported(f"programs of {surface.name} get no NumPy arrays")
    if use in NUMPY_USES and surface.numpy_inputs is None:
        return Unsupported(f"{surface.name} has no calls that take NumPy arrays in place of its own arrays")
    return None


def with_array_use(case: Case, conversions: Mapping[str, str], lines: Sequence[str], to_numpy: str) -> Iterator[str]:
    """Yield the lines of a program, from its NumPy inputs to its result.

    conversions: for each input, the statement that converts it to an array of the framework, "" if there is none.
    lines: the call, which assigns its result to `x`. to_numpy: the expression that converts the result.
    """
    use, converted = case.parameters.get(ARRAYS_KEY), [*filter(None, conversions.values()), *lines]
    names = ", ".join(case.inputs)
    if use in REPEATED_USES:
        yield from (f"passed = [{names}]", *converted, f"{names}{',' * (len(case.inputs) == 1)} = passed", *converted)
    elif use == ArrayUse.OVERWRITTEN:
        yield from (f"passed = [{names}]", *converted, f"x = {to_numpy}", "for array in passed:", "    array[...] = 0")
        to_numpy = "x"
    else:
        yield from (*array_statements(case, use), *converted)
    yield f"return {to_numpy}"


def array_statements(case: Case, use: str | None) -> Iterator[str]:
    """Yield the statements that store the inputs again, under the same names.

    An array of one axis has no other layout of its axes.
    """
    if use not in ARRAY_STATEMENTS:
        return
    for name, spec in case.inputs.items():
        rank = len(spec.shape)
        is_stored = name in EXPANDED_INPUTS if use == ArrayUse.EXPANDED else rank > 1 or use != ArrayUse.TRANSPOSED
        if is_stored:
            yield ARRAY_STATEMENTS[ArrayUse(use)].format(x=name, inner=", ".join(["1:-1"] * rank))
