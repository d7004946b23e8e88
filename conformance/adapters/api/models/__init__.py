"""The interface of what adapters know of whole models: weights, the syntax of classes, and hints on other layers."""

from conformance.adapters.api.models.hints import (
    LayerDefault,
    OtherLayer,
    default_differences,
    find_other_layer,
    setting_text,
)
from conformance.adapters.api.models.modules import (
    LayerStep,
    ModuleStyle,
    layer_steps,
)
from conformance.adapters.api.models.weights import (
    Array,
    LayerKind,
    LayerLookup,
    LayerWeights,
    WeightedLayer,
    WeightError,
    WeightFormat,
    WeightName,
    channels_first_kernel,
    channels_last_kernel,
    check_array,
    check_layer,
    inferred_kind,
    reordered_features,
)

__all__ = [
    "Array", "LayerDefault", "LayerKind", "LayerLookup", "LayerStep", "LayerWeights", "ModuleStyle", "OtherLayer",
    "WeightError", "WeightFormat", "WeightName", "WeightedLayer", "channels_first_kernel", "channels_last_kernel",
    "check_array", "check_layer", "default_differences", "find_other_layer", "inferred_kind", "layer_steps",
    "reordered_features", "setting_text",
]  # fmt: skip
