"""A backend configured for a device: its source text, its surfaces and their declarations."""

from dataclasses import replace

import pytest

from conformance import ConformanceError
from conformance.adapters.api.devices import CUDA, ON_CPU, TF32, Device
from conformance.adapters.api.placement import backend_on_device
from conformance.adapters.api.surface import DeviceSupport
from tests.support.fake_backends import backend

SUPPORT = DeviceSupport(
    "probe",
    {"float32": "full\n", "tf32": "rough\n"},
    setup="more setup\n",
    threads="more threads\n",
    reset="more reset\n",
    surface=lambda surface: replace(surface, to_numpy="x.cpu()"),
)
BACKEND = backend(setup="setup\n", threads="threads\n", reset="reset\n", devices={CUDA: SUPPORT})


def test_source_text_of_the_device_follows_that_of_the_backend():
    made = backend_on_device(BACKEND, Device(CUDA))
    assert made.setup == "setup\nmore setup\nfull\n"
    assert (made.threads, made.reset, made.probe) == ("threads\nmore threads\n", "reset\nmore reset\n", "probe")


@pytest.mark.parametrize(("precision", "tf32"), [("float32", False), (TF32, True)])
def test_surfaces_are_adapted_to_the_device_and_its_precision(precision, tf32):
    made = backend_on_device(BACKEND, Device(CUDA, precision))
    assert [(one.to_numpy, one.tf32) for one in made.surfaces] == [("x.cpu()", tf32)]


def test_backend_is_unchanged_on_the_cpu():
    assert backend_on_device(BACKEND, ON_CPU) is BACKEND


def test_device_without_support_is_an_error():
    with pytest.raises(ConformanceError, match="backend 'fake': device cuda is not supported, only cpu"):
        backend_on_device(backend(), Device(CUDA))
