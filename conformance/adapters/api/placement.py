"""Configure a backend for a device other than the CPU."""

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


def _surface_on_device(surface: Surface, support: DeviceSupport, device: Device) -> Surface:
    declarations = {convention: one.for_device(device.name) for convention, one in surface.declarations.items()}
    adapted = support.surface(surface) if support.surface else surface
    return replace(adapted, declarations=declarations, tf32=device.precision == TF32)
