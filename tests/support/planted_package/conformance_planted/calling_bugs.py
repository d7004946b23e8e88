"""Bugs that depend on how a program calls an operator. No generated case has such a program.

Each bug has a program that shows it.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from .registry import Correct


@dataclass(frozen=True)
class CallingBug:
    """A bug of calling. shows: whether a program differs; it gets an instance of the operators."""

    sentence: str
    condition: str
    program: type[Correct]
    shows: Callable[[Correct], bool]


def pool_parameters(operator):
    """Return the parameters of a pooling of one cell."""
    return SimpleNamespace(
        operator=operator, window=[1], stride=[1], padding=[(0, 0)], dilation=[1], rounding="floor", divisor=None,
        count_include_pad=False, previous=None,
    )  # fmt: skip


class WritesToItsInput(Correct):
    """Scales its input in place."""

    def avg_pool(self, x, p):
        """Return the averages; the input becomes zero."""
        y = super().avg_pool(x, p)
        x[...] = 0
        return y


class ShapeOfTheFirstCall(Correct):
    """A program that is compiled for one shape uses the divisor of its first call."""

    compiled = None

    def divisor(self, x, windows, p):
        """Return the divisor of the first call."""
        self.compiled = super().divisor(x, windows, p) if self.compiled is None else self.compiled
        return self.compiled


class SharedBuffer(Correct):
    """All threads write their result to one buffer."""

    buffer = None

    def max_pool(self, x, p):
        """Return the buffer after other threads had time to write to it."""
        self.buffer = super().max_pool(x, p)
        time.sleep(0.01)
        return self.buffer


def _changes_input(program):
    x = np.ones((1, 1, 2), np.float32)
    program.avg_pool(x, pool_parameters("avg_pool"))
    return bool((x != 1).any())


def _second_shape(program):
    parameters = {**vars(pool_parameters("avg_pool")), "window": [2], "padding": [(1, 0)], "stride": [2]}
    for size in (1, 2):
        given = {**parameters, "padding": [(2 - size, 0)]}
        y = program.avg_pool(np.ones((1, 1, size), np.float32), SimpleNamespace(**given))
    return bool((y != 1).any())


def _in_two_threads(program):
    results = {}

    def call(number):
        x = np.full((1, 1, 1), number, np.float32)
        results[number] = float(program.max_pool(x, pool_parameters("max_pool")).ravel()[0])

    threads = [threading.Thread(target=call, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results != {1: 1.0, 2: 2.0}


CALLING_BUGS = {
    "writes-to-its-input": CallingBug(
        "Scales its input in place.", "the input is read again after the call", WritesToItsInput, _changes_input
    ),
    "shape-of-the-first-call": CallingBug(
        "A program compiled for one shape uses the divisors of its first call.",
        "one program gets inputs of two shapes", ShapeOfTheFirstCall, _second_shape,
    ),
    "shared-buffer": CallingBug(
        "All threads write their result to one buffer.", "two threads call at once", SharedBuffer, _in_two_threads
    ),
}  # fmt: skip
"""All bugs of calling by name."""
