"""State of the shared random generators of NumPy and Python."""

from __future__ import annotations

import ctypes
import random
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # Python 3.8 cannot evaluate these annotations
    from typing import Any


OBJECT_HEADER_BYTES = object.__basicsize__
"""Size of the object header. It contains the reference count, which changes without a change of the state."""
# Views of the memory of the two shared generators. Their getstate methods take fifty times as long as a comparison.
GENERATOR_OF_NUMPY = np.random.mtrand._rand._bit_generator
MERSENNE_OF_NUMPY = (ctypes.c_char * 2500).from_address(GENERATOR_OF_NUMPY.ctypes.state_address)
MERSENNE_OF_PYTHON = (ctypes.c_char * (random._inst.__sizeof__() - OBJECT_HEADER_BYTES)).from_address(
    id(random._inst) + OBJECT_HEADER_BYTES
)
VALUES_OF_PYTHON = vars(random._inst)


def seed_generators(_state: Any = None) -> None:
    """Seed the shared generators of NumPy and Python with 0."""
    if np.random.mtrand._rand._bit_generator is not GENERATOR_OF_NUMPY:
        vars(np.random)["set_bit_generator"](GENERATOR_OF_NUMPY)
    np.random.seed(0)
    random.seed(0)


def cached_normal() -> Any:
    """Return the memory of the normal number that the shared generator of NumPy has cached. Draws come in pairs."""
    generator = np.random.mtrand._rand
    memory = (ctypes.c_char * generator.__sizeof__()).from_address(id(generator))
    np.random.seed(0)
    before = memory.raw
    np.random.randn()
    changed = [place for place, (old, new) in enumerate(zip(before, memory.raw)) if old != new]  # noqa: B905
    np.random.seed(0)
    return (ctypes.c_char * (changed[-1] + 1 - changed[0])).from_address(id(generator) + changed[0])


NORMAL_OF_NUMPY = cached_normal()


def generator_memory() -> Any:
    """Return the memory and the identity of the shared generators, to detect changes of their state."""
    of_numpy = np.random.mtrand._rand._bit_generator, MERSENNE_OF_NUMPY.raw, NORMAL_OF_NUMPY.raw
    return of_numpy, MERSENNE_OF_PYTHON.raw, VALUES_OF_PYTHON["gauss_next"]
