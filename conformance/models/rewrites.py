"""What to write for the layers that a target computes otherwise than the model does.

For most targets this is a program. The models of some targets are written by a converter: for them it is the change of
the layer in the model that is converted.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from conformance import ConformanceError
from conformance.adapters.api import Backend, Surface, Unsupported, as_lines, indexed_pad
from conformance.cases.arrays import Array
from conformance.cases.case import Case
from conformance.cases.operators import OPERATORS, Arithmetic, Geometry
from conformance.cases.steps import BuildingBlock, Step, case_step
from conformance.exploration.finding_conditions import CORRECT_STATUSES
from conformance.judging.ledger import load_ledger
from conformance.models.layer import MAX_NUMBER, ModelLayer
from conformance.models.padded_layers import one_call_questions, one_call_request
from conformance.models.questions import NORM, SPECIAL_NUMBERS
from conformance.models.source_norms import (
    averaged_powers_of_whole_windows,
    averages_signed_powers,
    is_even,
    scaled_norm,
    source_norm_program,
)
from conformance.models.verdicts import Audit, AuditedLayer, LayerQuestions, TargetVerdict
from conformance.translation import text, verified
from conformance.translation.ad_hoc_case import CaseRequest
from conformance.translation.call_text import call_text
from conformance.translation.lowering import translate_steps
from conformance.translation.option_text import size_text
from conformance.translation.rewrites import REWRITES, SINGLE_CALLS
from conformance.translation.side_by_side import (
    TranslationBackground,
    case_in_one_call,
    program_with_setup,
    translate_case,
)
from conformance.translation.single_call import depends_on_size, program_for_every_size, single_call_case, without_bias
from conformance.translation.step_lowering import lower_step, native_limitation
from reports.results.audits import LayerVerdict
from reports.results.vocabulary import How

NO_CHANGE_KNOWN = "no change of the model is known with which its layers compute this; --full-programs prints a graph"
MANUAL_BINS = "reduce each of these slices to one number for each channel, and join the numbers; not run in this audit"
GATHERED_CELLS = (
    "before the conversion, take the cells of each axis by their index in place of the padding; this audit has run it "
    "with these operators of the target, and --full-programs prints the graph"
)
SLICED_BINS = (
    "before the conversion, write the layer as the {} of these slices, one axis after the other, and join them; "
    "this audit has run it with these operators of the target, and --full-programs prints the graph"
)
NOT_RUN = "not run in this audit"
SCALED_NORM = (
    "which counts the last window as a whole one: the norm of the reference, multiplied by the root of the cells of a "
    "window over those inside the input. The norm alone: {}. The numbers that multiply it are for this input size"
)
AVERAGED_POWERS = (
    "also for negative numbers and partial windows: the average of the powers, multiplied by the cells of a whole "
    f"window, and the root of this; {NOT_RUN}"
)
FRACTIONAL = "a fractional power of a negative number is NaN, and the result is NaN only if the target's average is"
PAD = "pad"
Programs = Mapping[tuple[int, str], str]
"""What to write, by the number of the distinct layer and the name of the target."""


def case_of_layer(layer: ModelLayer) -> Case:
    """Return the case of a layer with all its channels. Raises ConformanceError if it is too large."""
    return request_of_layer(layer).case()


def request_of_layer(layer: ModelLayer) -> CaseRequest:
    """Return the request for the case of a layer."""
    kernel = layer.kernel or None
    shape = (1, *layer.shape[1:])
    return CaseRequest(
        layer.operator, dict(layer.parameters), shape=shape, dtype=layer.dtype, kernel=kernel, bias=layer.bias
    )


def rewrite_reason(questions: LayerQuestions, surface: Surface) -> str:
    """Return why one call of a surface does not compute a layer, "" without a reason."""
    case = questions.questions[0].candidate.case
    # A bias that the call does not take would hide why the call without it does not do either.
    limitation = native_limitation(without_bias(case), surface) or native_limitation(case, surface)
    return limitation.reason if isinstance(limitation, Unsupported) else ""


def rewrite_programs(
    audit: Audit,
    targets: Sequence[tuple[Backend, Surface]],
    source: Surface | None,
    width: int,
    *,
    with_graphs: bool = False,
) -> Programs:
    """Return what to write for every layer that is not the same call on a target.

    source: the surface of the model. with_graphs: whether programs are also written for targets whose models a
    converter writes.
    """
    found = {}
    for number, one in enumerate(audit.layers):
        for backend, surface in targets:
            verdict = one.verdicts.get(surface.name)
            if verdict is None or one.checked is None:
                continue
            case, is_converted = _case_to_write(one, surface), surface.is_converted and not with_graphs
            bins = list(_bin_lines(one, surface, width, is_converted)) or _unsupported_lines(one, surface, width)
            lines = [*bins, *(special_lines(verdict, surface, width) if is_converted else ())]
            is_written = case is not None or verdict.source_deviations
            lines += source_lines(verdict, source, surface, width) if is_written else ()
            if case is not None and is_converted:
                lines += [] if bins else change_lines(case, surface, source, width)
            elif case is not None:
                lines += _program_lines(case, backend, surface, verdict, width)
            if source and one.layer.operator == NORM:
                write = source_norm_change if is_converted else source_norm_lines
                lines = list(write(one, (backend, surface), source, width)) or lines
            if lines:
                found[number, surface.name] = "\n".join(lines)
    return found


def special_lines(verdict: TargetVerdict, surface: Surface, width: int) -> Iterator[str]:
    """Yield that a layer differs for NaN or infinities only, and what that means for the model."""
    differing = list(verdict.differing)
    if not differing or not SPECIAL_NUMBERS.issuperset(differing):
        return
    agreeing = [name for name in verdict.results if name not in differing]
    yield from _comment(f"differs for {_listed(differing)} only; agrees for {_listed(agreeing)}", width)
    text = f"no change of the model is known with which {surface.name} computes the layer for {_listed(differing)}"
    yield from _comment(f"{text}: where they can occur, test the input of the model for them before it runs", width)


def source_lines(verdict: TargetVerdict, source: Surface | None, surface: Surface, width: int) -> Iterator[str]:
    """Yield that a program has the result of the reference, where the model's framework has another."""
    name = source.name if source else "the framework of the model"
    groups: dict[str, list[str]] = {}
    for numbers, entry in verdict.source_deviations.items():
        groups.setdefault(" ".join(entry.reason.split()), []).append(numbers)
    for reason, found in groups.items():
        text = f"this computes the result of the reference for {_listed(found)}, and {name} another one: {reason}"
        yield from _comment(text, width)
    for numbers, one in verdict.conventions.items():
        answers = f"this computes {one.target_answer!r} on {surface.name}, and {name} {one.source_answer!r}"
        yield from _comment(f"for {numbers}, {answers} (convention {one.convention})", width)


