"""Write several programs of a route as one program, with one exported model."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.adapters.api import INDENT, Program, RouteBatch, Surface, Unsupported
from conformance.cases.case import ARRAYS_KEY, Case, Rejected
from conformance.translation.lowering import translate
from reports.results.vocabulary import How


def batch_part(case: Case, surface: Surface) -> Program | None:
    """Return the program of a case that only makes its model, None if the program of the case must run alone.

    A call that must be rejected would end the export of the others. A case with `arrays` may pass them twice.
    """
    if (
        not (surface.route and surface.route.batch)
        or isinstance(case.expect, Rejected)
        or ARRAYS_KEY in case.parameters
    ):
        return None
    program = translate(case, surface.route.batch.part)
    return None if isinstance(program, Unsupported) else program


def batch_program(
    surface: str, batch: RouteBatch, parts: Sequence[tuple[Program, int]], *, evaluates: bool = False
) -> Program:
    """Return a program that takes the inputs of all parts, one after the other, and returns one array for each part.

    parts: programs of `batch_part`, each with its number of inputs. evaluates: whether another implementation than the
    runtime runs the model.
    """
    functions = "".join(f"{part.text}parts.append((run, {count}))\n" for part, count in parts)
    body = (
        "remaining = iter(arrays)",
        "called = [part(*[next(remaining) for _ in range(count)]) for part, count in parts]",
        "models, inputs = [list(column) for column in zip(*called)]",
        *(batch.evaluation if evaluates else batch.lines),
        f"return tuple([{batch.to_numpy} for x in results])",
    )
    lines = "".join(f"{INDENT}{line}\n" for line in body)
    return Program(surface, How.NATIVE, f"parts = []\n{functions}def run(*arrays):\n{lines}", parts[0][0].mode)
