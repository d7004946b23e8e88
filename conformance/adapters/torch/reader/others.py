"""Layers and functions without a window: the values on whose default frameworks differ."""

SETTINGS = ("eps", "momentum", "negative_slope")
"""Attributes with such a value, in every class that has them."""
SETTINGS_OF = {
    "GELU": ("approximate",), "ELU": ("alpha",), "CELU": ("alpha",), "Softplus": ("beta",),
    "Upsample": ("mode", "align_corners"),
}  # fmt: skip
"""Further attributes of layers of a class."""
NORM = ("input", "running_mean", "running_var", "weight", "bias", "training", "momentum", "eps")
FUNCTIONS = {
    "gelu": (("input", "approximate"), {"approximate": "none"}),
    "leaky_relu": (("input", "negative_slope"), {"negative_slope": 0.01}),
    "elu": (("input", "alpha"), {"alpha": 1.0}),
    "celu": (("input", "alpha"), {"alpha": 1.0}),
    "softplus": (("input", "beta"), {"beta": 1.0}),
    "batch_norm": (NORM, {"eps": 1e-5, "momentum": 0.1}),
    "instance_norm": (NORM, {"eps": 1e-5}),
    "layer_norm": (("input", "normalized_shape", "weight", "bias", "eps"), {"eps": 1e-5}),
    "group_norm": (("input", "num_groups", "weight", "bias", "eps"), {"eps": 1e-5}),
    "interpolate": (
        ("input", "size", "scale_factor", "mode", "align_corners"),
        {"mode": "nearest", "align_corners": None},
    ),
}
"""The arguments of functions in the order of their positions, and the defaults of those with such a value."""


def settings_of(layer, kind):
    """Return the values of a layer on whose default frameworks differ. kind: its class of PyTorch."""
    return {name: getattr(layer, name) for name in (*SETTINGS, *SETTINGS_OF.get(kind, ())) if hasattr(layer, name)}


def function_settings(function, args, kwargs):
    """Return the values of a call of a function in FUNCTIONS."""
    names, defaults = FUNCTIONS[function]
    given = {**dict(zip(names, args)), **kwargs}
    return {name: given.get(name, default) for name, default in defaults.items()}
