"""Restrictions of routes, and where they are printed."""

import re

import pytest

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.judging.ledger import Ledger, load_ledger
from conformance.translation.routes.restrictions import Restriction, read_restrictions, restrictions_of
from conformance.translation.side_by_side import TranslationBackground, translate_case
from tests.support.catalogue_parts import cases_by_id

CASES = cases_by_id("standard")
BACKENDS = [registry.get_backend(name) for name in registry.built_in_modules() if name.startswith("routes-")]
ROUTES = {surface.name: (backend, surface) for backend in BACKENDS for surface in backend.surfaces}
RESTRICTIONS = read_restrictions()
FLOAT64 = CASES["conv/2d-float64"]


def restriction(**changes):
    return Restriction(**{"source": "JAX", "routes": ("jax*→iree",), "call": "f(x)", "happens": "is refused"} | changes)


def test_each_restriction_is_of_a_route():
    unused = [one.call for one in RESTRICTIONS if not any(map(one.is_of_route, ROUTES))]
    assert unused == []


def test_each_recipe_has_a_restriction_that_says_so():
    recipes = {(route.name, operator) for _, route in ROUTES.values() for operator in route.route.recipes}
    listed = {
        (name, operator)
        for one in RESTRICTIONS
        if one.has_recipe
        for name in ROUTES
        if one.is_of_route(name)
        for operator in one.operators
    }
    assert recipes == listed


@pytest.mark.parametrize(
    ("changes", "surface", "applies"),
    [
        ({}, "jax.export→iree", True),
        ({}, "jax2tf→litert", False),
        ({"operators": ("conv",)}, "jax.export→iree", True),
        ({"operators": ("pad",)}, "jax.export→iree", False),
        ({"dtypes": ("float64",)}, "jax.export→iree", True),
        ({"dtypes": ("float32",)}, "jax.export→iree", False),
        ({"ranks": (1, 2)}, "jax.export→iree", True),
        ({"ranks": (3,)}, "jax.export→iree", False),
    ],
)
def test_restriction_applies_to_its_calls(changes, surface, applies):
    assert restriction(**changes).applies_to(FLOAT64, surface) is applies


def test_text_has_what_to_write():
    assert restriction().text == "restriction of the route, f(x): is refused"
    assert restriction(instead="g(x)").text == "restriction of the route, f(x): is refused; write instead: g(x)"


def test_restrictions_with_a_recipe_and_of_other_surfaces_are_not_listed():
    average = CASES["avg_pool/2d-divisor"]
    route = ROUTES["torch.onnx→onnxruntime"][1]
    assert [one.call for one in restrictions_of(average, route)] == []
    assert [one.call for one in restrictions_of(FLOAT64, route)] == ["float64"]
    assert [*restrictions_of(FLOAT64, route.route.source)] == []


def translated(case, name, ledger=None):
    found = translate_case(case, [ROUTES[name]], TranslationBackground(ledger=ledger or Ledger()))
    return found[0]


def test_translation_to_a_route_prints_its_restrictions():
    found = translated(FLOAT64, "tf2onnx→onnxruntime")
    assert any(one.startswith("restriction of the route, `tf.nn.conv2d`") for one in found.remarks)
    assert "tf2onnx.convert.from_function" in found.program.text


def test_translation_to_a_route_prints_the_known_deviations_of_its_runtime():
    entry, case = "openvino-strides-move-past-padding", CASES["conv/then-conv-of-one-cell-strided-padded"]
    (found,) = [one for one in translated(case, "torch.onnx→openvino", load_ledger()).warnings if entry in one]
    assert found.startswith(f"known deviation {entry} of the runtime, openvino.opset: ")
    assert not any(entry in one for one in translated(case, "torch.onnx→onnxruntime", load_ledger()).warnings)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {source: JAX, routes: [a], call: b, happens: c, operators: [pool]}", "unknown name 'pool'"),
        ("- {source: JAX, routes: [a], call: b}", "missing required field `happens`"),
        ("- {source: JAX, routes: [a], call: b, happens: c, insted: d}", "unknown field `insted`"),
        ("- {source: JAX, routes: a, call: b, happens: c}", "Expected `array`, got `str`"),
    ],
)
def test_invalid_restriction_is_an_error_of_one_line(tmp_path, text, message):
    path = tmp_path / "restrictions.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(ConformanceError, match=re.escape(message)) as error:
        read_restrictions(path)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)
