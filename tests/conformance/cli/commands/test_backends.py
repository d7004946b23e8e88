"""`conformance backends`."""

import pytest

from conformance.adapters import registry

pytestmark = pytest.mark.usefixtures("own_folder")


def test_backends_are_listed_with_their_surfaces(conformance):
    _, out, _ = conformance("backends")
    assert [line.split()[0] for line in out.splitlines()] == list(registry.backend_names())
