"""The interface that adapters implement, and functions that they share.

An adapter imports names from here: `from conformance.adapters.api import Surface, Unsupported, call`. The module
`surface` describes what an adapter defines.
"""

from conformance.adapters.api.devices import Device, InstructionVariables
from conformance.adapters.api.source_text import (
    array_text,
    call,
    crop,
    number,
    pairs_for_all_axes,
    pairs_of,
    per_axis,
    quoted,
    slices,
    subsample,
    text_unless_default,
    tuple_of,
)
from conformance.adapters.api.surface import (
    FLOATS,
    AdapterVariant,
    Backend,
    Bfloat16Conversion,
    Citation,
    Code,
    Declaration,
    DeviceSupport,
    GradientWriter,
    Lowering,
    Program,
    ProgramWrapper,
    Surface,
    Unsupported,
)
from conformance.cases.steps import Step

__all__ = [
    "FLOATS",
    "AdapterVariant",
    "Backend",
    "Bfloat16Conversion",
    "Citation",
    "Code",
    "Declaration",
    "Device",
    "DeviceSupport",
    "GradientWriter",
    "InstructionVariables",
    "Lowering",
    "Program",
    "ProgramWrapper",
    "Step",
    "Surface",
    "Unsupported",
    "array_text",
    "call",
    "crop",
    "number",
    "pairs_for_all_axes",
    "pairs_of",
    "per_axis",
    "quoted",
    "slices",
    "subsample",
    "text_unless_default",
    "tuple_of",
]
