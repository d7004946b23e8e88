"""The backends there are: every module in `conformance.adapters`, found by looking, listed nowhere."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from functools import lru_cache

from conformance import adapters
from conformance.adapter import Backend
from conformance.errors import ConformanceError

BUILT_IN = "numpy"


@lru_cache
def names() -> tuple[str, ...]:
    """Return the names of all backends, in alphabetical order.

    A module `<backend>_<part>` is a part of one, and none itself.
    """
    found = (module.name for module in pkgutil.iter_modules(adapters.__path__))
    return tuple(sorted(name for name in found if "_" not in name))


@lru_cache
def backend(name: str) -> Backend:
    """Return a backend by its name. Raises ConformanceError for an unknown one."""
    if name not in names():
        raise ConformanceError(f"backend {name!r}: unknown, known are {', '.join(names())}")
    module = importlib.import_module(f"{adapters.__name__}.{name}")
    return Backend(name, module.PACKAGES, module.SETUP, module.RESET, module.SURFACES, module.THREADS)


def installed(name: str) -> bool:
    """Whether this interpreter has the backend's packages; nothing is imported."""
    return all(importlib.util.find_spec(package) for package in backend(name).packages)


def default() -> list[str]:
    """Return the backends to run when none is named: those installed, or the built-in one."""
    found = [name for name in names() if name != BUILT_IN and installed(name)]
    return found or [BUILT_IN]
