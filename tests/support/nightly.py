"""Whether the tests run with the nightly profile, which takes everything that the ordinary profile takes a part of."""

import os

import pytest

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
only_nightly = pytest.mark.skipif(not NIGHTLY, reason="slow: the nightly job runs it")
"""Decorator of a test whose subject a faster test of the same module checks in part."""
