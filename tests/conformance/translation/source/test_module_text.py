"""Modules with a window operator that is not translated: it is not left out, but fails with its reason."""

import pytest

from conformance.adapters import registry
from conformance.translation.source.module_text import module_lines
from tests.conformance.translation.source.test_planted_ports import SURFACES, layers

FRACTIONAL = "nn.FractionalMaxPool2d(2, output_size=5)"
CLASS = f"""\
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.bn = nn.BatchNorm2d(8)
        self.last = {FRACTIONAL}
    def forward(self, x):
        return self.last(self.bn(self.conv(x)))
"""
FUNCTIONS = f"""\
from torch import nn
last = {FRACTIONAL}
def make():
    return {FRACTIONAL}
"""
NEEDS_VALUE = """\
from torch import nn
class Net(nn.Module):
    def __init__(self, window):
        super().__init__()
        self.last = nn.FractionalMaxPool2d(window, output_size=5)
    def forward(self, x):
        return self.last(x)
"""


class Base:
    """Stands for the base class of a framework."""


class Framework:
    """Stands for a framework: each of its names is a base class that takes any arguments."""

    Module = Model = Base

    def __getattr__(self, _name):
        return lambda *_given, **_keywords: Base()


def names(text, target, **given):
    """Return the names that a module defines, without its imports."""
    surface = SURFACES[target]
    found = layers(text, "torch", target, None)
    lines = module_lines(found, surface, registry.module_styles()[surface])
    body = "\n".join(line for line in lines if not line.startswith(("import", "from")))
    defined = {"nn": Framework(), "keras": Framework(), **given}
    exec(body, defined)  # noqa: S102 - the module that is tested
    return defined


@pytest.mark.parametrize("target", ["flax", "keras"])
@pytest.mark.parametrize(("text", "reason"), [(CLASS, "no fractional pooling"), (NEEDS_VALUE, "the value of window")])
def test_a_layer_of_a_class_is_a_method_that_fails_with_the_reason(target, text, reason):
    with pytest.raises(NotImplementedError, match=rf"nn\.FractionalMaxPool2d\(.*\): .*{reason}"):
        names(text, target)["Net"].last(Base(), 1)


@pytest.mark.parametrize("target", ["flax", "keras"])
def test_a_layer_that_is_no_window_operator_stays_a_comment(target):
    assert not hasattr(names(CLASS, target)["Net"], "bn")


@pytest.mark.parametrize("target", ["flax", "keras"])
@pytest.mark.parametrize(("name", "given"), [("last", (1,)), ("make", ())])
def test_a_layer_of_a_function_or_module_is_a_function_that_fails(target, name, given):
    with pytest.raises(NotImplementedError, match="no fractional pooling"):
        names(FUNCTIONS, target)[name](*given)
