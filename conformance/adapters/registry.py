"""Find backends: the packages in `conformance.adapters`, and the entry points of other installed packages."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from conformance import ConformanceError, adapters
from conformance.adapters.api import (
    AVX2,
    CPU,
    LABEL_SEPARATOR,
    NATIVE,
    ON_CPU,
    AdapterVariant,
    Backend,
    Device,
    Dialect,
    ModelReader,
    ModuleStyle,
    OtherLayer,
    Surface,
    WeightFormat,
    backend_on_device,
    instruction_limit,
    limit_instructions_source,
    load_declarations,
    without_label,
)
from conformance.system.suggestions import unknown_name_text

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

BUILT_IN_BACKEND = "numpy"
"""The backend whose framework is a dependency of this project."""
INTERFACE = "api"
"""The only package in `conformance.adapters` that is not a backend."""
ENTRY_POINT_GROUP = "conformance.backends"
"""Group of the entry points of other packages: the name of a backend, and its adapter module."""
LABEL_PATTERN = re.compile(r"[A-Za-z0-9._-]{1,64}")
"""The label after @ in the name of a backend, which distinguishes two versions of one framework."""
REQUIRED_NAMES = ("PACKAGES", "SETUP", "RESET", "SURFACES")
"""Names that the adapter module of another package must define."""
FORMER_MODULES = frozenset({"conformance.adapter", "conformance.code", "conformance.steps"})
"""Modules from which adapters imported the interface before `conformance.adapters.api`."""


@lru_cache
def backend_names() -> tuple[str, ...]:
    """Return the names of all backends, in alphabetical order."""
    return tuple(sorted([*built_in_modules(), *_external_backends()[0]]))


@lru_cache
def built_in_modules() -> Mapping[str, str]:
    """Return the adapter module of each backend of this project, by the name of the backend."""
    return {backend: module for module in _adapter_modules() for backend in _backends_of_module(module)}


@lru_cache
def _adapter_modules() -> tuple[str, ...]:
    found = pkgutil.iter_modules(adapters.__path__)
    return tuple(module.name for module in found if module.ispkg and module.name != INTERFACE)


def _backends_of_module(module: str) -> list[str]:
    # A variant is part of the name of its backend: keras-jax is the variant jax of the module keras.
    variants: Mapping[str, AdapterVariant] | None = getattr(_import_adapter(module), "VARIANTS", None)
    return [module] if variants is None else [f"{module}-{variant}" for variant in variants]


def _module_of_backend(name: str) -> ModuleType | None:
    """Return the module of a built-in backend, or None; no other adapter is imported."""
    module = name.partition("-")[0]
    return _import_adapter(module) if module in _adapter_modules() and name in _backends_of_module(module) else None


def _import_adapter(name: str) -> ModuleType:
    return importlib.import_module(f"{adapters.__name__}.{name}")


@lru_cache
def _external_backends() -> tuple[Mapping[str, Backend], Mapping[str, str]]:
    """Return the backends of other packages, and the errors of entry points that cannot be used."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow, not needed for built-in backends

    found: dict[str, Backend] = {}
    errors: dict[str, str] = {}
    points = sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: (point.name, point.value))
    # Importing all adapters takes time, and only names of entry points can conflict with theirs.
    modules = built_in_modules() if points else {}
    built_in = [_backend_from_module(name, _import_adapter(module)) for name, module in modules.items()]
    backend_of_surface = {surface.name: backend.name for backend in built_in for surface in backend.surfaces}
    # One unusable package must not prevent runs of other backends, so errors are collected.
    for point in points:
        try:
            if point.name in {*modules, *found}:
                raise ConformanceError("a backend with this name exists already")
            backend = _load_external(point, backend_of_surface)
            found[point.name] = backend
            backend_of_surface |= {surface.name: backend.name for surface in backend.surfaces}
        except ConformanceError as error:
            errors[f"{point.name} = {point.value}"] = str(error)
    return found, errors


