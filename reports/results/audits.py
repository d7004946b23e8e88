"""The audit of a model: the layers with windows of a model, and whether other surfaces compute them in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.json import Decoder

from reports.results.arrays import RecordedArray
from reports.results.files import open_regular
from reports.results.json_structs import JsonStruct, RecordError, decode, nullable
from reports.results.records import CaseRecord, encode_values
from reports.results.vocabulary import Status, Word

AUDIT_FORMAT = 1
"""Version of the format. It changes when a reader of the old format would misread a file."""
MAX_AUDIT_BYTES = 256 << 20


class LayerVerdict(Word):
    """Whether a target computes a layer like the reference. The order is from the most severe to the best."""

    UNCHECKED = "not checked"
    DIFFERS = "differs"
    UNSUPPORTED = "unsupported"
    EXPLAINED = "known"  # it differs as the ledger or a declared answer says
    REWRITE = "rewrite"  # same, but the program is not one call of the target
    SAME = "same"


FAILING_VERDICTS = frozenset({LayerVerdict.UNCHECKED, LayerVerdict.DIFFERS, LayerVerdict.UNSUPPORTED})
"""Verdicts with which an audit ends with status 1."""


class SmallestRecord(JsonStruct, frozen=True, kw_only=True):
    """The smallest input found that shows a difference.

    case: its parameters, inputs and expected result. text: operator and parameters in words. got: what the target
    returned; None if it returned nothing. message: that of the target. program: a script that shows it. case_text: the
    case in the format of a catalogue. is_minimal: whether the search ended before its time limit. from_catalogue:
    whether this is the case of a convention in the catalogue, and `got` the answer that the target declares.
    """

    case: CaseRecord
    text: str
    got: RecordedArray | None = nullable()
    message: str = ""
    program: str = ""
    case_text: str = ""
    is_minimal: bool = True
    from_catalogue: bool = False


class LayerDifferenceRecord(JsonStruct, frozen=True, kw_only=True):
    """One difference of a layer on a target.

    numbers: the numbers of the input. text: when it differs, by how much, and why. convention: the id of the convention
    that the frameworks answer differently; "" for other differences. index, got, expected: the worst element.
    budget_used: its error in multiples of the bound. is_of_source: whether the model's framework differs from the
    reference, as the ledger says; `numbers` then lists all for which it does. message: that of the target, on one line.
    """

    numbers: str
    verdict: LayerVerdict
    text: str
    status: Status | None = nullable()
    convention: str = ""
    index: tuple[int, ...] | None = None
    got: Any = None
    expected: Any = None
    budget_used: float | str | None = None
    reason: str = ""
    issue: str = ""
    smallest: SmallestRecord | None = None
    is_of_source: bool = False
    message: str = ""


class TargetVerdictRecord(JsonStruct, frozen=True, kw_only=True):
    """The verdict of a target on a layer.

    how: native, padded or composed; "" without a program. reason: why it is unsupported, not checked or a rewrite, or
    for which input sizes its one call is exact. numbers: those with which the layer was checked. not_compared: numbers
    without an expected result, with the reason. program: the program of the layer, with --fix. size_note:
    for which input sizes its padding is that of the model, if the model computes its padding from the size.
    """

    verdict: LayerVerdict
    how: str = ""
    reason: str = ""
    numbers: tuple[str, ...] = ()
    differences: tuple[LayerDifferenceRecord, ...] = ()
    not_compared: Mapping[str, str] = {}
    program: str = ""
    size_note: str = ""


class AuditedLayerRecord(JsonStruct, frozen=True, kw_only=True):
    """Equal layers of a model.

    names: the names of the layers. text: operator, parameters and shape in words. parameters, shape, kernel, dtype: as
    in a case; empty if the layer could not be read. output: the shape of the result. problem: why the layer was not
    checked. note: what was shortened. checked_shape: the shape of the input with which it was checked.
    """

    names: tuple[str, ...]
    text: str
    operator: str = ""
    parameters: Mapping[str, Any] = {}
    shape: tuple[int, ...] = ()
    kernel: tuple[int, ...] = ()
    output: tuple[int, ...] = ()
    dtype: str = ""
    problem: str = ""
    note: str = ""
    checked_shape: tuple[int, ...] = ()
    verdicts: Mapping[str, TargetVerdictRecord] = {}

    @property
    def label(self) -> str:
        """The name of the first layer, with the number of further ones."""
        further = len(self.names) - 1
        return f"{self.names[0]} +{further}" if further else self.names[0]


class AuditTargetRecord(JsonStruct, frozen=True, kw_only=True):
    """A target of an audit: the name of its surface, its framework with the version, and the seconds it took."""

    surface: str
    version: str = ""
    seconds: float = 0.0


class AuditRecord(JsonStruct, frozen=True, kw_only=True):
    """An audit. surface: the surface whose answers to conventions apply to the model. others: layers not checked.

    other_notes: numbers of these layers in the model on whose default the targets differ.
    """

    format: int
    model: str
    surface: str
    started: str = ""
    targets: tuple[AuditTargetRecord, ...]
    layers: tuple[AuditedLayerRecord, ...]
    others: Mapping[str, int] = {}
    other_notes: tuple[str, ...] = ()

    @property
    def surfaces(self) -> tuple[str, ...]:
        """The names of the targets."""
        return tuple(one.surface for one in self.targets)

    def worst(self, target: str) -> LayerVerdict:
        """Return the most severe verdict of a target."""
        found = [one.verdicts[target].verdict for one in self.layers if target in one.verdicts]
        return min(found, key=list(LayerVerdict).index, default=LayerVerdict.SAME)


def encode_audit(audit: AuditRecord) -> str:
    """Return an audit as one line of JSON. NaN and infinities are written as strings."""
    return encode_values(audit.json_values())


_DECODER = Decoder(AuditRecord)


def read_audit(path: Path) -> AuditRecord:
    """Read the JSON file of an audit. Raises RecordError in one line that names the file."""
    try:
        if path.stat().st_size > MAX_AUDIT_BYTES:
            raise RecordError(f"{path}: more than {MAX_AUDIT_BYTES:,} bytes")
        with open_regular(path) as file:
            audit = decode(file.read(), _DECODER)
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}") from None
    except RecordError as error:
        text = str(error)
        raise RecordError(text if text.startswith(f"{path}:") else f"{path}: not an audit: {text}") from None
    if audit.format != AUDIT_FORMAT:
        raise RecordError(f"{path}: format {audit.format} of an audit, this version reads {AUDIT_FORMAT}")
    for layer in audit.layers:
        missing = [name for name in audit.surfaces if name not in layer.verdicts]
        if missing or not layer.names:
            raise RecordError(
                f"{path}: not an audit: a layer has no name or no verdict of {', '.join(missing) or 'a target'}"
            )
    return audit
