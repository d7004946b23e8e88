"""The conformance suite: run the cases of the catalogue on frameworks and compare the results with the reference.

Imports between packages go one way. `A ← B` means "B may import A":

    reference ← system ← cases ← adapters ← judging ← translation ← catalogue ← execution ← exploration ← models ← cli
    exploration ← pytest_plugin
    reports.results ← reports.analysis ← reports.views

`reports` imports nothing of this package. Only `exploration`, `models`, `cli` and `pytest_plugin` import
`reports.analysis` and `reports.views`; `execution` may import `reports.results`, the format of results files. All
packages from `cases` on may import `reports.results.vocabulary`, the enums of the format. Inside `adapters`, the order
is `api`, then one package per backend, then `registry`.
"""

__version__ = "0.1.0"


class ConformanceError(Exception):
    """A fault of usage or of the catalogue, in one line. The command line ends with `exit_status`."""

    exit_status = 2


class CatalogueError(ConformanceError):
    """A catalogue file that cannot be used; the message names file, line, case and key."""


class IncompleteRun(ConformanceError):
    """Nothing ran, or a requested backend is missing."""

    exit_status = 3


class DeviceUnavailable(IncompleteRun):
    """The requested device is missing, or the framework cannot use it: wrong usage on this machine."""

    exit_status = ConformanceError.exit_status