def unusable_backends() -> list[str]:
    """Return one line for each backend of another package that cannot be used."""
    errors = _external_backends()[1].items()
    return [f"backend {point} of another package is left out: {error.splitlines()[0]}" for point, error in errors]


@lru_cache
def get_backend(name: str, instructions: str = AVX2, device: Device = ON_CPU) -> Backend:
    """Return a backend by its name. Raises ConformanceError if it is unknown or cannot be used.

    name: with or without a label ("numpy@old"). instructions: NATIVE for no limit of processor instructions.
    device: the device that its programs run on.
    """
    base, at, label = name.partition(LABEL_SEPARATOR)
    if at:
        _check_label(name, label)
        return replace(get_backend(base, instructions, device), name=name)
    module = _module_of_backend(name)
    if module:
        backend = _with_declarations(_backend_from_module(name, module, instructions), _folder(module))
        return backend_on_device(replace(backend, trusted=True), device)
    found, errors = _external_backends()
    if name in found:
        return backend_on_device(found[name], device)
    own = [f"backend {point}: {error}" for point, error in errors.items() if point.startswith(f"{name} = ")]
    unknown = f"backend {name!r}: {unknown_name_text(name, backend_names(), 'conformance backends')}"
    raise ConformanceError("\n".join(own) or unknown)


def distribution_of(name: str, package: str) -> str:
    """Return the name for pip of a package of a backend: that in DISTRIBUTIONS of its adapter, or the package's."""
    names: Mapping[str, str] = getattr(_module_of_backend(without_label(name)), "DISTRIBUTIONS", {})
    return names.get(package, package)


def requirements_of(name: str) -> list[str]:
    """Return the packages of a backend for pip, with their versions: those of its extra; none if it has no extra.

    name: of the backend, with or without a label.
    """
    from importlib.metadata import requires  # noqa: PLC0415 - slow, not needed by a run

    from packaging.requirements import Requirement  # noqa: PLC0415 - slow, not needed by a run

    extra = f'extra == "{without_label(name)}"'
    needed = (Requirement(text) for text in requires("nn-conformance") or ())
    texts = []
    for one in needed:
        if extra in str(one.marker):
            one.marker = None
            texts.append(str(one))
    return texts


def backend_of_release(name: str, version: str) -> Backend:
    """Return a backend for a release of its framework, from the module `releases` of its adapter if it has one.

    The module defines release_surfaces(version), release_setup(version) or release_instruction_variables(version), for
    what differs from the newest release. Raises ConformanceError if the backend is unknown.
    """
    backend = get_backend(name)
    module = _module_of_backend(without_label(name))
    found = importlib.util.find_spec(f"{module.__name__}.releases") if module else None
    if found is None:
        return backend
    releases = importlib.import_module(found.name)
    changed: dict[str, Any] = {}
    if hasattr(releases, "release_surfaces"):
        declared = {surface.name: surface.declarations for surface in backend.surfaces}
        surfaces = (replace(one, declarations=declared[one.name]) for one in releases.release_surfaces(version))
        changed["surfaces"] = tuple(surfaces)
    if hasattr(releases, "release_setup"):
        changed["setup"] = releases.release_setup(version)
    if hasattr(releases, "release_instruction_variables"):
        variables = releases.release_instruction_variables(version)
        changed["threads"] = limit_instructions_source(variables) + getattr(module, "THREADS", "")
    return replace(backend, **changed)


def _check_label(name: str, label: str) -> None:
    if not LABEL_PATTERN.fullmatch(label):
        allowed = "at most 64 letters, digits, dots, underscores and hyphens"
        raise ConformanceError(f"backend {name!r}: {label!r} is not a label: in NAME@LABEL=PYTHON, it has {allowed}")


