"""Devices and precisions, and limits of processor instructions: AVX2 by default, none with `--instructions native`."""

import ctypes
import io
import os
import subprocess
import sys

import pytest

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.adapters.api import (
    AVX2,
    NATIVE,
    Device,
    devices,
    instruction_limit,
    limit_instructions_source,
    used_features,
)
from conformance.adapters.api.devices import AVX512, AVX512_FP16, READ_FEATURES_SOURCE
from conformance.execution.targets import run_targets


@pytest.fixture(autouse=True)
def x86(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    registry.get_backend.cache_clear()
    yield
    registry.get_backend.cache_clear()


def test_source_sets_the_variables_before_other_code_runs():
    text = limit_instructions_source({"ONE": "1", "TWO": "--a=b"})
    script = f"{text}print(os.environ['ONE'], os.environ['TWO'])"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert out.stdout == "1 --a=b\n"


def test_no_source_without_variables_or_on_another_machine():
    assert limit_instructions_source({}) == ""
    assert limit_instructions_source({"ONE": "1"}, "aarch64") == ""


def test_features_above_the_limit_are_not_used():
    features = ["amx_tile", "avx", "avx2", "avx512_fp16", "avx512f", "avx_vnni", "fma"]
    assert used_features(features, AVX2) == ["avx", "avx2", "fma"]
    assert used_features(features, AVX512) == ["avx", "avx2", "avx512f", "fma"]
    assert used_features(features, NATIVE) == features


def test_limit_is_higher_on_a_processor_with_float16_arithmetic():
    features = ["amx_tile", "avx2", "avx512_bf16", "avx512_fp16", "avx512f", "avx_vnni"]
    assert used_features(features, AVX512_FP16) == ["avx2", "avx512_bf16", "avx512_fp16", "avx512f"]
    without = [name for name in features if name != "avx512_fp16"]
    assert used_features(without, AVX512_FP16) == ["avx2", "avx512f"]
    assert instruction_limit({"ONEDNN_MAX_CPU_ISA": ("AVX512_CORE", "AVX512_CORE_FP16")}) == AVX512_FP16


@pytest.mark.parametrize(("flags", "chosen"), [("avx2 avx512_fp16 amx", "more"), ("avx2 avx512f", "less")])
def test_source_reads_the_processor_features_at_run_time(flags, chosen, monkeypatch):
    monkeypatch.setattr("os.path.exists", lambda _path: True)
    monkeypatch.setattr("builtins.open", lambda *_args, **_options: io.StringIO(f"flags : {flags}\n"))
    monkeypatch.setattr("os.environ", {})
    exec(limit_instructions_source({"ONE": ("less", "more")}), {})  # noqa: S102 - as a worker does
    assert os.environ["ONE"] == chosen


def test_limit_follows_from_the_values_of_the_variables():
    assert instruction_limit({"ONEDNN_MAX_CPU_ISA": "AVX2"}) == AVX2
    assert instruction_limit({"ONEDNN_MAX_CPU_ISA": "AVX512_CORE", "XLA_FLAGS": "--xla_cpu_max_isa=AVX2"}) == AVX512


LEVELS = {
    **dict.fromkeys(["torch", "jax", "mxnet", "keras-torch", "keras-jax"], AVX2),
    **dict.fromkeys(["tensorflow", "keras-tensorflow"], AVX512_FP16),
    "openvino": AVX512,
}


@pytest.mark.parametrize(("name", "level"), LEVELS.items())
def test_backends_with_variables_set_them_before_threads(name, level):
    limited, native = registry.get_backend(name), registry.get_backend(name, NATIVE)
    assert limited.threads.startswith(("import os\n\nos.environ[", f"import os\n\n{READ_FEATURES_SOURCE}os.environ["))
    assert limited.threads.endswith(native.threads)
    assert (limited.instructions, native.instructions) == (level, NATIVE)
    # Rejudging passes the limit as recorded in the results.
    assert registry.get_backend(name, level) == limited


def test_keras_has_the_limit_of_its_engine():
    engine, keras = registry.get_backend("tensorflow"), registry.get_backend("keras-tensorflow")
    assert keras.threads == engine.threads


def test_backend_without_variables_has_no_limit():
    assert registry.get_backend("onnxruntime").instructions == NATIVE


def test_run_may_disable_the_limit():
    assert run_targets(["torch"], [], NATIVE)[0].backend.instructions == NATIVE
    assert run_targets(["torch"], [])[0].backend.instructions == AVX2


def test_results_record_the_limit(conformance, tmp_path):
    status, _, _ = conformance(
        "run", "--backend", "numpy", "--case", "max_pool/book-*", "--instructions", NATIVE, "--out", tmp_path
    )
    assert status == 0
    assert '"instructions": "native"' in (tmp_path / "results" / "numpy.jsonl").read_text("utf-8").splitlines()[0]


def test_other_limits_are_rejected(conformance):
    status, _, errors = conformance("run", "--instructions", "avx10")
    assert status == 2
    assert "'avx10' is not one of 'avx2', 'native'" in errors[-1]


@pytest.mark.parametrize(
    ("status", "count", "message"), [(0, 2, None), (100, 0, "CUDA error 100"), (0, 0, "no device")]
)
def test_driver_reports_the_number_of_devices(monkeypatch, status, count, message):
    class Driver:
        def cuInit(self, _flags):  # noqa: N802 - the driver's own name
            return status

        def cuDeviceGetCount(self, found):  # noqa: N802
            ctypes.cast(found, ctypes.POINTER(ctypes.c_int))[0] = count
            return 0

    monkeypatch.setattr(ctypes, "CDLL", lambda _name: Driver())
    problem = devices.device_problem("cuda")
    assert problem is None if message is None else message in problem
    assert devices.device_problem("cpu") is None


@pytest.mark.parametrize("arguments", [{"name": "mps"}, {"name": "cuda", "precision": "half"}])
def test_other_devices_and_precisions_are_rejected(arguments):
    with pytest.raises(ConformanceError, match="not one of"):
        Device(**arguments)
