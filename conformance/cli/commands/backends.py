"""`conformance backends`: the backends, their versions and surfaces, and the devices that they can use."""

from __future__ import annotations

import importlib.metadata
import sys

import click

from conformance import DeviceUnavailable
from conformance.adapters import registry
from conformance.adapters.api import CPU, Backend, Device, backend_on_device, devices
from conformance.catalogue import describe
from conformance.execution.job import WorkerFailed
from conformance.execution.worker_process import Worker
from reports.analysis.summary import escape_control_characters


@click.command()
def backends() -> None:
    """List the backends, their surfaces and their devices.

    Each line has the version that is installed here, if any. Pass a backend to `conformance run` as NAME, or as
    NAME=PYTHON if another interpreter has the framework. NAME@LABEL=PYTHON distinguishes two versions, with a label of
    your choice (letters, digits, ._-).

    Example: conformance backends
    """
    versions = {name: _distribution_version(name) for name in registry.backend_names() if registry.is_installed(name)}
    for name, line in describe.backend_lines(versions):
        texts = [line]
        if name in versions:
            backend = registry.get_backend(name)
            texts += [f"on {CPU}", *(_device_text(backend, device) for device in backend.devices)]
        # Reasons quote error messages of frameworks.
        click.echo(escape_control_characters("; ".join(texts)))
    # Not in a pipe, where each line is a backend.
    if sys.stdout.isatty():
        click.echo("conformance run --backend NAME, NAME=PYTHON, or NAME@LABEL=PYTHON to distinguish two versions")
    for line in registry.unusable_backends():
        click.echo(line, err=True)


def _distribution_version(name: str) -> str:
    """Return the version of a backend's distribution, whose name may differ from that of its module."""
    module = registry.get_backend(name).packages[0]
    for distribution in importlib.metadata.packages_distributions().get(module, []):
        return importlib.metadata.version(distribution)
    return "installed"


def _device_text(backend: Backend, name: str) -> str:
    """Return whether a backend can use a device here, and if not, why."""
    # Only a worker that has started proves that the framework itself can use the device.
    why = devices.device_problem(name)
    if why:
        return f"not on {name}: {why}"
    worker = Worker(backend_on_device(backend, Device(name)))
    try:
        worker.start()
        return f"on {name} ({worker.environment['device']['hardware']})"
    except (WorkerFailed, DeviceUnavailable) as error:
        return f"not on {name}: {error}"
    finally:
        worker.kill()
