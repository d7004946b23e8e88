"""`conformance backends`."""

import pytest

from conformance.adapters import registry

pytestmark = pytest.mark.usefixtures("own_folder")


def test_backends_are_listed_with_their_surfaces(conformance):
    _, out, _ = conformance("backends")
    assert [line.split()[0] for line in out.splitlines()] == list(registry.backend_names())


def test_surfaces_of_all_backends_start_in_the_same_column(conformance):
    _, out, _ = conformance("backends")
    starts = {line.index(registry.get_backend(line.split()[0]).surfaces[0].name, 17) for line in out.splitlines()}
    assert len(starts) == 1
