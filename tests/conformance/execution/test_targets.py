"""Backends, interpreters and labels of `--backend`."""

import sys

import pytest

from conformance import ConformanceError
from conformance.execution.targets import RunTarget, run_targets


def test_backend_has_a_label_and_an_interpreter():
    old, new = run_targets(["numpy@old=/old/python", "numpy"], [])
    assert (old.name, old.python) == ("numpy@old", "/old/python")
    assert (new.name, new.python) == ("numpy", sys.executable)
    assert old.backend.name == "numpy@old"


def test_interpreter_of_this_process_is_not_named_to_other_machines():
    assert RunTarget("numpy", sys.executable).portable.python == ""
    assert RunTarget("numpy", "/other/python").portable.python == "/other/python"


@pytest.mark.parametrize(
    ("backends", "surfaces", "message"),
    [
        (["nopy"], [], "nopy"),
        (["numpy", "numpy=/other"], [], "backend 'numpy': named twice"),
        (["numpy@Old=/one", "numpy@old=/two"], [], "named twice"),
        (["numpy"], ["torch.nn"], "surface 'torch.nn': not a surface of numpy, which has numpy.loops"),
        (["numpy"], ["numpy.lop"], "surface 'numpy.lop': not a surface of numpy, did you mean 'numpy.loops'"),
        (["numpy", "torch"], ["torch.nn"], "backend 'numpy': does not have the surfaces torch.nn"),
    ],
)
def test_wrong_names_are_errors(backends, surfaces, message):
    with pytest.raises(ConformanceError, match=message):
        run_targets(backends, surfaces)


def test_missing_framework_has_the_command_that_installs_it():
    target = RunTarget("torch", "/some/python")
    message = target.with_install_hint("ModuleNotFoundError: No module named 'torch'")
    assert message.startswith("ModuleNotFoundError: No module named 'torch' (/some/python -m pip install 'torch==")
    assert target.with_install_hint("ImportError: no") == "ImportError: no"
