"""Models of Keras as people write them. They are the same on every engine; only some compositions differ."""

from __future__ import annotations

from conformance.adapters.api import ModuleStyle
from conformance.adapters.keras import VARIANTS


def _style(module: str, imports: tuple[str, ...]) -> ModuleStyle:
    return ModuleStyle(
        (*imports, "import numpy as np"),
        f"{module}.Model",
        "def __init__(self{parameters}):",
        "call",
        ("super().__init__()",),
        # The dtype of a model follows from its policy; programs set it for the case.
        omitted_keywords=frozenset({"dtype", "kernel_initializer"}),
        sequence=f"{module}.Sequential([{{layers}}])",
        name_keyword="name",
    )


MODULE_STYLES = {
    "tf.keras.layers": _style("tf.keras", ("import tensorflow as tf",)),
    **{f"keras-{engine}.layers": _style("keras", ("import keras",)) for engine in VARIANTS},
}
