"""What is said of a fault, and the list of all."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .placing import Convolving, Placing
from .pooling import Pooling


class Correct(Pooling, Placing, Convolving):
    """Every operator without a fault."""


@dataclass(frozen=True)
class Fault:
    """One planted fault.

    name: what its surface is called, after `planted.`; operators: those of the catalogue that show it; sentence: what
    the program does wrong; condition: when it shows; depth: 1 for a single parameter, 2 for two that must meet, 3 for
    three or for a rare value; smallest: the least case that shows it, as a catalogue file has it under `cases:`; near:
    what is different in a neighbour of that case in which the condition does not hold; program: the operators, with the
    fault in them.
    """

    name: str
    operators: tuple[str, ...]
    sentence: str
    condition: str
    depth: int
    smallest: Mapping[str, Any]
    near: Mapping[str, Any]
    program: type[Correct]

    @property
    def surface(self) -> str:
        """The name of its surface."""
        return f"planted.{self.name}"

    @property
    def neighbour(self) -> dict[str, Any]:
        """The case beside the smallest one that does not show it."""
        return {**self.smallest, **self.near}


FAULTS: dict[str, Fault] = {}
"""Every fault by its name, in the order of the files."""


def fault(*operators: str, **said: Any) -> Callable[[type[Correct]], type[Correct]]:
    """Make a fault of a class: its name is that of the class in lower case with hyphens, its docstring the sentence."""

    def plant(program: type[Correct]) -> type[Correct]:
        name = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in program.__name__)[1:]
        FAULTS[name] = Fault(name, operators, program.__doc__ or "", program=program, **said)
        return program

    return plant
