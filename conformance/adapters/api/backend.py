"""Backends: one framework in one environment, configured for a device and for a number of threads."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from conformance import ConformanceError
from conformance.adapters.api.devices import CPU, NATIVE, ON_CPU, TF32, Device, InstructionVariables
from conformance.adapters.api.source_text import required_imports, required_setup
from conformance.adapters.api.surface import Program, Surface


@dataclass(frozen=True)
class DeviceSupport:
    """How an adapter runs on a device other than the CPU.

    setup, threads, reset: source text that runs after SETUP, THREADS and RESET.
    precisions: source text that runs after `setup`: for "float32", where TF32 is disabled, and for "tf32".
    probe: source text that runs once after all setup. It raises an error with the reason if the framework cannot use
        the device. Otherwise it assigns the model of the device to `hardware`.
    surface: returns a surface adapted to the device, for example with other conversions of inputs and results.
    """

    probe: str
    precisions: Mapping[str, str]
    setup: str = ""
    threads: str = ""
    reset: str = ""
    surface: Callable[[Surface], Surface] | None = None


DeviceSupportByName = Mapping[str, DeviceSupport]


@dataclass(frozen=True)
class AdapterVariant:
    """One of several backends of an adapter. The fields are the names that a module for one backend defines."""

    packages: tuple[str, ...]
    setup: str
    surfaces: tuple[Surface, ...]
    reset: str = ""
    threads: str = ""
    instruction_variables: InstructionVariables = field(default_factory=dict)
    devices: DeviceSupportByName = field(default_factory=dict)
    thread_settings: Mapping[str, str] = field(default_factory=dict)
    worker: WorkerCommand | None = None


@dataclass(frozen=True)
class WorkerCommand:
    """Command of a worker in another language, which speaks the protocol of docs/worker-protocol.md.

    arguments: the program, by its path or by its name on PATH, and its arguments. `--backend NAME=PROGRAM` replaces the
        program.
    missing_requirement: returns why this machine cannot start it, or None.
    """

    arguments: tuple[str, ...]
    missing_requirement: Callable[[], str | None] = lambda: None

    def command(self, program: str | None = None) -> list[str]:
        """Return the command, with another program if one is given."""
        return [program or self.arguments[0], *self.arguments[1:]]

    def missing(self, program: str = "") -> str | None:
        """Return why the command cannot start, None if it can. program: in place of that of the adapter."""
        program = program or self.arguments[0]
        if shutil.which(program) is None:
            return f"the program {program} is not installed"
        return self.missing_requirement()


LABEL_SEPARATOR = "@"


def without_label(name: str) -> str:
    """Return the name of a backend without its label."""
    return name.partition(LABEL_SEPARATOR)[0]


@dataclass(frozen=True)
class Backend:
    """One framework in one environment, as its adapter describes it.

    name: includes the label, if a run distinguishes two versions of a framework ("numpy@old").
    threads: source text that runs first and limits instructions and threads.
    instructions: the instruction limit, see devices.instruction_limit.
    ledger: file with the known deviations of a backend from another package. Those of built-in backends are in the
        catalogue.
    devices: devices other than the CPU that the adapter supports. device: the device of the run.
    probe: see DeviceSupport.
    mode: statements at the end of `setup` and `reset` that set the mode of the process, see Program.
    trusted: whether the adapter is one of the suite. Fewer checks follow its programs, see worker_state.process_state.
    thread_settings: the settings of one thread, and their texts for `{}` threads. thread_count: that of the run.
    worker: command of its worker, if its programs are in another language than Python.
    """

    name: str
    packages: tuple[str, ...]
    setup: str
    reset: str
    surfaces: tuple[Surface, ...]
    threads: str = ""
    # A limit is part of the backend, since it is set before the framework is imported.
    instructions: str = NATIVE
    ledger: Path | None = None
    devices: DeviceSupportByName = field(default_factory=dict)
    device: Device = ON_CPU
    probe: str = ""
    mode: str = ""
    trusted: bool = False
    thread_settings: Mapping[str, str] = field(default_factory=dict)
    thread_count: int = 1
    worker: WorkerCommand | None = None

    def required_setup(self, program: Program) -> list[str]:
        """Return the lines of the setup that a program needs, see source_text.required_setup."""
        if self.worker is not None:
            return (self.setup + program.mode).splitlines()
        return required_setup(self.setup + program.mode, program.text)

    def required_imports(self, program: Program) -> list[str]:
        """Return the imports of the setup that a program uses."""
        return self.setup.splitlines() if self.worker is not None else required_imports(self.setup, program.text)

    @property
    def has_modes(self) -> bool:
        """Whether its programs may need processes in different modes."""
        return any(surface.select_mode for surface in self.surfaces)

    def in_mode(self, mode: str) -> Backend:
        """Return the backend for processes in a mode. Only for a backend without a mode."""
        return replace(self, setup=self.setup + mode, reset=self.reset + mode, mode=mode)

    @property
    def label(self) -> str:
        """The label with its separator, "@old", or "" without a label."""
        return self.name.removeprefix(without_label(self.name))


def backend_on_device(backend: Backend, device: Device) -> Backend:
    """Return the backend configured for a device. Raises ConformanceError if the adapter does not support it."""
    if device.name == CPU:
        return backend
    if device.name not in backend.devices:
        raise ConformanceError(f"backend {backend.name!r}: device {device.name} is not supported, only {CPU}")
    support = backend.devices[device.name]
    return replace(
        backend,
        device=device,
        # After the texts of the CPU, whose choice of a device they replace.
        threads=backend.threads + support.threads,
        setup=backend.setup + support.setup + support.precisions[device.precision],
        probe=support.probe,
        reset=backend.reset + support.reset,
        surfaces=tuple(_surface_on_device(surface, support, device) for surface in backend.surfaces),
    )


def backend_with_threads(backend: Backend, count: int) -> Backend:
    """Return the backend whose programs run with a number of threads, by the framework's own settings.

    A backend without such settings has one thread.
    """
    if count == 1 or not backend.thread_settings:
        return backend
    threads, setup = backend.threads, backend.setup
    for single, several in backend.thread_settings.items():
        threads, setup = (text.replace(single, several.format(count)) for text in (threads, setup))
    return replace(backend, threads=threads, setup=setup, thread_count=count)


def _surface_on_device(surface: Surface, support: DeviceSupport, device: Device) -> Surface:
    declarations = {convention: one.for_device(device.name) for convention, one in surface.declarations.items()}
    adapted = support.surface(surface) if support.surface else surface
    return replace(adapted, declarations=declarations, tf32=device.precision == TF32)
