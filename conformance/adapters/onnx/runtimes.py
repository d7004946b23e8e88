"""ONNX: surfaces of the runtimes that run a graph. An adapter names its nodes, its kernels and its session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from conformance.adapters.api import Code, Lowering, Step, Surface, Unsupported
from conformance.adapters.onnx import nodes, windows
from conformance.adapters.onnx.dtypes import dtypes_without, limited_lowerings, limited_words, unsupported_by_schema
from conformance.adapters.onnx.graph import OPSET_VERSION, UNTYPED_OUTPUT, model_lines
from conformance.adapters.onnx.windows import NodeLimit

CompositionLimit = Callable[[Step, str], Unsupported | None]
"""Returns the reason not to use a composition. Takes the step and the source text of the composition."""
NOTHING_MISSING: Mapping[str, Unsupported] = MappingProxyType({})
MissingKernel = Callable[[str, str], Unsupported]
"""Returns the reason of a runtime that has no kernel for a node type in a dtype."""


def runtime_surface(
    name: str,
    limit: NodeLimit,
    session: Sequence[str],
    *,
    lowerings: Mapping[str, Lowering] | None = None,
    composition_limit: CompositionLimit = lambda _step, _text: None,
    unsupported_dtypes: Mapping[str, Mapping[str, Unsupported]] | None = None,
    constant_weights: bool = True,
    output: str = UNTYPED_OUTPUT,
    opset_version: int = OPSET_VERSION,
    missing_nodes: Mapping[str, Unsupported] = NOTHING_MISSING,
    **fields: Any,
) -> Surface:
    """Return the surface of a runtime that computes graphs.

    limit: returns the reason not to use a node.
    session: lines that run `model` with `inputs`, arrays by name, and assign the result to `x`.
    lowerings: nodes that the runtime requires in another form than the ONNX adapter writes them.
    composition_limit: returns the reason not to use several nodes in place of one.
    unsupported_dtypes: see Surface. The other dtypes of nodes and compositions are supported.
    constant_weights, output, opset_version: see model_lines.
    missing_nodes: the reasons not to use earlier nodes that resize, by a part of their text.
    fields: other fields of the surface.
    """

    def run_model(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
        model = model_lines(lines, names, constant_weights=constant_weights, output=output, opset_version=opset_version)
        return (*model, *session)

    unsupported, words = unsupported_dtypes or {}, limited_words(limit)
    own: dict[str, Lowering] = {
        "grid_sample": partial(nodes.grid_sample, opset_version=opset_version),
        **(lowerings or {}),
    }
    return Surface(
        name,
        limited_lowerings(limit, own),
        words={**words, "resize": partial(_present_node, words["resize"], missing_nodes)},
        wrap_program=run_model,
        unsupported_dtypes=unsupported,
        takes_flat_pads=True,
        fallbacks={
            operator: partial(_limited_composition, lowering, composition_limit)
            for operator, lowering in windows.fallbacks(limit).items()
        },
        building_blocks=nodes.BUILDING_BLOCKS,
        dtypes=dtypes_without(unsupported),
        **fields,
    )


def _present_node(lowering: Lowering, missing: Mapping[str, Unsupported], step: Step) -> Code:
    code = lowering(step)
    if isinstance(code, Unsupported):
        return code
    text = code if isinstance(code, str) else "\n".join(code)
    return next((reason for part, reason in missing.items() if part in text), code)


def _limited_composition(lowering: Lowering, limit: CompositionLimit, step: Step) -> Code:
    code = lowering(step)
    if isinstance(code, Unsupported):
        return code
    return limit(step, code if isinstance(code, str) else "\n".join(code)) or code


def missing_kernel(kernels: Mapping[str, frozenset[str]], reason: MissingKernel, step: Step) -> Unsupported | None:
    """Return the reason if the schema does not allow the dtype of a step, or the runtime has no kernel for it.

    kernels: the dtypes of each operator, of those that the schemas allow.
    """
    if step.dtype in kernels[step.operator]:
        return None
    return unsupported_by_schema(step) or reason(nodes.NODE_TYPES[step.operator], step.dtype)
