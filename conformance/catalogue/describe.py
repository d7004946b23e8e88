"""Text descriptions of cases and backends for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from shutil import get_terminal_size
from typing import Any

import numpy as np

from conformance.adapters import registry
from conformance.adapters.api import Backend, Surface
from conformance.cases.case import Case
from conformance.cases.compositions import relu_maximum_channels
from conformance.cases.cost import Cost, operator_cost
from conformance.judging.expected import Expected, Target
from reports.results.vocabulary import Level

MAX_SHOWN_ELEMENTS = 200
"""Number of elements from which an array is abbreviated."""
DESCRIPTION_WIDTH = 110
"""Maximum width of an array in characters."""
BackendSurface = tuple[Backend, Surface]


def surfaces_by_name() -> dict[str, BackendSurface]:
    """Return every surface with its backend, by name."""
    backends = [registry.get_backend(name) for name in registry.backend_names()]
    return {surface.name: (backend, surface) for backend in backends for surface in backend.surfaces}


def primary_surfaces() -> list[BackendSurface]:
    """Return the surfaces without secondary ones.

    Secondary surfaces run only smoke or tagged cases, or wrap the calls of others (for example to compile them). They
    are included if their backend has no other surface and they also run tagged cases of higher levels. Routes are
    secondary: they repeat the calls of their source. So are surfaces in other languages than Python. `translate` shows
    secondary surfaces by their names.
    """
    known = list(surfaces_by_name().values())
    with_primary = {
        backend.name for backend, surface in known if surface.max_level != Level.SMOKE and not surface.wrap_program
    }
    return [
        (backend, surface)
        for backend, surface in known
        if _is_primary(surface, backend_has_primary=backend.name in with_primary)
    ]


def _is_primary(surface: Surface, *, backend_has_primary: bool) -> bool:
    if surface.route or surface.language:
        return False
    if not backend_has_primary:
        return surface.max_level != Level.SMOKE or bool(surface.slow_tag)
    return surface.max_level != Level.SMOKE and not surface.wrap_program


def case_text(case: Case, expected: Expected, width: int | None = None) -> str:
    """Return the output of `conformance show` for a case. width: see shortened_array_text."""
    lines = [case.id, *filter(None, [case.about]), f"source: {case.source}", f"from {case.location}", ""]
    lines += [f"{key:<18} {_parameter_text(value)}" for key, value in case.parameters.items()]
    for item in case.then:
        lines.append(f"{'then':<18} {item.operator} {_parameter_text(dict(item.parameters))}")
        lines += [f"{'':<18} {name} {shortened_array_text(spec.make(), width)}" for name, spec in item.inputs.items()]
    if case.via:
        lines.append(f"{'via':<18} {', '.join(case.via)}")
    if case.via == ("conv", "relu"):
        channels = relu_maximum_channels(case.parameters["window"])
        counts = ", ".join(map(str, channels))
        lines.append(f"{'':<18} {len(channels)} convolutions with {counts} output channels, a ReLU between each two")
    for name, array in expected.inputs.items():
        lines += ["", f"{name}  {array.dtype.name} {list(array.shape)}", shortened_array_text(array, width)]
    lines += ["", *expectation_lines(expected, width)]
    cost = operator_cost(case)
    return "\n".join(lines + (["", *_cost_lines(cost)] if cost else []))


def _parameter_text(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_parameter_text, value)) + "]"
    return str(value)


def shortened_array_text(array: Any, width: int | None = None) -> str:
    """Return an array as text; the middle of a long array is abbreviated.

    width: maximum width of a line in characters, by default that of the terminal.
    """
    return np.array2string(
        array,
        threshold=MAX_SHOWN_ELEMENTS,
        max_line_width=width or min(DESCRIPTION_WIDTH, get_terminal_size().columns),
        separator=", ",
    )


def expectation_lines(expected: Expected, width: int | None = None) -> list[str]:
    """Return the expectation as lines of text: the output and its bound, a rejection, or every answer."""
    if expected.target is not None:
        return _target_lines("expected", expected.target, width)
    return [
        line
        for name, target in expected.answers.items()
        for line in [*_target_lines(f"answer {name!r}", target, width), ""]
    ][:-1]


def _target_lines(title: str, target: Target, width: int | None) -> list[str]:
    if target.exact is None:
        return [f"{title}: rejected ({target.violation})"]
    value = target.exact.value
    bound = float(target.bound.max(initial=0.0)) if target.bound is not None else 0.0
    allowed = "exact" if bound == 0 else f"largest error bound {bound:.3g}"
    pinned = (
        f", also checked against {len(target.printed)} printed output{'s' * (len(target.printed) > 1)}"
        if target.printed
        else ""
    )
    return [f"{title}  {value.dtype.name} {list(value.shape)}, {allowed}{pinned}", shortened_array_text(value, width)]


def _cost_lines(cost: Cost) -> list[str]:
    lines = [f"cost: {cost.windows:,} windows"] if cost.windows else ["cost: no operations"]
    lines += [f"      {padded:,} {name}, over real cells {real:,}" for name, (padded, real) in cost.operations.items()]
    return [*lines, f"      {cost.bytes_read:,} bytes read, {cost.bytes_written:,} bytes written"]


def backend_lines(versions: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each backend with a line of text: its name, its installed version, and its surfaces."""
    width = max(map(len, registry.backend_names()))
    for name in registry.backend_names():
        backend = registry.get_backend(name)
        state = versions.get(name, "not installed")
        yield name, f"{name:<{width}} {state:<16} {', '.join(surface.name for surface in backend.surfaces)}"
