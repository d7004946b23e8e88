"""A backend configured for a device: its source text, its surfaces and their declarations."""

import ast
import sys
from dataclasses import replace

import pytest

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.adapters.api import (
    ON_CPU,
    Declaration,
    Device,
    DeviceSupport,
    Program,
    WorkerCommand,
    backend_on_device,
    backend_with_threads,
)
from conformance.adapters.api.devices import CUDA, TF32
from tests.support.fake_backends import backend, surface

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


NAMES = [name for name in registry.backend_names() if registry.get_backend(name).devices]


def test_declaration_may_have_another_answer_on_a_device_and_features_do_not_apply_to_it():
    both = Declaration("one", "a page", cpu={"avx2": "two"}, device={"cuda": "three"})
    only_cpu = Declaration("one", "a page", cpu={"avx2": "two"})
    made = backend_on_device(
        backend(surface("s", declarations={"q": both, "r": only_cpu}), devices={CUDA: SUPPORT}), Device(CUDA)
    ).surfaces[0]
    answers = {convention: one.answer for convention, one in made.for_processor(["avx2"]).declarations.items()}
    assert answers == {"q": "three", "r": "one"}
    assert both.answers == ("one", "two", "three")


@pytest.mark.parametrize("name", NAMES)
def test_setup_selects_the_device_and_the_precision(name):
    on_cpu, full, rough = (
        registry.get_backend(name, device=device) for device in (Device(), Device(CUDA), Device(CUDA, TF32))
    )
    assert full.setup.startswith(on_cpu.setup)
    assert full.setup != rough.setup
    assert full.threads.startswith(on_cpu.threads)
    for text in (full.threads, full.setup, rough.setup, full.probe, full.reset):
        ast.parse(text)
    assert not any(one.tf32 for one in full.surfaces)
    assert all(one.tf32 for one in rough.surfaces)


def test_settings_of_one_thread_are_those_of_several():
    one = replace(BACKEND, threads="one = 1\n", setup="other = 1\n", thread_settings={"one = 1": "many = {}"})
    made = backend_with_threads(one, 3)
    assert (made.threads, made.setup, made.thread_count) == ("many = 3\n", "other = 1\n", 3)
    assert backend_with_threads(one, 1) == one


def test_backend_without_settings_has_one_thread():
    assert backend_with_threads(BACKEND, 2).thread_count == 1


@pytest.mark.parametrize("name", registry.backend_names())
def test_every_setting_of_a_backend_is_part_of_its_texts(name):
    known = registry.get_backend(name)
    assert [text for text in known.thread_settings if text not in known.threads + known.setup] == []
    several = backend_with_threads(known, 2)
    if known.worker is None:
        ast.parse(several.threads)
        ast.parse(several.setup)
    assert (several.thread_count == 2) == (name not in {"iree", "mlx", "numpy", "onnx", "ortjs", "tfjs", "tract"})


def test_command_of_a_worker_in_another_language_can_have_another_program():
    worker = WorkerCommand(("worker", "--quiet"))
    assert worker.command() == ["worker", "--quiet"]
    assert worker.command("/opt/worker") == ["/opt/worker", "--quiet"]


def test_worker_is_missing_without_its_program_or_its_requirement():
    assert WorkerCommand(("no-such-program",)).missing() == "the program no-such-program is not installed"
    assert WorkerCommand(("no-such-program",)).missing(sys.executable) is None
    assert WorkerCommand((sys.executable,), lambda: "no packages").missing() == "no packages"


def test_setup_in_another_language_is_not_parsed():
    text = "const x = require('x');\nx.start();\n"
    program = Program("fake.surface", "native", "x.run();", "x.mode();\n")
    made = backend(setup=text, worker=WorkerCommand(("worker",)))
    assert made.required_setup(program) == ["const x = require('x');", "x.start();", "x.mode();"]
    assert made.required_imports(program) == ["const x = require('x');", "x.start();"]
