"""The backends there are: every module in `conformance.adapters`, and those of other packages; listed nowhere."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from conformance import ConformanceError, adapters
from conformance.adapters.api.declarations import load_declarations
from conformance.adapters.api.devices import (
    AVX2,
    CPU,
    NATIVE,
    ON_CPU,
    Device,
    instruction_limit,
    limit_instructions_source,
)
from conformance.adapters.api.layers import Dialect
from conformance.adapters.api.placement import backend_on_device
from conformance.adapters.api.surface import LABEL_SEPARATOR, AdapterVariant, Backend, Surface

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

BUILT_IN_BACKEND = "numpy"
INTERFACE = "api"
"""The package among the adapters that is no backend, but what all of them are written with."""
ENTRY_POINT_GROUP = "conformance.backends"
"""Entry points of other packages: the name of a backend, and the module that is its adapter."""
LABEL_PATTERN = re.compile(r"[A-Za-z0-9._-]{1,64}")
"""What a run may add to the name of a backend after an @, to tell two versions of one framework apart."""
REQUIRED_NAMES = ("PACKAGES", "SETUP", "RESET", "SURFACES")


@lru_cache
def backend_names() -> tuple[str, ...]:
    """Return the names of all backends, in alphabetical order."""
    return tuple(sorted([*built_in_modules(), *_external_backends()[0]]))


@lru_cache
def built_in_modules() -> Mapping[str, str]:
    """Return the package of each backend of this project, by the name of the backend."""
    return {full: name for name in _adapter_modules() for full in _backends_of_module(name)}


@lru_cache
def _adapter_modules() -> tuple[str, ...]:
    found = pkgutil.iter_modules(adapters.__path__)
    return tuple(module.name for module in found if module.ispkg and module.name != INTERFACE)


def _backends_of_module(module: str) -> list[str]:
    variants: Mapping[str, AdapterVariant] | None = getattr(_import_adapter(module), "VARIANTS", None)
    return [module] if variants is None else [f"{module}-{variant}" for variant in variants]


def _module_of_backend(name: str) -> ModuleType | None:
    """Return the module of a backend of the suite, None if there is none; no other is imported."""
    module = name.partition("-")[0]
    return _import_adapter(module) if module in _adapter_modules() and name in _backends_of_module(module) else None


def _import_adapter(name: str) -> ModuleType:
    return importlib.import_module(f"{adapters.__name__}.{name}")


@lru_cache
def _external_backends() -> tuple[Mapping[str, Backend], Mapping[str, str]]:
    """Return the backends that other packages bring, and for each entry point that brings none the reason."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow, and who names a backend of the suite's needs none

    found: dict[str, Backend] = {}
    wrong: dict[str, str] = {}
    points = sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: (point.name, point.value))
    described = (
        [_backend_from_module(name, _import_adapter(module)) for name, module in built_in_modules().items()]
        if points
        else []
    )
    taken = {surface.name: one.name for one in described for surface in one.surfaces}
    for point in points:
        try:
            if point.name in {*built_in_modules(), *found}:
                raise ConformanceError("there is a backend of this name already")
            one = _load_external(point, taken)
            found[point.name] = one
            taken |= {surface.name: one.name for surface in one.surfaces}
        except ConformanceError as error:
            wrong[f"{point.name} = {point.value}"] = str(error)
    return found, wrong


def unusable_backends() -> list[str]:
    """Return a line for each backend of another package that cannot be used."""
    found = _external_backends()[1].items()
    return [f"backend {point} of another package is left out: {why.splitlines()[0]}" for point, why in found]


@lru_cache
def get_backend(name: str, instructions: str = AVX2, device: Device = ON_CPU) -> Backend:
    """Return a backend by its name. Raises ConformanceError for an unknown one, or one that cannot be used.

    name: with or without a label, "numpy@old"; instructions: those of the processor that it may use, where it can be
    held to any; device: where its programs are to work.
    """
    first, at, label = name.partition(LABEL_SEPARATOR)
    if at:
        _check_label(name, label)
        return replace(get_backend(first, instructions, device), name=name)
    module = _module_of_backend(name)
    if module:
        return backend_on_device(
            _with_declarations(_backend_from_module(name, module, instructions), _home(module)), device
        )
    found, wrong = _external_backends()
    if name in found:
        return backend_on_device(found[name], device)
    whys = [f"backend {point}: {why}" for point, why in wrong.items() if point.startswith(f"{name} = ")]
    raise ConformanceError("\n".join(whys) or f"backend {name!r}: unknown, known are {', '.join(backend_names())}")


