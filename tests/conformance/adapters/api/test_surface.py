"""Surfaces: dtypes, levels and processor features; names of backends and digests of programs."""

import pytest

from conformance.adapters.api import Backend, Declaration, Level, Program, Surface, Unsupported, without_label

FLOATS = frozenset({"float32"})


def test_dtypes_of_a_gradient_are_those_of_its_operator():
    surface = Surface("s", {}, dtypes={"": FLOATS, "pad": FLOATS | {"bool"}, "pad_grad": FLOATS})
    assert surface.supports("pad", "bool")
    assert not surface.supports("pad_grad", "bool")
    assert not surface.supports("conv_grad", "bool")
    assert Surface("s", {}, dtypes={"pad": {"bool"}}).supports("pad_grad", "bool")


def test_operator_without_dtypes_supports_float32_and_float64():
    surface = Surface("s", {}, dtypes={"pad": frozenset({"bool"})})
    assert surface.supports("conv", "float64")
    assert not surface.supports("conv", "float16")


def test_dtype_may_be_supported_for_another_operator():
    surface = Surface("s", {}, dtypes={"pad": frozenset({"bool"})})
    assert surface.supports_anywhere("bool")
    assert not surface.supports_anywhere("int8")


def test_reason_of_an_operator_comes_before_the_general_one():
    general, own = Unsupported("no int8 at all"), Unsupported("no int8 sums")
    surface = Surface("s", {}, unsupported_dtypes={"": {"int8": general}, "conv": {"int8": own}})
    assert surface.unsupported_reason("conv_grad", "int8") is own
    assert surface.unsupported_reason("pad", "int8") is general
    assert surface.unsupported_reason("pad", "int16") is None


@pytest.mark.parametrize(
    ("level", "tags", "requested", "slow", "runs"),
    [
        ("smoke", (), "smoke", False, False),
        ("smoke", (), "standard", False, True),
        ("standard", (), "standard", False, False),
        ("standard", ("compiled",), "smoke", False, True),
        ("standard", (), "standard", True, True),
        ("exhaustive", (), "standard", True, False),
    ],
)
def test_slow_surface_runs_one_level_less_unless_all_are_requested(level, tags, requested, slow, runs):
    surface = Surface("s", {}, slow_tag="compiled")
    assert surface.is_run(level, tags, requested, slow=slow) is runs


def test_surface_runs_up_to_its_own_level():
    surface = Surface("s", {}, max_level=Level.STANDARD)
    assert surface.is_run("standard", ())
    assert not surface.is_run("exhaustive", ())


@pytest.mark.parametrize(
    ("operator", "runs"), [("conv", True), ("conv_grad", True), ("pad", False), ("max_pool", False), ("", False)]
)
def test_operators_have_levels_of_their_own(operator, runs):
    surface = Surface("s", {}, max_level=Level.SMOKE, operator_levels={"conv": Level.STANDARD, "pad": Level.SMOKE})
    assert surface.is_run("smoke", (), operator=operator)
    assert surface.is_run("standard", (), operator=operator) is runs
    assert not surface.is_run("exhaustive", (), operator=operator)


def test_declarations_are_those_of_the_processor():
    surface = Surface("s", {}, declarations={"q": Declaration("one", cpu={"avx2": "two"}), "r": Declaration("three")})
    found = surface.for_processor(["sse", "avx2"])
    assert {name: one.answer for name, one in found.declarations.items()} == {"q": "two", "r": "three"}
    plain = Surface("s", {}, declarations={"r": Declaration("three")})
    assert plain.for_processor(["avx2"]) is plain


def test_label_of_a_backend_has_its_separator():
    assert Backend("numpy@old", (), "", "", ()).label == "@old"
    assert Backend("numpy", (), "", "", ()).label == ""
    assert without_label("numpy@old") == "numpy"


def test_digest_is_of_the_text_only():
    one, same, other = Program("a", "native", "x"), Program("b", "padded", "x"), Program("a", "native", "y")
    assert one.digest == same.digest != other.digest
    assert len(one.digest) == 16
