"""The tasks of a run: cases on surfaces, and in which order they are carried out."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from conformance.adapters.api.surface import Program, Surface, Unsupported
from conformance.cases.case import Case

FATAL_OUTCOMES = frozenset({"crashed", "timed_out"})
FLAKY_KIND = "flaky"


@dataclass(frozen=True, slots=True)
class Task:
    """A case on a surface, with its program or the reason why there is none.

    number: tells the order of the tasks of a run, whatever shards it is cut into.
    """

    case: Case
    surface: Surface
    program: Program | Unsupported
    number: int = 0


def run_order(expected_failures: Collection[str]) -> int:
    """Return how late a task is run, by what is feared of it.

    What makes outcomes change is memory that is written to by mistake, and so such tasks come last: they may take
    others down. Behind them come those that are sure to end their process, as then none has to be started anew.
    """
    return 1 if FLAKY_KIND in expected_failures else 2 if expected_failures else 0
