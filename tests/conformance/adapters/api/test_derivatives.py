"""Surfaces that compute an operator by a derivative, or item by item."""

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Unsupported
from conformance.translation.lowering import translate
from tests.support.fake_backends import one

X = "x: {values: integers, shape: [2, 1, 5]}"
KERNEL = "kernel: {values: integers, shape: [1, 1, 2]}"
DERIVATIVES = [
    ("torch", "torch.func.jvp", "torch.func.jvp(lambda x: forward(x), (x,), (x,))"),
    ("torch", "torch.double_backward", "create_graph=True"),
    ("jax", "jax.jvp", "jax.jvp(lambda x: forward(x), (x,), (x,))"),
    ("jax", "jax.double_vjp", "jax.vjp(lambda grad: pull(grad)[0]"),
]


def surface(backend, name):
    (found,) = [known for known in registry.get_backend(backend).surfaces if known.name == name]
    return found


@pytest.mark.parametrize(("backend", "name", "part"), DERIVATIVES)
def test_maximum_is_its_derivative_in_the_direction_of_x(tmp_path, backend, name, part):
    assert part in translate(one(tmp_path, f"id: a, {X}, window: 2"), surface(backend, name)).text


@pytest.mark.parametrize(("backend", "name"), [("torch", "torch.func.vmap"), ("jax", "jax.vmap")])
def test_items_of_a_batch_are_mapped_and_the_kernel_is_not(tmp_path, backend, name):
    text = translate(one(tmp_path, f"id: a, {X}, {KERNEL}", operator="conv"), surface(backend, name)).text
    assert f"x = {name}(lambda x: forward(x[None], kernel)[0])(x)" in text


@pytest.mark.parametrize(("backend", "name", "_part"), DERIVATIVES)
@pytest.mark.parametrize(
    ("operator", "text"),
    [
        ("conv", f"{X}, {KERNEL}, bias: {{values: [1]}}"),
        ("pad", f"{X}, pads: [[1, 1]], value: 2"),
        ("softmax_pool", f"{X}, window: 2"),
        ("max_pool", "x: {values: integers, shape: [1, 1, 5], dtype: int32}, window: 2"),
    ],
)
def test_result_that_is_not_the_derivative_is_unsupported(tmp_path, backend, name, _part, operator, text):
    program = translate(one(tmp_path, f"id: a, {text}", operator=operator), surface(backend, name))
    assert isinstance(program, Unsupported)


def test_zeros_and_infinities_of_a_padding_add_nothing(tmp_path):
    for value in ("0", "-.inf"):
        case = one(tmp_path, f"id: a, {X}, pads: [[1, 1]], value: {value}", operator="pad")
        assert not isinstance(translate(case, surface("torch", "torch.func.jvp")), Unsupported)


def test_conventions_are_left_to_the_surfaces_of_the_call(tmp_path):
    text = f"id: a, about: b, {X}, window: 2, answers: {{one: {{stride: 1}}, two: {{stride: 2}}}}"
    program = translate(one(tmp_path, text, section="questions"), surface("jax", "jax.vmap"))
    assert "transforms the call" in program.reason
