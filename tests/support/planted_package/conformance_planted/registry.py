"""The description of a planted bug, and the registry of all bugs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from .padding_convolution import Convolution, PaddingOperators
from .pooling import Pooling
from .random_pooling import RandomPooling


class Correct(Pooling, RandomPooling, PaddingOperators, Convolution):
    """All operators without a bug."""

    validates = False
    """Whether the surface is also tested on calls that must be rejected."""

    def check(self, operator, arrays, parameters):
        """Raise ValueError for an invalid call."""


@dataclass(frozen=True)
class Bug:
    """One planted bug.

    name: name of its surface, without `planted.`. operators: operators of the catalogue that show it.
    sentence: what the program does wrong. condition: when the bug shows.
    depth: number of parameters that must have a certain value; 3 also stands for a rare input value.
    smallest: the smallest case that shows it, in the format of `cases:` in a catalogue file.
    near: keys that change in a neighbouring case, which does not satisfy the condition.
    program: the operators with the bug.
    rejected: violation of `smallest` if the bug accepts an invalid call; the neighbour is then the valid call.
    planted_set: 1 to 5. The second and third set were designed without knowledge of how cases are generated, and the
    fourth and fifth were taken from reports to frameworks.
    """

    name: str
    operators: tuple[str, ...]
    sentence: str
    condition: str
    depth: int
    smallest: Mapping[str, Any]
    near: Mapping[str, Any]
    program: type[Correct]
    rejected: str = ""
    planted_set: int = 1

    @property
    def surface(self) -> str:
        """Name of the surface."""
        return f"planted.{self.name}"

    @property
    def neighbour(self) -> dict[str, Any]:
        """The neighbouring case, which does not show the bug."""
        return {**self.smallest, **self.near}


BUGS: dict[str, Bug] = {}
"""All bugs by name, in the order of the modules."""


def bug(*operators: str, **description: Any) -> Callable[[type[Correct]], type[Correct]]:
    """Register a class as a bug: the name is the class name in kebab case, the sentence is the docstring."""

    def register(program: type[Correct]) -> type[Correct]:
        name = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in program.__name__)[1:]
        BUGS[name] = Bug(name, operators, (program.__doc__ or "").partition("\n\n")[0], program=program, **description)
        return program

    return register


second_bug = partial(bug, planted_set=2)
"""Registers a bug of the second set."""
third_bug = partial(bug, planted_set=3)
"""Registers a bug of the third set."""
fourth_bug = partial(bug, planted_set=4)
"""Registers a bug of the fourth set."""
fifth_bug = partial(bug, planted_set=5)
"""Registers a bug of the fifth set."""