def source_norm_lines(one: AuditedLayer, target: tuple[Backend, Surface], source: Surface, width: int) -> Iterator[str]:
    """Yield the program with the result of the model for a norm that its framework computes from averaged powers."""
    backend, surface = target
    verdict, case = one.verdicts[surface.name], case_of_layer(one.layer)
    program = source_norm_program(case, surface) if _has_other_norm(case, verdict, source) else None
    if program is None:
        return
    yield from _comment(text.TranslatedCase(case).heading, width)
    if isinstance(program, Unsupported):
        reason = f"the suite has no program with the result of {source.name} on {surface.name}: {program.reason}"
        yield from _comment(reason, width)
        return
    verified = verified_text(verdict)
    about = SCALED_NORM.format(verified) if scaled_norm(case_step(case)) and verdict.results else AVERAGED_POWERS
    yield from _comment(f"the result of {source.name}, {about}", width)
    yield from _fractional_power(case, width)
    yield program_with_setup(backend, program).rstrip("\n")


def source_norm_change(
    one: AuditedLayer, target: tuple[Backend, Surface], source: Surface, width: int
) -> Iterator[str]:
    """Yield how to write a norm in the model with operators that a converter finds on a target."""
    _, surface = target
    verdict, case = one.verdicts[surface.name], case_of_layer(one.layer)
    if not _has_other_norm(case, verdict, source):
        return
    steps = averaged_powers_of_whole_windows(case_step(case))
    program = translate_steps(case, surface, steps) if steps else None
    if program is None or isinstance(program, Unsupported):
        return
    about = "before the conversion, write the layer with these operators, which {} has. They have the result of {}; {}"
    yield from _comment(about.format(surface.name, source.name, NOT_RUN), width)
    yield from _fractional_power(case, width)
    for step in steps:
        lines = lower_step(step, source, native_only=False, inner=True)
        yield from _comment(_step_text(step), width) if isinstance(lines, Unsupported) else lines[0]


def _fractional_power(case: Case, width: int) -> list[str]:
    return _comment(FRACTIONAL, width) if case.parameters["p"] % 1 else []


def _has_other_norm(case: Case, verdict: TargetVerdict, source: Surface) -> bool:
    """Whether the model's framework computes a norm otherwise than the program of the suite."""
    step, is_known = case_step(case), bool(verdict.source_deviations or verdict.conventions)
    differs = is_known and (bool(scaled_norm(step)) or not is_even(step))
    return (differs or verdict.verdict is LayerVerdict.UNSUPPORTED) and averages_signed_powers(source)


