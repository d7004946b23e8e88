"""The backends there are: every module in `conformance.adapters`, and those of other packages; listed nowhere."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

from conformance import adapters
from conformance.adapter import Backend, Variant
from conformance.declaring import HOME, declared
from conformance.errors import ConformanceError

BUILT_IN = "numpy"
GROUP = "conformance.backends"
"""Entry points of other packages: the name of a backend, and the module that is its adapter."""
WORDS = ("PACKAGES", "SETUP", "RESET", "SURFACES")


@lru_cache
def names() -> tuple[str, ...]:
    """Return the names of all backends, in alphabetical order."""
    return tuple(sorted([*own(), *_others()]))


@lru_cache
def own() -> Mapping[str, str]:
    """Return the module of each backend of the suite; a module `<backend>_<part>` is a part of one, and none itself."""
    found = [module.name for module in pkgutil.iter_modules(adapters.__path__) if "_" not in module.name]
    variants = {name: getattr(_module(name), "VARIANTS", None) for name in found}
    return {full: name for name in found for full in _variants(name, variants[name])}


def _variants(name: str, variants: Mapping[str, Variant] | None) -> list[str]:
    return [name] if variants is None else [f"{name}-{variant}" for variant in variants]


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"{adapters.__name__}.{name}")


@lru_cache
def _others() -> Mapping[str, EntryPoint]:
    """Return the backends that other packages bring; the suite's own names are taken."""
    return {point.name: point for point in entry_points(group=GROUP) if point.name not in own()}


@lru_cache
def backend(name: str) -> Backend:
    """Return a backend by its name. Raises ConformanceError for an unknown one, or one that is no adapter."""
    if name not in names():
        raise ConformanceError(f"backend {name!r}: unknown, known are {', '.join(names())}")
    if name in _others():
        module, home = _brought(_others()[name])
        return _declaring(_described(name, module), home)
    return _declaring(_described(name, _module(own()[name])), HOME)


def _brought(point: EntryPoint) -> tuple[ModuleType, Path]:
    """Return the module of another package, and the folder in which its declarations stand."""
    try:
        module = point.load()
    except Exception as error:
        raise ConformanceError(f"backend {point.name!r}: {point.value}: {type(error).__name__}: {error}") from None
    lacking = [word for word in WORDS if not hasattr(module, word)]
    if lacking:
        raise ConformanceError(f"backend {point.name!r}: {point.value} is no adapter: it has no {', '.join(lacking)}")
    return module, Path(module.__file__ or "").parent


def _described(name: str, module: ModuleType) -> Backend:
    if hasattr(module, "VARIANTS"):
        one: Variant = module.VARIANTS[name.partition("-")[2]]
        return Backend(name, one.packages, one.setup, one.reset, one.surfaces, one.threads)
    threads = getattr(module, "THREADS", "")
    return Backend(name, module.PACKAGES, module.SETUP, module.RESET, module.SURFACES, threads)


def _declaring(backend: Backend, home: Path) -> Backend:
    """Add what the surfaces declare, from `<backend>.yaml` in the folder."""
    answers = declared(backend.name, [surface.name for surface in backend.surfaces], home)
    surfaces = (replace(surface, declares=answers.get(surface.name, {})) for surface in backend.surfaces)
    return replace(backend, surfaces=tuple(surfaces))


def installed(name: str) -> bool:
    """Whether this interpreter has the backend's packages; nothing is imported."""
    return all(importlib.util.find_spec(package) for package in backend(name).packages)


def default() -> list[str]:
    """Return the backends to run when none is named: those installed, or the built-in one."""
    found = [name for name in names() if name != BUILT_IN and installed(name)]
    return found or [BUILT_IN]
