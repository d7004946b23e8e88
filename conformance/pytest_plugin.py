"""The entry point for pytest: its options alone, until somebody asks for a backend.

pytest imports this file whatever it is about to run, so that nothing is imported here. PYTEST_DONT_REWRITE: there is no
assertion in it, and pytest need not warn where it was imported before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

BACKEND = "conformance_backend"
LISTS = {
    BACKEND: (
        "NAME[@LABEL][=PYTHON]",
        "Run the conformance suite on this backend, and with which interpreter if not this one; may be given again. "
        "A label of your choice tells two versions of one framework apart.",
    ),
    "conformance_surface": ("S", "Only this surface; may be given again."),
    "conformance_operator": ("O", "Only cases of this operator; may be given again."),
    "conformance_case": ("GLOB", "Only cases whose id matches, * for anything; may be given again."),
    "conformance_cases": (
        "PATH",
        "A case file, a folder of them or an exported catalogue, instead of the suite's own; may be given again.",
    ),
}
LEVELS = ("smoke", "standard", "exhaustive")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options; a list of texts each, which pytest-xdist can hand on."""
    group = parser.getgroup("conformance", "conformance of window operators: pooling, padding, convolution")
    for name, (metavar, text) in LISTS.items():
        group.addoption(_option(name), action="append", metavar=metavar, default=[], help=text)
    group.addoption("--conformance-level", choices=LEVELS, help="How many cases. [default: smoke]")
    group.addoption("--conformance-timeout", type=float, metavar="SECONDS", help="Limit for one case. [default: 60]")


def pytest_configure(config: pytest.Config) -> None:
    """Bring in the suite where a backend is asked for. Raises UsageError for options that would say nothing."""
    given = [
        name
        for name in (*LISTS, "conformance_level", "conformance_timeout")
        if config.getoption(name) not in (None, [])
    ]
    if BACKEND in given:
        from conformance.pytest_session import register  # noqa: PLC0415 - it brings in NumPy and all of the suite

        register(config)
    elif given:
        import pytest  # noqa: PLC0415 - there already, but not while this is read by others

        raise pytest.UsageError(f"{_option(given[0])} says nothing without {_option(BACKEND)}")


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
