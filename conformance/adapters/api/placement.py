"""Configure a backend for a device other than the CPU, and for several threads."""

from __future__ import annotations

from dataclasses import replace

from conformance import ConformanceError
from conformance.adapters.api.devices import CPU, TF32, Device
from conformance.adapters.api.surface import Backend, DeviceSupport, Surface


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