def _bin_lines(one: AuditedLayer, surface: Surface, width: int, is_converted: bool) -> Iterator[str]:
    """Yield the slices that adaptive pooling on a surface without it consists of.

    is_converted: whether the program is not printed, because a converter writes the model.
    """
    layer, verdict = one.layer, one.verdicts[surface.name]
    if OPERATORS[layer.operator].geometry is not Geometry.BINS:
        return
    is_unsupported = verdict.verdict is LayerVerdict.UNSUPPORTED
    if (is_unsupported or is_converted) and layer.shape[2:] == tuple(layer.parameters["output_size"]):
        yield from _comment("leave the layer out: it has a bin for every cell, so that it returns its input", width)
        return
    if is_unsupported:
        yield from _comment(f"the suite has no program for {layer.operator} on {surface.name}: {MANUAL_BINS}", width)
    elif is_converted and verdict.how == How.COMPOSED and not _has_equal_bins(layer):
        is_maximum = OPERATORS[layer.operator].arithmetic is Arithmetic.SELECTION
        yield from _comment(SLICED_BINS.format("maxima" if is_maximum else "averages"), width)
    else:
        return
    for axis, (extent, count) in enumerate(zip(layer.shape[2:], layer.parameters["output_size"], strict=True)):
        if extent == count:
            continue
        bins = (f"{index * extent // count}:{-(-(index + 1) * extent // count)}" for index in range(count))
        yield from _comment(f"spatial axis {axis}: {', '.join(bins)}", width)


def _unsupported_lines(one: AuditedLayer, surface: Surface, width: int) -> list[str]:
    """Return that there is nothing to write for a layer, and why."""
    verdict = one.verdicts[surface.name]
    if verdict.verdict is not LayerVerdict.UNSUPPORTED:
        return []
    reason = f"the suite has no program for {one.layer.operator} on {surface.name}: {verdict.reason}"
    return [*_comment(reason, width), *_slice_lines(one.layer, width)]


def _slice_lines(layer: ModelLayer, width: int) -> Iterator[str]:
    """Yield the slices whose maxima or minima, one axis after the other, are a layer with windows."""
    operator = OPERATORS[layer.operator]
    is_extreme = operator.arithmetic is Arithmetic.SELECTION and operator.geometry is Geometry.WINDOWS
    if not is_extreme or len(operator.outputs) > 1:
        return
    step = case_step(case_of_layer(layer))
    word, value = ("minimum", "infinity") if step.operator == "min_pool" else ("maximum", "minus infinity")
    padding = f"pad the input with {value} by {size_text(step.padding_to_last_window)}, and "
    padding *= any(map(any, step.padding_to_last_window))
    yield from _comment(f"{padding}take the {word} of these slices, one spatial axis after the other; {NOT_RUN}", width)
    walk = step.windows
    for axis, (window, dilation, stride, count) in enumerate(
        zip(walk.window, step.dilation, walk.stride, walk.output, strict=True)
    ):
        starts = range(0, window * dilation, dilation)
        slices = (f"{start}:{start + (count - 1) * stride + 1}:{stride}" for start in starts)
        yield from _comment(f"spatial axis {axis}: {', '.join(slices)}", width)


def _has_equal_bins(layer: ModelLayer) -> bool:
    sizes = zip(layer.shape[2:], layer.parameters["output_size"], strict=True)
    return all(bins and extent % bins == 0 for extent, bins in sizes)


def _case_to_write(one: AuditedLayer, surface: Surface) -> Case | None:
    """Return the case of a layer that is not the same call on a surface; None for all others."""
    verdict = one.verdicts.get(surface.name)
    if verdict is None or not verdict.how or verdict.verdict is LayerVerdict.UNCHECKED or one.checked is None:
        return None
    if one.layer.following and one_call_questions(one.layer, surface):
        return case_in_one_call(one_call_request(one.layer).case(), surface)
    try:
        case = case_of_layer(one.layer)
    except ConformanceError:  # too large for a case; the call is the same with fewer channels
        case = case_of_layer(one.checked.small)
    return case if verdict.how != How.NATIVE or depends_on_size(case, surface) else None


