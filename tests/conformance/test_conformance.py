"""The exceptions of the suite, and their exit statuses."""

import conformance


def test_exit_status_of_an_error_distinguishes_usage_from_an_incomplete_run():
    errors = (
        conformance.ConformanceError,
        conformance.CatalogueError,
        conformance.IncompleteRun,
        conformance.DeviceUnavailable,
    )
    assert [error.exit_status for error in errors] == [2, 2, 3, 2]
    assert all(issubclass(error, conformance.ConformanceError) for error in errors)
