"""The interface that adapters implement, and functions that they share.

An adapter imports names from here: `from conformance.adapters.api import Surface, Unsupported, call`. The module
`surface` describes what an adapter defines.
"""

from conformance.adapters.api.array_operations import ArrayOperations
from conformance.adapters.api.axes import (
    MAX_WINDOW_AXES,
    axis_letters,
    channels_last_fields,
    limit_axes,
    too_many_axes,
)
from conformance.adapters.api.backend import (
    LABEL_SEPARATOR,
    AdapterVariant,
    Backend,
    DeviceSupport,
    DeviceSupportByName,
    WorkerCommand,
    backend_on_device,
    backend_with_threads,
    without_label,
)
from conformance.adapters.api.call_arguments import (
    REPLICATE_AND_CIRCULAR_NAMES,
    count_include_pad_argument,
    crops,
    dilation_argument,
    exceeds_extent,
    flat_pads,
    groups_argument,
    nonzero_argument,
    pooling_stride_argument,
    rejected_by_extent,
    spatial_axes,
    stride_argument,
)
from conformance.adapters.api.compositions import PoolingCompositions, as_lines, divisors, in_wider_dtype
from conformance.adapters.api.declarations import Citation, Declaration, load_declarations
from conformance.adapters.api.derivatives import derivative_surface, mapped_surface
from conformance.adapters.api.devices import (
    AVX2,
    CPU,
    DEVICE_NAMES,
    FLOAT32,
    NATIVE,
    ON_CPU,
    PRECISIONS,
    Device,
    InstructionVariables,
    instruction_limit,
    limit_instructions_source,
    used_features,
)
from conformance.adapters.api.dtypes import (
    ALL_DTYPES,
    FLOATING,
    INTEGERS,
    SELECTION_OPERATORS,
    is_floating,
    unsupported_lowering,
    unsupported_operators,
)
from conformance.adapters.api.dynamic import InputSizes, Sizes, calls_with_other_sizes
from conformance.adapters.api.indexed_padding import indexed_pad
from conformance.adapters.api.layer_arguments import (
    AUTO_PAD_NAMES,
    CAUSAL,
    SAME_AND_VALID_WORDS,
    Pairs,
    array_pads,
    batch_and_channel_entries,
    causal_padding,
    choice_argument,
    count_argument,
    crop_from_padding,
    ends_from_last_axis,
    flag_argument,
    is_whole_number,
    kernel_reach,
    modes_argument,
    named_padding_argument,
    number_argument,
    one_per_axis,
    operator_with_indices,
    optional_array_argument,
    padding_argument,
    padding_by_name,
    padding_from_crop,
    read_pairs,
    rounding_argument,
    sizes_argument,
    spatial_entries,
    split_surplus,
    surplus_over_size,
    unpooled_size,
)
from conformance.adapters.api.layer_parser import (
    LayerCall,
    PlainName,
    ReshapedName,
    UnknownModule,
    UnreadableLayer,
    parse_layer_call,
)
from conformance.adapters.api.layers import (
    ADD_SHAPE,
    IMPLIED_GROUPS,
    PADDING_MODE,
    ArgumentReading,
    BoundCall,
    Dialect,
    LayerSignature,
)
from conformance.adapters.api.model_reader import EXTRACTION_FILE, ModelReader
from conformance.adapters.api.models import (
    Array,
    LayerDefault,
    LayerKind,
    LayerLookup,
    LayerStep,
    LayerWeights,
    ModuleStyle,
    OtherLayer,
    WeightedLayer,
    WeightError,
    WeightFormat,
    WeightName,
    channels_first_kernel,
    channels_last_kernel,
    check_array,
    check_layer,
    default_differences,
    find_other_layer,
    inferred_kind,
    layer_steps,
    reordered_features,
    setting_text,
)
from conformance.adapters.api.source_text import (
    INDENT,
    call,
    crop,
    divide_by_ones,
    flat_pad_list,
    function_lines,
    is_framework_same,
    number,
    padded_indices_text,
    pairs_for_all_axes,
    pairs_of,
    per_axis,
    quoted,
    slices,
    text_unless_default,
    tuple_of,
    uses_framework_defaults,
)
from conformance.adapters.api.surface import (
    FLOATS,
    Bfloat16Conversion,
    ChainLowering,
    Code,
    GradientWriter,
    Language,
    Lowering,
    MixedPrecision,
    ModeSelector,
    Program,
    ProgramWrapper,
    Recipe,
    RouteStages,
    Surface,
    Unsupported,
    UnsupportedStep,
)
from conformance.adapters.api.transposed import (
    ChannelsLastComposition,
    OutputCrop,
    output_crops,
    output_slice,
    single_group,
    uncropped_group,
    with_dilated_kernel,
)
from conformance.adapters.api.window_cells import GatheredCells, StackedCells, UnfoldedCells
from conformance.adapters.api.words import is_causal, is_depthwise, named_padding, padding_word
from conformance.cases.steps import PerAxisPairs, Step
from reports.results.vocabulary import Level

