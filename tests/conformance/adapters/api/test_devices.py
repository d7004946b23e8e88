"""Programs on another device than the CPU: what they are, what results say of it, and what is said where it is not."""

import ast
import builtins
import ctypes
import json

import numpy as np
import pytest

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.adapters.api import devices
from conformance.adapters.api.devices import CUDA, TF32, Device
from conformance.adapters.api.placement import backend_on_device
from conformance.adapters.api.surface import LABEL_SEPARATOR, Declaration, DeviceSupport, Program, Surface
from conformance.execution.worker_process import Job
from conformance.judging import ledger
from conformance.judging.expected import compute_expected
from conformance.judging.tolerance import target_for
from conformance.translation.lowering import translate
from tests.support.fake_backends import backend, family, program, surface
from tests.support.program_text import bound_names, read_names
from tests.support.started_workers import X, soon, started

FOUR = "x: {values: arange, shape: [1, 1, 4, 4]}"
NAMES = [name for name in registry.backend_names() if registry.get_backend(name).devices]
THERE = DeviceSupport(
    "hardware = f'{here} of a test'\n",
    {"float32": "here = 'model'\n", "tf32": "here = 'rough model'\n"},
    reset="if globals().get('broken'):\n    raise SystemExit('the device is lost')\n",
)
MISSING = DeviceSupport("raise RuntimeError('none is built in')", {"float32": "", "tf32": ""})


@pytest.fixture
def fake(monkeypatch, folder):
    """Put a backend with a device in the place of the built-in one, on a machine that seems to have such a device."""

    def replace(*surfaces, there=THERE, **texts):
        made = backend(*(surfaces or (surface("numpy.loops"),)), name="numpy", devices={CUDA: there}, **texts)
        monkeypatch.setattr(
            registry, "get_backend", lambda _name, _held="", device=devices.ON_CPU: backend_on_device(made, device)
        )
        monkeypatch.setattr(devices, "device_problem", lambda _name: None)
        return family(folder, f"id: a, {FOUR}, window: 2", f"id: b, {FOUR}, window: 3")

    return replace


def header(folder):
    return json.loads((folder / "results" / "numpy.jsonl").read_text("utf-8").splitlines()[0])


def run(conformance, folder, path, *options):
    return conformance("run", "--backend", "numpy", "--cases", path, "--out", folder, "--no-cache", *options)


def test_results_say_on_which_device_and_that_tf32_is_ruled_out(conformance, fake, folder):
    status, out, _ = run(conformance, folder, fake(), "--device", "cuda")
    assert (status, "All agree" in out) == (0, True)
    where = header(folder)["environment"]
    assert (where["device"], where["hardware"], where["precision"]) == ("cuda", "model of a test", "float32")
    assert where["setup"]["numpy.loops"].endswith("here = 'model'\n")


def test_results_say_that_tf32_is_allowed(conformance, fake, folder):
    run(conformance, folder, fake(), "--device", "cuda", "--precision", "tf32")
    where = header(folder)["environment"]
    assert (where["hardware"], where["precision"]) == ("rough model of a test", "tf32")


def test_results_of_the_cpu_are_what_they_always_were(conformance, fake, folder):
    run(conformance, folder, fake())
    assert not {"device", "hardware", "precision"} & header(folder)["environment"].keys()


def test_results_of_a_device_are_not_completed_on_another(conformance, fake, folder):
    path = fake()
    run(conformance, folder, path, "--device", "cuda")
    status, _, said = run(conformance, folder, path, "--resume")
    assert (status, len(said)) == (2, 1)
    assert "cannot resume, environment differs from this run" in said[0]


def test_results_of_a_device_are_judged_anew_for_it(conformance, fake, folder):
    path = fake()
    run(conformance, folder, path, "--device", "cuda", "--precision", "tf32")
    status, out, _ = conformance("rejudge", folder / "results" / "numpy.jsonl", "--cases", path)
    assert (status, "2 results are valid" in out) == (0, True)


def test_framework_without_the_device_is_wrong_usage_in_one_line(conformance, fake, folder):
    status, _, said = run(conformance, folder, fake(there=MISSING), "--device", "cuda")
    assert (status, said) == (2, ["conformance: backend numpy: no cuda: RuntimeError: none is built in"])


def test_machine_without_a_driver_is_told_before_anything_starts(conformance, fake, folder, monkeypatch):
    path, look = fake(), devices.device_problem
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert look("cuda") is None
    monkeypatch.setattr(devices, "CUDA_DRIVER_LIBRARY", "libnosuchdriver.so.1")
    status, _, said = conformance("run", "--backend", "torch", "--cases", path, "--device", "cuda")
    assert (status, len(said)) == (2, 1)
    assert said[0].startswith("conformance: device cuda: no NVIDIA driver is on this machine (libnosuchdriver.so.1: ")


