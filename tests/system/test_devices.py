"""Runs on a device other than the CPU: programs, results, declarations, and errors if the device is missing."""

import ast
import builtins
import json
import platform
import re

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Device, DeviceSupport, Program, backend_on_device, devices
from conformance.adapters.api.devices import CUDA, X86_MACHINES
from conformance.execution.job import Job
from conformance.translation.lowering import translate
from tests.support.fake_backends import backend, family, program, surface
from tests.support.program_text import bound_names, read_names
from tests.support.started_workers import X, soon, started

FOUR = "x: {values: arange, shape: [1, 1, 4, 4]}"
NAMES = [name for name in registry.backend_names() if registry.get_backend(name).devices]
SUPPORT = DeviceSupport(
    "hardware = f'{model} of a test'\n",
    {"float32": "model = 'model'\n", "tf32": "model = 'rough model'\n"},
    reset="if globals().get('broken'):\n    raise SystemExit('the device is lost')\n",
)
MISSING = DeviceSupport("raise RuntimeError('none is built in')", {"float32": "", "tf32": ""})


@pytest.fixture
def fake(monkeypatch, folder):
    """Return a function that replaces the built-in backend by one with a device, and simulates this device."""

    def replace(*surfaces, support=SUPPORT, **texts):
        made = backend(*(surfaces or (surface("numpy.loops"),)), name="numpy", devices={CUDA: support}, **texts)
        monkeypatch.setattr(
            registry,
            "get_backend",
            lambda _name, _instructions="", device=devices.ON_CPU: backend_on_device(made, device),
        )
        monkeypatch.setattr(devices, "device_problem", lambda _name: None)
        return family(folder, f"id: a, {FOUR}, window: 2", f"id: b, {FOUR}, window: 3")

    return replace


def header(folder):
    return json.loads((folder / "results" / "numpy.jsonl").read_text("utf-8").splitlines()[0])


def run(conformance, folder, path, *options):
    return conformance("run", "--backend", "numpy", "--cases", path, "--out", folder, "--no-cache", *options)


def test_results_record_the_device_and_that_tf32_is_disabled(conformance, fake, folder):
    status, out, _ = run(conformance, folder, fake(), "--device", "cuda")
    assert (status, "judged agree" in out) == (0, True)
    environment = header(folder)["environment"]
    assert (environment["device"], environment["hardware"], environment["precision"]) == (
        "cuda",
        "model of a test",
        "float32",
    )
    assert environment["setup"]["numpy.loops"].endswith("model = 'model'\n")


def test_results_record_that_tf32_is_allowed(conformance, fake, folder):
    run(conformance, folder, fake(), "--device", "cuda", "--precision", "tf32")
    environment = header(folder)["environment"]
    assert (environment["hardware"], environment["precision"]) == ("rough model of a test", "tf32")


def test_results_of_the_cpu_record_no_device(conformance, fake, folder):
    run(conformance, folder, fake())
    assert not {"device", "hardware", "precision"} & header(folder)["environment"].keys()


def test_results_of_a_device_cannot_be_resumed_on_another(conformance, fake, folder):
    path = fake()
    run(conformance, folder, path, "--device", "cuda")
    status, _, errors = run(conformance, folder, path, "--resume")
    assert (status, len(errors)) == (2, 1)
    assert "cannot resume, environment differs from this run" in errors[0]


def test_results_of_a_device_are_rejudged_for_it(conformance, fake, folder):
    path = fake()
    run(conformance, folder, path, "--device", "cuda", "--precision", "tf32")
    status, out, _ = conformance("rejudge", folder / "results" / "numpy.jsonl", "--cases", path)
    assert (status, "2 results are valid" in out) == (0, True)


def test_framework_without_the_device_is_a_usage_error_of_one_line(conformance, fake, folder):
    status, _, errors = run(conformance, folder, fake(support=MISSING), "--device", "cuda")
    assert (status, errors) == (2, ["conformance: backend numpy: no cuda: RuntimeError: none is built in"])


def test_missing_driver_is_an_error_before_workers_start(conformance, fake, folder, monkeypatch):
    path, patched = fake(), devices.device_problem
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert patched("cuda") is None
    monkeypatch.setattr(devices, "CUDA_DRIVER_LIBRARY", "libnosuchdriver.so.1")
    status, _, errors = conformance("run", "--backend", "torch", "--cases", path, "--device", "cuda")
    assert (status, len(errors)) == (2, 1)
    assert errors[0].startswith("conformance: device cuda: no NVIDIA driver is on this machine (libnosuchdriver.so.1: ")


def test_device_that_the_backend_does_not_support_is_a_usage_error(conformance, monkeypatch):
    monkeypatch.setattr(devices, "device_problem", lambda _name: None)
    status, _, errors = conformance("run", "--backend", "numpy", "--device", "cuda")
    assert (status, errors) == (2, ["conformance: backend 'numpy': device cuda is not supported, only cpu"])


