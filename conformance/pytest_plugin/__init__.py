"""The entry point for pytest: its options alone, until somebody asks for a backend.

pytest imports this file whatever it is about to run, so that nothing is imported here. PYTEST_DONT_REWRITE: there is no
assertion in it, and pytest need not warn where it was imported before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    import pytest

BACKEND_OPTION = "conformance_backend"
LIST_OPTIONS = {
    BACKEND_OPTION: (
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
LEVEL_CHOICES = ("smoke", "standard", "exhaustive")
VALUE_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "conformance_level": {"choices": LEVEL_CHOICES, "help": "How many cases. [default: smoke]"},
    "conformance_timeout": {"type": float, "metavar": "SECONDS", "help": "Limit for one case. [default: 60]"},
    "conformance_memory": {
        "type": float,
        "metavar": "GB",
        "help": "Limit for the process of a backend; what grows past it is ended. 0 for none. [default: half of this "
        "machine's]",
    },
    "conformance_repeat": {
        "type": int,
        "metavar": "K",
        "help": "Run every case K times; one that is not the same every time fails as flaky. [default: 1, and what "
        "crashes or hangs once more]",
    },
    "conformance_device": {"metavar": "DEVICE", "help": "Where programs work: cpu or cuda. [default: cpu]"},
    "conformance_precision": {
        "metavar": "P",
        "help": "On cuda, what float32 may be multiplied in: float32 or tf32. [default: float32]",
    },
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options; a list of texts each, which pytest-xdist can hand on."""
    group = parser.getgroup("conformance", "conformance of window operators: pooling, padding, convolution")
    for name, (metavar, text) in LIST_OPTIONS.items():
        group.addoption(_option_flag(name), action="append", metavar=metavar, default=[], help=text)
    for name, keywords in VALUE_OPTIONS.items():
        group.addoption(_option_flag(name), **keywords)


def pytest_configure(config: pytest.Config) -> None:
    """Bring in the suite where a backend is asked for. Raises UsageError for options that would say nothing."""
    given = [name for name in (*LIST_OPTIONS, *VALUE_OPTIONS) if config.getoption(name) not in (None, [])]
    if BACKEND_OPTION in given:
        from conformance.pytest_plugin.session import register_session  # noqa: PLC0415 - it brings in NumPy and all of the suite

        register_session(config)
    elif given:
        import pytest  # noqa: PLC0415 - there already, but not while this is read by others

        raise pytest.UsageError(f"{_option_flag(given[0])} says nothing without {_option_flag(BACKEND_OPTION)}")


def _option_flag(name: str) -> str:
    return "--" + name.replace("_", "-")
