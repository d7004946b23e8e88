"""Entry point of the pytest plugin: the command line options.

pytest imports this file in every session, so it imports nothing at runtime. The rest of the plugin is imported when a
backend is selected. PYTEST_DONT_REWRITE: the file contains no assertions to rewrite, and without rewriting pytest does
not warn if it was imported earlier.
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
        "Run the conformance suite on this backend, by default with the interpreter of pytest; can be repeated. "
        "A label of your choice distinguishes two versions of one framework.",
    ),
    "conformance_surface": ("S", "Only this surface; can be repeated."),
    "conformance_operator": ("O", "Only cases of this operator; can be repeated."),
    "conformance_case": ("GLOB", "Only cases whose id matches, * matches any text; can be repeated."),
    "conformance_cases": (
        "PATH",
        "A case file, a folder of case files or an exported catalogue, instead of the suite's own; can be repeated.",
    ),
}
# The enum `Level` cannot be imported here.
LEVEL_CHOICES = ("smoke", "standard", "exhaustive")
VALUE_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "conformance_level": {"choices": LEVEL_CHOICES, "help": "Level of the cases. [default: smoke]"},
    "conformance_timeout": {"type": float, "metavar": "SECONDS", "help": "Limit for one case. [default: 60]"},
    "conformance_memory": {
        "type": float,
        "metavar": "GB",
        "help": "Memory limit of the process of a backend. A process above the limit is killed. 0 for no limit. "
        "[default: half of this machine's memory]",
    },
    "conformance_repeat": {
        "type": int,
        "metavar": "K",
        "help": "Run every case K times; a case with different outcomes fails as flaky. [default: 1, and a crash or "
        "timeout is retried once]",
    },
    "conformance_device": {"metavar": "DEVICE", "help": "Device that runs the programs: cpu or cuda. [default: cpu]"},
    "conformance_precision": {
        "metavar": "P",
        "help": "Precision of float32 multiplication on cuda: float32 or tf32. [default: float32]",
    },
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options. Their values are strings, numbers or lists of strings, which pytest-xdist can serialise."""
    group = parser.getgroup("conformance", "conformance of window operators: pooling, padding, convolution")
    for name, (metavar, text) in LIST_OPTIONS.items():
        group.addoption(_option_flag(name), action="append", metavar=metavar, default=[], help=text)
    for name, keywords in VALUE_OPTIONS.items():
        group.addoption(_option_flag(name), **keywords)


def pytest_configure(config: pytest.Config) -> None:
    """Register the suite if a backend is selected. Raises UsageError for options without a backend."""
    given = [name for name in (*LIST_OPTIONS, *VALUE_OPTIONS) if config.getoption(name) not in (None, [])]
    if BACKEND_OPTION in given:
        # Imports NumPy and the whole suite, which sessions without a backend do not need.
        from conformance.pytest_plugin.session import register_session  # noqa: PLC0415

        register_session(config)
    elif given:
        import pytest  # noqa: PLC0415 - pytest may not be installed where other tools import this file

        raise pytest.UsageError(f"{_option_flag(given[0])} has no effect without {_option_flag(BACKEND_OPTION)}")


def _option_flag(name: str) -> str:
    return "--" + name.replace("_", "-")
