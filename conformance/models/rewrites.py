"""The programs that make targets agree with a model, as `conformance translate` prints them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance import ConformanceError
from conformance.adapters.api import Backend, Surface, Unsupported
from conformance.cases.case import Case
from conformance.judging.ledger import load_ledger
from conformance.models.audit import Audit, LayerQuestions
from conformance.models.layer import ModelLayer
from conformance.translation import text, verified
from conformance.translation.ad_hoc_case import CaseRequest
from conformance.translation.lowering import native_limitation
from conformance.translation.side_by_side import TranslationBackground, translate_case
from reports.results.audits import LayerVerdict
from reports.results.vocabulary import How


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
    limitation = native_limitation(questions.questions[0].candidate.case, surface)
    return limitation.reason if isinstance(limitation, Unsupported) else ""


def rewrite_lines(audit: Audit, targets: Sequence[tuple[Backend, Surface]], width: int) -> Iterator[str]:
    """Yield the program of every layer that a target computes only with a rewrite."""
    background = TranslationBackground((), load_ledger(), verified.shipped_summary())
    for backend, surface in targets:
        for one in audit.layers:
            verdict = one.verdicts.get(surface.name)
            if verdict is None or verdict.verdict is LayerVerdict.UNCHECKED or one.checked is None:
                continue
            if not verdict.how or verdict.how == How.NATIVE:
                continue
            try:
                case = case_of_layer(one.layer)
            except ConformanceError:  # too large for a case; the call is the same with fewer channels
                case = case_of_layer(one.checked.small)
            names = ", ".join(layer.name for layer in one.layers)
            yield ""
            yield f"# {names}"
            found = translate_case(case, [(backend, surface)], background)
            yield from text.text_lines(text.TranslatedCase(case), found, width)
