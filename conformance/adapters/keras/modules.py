"""Models of Keras as people write them. They are the same on every engine; only some compositions differ."""

from __future__ import annotations

from conformance.adapters.api import ModuleStyle
from conformance.adapters.keras.engines import ENGINES


def _style(module: str, imports: tuple[str, ...], optional_imports: tuple[str, ...] = ()) -> ModuleStyle:
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
        optional_imports=optional_imports,
    )


MODULE_STYLES = {
    "tf.keras.layers": _style("tf.keras", ("import tensorflow as tf",)),
    **{
        # Models that use no function of the engine are the same on every engine.
        f"keras-{engine.name}.layers": _style("keras", ("import keras",), tuple(engine.setup.splitlines()))
        for engine in ENGINES
    },
}
