"""Layers of resizing are read: their size or scale, and the rule that their words mean."""

import re

import pytest

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.translation.layer import parse_layer

DIALECTS = registry.dialects()
CENTRES = {"coordinates": "half_pixel"}
UPPER = {"mode": "nearest", **CENTRES, "nearest_rounding": "round_prefer_ceil"}
CORNERS = {"mode": "nearest", "coordinates": "asymmetric", "nearest_rounding": "floor"}
LINEAR = {"mode": "linear", **CENTRES}
FILTER = {"antialias": True, "exclude_outside": True}


def read(surface, text, shape=None):
    request = parse_layer(text, DIALECTS[surface], shape).request
    return {"operator": request.operator, **request.parameters}


@pytest.mark.parametrize(
    ("surface", "text", "expected"),
    [
        ("torch.nn", "nn.Upsample(scale_factor=2)", {"scale": (2.0, 2.0), **CORNERS}),
        ("torch.nn", "nn.Upsample((3, 4, 5))", {"size": (3, 4, 5), **CORNERS}),
        ("torch.nn", "nn.Upsample(5, mode='nearest-exact')", {"size": (5, 5), **UPPER}),
        ("torch.nn", "nn.Upsample(scale_factor=1.5, mode='linear')", {"scale": (1.5,), **LINEAR}),
        ("torch.nn", "nn.UpsamplingNearest2d(scale_factor=(2, 3))", {"scale": (2.0, 3.0), **CORNERS}),
        ("torch.nn", "nn.UpsamplingBilinear2d(4)", {"size": (4, 4), "mode": "linear", "coordinates": "align_corners"}),
        ("torch.nn.functional", "F.interpolate(x, [2, 3], mode='bilinear')", {"size": (2, 3), **LINEAR}),
        (
            "torch.nn.functional",
            "F.interpolate(x, scale_factor=2, mode='bicubic', align_corners=True)",
            {"scale": (2.0, 2.0), "mode": "cubic", "coordinates": "align_corners"},
        ),
        ("tf.keras.layers", "layers.UpSampling1D(3)", {"scale": (3.0,), **UPPER}),
        ("tf.keras.layers", "layers.UpSampling2D((2, 1), interpolation='bilinear')", {"scale": (2.0, 1.0), **LINEAR}),
        ("keras-jax.layers", "keras.layers.UpSampling3D()", {"scale": (2.0, 2.0, 2.0), **UPPER}),
        ("keras-torch.layers", "layers.Resizing(3, 4, name='r')", {"size": (3, 4), **LINEAR}),
        ("keras-jax.ops", "keras.ops.image.resize(x, (3, 4), interpolation='nearest')", {"size": (3, 4), **UPPER}),
        ("tf.nn", "tf.image.resize(x, [3, 4])", {"size": (3, 4), **LINEAR}),
        ("jax.lax", "jax.image.resize(x, (1, 2, 3, 4), 'nearest')", {"size": (3, 4), **UPPER}),
        ("jax.lax", "jax.image.resize(x, (1, 2, 7), method='linear', antialias=False)", {"size": (7,), **LINEAR}),
        ("jax.lax", "image.resize(x, (1, 2, 3, 4), 'bilinear')", {"size": (3, 4), **LINEAR, **FILTER}),
        (
            "jax.lax",
            "jax.image.resize(x, (1, 2, 3, 4), 'cubic', antialias=False)",
            {"size": (3, 4), "mode": "cubic", **CENTRES, "cubic_a": -0.5, "antialias": False, "exclude_outside": True},
        ),
        (
            "tf.nn",
            "tf.image.resize(x, [3, 4], method=tf.image.ResizeMethod.NEAREST_NEIGHBOR)",
            {"size": (3, 4), **UPPER},
        ),
        (
            "torch.nn.functional",
            "F.interpolate(x, [2, 3], mode='bicubic', antialias=True)",
            {"size": (2, 3), "mode": "cubic", **CENTRES, **FILTER, "cubic_a": -0.5},
        ),
        (
            "torch.nn.functional",
            "F.interpolate(x, 3, mode='bilinear', antialias=True)",
            {"size": (3, 3), **LINEAR, **FILTER},
        ),
        ("tf.nn", "tf.image.resize(x, [3, 4], antialias=True)", {"size": (3, 4), **LINEAR, **FILTER}),
        (
            "tf.nn",
            "tf.image.resize(x, [3, 4], method='lanczos3')",
            {"size": (3, 4), "mode": "lanczos3", **CENTRES, "antialias": False, "exclude_outside": True},
        ),
        (
            "tf.nn",
            "tf.image.resize(x, [3, 4], method=tf.image.ResizeMethod.AREA)",
            {"size": (3, 4), "mode": "area", **CENTRES},
        ),
        (
            "tf.nn",
            "tf.image.resize(x, [3, 4], method='bicubic')",
            {
                "size": (3, 4),
                "mode": "cubic",
                **CENTRES,
                "antialias": False,
                "exclude_outside": True,
                "cubic_a": -0.5,
            },
        ),
        (
            "keras-jax.ops",
            "keras.ops.image.resize(x, (3, 4), interpolation='bicubic', antialias=True)",
            {"size": (3, 4), "mode": "cubic", **CENTRES, **FILTER, "cubic_a": -0.5},
        ),
        (
            "jax.lax",
            "jax.image.resize(x, (1, 2, 3, 4), 'bilinear')",
            {"size": (3, 4), **LINEAR, **FILTER},
        ),
        (
            "jax.lax",
            "jax.image.resize(x, (*x.shape[:2], 3, 4), method='linear', antialias=False)",
            {"size": (3, 4), **LINEAR},
        ),
        (
            "flax.linen",
            "jax.image.resize(x, (x.shape[0], 3, x.shape[-1]), jax.image.ResizeMethod.CUBIC_PYTORCH, antialias=False)",
            {"size": (3,), "mode": "cubic", **CENTRES, "cubic_a": -0.75},
        ),
        (
            "flax.nnx",
            "jax.image.resize(x, (x.shape[0], 3, 4, x.shape[3]), 'bicubic-pytorch')",
            {"size": (3, 4), "mode": "cubic", **CENTRES, **FILTER, "cubic_a": -0.5},
        ),
        ("jax.lax", "jax.image.resize(x, (1, 2, 3, 4), 'area')", {"size": (3, 4), "mode": "area", **CENTRES}),
        ("keras-torch.layers", "layers.Resizing(3, 4, antialias=True)", {"size": (3, 4), **LINEAR, **FILTER}),
        (
            "tf.nn",
            "tf.compat.v1.image.resize_nearest_neighbor(x, [3, 4], align_corners=True)",
            {
                "size": (3, 4),
                "mode": "nearest",
                "coordinates": "align_corners",
                "nearest_rounding": "round_prefer_ceil",
            },
        ),
    ],
)
def test_words_of_a_framework_become_one_rule(surface, text, expected):
    assert read(surface, text) == {"operator": "resize", **expected}


