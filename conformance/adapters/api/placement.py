"""A backend on another device than the CPU, put together from what its adapter says of that."""

from __future__ import annotations

from dataclasses import replace

from conformance import ConformanceError
from conformance.adapters.api.devices import CPU, TF32, Device
from conformance.adapters.api.surface import Backend, DeviceSupport, Surface


def backend_on_device(backend: Backend, device: Device) -> Backend:
    """Return the backend as it is on a device. Raises ConformanceError where its adapter knows no such device."""
    if device.name == CPU:
        return backend
    if device.name not in backend.devices:
        raise ConformanceError(f"backend {backend.name!r}: it has no device {device.name}, only {CPU}")
    there = backend.devices[device.name]
    return replace(
        backend,
        device=device,
        threads=backend.threads + there.threads,
        setup=backend.setup + there.setup + there.precisions[device.precision],
        probe=there.probe,
        reset=backend.reset + there.reset,
        surfaces=tuple(_surface_on_device(one, there, device) for one in backend.surfaces),
    )


def _surface_on_device(surface: Surface, there: DeviceSupport, device: Device) -> Surface:
    declares = {question: one.for_device(device.name) for question, one in surface.declarations.items()}
    made = there.surface(surface) if there.surface else surface
    return replace(made, declarations=declares, tf32=device.precision == TF32)
