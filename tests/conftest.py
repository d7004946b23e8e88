import pytest

from conformance import catalogue as catalogues


@pytest.fixture(scope="session")
def catalogue():
    """The suite's own catalogue."""
    return catalogues.load()
