import os

import pytest
from hypothesis import settings

from conformance import catalogue as catalogues

# The same examples on every run, wherever it is; the nightly job is the one that goes looking for new ones.
settings.register_profile("suite", derandomize=os.environ.get("HYPOTHESIS_PROFILE") != "nightly", deadline=None)
settings.load_profile("suite")


@pytest.fixture(scope="session")
def catalogue():
    """The suite's own catalogue."""
    return catalogues.load()
