import os

import pytest
from hypothesis import settings

from conformance import catalogue as catalogues
from conformance import cli

# The same examples on every run, wherever it is; the nightly job is the one that goes looking for new ones.
settings.register_profile("suite", derandomize=os.environ.get("HYPOTHESIS_PROFILE") != "nightly", deadline=None)
settings.load_profile("suite")


@pytest.fixture(scope="session")
def catalogue():
    """The suite's own catalogue."""
    return catalogues.load()


@pytest.fixture
def conformance(capsys):
    """Run the command line; return exit status, standard output and the lines of standard error."""

    def command(*arguments):
        with pytest.raises(SystemExit) as left:
            cli.main([str(argument) for argument in arguments])
        out, error = capsys.readouterr()
        assert "Traceback" not in out + error
        return left.value.code or 0, out, error.splitlines()

    return command