__all__ = [
    "ADD_SHAPE", "ALL_DTYPES", "AUTO_PAD_NAMES", "AVX2", "CAUSAL", "CPU", "DEVICE_NAMES", "EXTRACTION_FILE", "FLOAT32",
    "FLOATING", "FLOATS", "IMPLIED_GROUPS", "INDENT", "INTEGERS", "LABEL_SEPARATOR", "MAX_WINDOW_AXES", "NATIVE",
    "ON_CPU", "PADDING_MODE", "PRECISIONS", "REPLICATE_AND_CIRCULAR_NAMES", "SAME_AND_VALID_WORDS",
    "SELECTION_OPERATORS",
    "AdapterVariant", "ArgumentReading", "Array", "ArrayOperations", "Backend", "Bfloat16Conversion", "BoundCall",
    "ChainLowering", "ChannelsLastComposition", "Citation", "Code", "Declaration", "Device", "DeviceSupport",
    "DeviceSupportByName", "Dialect", "GatheredCells", "GradientWriter", "InputSizes", "InstructionVariables",
    "Language", "LayerCall", "LayerDefault", "LayerKind", "LayerLookup", "LayerSignature", "LayerStep", "LayerWeights",
    "Level", "Lowering", "MixedPrecision", "ModeSelector", "ModelReader", "ModuleStyle", "OtherLayer", "OutputCrop",
    "Pairs", "PerAxisPairs", "PlainName", "PoolingCompositions", "Program", "ProgramWrapper", "Recipe", "ReshapedName",
    "RouteStages", "Sizes", "StackedCells", "Step", "Surface", "UnfoldedCells", "UnknownModule",
    "UnreadableLayer", "Unsupported", "UnsupportedStep", "WeightError", "WeightFormat", "WeightName", "WeightedLayer",
    "WorkerCommand", "array_pads", "as_lines",
    "axis_letters", "backend_on_device", "backend_with_threads", "batch_and_channel_entries", "call",
    "calls_with_other_sizes", "causal_padding", "channels_first_kernel", "channels_last_fields",
    "channels_last_kernel", "check_array", "check_layer", "choice_argument", "count_argument",
    "count_include_pad_argument", "crop", "crop_from_padding", "crops", "default_differences", "derivative_surface",
    "dilation_argument", "divide_by_ones", "divisors", "ends_from_last_axis", "exceeds_extent", "find_other_layer",
    "flag_argument", "flat_pad_list", "flat_pads", "function_lines", "groups_argument", "in_wider_dtype",
    "indexed_pad", "inferred_kind", "instruction_limit", "is_causal", "is_depthwise", "is_floating",
    "is_framework_same", "is_whole_number", "kernel_reach", "layer_steps", "limit_axes", "limit_instructions_source",
    "load_declarations", "mapped_surface", "modes_argument", "named_padding", "named_padding_argument",
    "nonzero_argument", "number", "number_argument", "one_per_axis", "operator_with_indices",
    "optional_array_argument", "output_crops", "output_slice", "padded_indices_text", "padding_argument",
    "padding_by_name", "padding_from_crop", "padding_word", "pairs_for_all_axes", "pairs_of", "parse_layer_call",
    "per_axis", "pooling_stride_argument", "quoted", "read_pairs", "rejected_by_extent", "reordered_features",
    "rounding_argument", "setting_text", "single_group", "sizes_argument", "slices", "spatial_axes",
    "spatial_entries", "split_surplus", "stride_argument", "surplus_over_size", "text_unless_default", "too_many_axes",
    "tuple_of", "uncropped_group", "unpooled_size", "unsupported_lowering", "unsupported_operators", "used_features",
    "uses_framework_defaults", "with_dilated_kernel", "without_label",
]  # fmt: skip
