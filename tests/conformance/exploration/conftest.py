"""Fixtures of the tests of exploration."""

import pytest

from conformance.catalogue import loading


@pytest.fixture(scope="session")
def sweeps():
    """The sweeps of the catalogue, from whose factors candidates are drawn."""
    return loading.load_catalogue().sweeps
