"""Resolve `--backend NAME[@LABEL][=PYTHON]` to backends, interpreters and known deviations."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.adapters.api import (
    AVX2,
    LABEL_SEPARATOR,
    ON_CPU,
    Backend,
    Device,
    backend_with_threads,
    devices,
    without_label,
)
from conformance.system.suggestions import suggestion

if TYPE_CHECKING:
    from conformance.judging.ledger import Ledger


@dataclass(frozen=True)
class RunTarget:
    """A backend of a run, its interpreter, and the processor instructions and device for its programs.

    name: name of the backend, with a label if a framework is run in two environments, such as "numpy@old".
    threads: number of threads of the framework, see backend_with_threads.
    """

    name: str
    python: str
    instructions: str = AVX2
    device: Device = ON_CPU
    threads: int = 1

    @property
    def backend(self) -> Backend:
        """The backend as defined by its adapter."""
        backend = registry.get_backend(self.name, self.instructions, self.device)
        return backend_with_threads(backend, self.threads)

    @property
    def portable(self) -> RunTarget:
        """The same target for another machine: python is empty, the interpreter there, unless the user named one."""
        return replace(self, python="") if self.python == sys.executable else self

    def ledger(self) -> Ledger:
        """Return the ledger with the entries of the backend's own ledger file. Raises CatalogueError."""
        return ledger_for(self.backend)

    def with_install_hint(self, message: str) -> str:
        """Append the pip command for a missing framework, with the versions of the extra, to an error message."""
        if "ModuleNotFoundError" not in message:
            return message
        texts = [f"'{text}'" for text in registry.requirements_of(self.name)]
        return f"{message} ({self.python} -m pip install {' '.join(texts)})" if texts else message


def ledger_for(backend: Backend) -> Ledger:
    """Return the ledger with the entries of the backend's own ledger file. Raises CatalogueError."""
    from conformance.judging import ledger  # noqa: PLC0415 - slow to import; a worker is launched before

    own = backend.ledger
    return ledger.load_ledger(further=[own] if own and own.exists() else [])


def _check_distinct(names: Sequence[str]) -> None:
    """Reject unknown and duplicate names, also if they differ in case: some file systems ignore it."""
    files = [name.lower() for name in names]
    for name in names:
        registry.get_backend(name)
        if files.count(name.lower()) > 1:
            hint = f"{without_label(name)}{LABEL_SEPARATOR}LABEL=PYTHON distinguishes two versions"
            raise ConformanceError(f"backend {name!r}: named twice ({hint})")


def _check_device(targets: Sequence[RunTarget], device: Device) -> None:
    """Reject a device that this machine lacks or that an adapter does not support."""
    for target in targets:
        registry.get_backend(target.name, target.instructions, device)
    problem = devices.device_problem(device.name)
    if problem:
        raise ConformanceError(f"device {device.name}: {problem}")


def run_targets(
    texts: Sequence[str], surfaces: Sequence[str], instructions: str = AVX2, device: Device = ON_CPU
) -> list[RunTarget]:
    """Return the named backends, by default all installed ones. Drop installed backends without a selected surface.

    texts: a list of NAME, NAME=PYTHON or NAME@LABEL=PYTHON. surfaces: names of surfaces, empty for all.
    Raises ConformanceError for unknown or duplicate backends, and for unknown surfaces or devices.
    """
    pairs = [(name, python or sys.executable) for name, _, python in (text.partition("=") for text in texts)]
    named = [RunTarget(name, python, instructions, device) for name, python in pairs]
    targets = named or [
        RunTarget(name, sys.executable, instructions, device) for name in registry.default_backends(device.name)
    ]
    names = [target.name for target in targets]
    _check_distinct(names)
    _check_device(targets, device)
    surfaces_of = {name: {surface.name for surface in registry.get_backend(name).surfaces} for name in names}
    known = {surface for of_backend in surfaces_of.values() for surface in of_backend}
    for surface in surfaces:
        if surface not in known:
            near = (
                suggestion(surface, known)
                or f", which {'has' if len(names) == 1 else 'have'} {', '.join(sorted(known))}"
            )
            raise ConformanceError(f"surface {surface!r}: not a surface of {', '.join(names)}{near}")
    # An installed backend without a selected surface is only left out, but one that the user named is an error.
    for target in named if surfaces else ():
        if not surfaces_of[target.name] & set(surfaces):
            raise ConformanceError(f"backend {target.name!r}: does not have the surfaces {', '.join(surfaces)}")
    return [target for target in targets if not surfaces or surfaces_of[target.name] & set(surfaces)]