def _program_lines(case: Case, backend: Backend, surface: Surface, verdict: TargetVerdict, width: int) -> Iterator[str]:
    """Yield the program, after a comment with the inputs that this audit verified."""
    single = single_call_case(case, surface)
    notes = [verdict.reason] if verdict.how == How.NATIVE and verdict.reason else []
    weights = [
        f"{name} {size_text(spec.shape)}" for one in case.then for name, spec in one.inputs.items() if name != "x"
    ]
    if weights:
        shapes = ", ".join(weights)
        notes.append(f"put the weights of the model in place of the zeros, the kernel as (out, in, *window): {shapes}")
    background = TranslationBackground((), load_ledger(), verified.shipped_summary())
    found = [
        replace(one.without_options, verified_text=verified_text(verdict))
        for one in translate_case(single or case, [(backend, surface)], background)
    ]
    yield from text.text_lines(text.TranslatedCase(case, notes), found, width)
    general = program_for_every_size(case, surface) if notes and not case.then else None
    if general:
        yield from ("", *_comment("for every size, not run in this audit:", width))
        yield program_with_setup(backend, general)


def verified_text(verdict: TargetVerdict) -> str:
    """Return for which numbers the target computed the layer in this audit, and for which it agreed."""
    agreeing = [name for name, one in verdict.results.items() if one.status in CORRECT_STATUSES]
    others = [name for name in verdict.results if name not in agreeing]
    if not verdict.results:
        return "not verified"
    parts = [f"agrees for {_listed(agreeing)}" if agreeing else "", f"differs for {_listed(others)}" if others else ""]
    return f"run in this audit: {'; '.join(filter(None, parts))}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(str, names))


def change_lines(case: Case, surface: Surface, source: Surface | None, width: int) -> Iterator[str]:
    """Yield how to change a layer in the model, so that a converter writes layers which the target has."""
    steps = _steps_in_model(case, surface)
    if not steps:
        yield from _gathered_cells(case, source, width) or _comment(NO_CHANGE_KNOWN, width)
        return
    for words in map(_step_text, steps):
        yield from _comment(words, width)
    lines = [lower_step(step, source, native_only=False, inner=False) for step in steps] if source else []
    if lines and not any(isinstance(one, Unsupported) for one in lines):
        yield from (line for one in lines if not isinstance(one, Unsupported) for line in one[0])


def _gathered_cells(case: Case, source: Surface | None, width: int) -> list[str]:
    """Return the cells that padding repeats as indices, in the framework of the model if it has them; [] for zeros."""
    step = case_step(case)
    cells = indexed_pad(step) if case.operator == PAD else None
    if cells is None or isinstance(cells, Unsupported):
        return []
    write = source.fallbacks.get(PAD) if source else None
    code = write(step) if write else Unsupported("no framework")
    if not isinstance(code, Unsupported):
        return [*_comment(GATHERED_CELLS, width), *as_lines(code)]
    text = f"{GATHERED_CELLS}. As an index of the array x, channels first: {'; '.join(as_lines(cells))}"
    return _comment(text, width)


def _step_text(step: Step) -> str:
    """Return what to change in the model before its conversion, for one of the layers in place of a layer."""
    if step.operator == PAD:
        value = f" with {step.parameters['value']:g}" if "value" in step.parameters else ""
        return f"before the conversion, pad the input{value} by {size_text(step.padding)}; then"
    if step.operator == BuildingBlock.SCALE:
        number = _fraction_text(step.constants["scale"])
        return f"multiply the result by {number}, the cells of the window over those that count"
    if step.parts:
        parts = "; ".join(map(_step_text, step.parts))
        return f"{parts}; and divide by the same of ones, which is the fraction of cells that count"
    words = call_text(step.operator, step.parameters, step.kernel)
    return f"write the layer as {', '.join(filter(None, [step.operator, words]))}"


def _fraction_text(scale: Array) -> str:
    """Return the one number of the scale of a rewrite, which is the same for all windows: "4/3"."""
    number = scale.flat[0]
    fraction = Fraction(float(number)).limit_denominator(MAX_NUMBER)
    return str(fraction) if scale.dtype.type(float(fraction)) == number else f"{float(number):.17g}"


def _steps_in_model(case: Case, surface: Surface) -> Sequence[Step]:
    """Return layers with the same result, each of which the surface has as one call; () if none are known."""
    single = single_call_case(case, surface)
    if single:
        return (case_step(single),)
    for rewrite in (*REWRITES.get(case.operator, ()), *SINGLE_CALLS.get(case.operator, ())):
        steps = rewrite(case_step(case))
        if steps and all(_is_one_operator(step, surface) for one in steps for step in (one.parts or (one,))):
            return steps
    return ()


def _is_one_operator(step: Step, surface: Surface) -> bool:
    """Whether the surface has a step as one call. A multiplication by numbers is one in every format of models."""
    is_scale = step.operator == BuildingBlock.SCALE
    return is_scale or not isinstance(lower_step(step, surface, native_only=True, inner=False), Unsupported)


def _comment(line: str, width: int) -> list[str]:
    return textwrap.wrap(line, width, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False)