@pytest.mark.parametrize(("status", "count", "says"), [(0, 2, None), (100, 0, "CUDA error 100"), (0, 0, "no device")])
def test_driver_is_asked_for_devices(monkeypatch, status, count, says):
    class Driver:
        def cuInit(self, _flags):  # noqa: N802 - the driver's own name
            return status

        def cuDeviceGetCount(self, found):  # noqa: N802
            ctypes.cast(found, ctypes.POINTER(ctypes.c_int))[0] = count
            return 0

    monkeypatch.setattr(ctypes, "CDLL", lambda _name: Driver())
    why = devices.device_problem("cuda")
    assert why is None if says is None else says in why
    assert devices.device_problem("cpu") is None


def test_backend_that_knows_no_device_is_wrong_usage(conformance, monkeypatch):
    monkeypatch.setattr(devices, "device_problem", lambda _name: None)
    status, _, said = conformance("run", "--backend", "numpy", "--device", "cuda")
    assert (status, said) == (2, ["conformance: backend 'numpy': it has no device cuda, only cpu"])


def test_precision_is_one_of_a_device(conformance):
    status, _, said = conformance("run", "--backend", "numpy", "--precision", "tf32")
    assert (status, said) == (2, ["conformance: precision tf32: the device cpu has none; --device cuda has"])


@pytest.mark.parametrize("words", [{"name": "mps"}, {"name": "cuda", "precision": "half"}])
def test_other_devices_and_precisions_are_refused(words):
    with pytest.raises(ConformanceError, match="not one of"):
        Device(**words)


def test_backends_are_listed_with_their_devices_and_why_there_is_none(conformance, fake, monkeypatch):
    monkeypatch.setattr(registry, "backend_names", lambda: ("numpy",))
    fake()
    assert conformance("backends")[1].rstrip().endswith("numpy.loops; on cpu; on cuda (model of a test)")
    fake(there=MISSING)
    line = "on cpu; not on cuda: backend numpy: no cuda: RuntimeError: none is built in"
    assert conformance("backends")[1].rstrip().endswith(line)
    monkeypatch.setattr(devices, "device_problem", lambda name: f"{name} is far away")
    assert conformance("backends")[1].rstrip().endswith("; on cpu; not on cuda: cuda is far away")


def seen(device):
    """Return what a program sees of the variable that hides devices."""
    with started(devices={CUDA: THERE}, device=device) as worker:
        body = "x = np.array([len(os.environ.get('CUDA_VISIBLE_DEVICES', 'all of them'))], np.float32)"
        (outcome,) = worker.outcomes([Job(program(body), (X,))])
    return outcome.arrays[0].tolist()


