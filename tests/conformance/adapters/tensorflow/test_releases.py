"""The environment variables of old releases of TensorFlow."""

from __future__ import annotations

import pytest

from conformance.adapters import registry
from conformance.adapters.tensorflow import INSTRUCTION_VARIABLES
from conformance.adapters.tensorflow.releases import release_instruction_variables


@pytest.mark.parametrize(("version", "known"), [("2.18.1", False), ("2.19.0", True), ("2.21.0", True)])
def test_a_release_gets_only_flags_that_its_xla_knows(version, known):
    variables = release_instruction_variables(version)

    assert ("XLA_FLAGS" in variables) is known
    assert variables.keys() | {"XLA_FLAGS"} == INSTRUCTION_VARIABLES.keys()


def test_the_backend_of_a_release_has_the_variables_and_the_threads():
    old, new = (registry.backend_of_release(f"tensorflow@{one}", one) for one in ("2.18.1", "2.21.0"))

    assert "xla_cpu_max_isa" not in old.threads
    assert new.threads == registry.get_backend("tensorflow").threads
    assert old.threads.endswith(new.threads.rpartition("xla_cpu_max_isa")[2].split("\n", 1)[1])