def _load_external(point: EntryPoint, backend_of_surface: Mapping[str, str]) -> Backend:
    """Return the backend of an entry point. Raises ConformanceError with the reason if it cannot be used."""
    # Both separate parts of --backend NAME@LABEL=PYTHON.
    if {LABEL_SEPARATOR, "="} & {*point.name}:
        raise ConformanceError("a name with @ or = cannot be given on the command line")
    try:
        module = point.load()
    except Exception as error:  # the module of another package may raise anything
        raise ConformanceError(f"{type(error).__name__}: {error}{_import_hint(error)}") from None
    missing = [name for name in REQUIRED_NAMES if not hasattr(module, name)]
    if missing:
        raise ConformanceError(f"{point.module} is not an adapter: it does not define {', '.join(missing)}")
    backend = _backend_from_module(point.name, module)
    for surface in backend.surfaces:
        if not isinstance(surface, Surface):
            raise ConformanceError(f"{point.module}.SURFACES contains {surface!r}, which is not a Surface")
        if surface.name in backend_of_surface:
            owner = backend_of_surface[surface.name]
            raise ConformanceError(f"surface {surface.name!r} is already a surface of the backend {owner!r}")
    # A single-file module is in site-packages, next to files of other packages, so no YAML files are read for it.
    if not module.__package__:
        return backend
    folder = _folder(module)
    return replace(_with_declarations(backend, folder), ledger=folder / f"{point.name}.ledger.yaml")


def _import_hint(error: Exception) -> str:
    """Return where to import the interface from, if the adapter imports one of its former modules."""
    if isinstance(error, ModuleNotFoundError) and error.name in FORMER_MODULES:
        return "; adapters import the interface with `from conformance.adapters.api import …`"
    return ""


def _backend_from_module(name: str, module: ModuleType, instructions: str = AVX2) -> Backend:
    if hasattr(module, "VARIANTS"):
        made: AdapterVariant = module.VARIANTS[name.partition("-")[2]]
    else:
        made = AdapterVariant(
            module.PACKAGES,
            module.SETUP,
            module.SURFACES,
            module.RESET,
            threads=getattr(module, "THREADS", ""),
            instruction_variables=getattr(module, "INSTRUCTION_VARIABLES", {}),
            devices=getattr(module, "DEVICES", {}),
            thread_settings=getattr(module, "THREAD_SETTINGS", {}),
            worker=getattr(module, "WORKER", None),
        )
    # The source is empty on processors other than x86; the results then record no limit.
    source = limit_instructions_source(made.instruction_variables) if instructions != NATIVE else ""
    # Recorded in the results: answers may differ between instruction sets.
    limit = instruction_limit(made.instruction_variables) if source else NATIVE
    threads = source + made.threads
    return Backend(
        name,
        made.packages,
        made.setup,
        made.reset,
        made.surfaces,
        threads,
        limit,
        devices=made.devices,
        thread_settings=made.thread_settings,
        worker=made.worker,
    )


def _folder(module: ModuleType) -> Path:
    """Return the folder of an adapter, which contains its declarations."""
    return Path(module.__file__ or "").parent


def declarations_path(name: str) -> Path | None:
    """Return the file with the declarations of a backend; None if its adapter is a single-file module."""
    module = _module_of_backend(name)
    if module:
        return _folder(module) / f"{name}.yaml"
    ledger = get_backend(name).ledger
    return ledger.with_name(f"{name}.yaml") if ledger else None


def _with_declarations(backend: Backend, folder: Path) -> Backend:
    """Return the backend with the declarations of its surfaces, from `<backend>.yaml` in the folder."""
    answers = load_declarations(backend.name, [surface.name for surface in backend.surfaces], folder)
    surfaces = (replace(surface, declarations=answers.get(surface.name, {})) for surface in backend.surfaces)
    return replace(backend, surfaces=tuple(surfaces))


def external_ledgers() -> tuple[Path, ...]:
    """Return the existing ledger files of backends of other packages."""
    found = (backend.ledger for backend in _external_backends()[0].values())
    return tuple(path for path in found if path and path.exists())


def is_installed(name: str) -> bool:
    """Whether this interpreter has the backend's packages, or this machine its worker; nothing is imported."""
    backend = get_backend(name)
    if backend.worker is not None:
        return backend.worker.missing() is None
    return all(map(_is_module, backend.packages))


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # the package of a submodule is missing
        return False