def test_devices_are_hidden_from_programs_of_the_cpu(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert seen(Device()) == [0]
    assert seen(Device("cuda")) == [len("all of them")]


def test_device_that_is_lost_costs_one_case():
    made = backend_on_device(backend(devices={CUDA: THERE}), Device("cuda"))
    lost = "globals()['broken'] = globals()['__builtins__'] and True\nraise RuntimeError('a kernel failed')"
    breaks = program(lost.replace("globals()", "sys._getframe(2).f_locals['names']"))
    with started(retry=False, **{key: getattr(made, key) for key in ("reset", "setup", "devices", "device")}) as worker:
        first = worker.connection.process.pid
        crashed, after = worker.outcomes([Job(breaks, (X,)), Job(program("pass"), (X,))])
        assert worker.connection.process.pid != first
    assert (crashed.kind, after.kind) == ("crashed", "returned")
    assert "the device is lost" in crashed.message
    assert soon(lambda: worker.connection is None)


@pytest.mark.parametrize("name", NAMES)
def test_setup_names_the_device_and_says_that_tf32_is_ruled_out(name):
    here, full, rough = (
        registry.get_backend(name, device=device) for device in (Device(), Device(CUDA), Device(CUDA, TF32))
    )
    assert full.setup.startswith(here.setup)
    assert full.setup != rough.setup
    assert full.threads.startswith(here.threads)
    for text in (full.threads, full.setup, rough.setup, full.probe, full.reset):
        ast.parse(text)
    assert not any(one.tf32 for one in full.surfaces)
    assert all(one.tf32 for one in rough.surfaces)


@pytest.mark.parametrize("name", NAMES)
def test_programs_on_a_device_use_only_what_its_setup_binds(name, catalogue):
    there = registry.get_backend(name, device=Device(CUDA))
    known = bound_names(ast.parse(there.setup)) | set(dir(builtins))
    found = [translate(case, one) for case in catalogue.cases[::7] for one in there.surfaces]
    texts = [one.text for one in found if isinstance(one, Program)]
    assert texts
    for text in texts:
        tree = ast.parse(text)
        assert read_names(tree) - bound_names(tree) <= known


def test_tensors_go_to_the_device_and_come_back(catalogue):
    one = next(one for one in registry.get_backend("torch", device=Device(CUDA)).surfaces if one.name == "torch.nn")
    lines = translate(catalogue.by_id["max_pool/book-stride-2-padding-1"], one).text.splitlines()
    assert lines[1].strip() == 'x = torch.from_numpy(x).to("cuda")'
    assert lines[-1].strip() == "return x.cpu().numpy()"


def test_label_and_device_go_together():
    there = registry.get_backend(f"torch{LABEL_SEPARATOR}new", device=Device(CUDA))
    assert (there.name, there.device.name) == ("torch@new", CUDA)


def test_script_for_a_bug_report_is_for_the_device(conformance):
    _, out, _ = conformance("repro", "max_pool/book-1d", "--surface", "torch.nn", "--device", "cuda")
    assert "torch.set_default_device('cuda')" in out
    assert "torch.backends.cudnn.allow_tf32 = False" in out
    status, _, said = conformance("repro", "max_pool/book-1d", "--surface", "numpy.loops", "--device", "cuda")
    assert (status, said) == (2, ["conformance: backend 'numpy': it has no device cuda, only cpu"])


def test_declaration_may_answer_otherwise_on_a_device_where_features_do_not_count():
    both = Declaration("one", "a page", cpu={"avx2": "two"}, device={"cuda": "three"})
    plain = Declaration("one", "a page", cpu={"avx2": "two"})
    made = backend_on_device(
        backend(surface("s", declares={"q": both, "r": plain}), devices={CUDA: THERE}), Device(CUDA)
    ).surfaces[0]
    answers = {question: one.answer for question, one in made.for_processor(["avx2"]).declarations.items()}
    assert answers == {"q": "three", "r": "one"}
    assert both.answers == ("one", "two", "three")


@pytest.mark.parametrize(
    ("listed", "covered"),
    [("", {"cpu"}), ("device: [cuda],", {"cuda"}), ("device: [cpu, cuda],", {"cpu", "cuda"})],
)
def test_ledger_entry_holds_on_the_devices_that_it_names_and_else_on_the_cpu(tmp_path, made, listed, covered):
    case = made("max_pool", f"{FOUR}, window: 2")
    path = tmp_path / "ledger.yaml"
    entry = f"id: e, cases: ['*'], surfaces: [s], kinds: [shape], {listed} reason: It is known to be so on this device."
    path.write_text(f"entries:\n  - {{{entry}}}\n", "utf-8")
    book = ledger.load_ledger(path)
    assert {device for device in ("cpu", "cuda") if book.find_entry(case, "s", {}, (), device)} == covered


def convolution(made, values, dtype="float32"):
    return made(
        "conv",
        f"x: {{values: {values}, shape: [1, 2, 5], dtype: {dtype}}}, "
        f"kernel: {{values: {values}, shape: [2, 2, 3], dtype: {dtype}}}",
    )


def bounds(case, how="native"):
    """Return the bounds without and with TF32."""
    wanted = compute_expected(case)
    held = [target_for(wanted.target, case, Surface("s", {}, tf32=tf32), how, wanted.inputs) for tf32 in (False, True)]
    return [target.bound for target in held]


def test_where_tf32_is_allowed_the_bound_is_that_of_factors_with_11_bits(made):
    case = convolution(made, "mantissas")
    exact, (full, rough) = compute_expected(case).target.exact, bounds(case)
    x, kernel = (one.view(np.uint32) & np.uint32(0xFFFFE000) for one in compute_expected(case).inputs.values())
    cut = np.stack(
        [
            [(x.view(np.float32)[0, :, i : i + 3].astype(float) * kernel.view(np.float32)[out]).sum() for i in range(3)]
            for out in range(2)
        ]
    )[None].astype(np.float32)
    error = exact.distance(cut)
    assert (error > full).any()
    assert (error <= rough).all()
    assert (rough <= exact.magnitude * 2.0**-8).all()


@pytest.mark.parametrize(("values", "dtype"), [("integers", "float32"), ("mantissas", "float64")])
def test_numbers_that_tf32_holds_and_other_types_keep_their_bound(made, values, dtype):
    full, rough = bounds(convolution(made, values, dtype))
    assert np.array_equal(full, rough)


def test_an_average_is_no_product_unless_it_is_composed(made):
    case = made("avg_pool", "x: {values: mantissas, shape: [1, 1, 4]}, window: 3")
    native, composed = bounds(case), bounds(case, "composed")
    assert np.array_equal(*native)
    assert (composed[1] > composed[0]).all()