def test_batch_and_channels_of_a_shape_must_be_those_of_the_input():
    text = "jax.image.resize(x, (1, 2, 3, 4), 'linear')"
    assert read("jax.lax", text, (1, 2, 9, 9))["size"] == (3, 4)
    with pytest.raises(ConformanceError, match="must be those of the input, for example x"):
        read("jax.lax", text, (1, 3, 9, 9))


def test_a_scale_that_is_computed_again_is_a_size():
    text = "F.interpolate(x, scale_factor=1.7, recompute_scale_factor=True)"
    assert read("torch.nn.functional", text, (1, 1, 5, 6))["size"] == (8, 10)
    with pytest.raises(ConformanceError, match="depends on the size of the input: add --shape"):
        read("torch.nn.functional", text)


def test_the_mode_area_is_adaptive_average_pooling():
    expected = {"operator": "adaptive_avg_pool", "output_size": (2, 3)}
    assert read("torch.nn.functional", "F.interpolate(x, (2, 3), mode='area')") == expected
    assert read("torch.nn.functional", "F.interpolate(x, scale_factor=0.5, mode='area')", (1, 1, 5, 7)) == expected


@pytest.mark.parametrize(
    ("surface", "text", "why"),
    [
        ("torch.nn", "nn.Upsample()", "one of size and scale_factor is needed"),
        ("torch.nn", "nn.Upsample(2, 2)", "one of size and scale_factor is needed"),
        ("torch.nn", "nn.Upsample(2, mode='cubic')", "mode='cubic': not one of 'nearest'"),
        ("torch.nn", "nn.Upsample(2, align_corners=True)", "the mode 'nearest' has no such option"),
        ("torch.nn", "nn.Upsample(scale_factor=0)", "neither a positive number"),
        ("torch.nn", "nn.Upsample(scale_factor=True)", "neither a positive number"),
        ("torch.nn", "nn.Upsample(scale_factor=(2, 2, 2), mode='bilinear')", "for each of 2 spatial axes"),
        ("torch.nn.functional", "F.interpolate(x, 2, antialias=True)", "with 'bilinear', 'bicubic', 'lanczos'"),
        (
            "torch.nn.functional",
            "F.interpolate(x, 2, mode='bilinear', align_corners=True, antialias=True)",
            "without align_corners",
        ),
        ("tf.keras.layers", "layers.Resizing(3, 4, interpolation='bicubic')", "only 'nearest', 'bilinear'"),
        ("tf.keras.layers", "layers.Resizing(3, 4, crop_to_aspect_ratio=True)", "only False can be translated"),
        ("tf.keras.layers", "layers.UpSampling2D(1.5)", "neither an integer"),
        ("tf.keras.layers", "layers.UpSampling2D(0)", "neither a positive number"),
        ("tf.nn", "tf.image.resize(x, [3, 4], method=tf.image.ResizeMethod.GAUSSIAN)", "only 'nearest', 'bilinear'"),
        ("keras-jax.ops", "keras.ops.image.resize(x, 3)", "not two positive integers"),
        ("jax.lax", "jax.image.resize(x, (1, 2, 3, 4), 'gaussian')", "not one of 'nearest'"),
        ("jax.lax", "jax.image.resize(x, (2, 3), 'linear')", "not the batch, the channels and the extents"),
        ("jax.lax", "jax.image.resize(x, (1, 2, 3, 0), 'linear')", "must be positive integers"),
        (
            "jax.lax",
            "jax.image.resize(x, (x.shape[0], x.shape[-1], 3), 'linear')",
            "for example x.shape[0] and x.shape[1]",
        ),
        ("jax.lax", "jax.image.resize(x, (*x.shape[1:], 3), 'linear')", "other than *x.shape[:2]"),
        ("jax.lax", "jax.image.resize(x, (*x.shape[:99], 3), 'linear')", "not the first extents of an array"),
        ("jax.lax", "jax.image.resize(x, (x.size[0], 2, 3), 'linear')", "is not an extent of a shape"),
        ("jax.lax", "jax.image.resize(x, (x.shape[n], 2, 3), 'linear')", "an index is an integer"),
        ("tf.nn", "tf.image.resize(x, [3, 0])", "not two positive integers"),
        ("tf.nn", "tf.image.resize(x, [3, 4], antialias=1)", "antialias"),
        ("tf.nn", "tf.image.resize(x, [3, 4], preserve_aspect_ratio=True)", "only False can be translated"),
    ],
)
def test_calls_without_a_translation_say_why(surface, text, why):
    with pytest.raises(ConformanceError, match=re.escape(why)):
        read(surface, text)


def test_a_mode_for_planes_does_not_fit_a_row():
    with pytest.raises(ConformanceError, match="for 2 spatial axes, and the input has 1"):
        read("torch.nn.functional", "F.interpolate(x, 4, mode='bilinear')", (1, 1, 8))


@pytest.mark.parametrize("shape", [(2, 3, 5, 6), (2, 5, 6, 3)])
def test_the_shape_of_jax_has_the_layout_of_the_input(shape):
    assert read("jax.lax", f"jax.image.resize(x, {shape}, 'nearest')", (2, 3, 4, 4))["size"] == (5, 6)


def test_a_shape_with_other_channels_is_refused():
    with pytest.raises(ConformanceError, match="batch and channels must be those of the input"):
        read("jax.lax", "jax.image.resize(x, (2, 4, 5, 6), 'nearest')", (2, 3, 4, 4))
