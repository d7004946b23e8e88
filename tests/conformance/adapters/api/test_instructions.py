"""What frameworks may use of the processor: held to AVX2, unless a run asks for all."""

import io
import os
import subprocess
import sys

import pytest

from conformance.adapters import registry
from conformance.adapters.api.devices import FEATURES, HELD, HELD_HALF, HELD_LESS, NATIVE, held, holding, used
from conformance.execution.targets import chosen


@pytest.fixture(autouse=True)
def x86(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    registry.backend.cache_clear()
    yield
    registry.backend.cache_clear()


def test_text_sets_the_variables_before_anything_else_runs():
    text = holding({"ONE": "1", "TWO": "--a=b"})
    said = f"{text}print(os.environ['ONE'], os.environ['TWO'])"
    out = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert out.stdout == "1 --a=b\n"


def test_there_is_nothing_to_hold_without_variables_or_on_another_machine():
    assert holding({}) == ""
    assert holding({"ONE": "1"}, "aarch64") == ""


def test_features_beyond_are_not_used_where_a_framework_is_held():
    features = ["amx_tile", "avx", "avx2", "avx512_fp16", "avx512f", "avx_vnni", "fma"]
    assert used(features, HELD) == ["avx", "avx2", "fma"]
    assert used(features, HELD_LESS) == ["avx", "avx2", "avx512f", "fma"]
    assert used(features, NATIVE) == features


def test_a_framework_may_be_held_to_more_where_the_processor_computes_with_float16():
    features = ["amx_tile", "avx2", "avx512_bf16", "avx512_fp16", "avx512f", "avx_vnni"]
    assert used(features, HELD_HALF) == ["avx2", "avx512_bf16", "avx512_fp16", "avx512f"]
    without = [name for name in features if name != "avx512_fp16"]
    assert used(without, HELD_HALF) == ["avx2", "avx512f"]
    assert held({"ONEDNN_MAX_CPU_ISA": ("AVX512_CORE", "AVX512_CORE_FP16")}) == HELD_HALF


@pytest.mark.parametrize(("flags", "chosen"), [("avx2 avx512_fp16 amx", "more"), ("avx2 avx512f", "less")])
def test_the_processor_is_asked_where_the_text_runs(flags, chosen, monkeypatch):
    monkeypatch.setattr("os.path.exists", lambda _path: True)
    monkeypatch.setattr("builtins.open", lambda *_args, **_options: io.StringIO(f"flags : {flags}\n"))
    monkeypatch.setattr("os.environ", {})
    exec(holding({"ONE": ("less", "more")}), {})  # noqa: S102 - as a worker does
    assert os.environ["ONE"] == chosen


def test_what_asks_the_processor_itself_is_held_less():
    assert held({"ONEDNN_MAX_CPU_ISA": "AVX2"}) == HELD
    assert held({"ONEDNN_MAX_CPU_ISA": "AVX512_CORE", "XLA_FLAGS": "--xla_cpu_max_isa=AVX2"}) == HELD_LESS


LEVELS = {
    **dict.fromkeys(["torch", "jax", "mxnet", "keras-torch", "keras-jax"], HELD),
    **dict.fromkeys(["tensorflow", "keras-tensorflow"], HELD_HALF),
    "openvino": HELD_LESS,
}


@pytest.mark.parametrize(("name", "level"), LEVELS.items())
def test_backends_that_know_how_are_held_first_of_all(name, level):
    limited, native = registry.backend(name), registry.backend(name, NATIVE)
    assert limited.threads.startswith(("import os\n\nos.environ[", f"import os\n\n{FEATURES}os.environ["))
    assert limited.threads.endswith(native.threads)
    assert (limited.instructions, native.instructions) == (level, NATIVE)
    # As results name it, so that they can be judged anew.
    assert registry.backend(name, level) == limited


def test_keras_is_held_as_its_engine_is():
    engine, keras = registry.backend("tensorflow"), registry.backend("keras-tensorflow")
    assert keras.threads == engine.threads


def test_a_backend_that_knows_no_such_variables_uses_all():
    assert registry.backend("onnxruntime").instructions == NATIVE


def test_a_run_may_ask_for_all_of_the_processor():
    assert chosen(["torch"], [], NATIVE)[0].backend.instructions == NATIVE
    assert chosen(["torch"], [])[0].backend.instructions == HELD


def test_results_say_what_was_used(conformance, tmp_path):
    status, _, _ = conformance(
        "run", "--backend", "numpy", "--case", "max_pool/book-*", "--instructions", NATIVE, "--out", tmp_path
    )
    assert status == 0
    assert '"instructions": "native"' in (tmp_path / "results" / "numpy.jsonl").read_text("utf-8").splitlines()[0]


def test_other_words_are_refused(conformance):
    status, _, told = conformance("run", "--instructions", "avx10")
    assert status == 2
    assert "'avx10' is not one of 'avx2', 'native'" in told[-1]
