"""The backends that a person asks for, the interpreters that hold them, and what is known of their differences."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.adapters.api import devices
from conformance.adapters.api.devices import AVX2, ON_CPU, Device
from conformance.adapters.api.surface import LABEL_SEPARATOR, Backend, without_label

if TYPE_CHECKING:
    from conformance.judging.ledger import Ledger


@dataclass(frozen=True)
class RunTarget:
    """A backend that the user asked for, the interpreter that holds it, and the instructions that it may use.

    name: with a label where one framework is asked for twice, "numpy@old"; device: where its programs are to work.
    """

    name: str
    python: str
    instructions: str = AVX2
    device: Device = ON_CPU

    @property
    def backend(self) -> Backend:
        """The backend as its adapter describes it."""
        return registry.get_backend(self.name, self.instructions, self.device)

    @property
    def portable(self) -> RunTarget:
        """The same for any machine: with the interpreter that is at work there, where the user has named none."""
        return replace(self, python="") if self.python == sys.executable else self

    def ledger(self) -> Ledger:
        """Return the ledger, with what the backend has of its own. Raises CatalogueError."""
        return ledger_for(self.backend)

    def with_install_hint(self, message: str) -> str:
        """Add how to install a framework that is missing, with the versions of the extra."""
        if "ModuleNotFoundError" not in message:
            return message
        import importlib.metadata  # noqa: PLC0415 - as long as nothing is missing it is not needed

        from packaging.requirements import Requirement  # noqa: PLC0415 - likewise

        extra = f'extra == "{without_label(self.name)}"'
        needed = (Requirement(text) for text in importlib.metadata.requires("nn-conformance") or ())
        texts = [f"'{need.name}{need.specifier}'" for need in needed if extra in str(need.marker)]
        return f"{message} ({self.python} -m pip install {' '.join(texts)})" if texts else message


def ledger_for(backend: Backend) -> Ledger:
    """Return the ledger, with what a backend has of its own. Raises CatalogueError."""
    from conformance.judging import ledger  # noqa: PLC0415 - a worker can be launched before it is known

    own = backend.ledger
    return ledger.load_ledger(further=[own] if own and own.exists() else [])


def _check_distinct(names: Sequence[str]) -> None:
    """Refuse unknown names, and two that would write one file, be it where capitals and small letters are the same."""
    files = [name.lower() for name in names]
    for name in names:
        registry.get_backend(name)
        if files.count(name.lower()) > 1:
            hint = f"{without_label(name)}{LABEL_SEPARATOR}LABEL=PYTHON tells two versions apart"
            raise ConformanceError(f"backend {name!r}: named twice ({hint})")


def _check_device(found: Sequence[RunTarget], device: Device) -> None:
    """Refuse a device that this machine lacks, or that the adapter of a backend does not know."""
    for one in found:
        registry.get_backend(one.name, one.instructions, device)
    why = devices.device_problem(device.name)
    if why:
        raise ConformanceError(f"device {device.name}: {why}")


def run_targets(
    texts: Sequence[str], surfaces: Sequence[str], instructions: str = AVX2, device: Device = ON_CPU
) -> list[RunTarget]:
    """Return the backends to run: those named, else those installed, without those that have none of the surfaces.

    texts: NAME, NAME=PYTHON or NAME@LABEL=PYTHON each. Raises ConformanceError for what there is not, a device too, or
    what is named twice.
    """
    pairs = [(name, python or sys.executable) for name, _, python in (text.partition("=") for text in texts)]
    named = [RunTarget(name, python, instructions, device) for name, python in pairs]
    found = named or [
        RunTarget(name, sys.executable, instructions, device) for name in registry.default_backends(device.name)
    ]
    names = [one.name for one in found]
    _check_distinct(names)
    _check_device(found, device)
    has = {name: {surface.name for surface in registry.get_backend(name).surfaces} for name in names}
    all_of_them = {surface for of_one in has.values() for surface in of_one}
    for surface in surfaces:
        if surface not in all_of_them:
            raise ConformanceError(
                f"surface {surface!r}: not one of the chosen backends', which are {', '.join(sorted(all_of_them))}"
            )
    for one in named if surfaces else ():
        if not has[one.name] & set(surfaces):
            raise ConformanceError(f"backend {one.name!r}: has none of the surfaces {', '.join(surfaces)}")
    return [one for one in found if not surfaces or has[one.name] & set(surfaces)]
