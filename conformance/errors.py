"""What the suite says when it is used wrongly: one line, no traceback."""

from __future__ import annotations


class ConformanceError(Exception):
    """A fault of usage or of the catalogue, in one line. The command line ends with `exit_status`."""

    exit_status = 2


class CatalogueError(ConformanceError):
    """A catalogue file that cannot be used; the message names file, line, case and key."""


class IncompleteRun(ConformanceError):
    """Nothing ran, or a requested backend is missing."""

    exit_status = 3


class DeviceMissing(IncompleteRun):
    """The device that was asked for is not there, or the framework cannot use it: wrong usage on this machine."""

    exit_status = ConformanceError.exit_status
