"""The module `windows` of JAX."""

from conformance.adapters.jax.windows import inline_jit_lines, jit_lines


def test_compiled_functions_are_inlined_between_other_lines():
    two = [*jit_lines("y = x", "x = y"), "x = x + 1", *jit_lines("z = x", "x = z")]
    assert inline_jit_lines(two) == ("y = x", "x = y", "x = x + 1", "z = x", "x = z")
    assert inline_jit_lines(["x = x"]) == ("x = x",)
