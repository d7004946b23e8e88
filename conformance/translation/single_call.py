"""One call of a target that is exact for the input size of a case, for parameters that the target does not have.

Rounding up and padding that no window reaches are the same as other padding with rounding down, for this input size.
This padding may be none, or that of the word "same", which many more targets have. For other sizes it may be another.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conformance.adapters.api import Program, Surface
from conformance.cases.case import FRAMEWORK_SAME, Case, Value
from conformance.cases.operators import OPERATORS, Arithmetic, Geometry, PaddingWord, Rounding
from conformance.cases.steps import Step, case_step
from conformance.translation.ad_hoc_case import CaseRequest
from conformance.translation.lowering import translate
from conformance.translation.option_text import size_text
from conformance.translation.own_words import with_own_words
from conformance.translation.step_lowering import native_limitation
from reference import Windows
from reports.results.vocabulary import How

MAX_SIZES = 4
"""Number of other sizes that are tried in each direction."""
SINGLE_CALL_TEXT = "written as one call with the padding of this input size"


@dataclass(frozen=True)
class SingleCall:
    """One call of a surface that is exact for the input size of a case and not for every size.

    case: the case whose native call it is. sizes: for which sizes around that of the case the call is exact.
    """

    case: Case
    sizes: str

    @property
    def note(self) -> str:
        """A remark for the user of the call."""
        return f"{SINGLE_CALL_TEXT}: {self.sizes}"


def find_single_call(case: Case, surface: Surface) -> SingleCall | None:
    """Return the one call of a surface that is exact for the size of a case; None if it is exact for every size."""
    if not depends_on_size(case, surface):
        return None
    return SingleCall(single_call_case(case, surface) or case, sizes_text(case, surface))


def find_requested_call(request: CaseRequest, case: Case, surface: Surface) -> SingleCall | None:
    """Return the one call for the size of a requested case.

    None for a request without a size, and for padding by name, which is computed for each size.
    """
    if request.shape is None or request.padding_mode or isinstance(request.parameters.get("padding"), str):
        return None
    return find_single_call(case, surface)


def parameters_in_effect(step: Step) -> Mapping[str, Any]:
    """Return the padding and the rounding that its windows have for this input size, as far as they are others.

    Padding is counted by an average only if it counts in some window; then the parameters stay as they are.
    """
    windows = step.windows
    axes = zip(
        windows.size, windows.output, windows.window, windows.stride, windows.dilation, windows.pads, strict=True
    )
    padding = tuple(
        (before, max((count - 1) * stride + (window - 1) * dilation + 1 - size - before, 0))
        for size, count, window, stride, dilation, (before, _) in axes
    )
    found: dict[str, Any] = {"padding": padding}
    if "rounding" in step.parameters:
        found["rounding"] = Rounding.FLOOR.value
    if "count_include_pad" in step.parameters:
        if (windows.counts(include_padding=True) != windows.counts(include_padding=False)).any():
            return {}
        found["count_include_pad"] = False
    if min(before for before, _ in padding) < 0 or step.with_parameters(**found).windows.output != windows.output:
        return {}
    return {name: value for name, value in found.items() if step.parameters.get(name) != value}


def case_in_effect(case: Case) -> Case | None:
    """Return a case with the same result and the parameters in effect; None if there is no other one."""
    operator = OPERATORS[case.operator]
    has_windows = operator.geometry is Geometry.WINDOWS and operator.arithmetic in {
        Arithmetic.SELECTION,
        Arithmetic.AVERAGE,
        Arithmetic.SUM,
    }
    if not has_windows or operator.is_gradient or case.via or case.then or not isinstance(case.expect, Value):
        return None
    if "stride" not in case.parameters or "padding" not in case.parameters or 0 in case.shape:
        return None
    changed = parameters_in_effect(case_step(case))
    return replace(case, parameters={**case.parameters, **changed}) if changed else None


def names_padding(case: Case, surface: Surface) -> bool:
    """Whether the one call of a surface for a case has the padding `same` by name."""
    return FRAMEWORK_SAME in _call(case, surface).lower()


def word_call(case: Case, surface: Surface) -> str:
    """Return the text of the one call of a surface with its own words in place of numbers, "" without one."""
    program = translate(case, with_own_words(surface))
    is_call = isinstance(program, Program) and program.how == How.NATIVE
    return _without_shape(program.text, case) if is_call and isinstance(program, Program) else ""


def bias_limitation(case: Case, surface: Surface) -> str:
    """Return why the call of a convolution takes no bias, if it does everything else; "" otherwise."""
    limitation = native_limitation(case, surface) if "bias" in case.inputs and not case.then else None
    if limitation is None:
        return ""
    return limitation.reason if native_limitation(without_bias(case), surface) is None else ""


def without_bias(case: Case) -> Case:
    """Return the case of a convolution without its bias."""
    return replace(case, inputs={name: one for name, one in case.inputs.items() if name != "bias"})


def single_call_case(case: Case, surface: Surface) -> Case | None:
    """Return the case that a surface computes by one call; None if it has none, or if it needs no other parameters."""
    if native_limitation(case, surface) is None:
        return None
    other = case_in_effect(case)
    return None if other is None or native_limitation(other, surface) is not None else other


def depends_on_size(case: Case, surface: Surface) -> bool:
    """Whether the one call of a surface for a case has the padding `same`, which is another one for other sizes."""
    own = _call(case, surface)
    if FRAMEWORK_SAME not in own.lower() or case_in_effect(case) is not None or "stride" not in case.parameters:
        return bool(own) and single_call_case(case, surface) is not None
    return any(not _is_exact(own, other, surface) for _, other in _resized(case))


def program_for_every_size(case: Case, surface: Surface) -> Program | None:
    """Return the program with explicit padding that is the same for the sizes for which one call is not exact."""
    if case.parameters.get("rounding", Rounding.FLOOR) != Rounding.FLOOR:
        return None
    others = [one for _, one in _resized(case) if not _call(one, surface)]
    padded = {
        _without_shape(program.text, one): program
        for one in others
        if isinstance(program := translate(one, surface), Program) and program.how == How.PADDED
    }
    return next(iter(padded.values())) if len(others) > 1 and len(padded) == 1 else None


def sizes_text(case: Case, surface: Surface) -> str:
    """Return for which input sizes around that of the case its one call is exact: "exact for 30 x 30, not for 31 x 31".

    The case has the parameters of the model, for which the surface has no call.
    """
    own = _call(case, surface)
    exact: list[str] = []
    others: list[str] = []
    for extents, other in _resized(case):
        (exact if _is_exact(own, other, surface) else others).append(size_text(extents))
    if not others:
        return f"exact for {_listed(exact)}"
    return f"exact for {_listed(exact)}, not for {_listed(others)}"


def _is_exact(call: str, case: Case, surface: Surface) -> bool:
    """Whether a call is exact for a case with another size."""
    step = case_step(case_in_effect(case) or case)
    if _call(case, surface) == call:
        return True
    # Where no cell is missing, `same` adds no padding, and the adapter writes the shorter call.
    same = Windows.of(step.windows.size, step.window, step.stride, PaddingWord.SAME_UPPER.value, step.dilation)
    return FRAMEWORK_SAME in call.lower() and not step.padded and same == step.windows


def _listed(sizes: Sequence[str]) -> str:
    return " and ".join([", ".join(sizes[:-1]), sizes[-1]] if len(sizes) > 1 else sizes)


def _resized(case: Case) -> Iterator[tuple[tuple[int, ...], Case]]:
    """Yield sizes from a stride less than that of the case to a stride more, or fewer for a large stride."""
    change = min(max(case.parameters["stride"]), MAX_SIZES)
    for more in range(-change, change + 1):
        extents = tuple(extent + more for extent in case.shape[2:])
        if min(extents) < 1:
            continue
        x = replace(case.inputs["x"], shape=(*case.shape[:2], *extents))
        other = replace(case, inputs={**case.inputs, "x": x})
        try:
            has_windows = min(case_step(other).windows.output) > 0
        except ValueError:
            has_windows = False  # the window does not fit this size
        if has_windows:
            yield extents, other


def _call(case: Case, surface: Surface) -> str:
    """Return the text of the one call for a case, "" without one."""
    for one in itertools.chain([case], filter(None, [case_in_effect(case)])):
        if native_limitation(one, surface) is None:
            program = translate(one, surface)
            return _without_shape(program.text, case) if isinstance(program, Program) else ""
    return ""


def _without_shape(text: str, case: Case) -> str:
    """Return a program without the shapes with which some layers are built, also after padding."""
    n, channels, *extents = case.shape
    more = rf"(?:\d+, ){{{len(extents) - 1}}}\d+"
    return re.sub(rf"\({n}, {more}, {channels}\)|\({n}, {channels}, {more}\)", "shape", text)
