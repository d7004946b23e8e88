"""Translate a layer whose case is known to one surface."""

from __future__ import annotations

from collections.abc import Iterator

from conformance import ConformanceError
from conformance.adapters.api import LayerStep, ModuleStyle, Program, Surface, Unsupported, layer_steps
from conformance.cases.case import Case
from conformance.cases.operators import OPERATORS, WEIGHT_INPUTS
from conformance.translation.ad_hoc_case import CaseRequest
from conformance.translation.lowering import translate
from conformance.translation.side_by_side import TranslationBackground, case_in_one_call, entries_for_case
from conformance.translation.single_call import find_requested_call
from conformance.translation.source.translated_layer import TargetLayer
from conformance.translation.step_lowering import native_limitation

INPUT = "x"
PLACEHOLDERS = frozenset({"kernel", "bias"})
"""Variables of a program that pads first, with zeros in place of the weights of the layer."""
PLAIN_STYLE = ModuleStyle((), "", "", "")
COMMAND, COMMAND_OF_SECOND = "{command}", "{command of the second result}"
"""In reasons and caveats: the command that prints the program of a layer, or of its second result."""


def _program_of(request: CaseRequest, case: Case, surface: Surface) -> Program | Unsupported:
    """Return the program of a case. A layer that pads first is one call where the surface has one."""
    one_call = case_in_one_call(case, surface) if request.padding_mode else None
    return translate(one_call or case, surface)


def _steps_of(request: CaseRequest, case: Case, program: Program, style: ModuleStyle) -> tuple[LayerStep, ...] | None:
    placeholders = PLACEHOLDERS if request.padding_mode else frozenset[str]()
    data = frozenset(_further_inputs(case))
    return layer_steps(program.text, len(case.inputs), style, placeholders, data)


def _further_inputs(case: Case) -> tuple[str, ...]:
    return tuple(name for name in case.inputs if name not in (INPUT, *WEIGHT_INPUTS))


def _caveats(case: Case, surface: Surface, program: Program) -> Iterator[str]:
    """Yield why the program is not one native call."""
    limitation = native_limitation(case, surface) if program.how != "native" else None
    if limitation:
        yield f"{program.how}: {limitation.reason}"


def _missing_result(request: CaseRequest) -> Iterator[str]:
    """Yield that a layer has several results if the request selects none of them."""
    outputs = OPERATORS[request.operator].outputs
    if outputs and "output" not in request.parameters:
        others = ", ".join(outputs[1:])
        yield f"the layer also returns the {others}, which this does not: see {COMMAND_OF_SECOND}"


def _depends_on_size(request: CaseRequest, surface: Surface, steps: tuple[LayerStep, ...], style: ModuleStyle) -> bool:
    """Whether the text differs for another size of the input."""
    for changed, other in request.other_sizes():
        if changed == "the channels":
            continue
        try:
            case = other.case()
        except ConformanceError:  # the parameters are invalid for this size
            continue
        program = _program_of(other, case, surface)
        if isinstance(program, Unsupported) or _steps_of(other, case, program, style) != steps:
            return True
    return False


def target_layer(
    request: CaseRequest, case: Case, surface: Surface, style: ModuleStyle, background: TranslationBackground
) -> TargetLayer:
    """Return the layer on a surface, or the reason why it has none.

    For a known shape, it is the one call that is exact for this size, if there is one.
    """
    single = find_requested_call(request, case, surface)
    case = single.case if single else case
    program = _program_of(request, case, surface)
    if isinstance(program, Unsupported):
        return TargetLayer(surface.name, None, program.reason)
    steps = _steps_of(request, case, program, style)
    if steps is None:
        return TargetLayer(surface.name, None, f"{program.how}: several lines read the weights, see {COMMAND}")
    return TargetLayer(
        surface.name,
        steps,
        caveats=(
            *([single.note] if single else []),
            *_missing_result(request),
            *_caveats(case, surface, program),
            *_deviations(case, surface, background),
        ),
        further_inputs=_further_inputs(case),
        needs_shape=request.shape is None and _depends_on_size(request, surface, steps, style),
    )


def _deviations(case: Case, surface: Surface, background: TranslationBackground) -> Iterator[str]:
    for entry in entries_for_case(background, case, surface.name):
        yield f"known deviation {entry.id}: {' '.join(entry.reason.split())}"
