"""The module `convolution` of JAX."""

from tests.conformance.adapters.jax.programs import ROW, program


def test_transposed_convolution_has_the_padding_of_the_forward_convolution():
    kernel = {"values": "integers", "shape": [2, 3, 3]}
    translated = program("jax.lax", "conv_transpose", x=ROW, kernel=kernel, stride=2, padding=1, output_padding=1)
    assert translated.how == "native"
    assert 'lax.conv_transpose(x, kernel, (2,), ((1, 0),), dimension_numbers=("NCW", "OIW", "NCW")' in translated.text
    layer = program("flax.linen", "conv_transpose", x=ROW, kernel=kernel, stride=2, padding=1, output_padding=1)
    assert "nn.ConvTranspose(3, (3,), strides=(2,), padding=((1, 2),), transpose_kernel=True" in layer.text


def test_groups_of_a_transposed_convolution_are_concatenated():
    kernel = {"values": "integers", "shape": [2, 3, 3]}
    translated = program("flax.linen", "conv_transpose", x=ROW, kernel=kernel, groups=2)
    assert translated.how == "composed"
    assert "zip(jnp.split(x, 2, -1), jnp.split(kernel, 2, -1))" in translated.text
    assert "feature_group_count=2" in program("jax.lax", "conv_transpose", x=ROW, kernel=kernel, groups=2).text