def test_tf32_is_not_available_on_the_cpu(conformance):
    status, _, errors = conformance("run", "--backend", "numpy", "--precision", "tf32")
    assert (status, errors) == (2, ["conformance: precision tf32: the device cpu has none; --device cuda has"])


def test_list_of_backends_has_devices_and_why_they_are_missing(conformance, fake, monkeypatch):
    monkeypatch.setattr(registry, "backend_names", lambda: ("numpy",))
    fake()
    assert conformance("backends")[1].rstrip().endswith("numpy.loops; on cpu; on cuda (model of a test)")
    fake(support=MISSING)
    line = "on cpu; not on cuda: backend numpy: no cuda: RuntimeError: none is built in"
    assert conformance("backends")[1].rstrip().endswith(line)
    monkeypatch.setattr(devices, "device_problem", lambda name: f"{name} is far away")
    assert conformance("backends")[1].rstrip().endswith("; on cpu; not on cuda: cuda is far away")


def variable_length(device):
    """Return the length of the variable that hides devices, as a program reads it."""
    with started(devices={CUDA: SUPPORT}, device=device) as worker:
        body = "x = np.array([len(os.environ.get('CUDA_VISIBLE_DEVICES', 'all of them'))], np.float32)"
        (outcome,) = worker.outcomes([Job(program(body), (X,))])
    return outcome.arrays[0].tolist()


def test_devices_are_hidden_from_programs_of_the_cpu(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert variable_length(Device()) == [0]
    assert variable_length(Device("cuda")) == [len("all of them")]


def test_lost_device_ends_the_worker_and_fails_one_case():
    made = backend_on_device(backend(devices={CUDA: SUPPORT}), Device("cuda"))
    lost = "globals()['broken'] = globals()['__builtins__'] and True\nraise RuntimeError('a kernel failed')"
    breaks = program(lost.replace("globals()", "sys._getframe(2).f_locals['self']._names"))
    with started(retry=False, **{key: getattr(made, key) for key in ("reset", "setup", "devices", "device")}) as worker:
        first = worker.connection.process.pid
        crashed, after = worker.outcomes([Job(breaks, (X,)), Job(program("pass"), (X,))])
        assert worker.connection.process.pid != first
    assert (crashed.kind, after.kind) == ("crashed", "returned")
    assert "the device is lost" in crashed.message
    assert soon(lambda: worker.connection is None)


@pytest.mark.parametrize("name", NAMES)
def test_programs_on_a_device_use_only_what_its_setup_binds(name, catalogue):
    on_device = registry.get_backend(name, device=Device(CUDA))
    known = bound_names(ast.parse(on_device.setup)) | set(dir(builtins))
    found = [translate(case, one) for case in catalogue.cases[::7] for one in on_device.surfaces]
    # Of programs that differ in their numbers alone, one is parsed.
    texts = {re.sub(r"\d+", "0", one.text): one.text for one in found if isinstance(one, Program)}
    assert texts
    for text in texts.values():
        tree = ast.parse(text)
        assert read_names(tree) - bound_names(tree) <= known


def test_tensors_are_moved_to_the_device_and_back(catalogue):
    one = next(one for one in registry.get_backend("torch", device=Device(CUDA)).surfaces if one.name == "torch.nn")
    lines = translate(catalogue.by_id["max_pool/book-stride-2-padding-1"], one).text.splitlines()
    assert lines[1].strip() == 'x = torch.from_numpy(x).to("cuda")'
    assert lines[-1].strip() == "return x.cpu().numpy()"


@pytest.mark.skipif(platform.machine() not in X86_MACHINES, reason="the limits are those of x86 processors")
def test_repro_script_limits_instructions_as_a_run_does_unless_native(conformance):
    command = ("repro", "max_pool/book-1d", "--surface", "torch.nn")
    limit = 'os.environ["ATEN_CPU_CAPABILITY"] = "avx2"'
    assert [limit in conformance(*command, *more)[1] for more in ((), ("--instructions", "avx2"))] == [True, True]
    # The script reads the variable for the folder of compiled programs, and does not set it.
    assert 'os.environ["ATEN_CPU_CAPABILITY"]' not in conformance(*command, "--instructions", "native")[1]


def test_repro_script_uses_the_device(conformance):
    _, out, _ = conformance("repro", "max_pool/book-1d", "--surface", "torch.nn", "--device", "cuda")
    assert "torch.set_default_device('cuda')" in out
    assert "torch.backends.cudnn.allow_tf32 = False" in out
    status, _, errors = conformance("repro", "max_pool/book-1d", "--surface", "numpy.loops", "--device", "cuda")
    assert (status, errors) == (2, ["conformance: backend 'numpy': device cuda is not supported, only cpu"])