def _check_label(name: str, label: str) -> None:
    if not LABEL_PATTERN.fullmatch(label):
        said = "at most 64 letters, digits, dots, underscores and hyphens"
        raise ConformanceError(f"backend {name!r}: {label!r} is no label: NAME@LABEL=PYTHON has {said}")


def _load_external(point: EntryPoint, taken: Mapping[str, str]) -> Backend:
    """Return the backend of another package. Raises ConformanceError with what is wrong with it."""
    if {LABEL_SEPARATOR, "="} & {*point.name}:
        raise ConformanceError("a name with @ or = cannot be given on the command line")
    try:
        module = point.load()
    except Exception as error:
        raise ConformanceError(f"{type(error).__name__}: {error}") from None
    lacking = [word for word in REQUIRED_NAMES if not hasattr(module, word)]
    if lacking:
        raise ConformanceError(f"{point.module} is no adapter, it has no {', '.join(lacking)}")
    one = _backend_from_module(point.name, module)
    for surface in one.surfaces:
        if not isinstance(surface, Surface):
            raise ConformanceError(f"{point.module}.SURFACES holds {surface!r}, which is no Surface")
        if surface.name in taken:
            raise ConformanceError(f"surface {surface.name!r} is one of the backend {taken[surface.name]!r}")
    # A module by itself lies among those of everybody else, whose files are none of its own.
    if not module.__package__:
        return one
    home = _home(module)
    return replace(_with_declarations(one, home), ledger=home / f"{point.name}.ledger.yaml")


def _backend_from_module(name: str, module: ModuleType, instructions: str = AVX2) -> Backend:
    if hasattr(module, "VARIANTS"):
        one: AdapterVariant = module.VARIANTS[name.partition("-")[2]]
    else:
        lesser = (getattr(module, "THREADS", ""), getattr(module, "HOLDS", {}), getattr(module, "DEVICES", {}))
        one = AdapterVariant(module.PACKAGES, module.SETUP, module.SURFACES, module.RESET, *lesser)
    first = limit_instructions_source(one.instruction_variables) if instructions != NATIVE else ""
    uses = instruction_limit(one.instruction_variables) if first else NATIVE
    threads = first + one.threads
    return Backend(name, one.packages, one.setup, one.reset, one.surfaces, threads, uses, devices=one.devices)


def _home(module: ModuleType) -> Path:
    """Return the folder of an adapter, which contains its declarations."""
    return Path(module.__file__ or "").parent


def _with_declarations(backend: Backend, home: Path) -> Backend:
    """Add what the surfaces declare, from `<backend>.yaml` in the folder."""
    answers = load_declarations(backend.name, [surface.name for surface in backend.surfaces], home)
    surfaces = (replace(surface, declarations=answers.get(surface.name, {})) for surface in backend.surfaces)
    return replace(backend, surfaces=tuple(surfaces))


def external_ledgers() -> tuple[Path, ...]:
    """Return the files in which backends of other packages keep their known differences; those that there are."""
    found = (one.ledger for one in _external_backends()[0].values())
    return tuple(path for path in found if path and path.exists())


def is_installed(name: str) -> bool:
    """Whether this interpreter has the backend's packages; nothing is imported."""
    return all(importlib.util.find_spec(package) for package in get_backend(name).packages)


def default_backends(device: str = CPU) -> list[str]:
    """Return the backends to run when none is named: those installed that know the device, or the built-in one."""
    known = (name for name in backend_names() if device == CPU or device in get_backend(name).devices)
    found = [name for name in known if name != BUILT_IN_BACKEND and is_installed(name)]
    return found or [BUILT_IN_BACKEND]


def dialects() -> dict[str, Dialect]:
    """Return how layers are written on each surface that has a reader for them, from the modules `*layers`."""
    found: dict[str, Dialect] = {}
    for backend in _adapter_modules():
        package = _import_adapter(backend)
        for module in pkgutil.iter_modules(package.__path__):
            if module.name.endswith("layers"):
                found |= importlib.import_module(f"{package.__name__}.{module.name}").DIALECTS
    return dict(sorted(found.items()))
