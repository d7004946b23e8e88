"""Whether the tests run with the nightly profile, which takes everything that the ordinary profile takes a part of."""

import os

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
