"""Facts that depend on the release of TensorFlow: the flags of its XLA."""

from __future__ import annotations

from packaging.version import Version

from conformance.adapters.api import InstructionVariables
from conformance.adapters.tensorflow import INSTRUCTION_VARIABLES

FIRST_WITH_LIMIT = Version("2.19")
"""First release whose XLA knows the flag that limits its instructions. XLA ends the process for an unknown flag."""


def release_instruction_variables(version: str) -> InstructionVariables:
    """Return the environment variables that limit the instructions of a release."""
    known = Version(version) >= FIRST_WITH_LIMIT
    return {name: value for name, value in INSTRUCTION_VARIABLES.items() if known or name != "XLA_FLAGS"}
