"""The verdicts of an audit: what each target computes for each layer of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from conformance.cases.case import Case
from conformance.exploration.evaluation import SurfaceResult
from conformance.judging.ledger import LedgerEntry
from conformance.models.geometry import CheckedLayer
from conformance.models.layer import Model, ModelLayer
from conformance.models.questions import Question
from conformance.models.smallest import SmallestInput
from reports.results.audits import FAILING_VERDICTS, LayerVerdict
from reports.results.vocabulary import Status

DifferenceKey = tuple[str, str]
"""A difference of a layer: the numbers of the question, and the id of the convention or ""."""


@dataclass(frozen=True)
class ConventionDifference:
    """A convention that a layer observes and that the target answers otherwise than the surface of the model."""

    convention: str
    source_answer: str
    target_answer: str


@dataclass(frozen=True)
class TargetVerdict:
    """The verdict of a target on a layer.

    how: native, padded or composed; native also if only the bias is added after one call.
    results: the results by the numbers of the question. reason: why it is unsupported, why the program is not one
    call, or for which input sizes its one call is exact. conventions: different answers, with the numbers for which
    they matter. not_compared: the numbers for which the suite has no expected result, with the reason. smallest: the
    smallest inputs found, by the differences. source_deviations: the entries of the ledger for the model's framework,
    by the numbers for which its result is known to differ from the reference. size_note: for which input sizes its
    padding is that of the model, if it has numbers where the model has a word.
    """

    verdict: LayerVerdict
    how: str = ""
    reason: str = ""
    results: Mapping[str, SurfaceResult] = field(default_factory=dict)
    conventions: Mapping[str, ConventionDifference] = field(default_factory=dict)
    not_compared: Mapping[str, str] = field(default_factory=dict)
    smallest: Mapping[DifferenceKey, SmallestInput] = field(default_factory=dict)
    source_deviations: Mapping[str, LedgerEntry] = field(default_factory=dict)
    size_note: str = ""

    @property
    def differing(self) -> Mapping[str, SurfaceResult]:
        """The results that differ, by the numbers of the question."""
        return {name: one for name, one in self.results.items() if one.is_new or one.status == Status.KNOWN}


@dataclass(frozen=True)
class AuditedLayer:
    """Equal layers of a model, how they were checked, and the verdict of each target.

    case: the layer as it was checked with integers.
    """

    layers: tuple[ModelLayer, ...]
    checked: CheckedLayer | None
    problem: str = ""
    verdicts: Mapping[str, TargetVerdict] = field(default_factory=dict)
    case: Case | None = None

    @property
    def layer(self) -> ModelLayer:
        """The first of the equal layers."""
        return self.layers[0]


@dataclass(frozen=True)
class Audit:
    """The audit of a model. targets: names of the surfaces. versions: the frameworks of each target."""

    model: Model
    targets: tuple[str, ...]
    layers: tuple[AuditedLayer, ...]
    versions: Mapping[str, str] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)

    def worst(self, target: str) -> LayerVerdict:
        """Return the most severe verdict of a target."""
        order = list(LayerVerdict)
        found = [one.verdicts[target].verdict for one in self.layers if target in one.verdicts]
        return min(found, key=order.index, default=LayerVerdict.SAME)

    @property
    def passes(self) -> bool:
        """Whether every layer agrees on every target, as one call or with a rewrite, or differs as known."""
        return all(self.worst(target) not in FAILING_VERDICTS for target in self.targets)


@dataclass(frozen=True)
class LayerQuestions:
    """Equal layers of a model with their questions; problem: why there are none.

    single_call: that the questions have the parameters of a call for this input size, with the sizes; "" if they have
    those of the model.
    """

    layers: tuple[ModelLayer, ...]
    checked: CheckedLayer | None = None
    questions: tuple[Question, ...] = ()
    problem: str = ""
    single_call: str = ""

    def audited(self, verdicts: Mapping[str, TargetVerdict]) -> AuditedLayer:
        """Return the layers with their verdicts."""
        case = self.questions[0].candidate.case if self.questions else None
        return AuditedLayer(self.layers, self.checked, self.problem, verdicts, case)