def default_backends(device: str = CPU) -> list[str]:
    """Return the backends of a run without --backend: those installed that support the device, or the built-in one."""
    supported = (name for name in backend_names() if device == CPU or device in get_backend(name).devices)
    found = [name for name in supported if name != BUILT_IN_BACKEND and is_installed(name)]
    return found or [BUILT_IN_BACKEND]


@lru_cache
def capture_text(name: str) -> str:
    """Return the text with which a backend records the calls in a model, from the module `capture` of its adapter.

    "" if the adapter has no such module. conformance.adapters.api.models.capture describes the text.
    """
    module = _module_of_backend(name)
    found = importlib.util.find_spec(f"{module.__name__}.capture") if module else None
    return str(importlib.import_module(found.name).CAPTURE) if found else ""


@lru_cache
def model_file_backends() -> dict[str, str]:
    """Return the backend that runs the model files with a suffix, for each suffix: `SUFFIX` of its module `capture`."""
    found: dict[str, str] = {}
    for name in _adapter_modules():
        if importlib.util.find_spec(f"{adapters.__name__}.{name}.capture"):
            suffix = getattr(importlib.import_module(f"{adapters.__name__}.{name}.capture"), "SUFFIX", "")
            found |= {suffix: name} if suffix else {}
    return found


def weight_formats() -> dict[str, WeightFormat]:
    """Return the formats of weights by name, from the modules of adapters named `weights`."""
    return _adapter_tables("weights", "WEIGHT_FORMATS")


def module_styles() -> dict[str, ModuleStyle]:
    """Return how users write models of each surface that has layers, from the modules of adapters named `modules`."""
    return _adapter_tables("modules", "MODULE_STYLES")


def other_layers() -> dict[str, Sequence[OtherLayer]]:
    """Return the layers of each framework that are not window operators, from the modules named `hints`."""
    return _adapter_tables("hints", "HINTS")


def separate_arguments() -> frozenset[str]:
    """Return the arguments of layers that add another operation after them, from the modules named `hints`."""
    return frozenset(_adapter_tables("hints", "SEPARATE_ARGUMENTS"))


def _adapter_tables(module: str, name: str) -> dict[str, Any]:
    """Return the tables with a name in the modules of that name of all adapters, as one table."""
    found: dict[str, Any] = {}
    for backend in _adapter_modules():
        package = _import_adapter(backend)
        if any(one.name == module for one in pkgutil.iter_modules(package.__path__)):
            found |= getattr(importlib.import_module(f"{package.__name__}.{module}"), name, {})
    return dict(sorted(found.items()))


def dialects() -> dict[str, Dialect]:
    """Return the layer signatures of each surface that has some, from the modules of adapters named `*layers`."""
    found: dict[str, Dialect] = {}
    for backend in _adapter_modules():
        package = _import_adapter(backend)
        for module in pkgutil.iter_modules(package.__path__):
            # jax and tensorflow have two modules of layers, one for each API.
            if module.name.endswith("layers"):
                found |= importlib.import_module(f"{package.__name__}.{module.name}").DIALECTS
    return dict(sorted(found.items()))


def model_readers() -> dict[str, ModelReader]:
    """Return the readers of models by the name of their adapter, from modules named `model` and from other packages."""
    folders = [Path(folder) for folder in adapters.__path__]
    names = sorted(path.parent.name for folder in folders for path in folder.glob("*/model.py"))
    found = {name: importlib.import_module(f"{adapters.__name__}.{name}.model").MODEL_READER for name in names}
    return found | _external_model_readers()


@lru_cache
def _external_model_readers() -> dict[str, ModelReader]:
    """Return the readers of the usable backends of other packages."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow, not needed for built-in backends

    usable = _external_backends()[0]
    modules = {point.name: point.load() for point in entry_points(group=ENTRY_POINT_GROUP) if point.name in usable}
    readers = {name: getattr(module, "MODEL_READER", None) for name, module in modules.items()}
    return {name: reader for name, reader in readers.items() if isinstance(reader, ModelReader)}
