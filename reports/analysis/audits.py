"""Statements about an audit: what differs on which target, by how much and why, each once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reports.results.audits import (
    FAILING_VERDICTS,
    AuditedLayerRecord,
    AuditRecord,
    LayerDifferenceRecord,
    LayerVerdict,
    SmallestRecord,
    TargetVerdictRecord,
)
from reports.results.json_structs import measure
from reports.results.vocabulary import How

PROGRAM_WORDS: Mapping[str, str] = {How.PADDED: "a padding and a call", How.COMPOSED: "several calls"}
"""The words for a program that is not one call."""
MAX_NAMES = 4
"""Number of names of layers that a remark lists."""
MAX_TEXT = 1000
"""Maximum length of a reason on a terminal, in characters. Pages, Markdown and JSON have the whole reason."""


@dataclass(frozen=True)
class Remark:
    """A statement about a target, with the layers for which it holds.

    difference: the largest of the differences that it states; None for a statement about a program.
    """

    target: str
    verdict: LayerVerdict
    text: str
    layers: tuple[AuditedLayerRecord, ...]
    difference: LayerDifferenceRecord | None = None

    @property
    def smallest(self) -> SmallestRecord | None:
        """The smallest input that shows the difference."""
        return self.difference.smallest if self.difference else None

    @property
    def message(self) -> str:
        """The whole message of the target; "" if there is none, or the statement has all of it."""
        message = self.difference.message if self.difference else ""
        return "" if message in self.text else message

    @property
    def amount(self) -> str:
        """By how much the target differs; "" if there are no numbers."""
        return amount_text(self.difference) if self.difference else ""

    @property
    def short(self) -> str:
        """The layers, the numbers for which they differ, and by how much."""
        numbers = f" for {self.difference.numbers}" if self.difference else ""
        return ": ".join(filter(None, [f"{self.names}{numbers}", self.amount]))

    @property
    def sentence(self) -> str:
        """The statement and by how much the target differs."""
        separator = " " if self.text.endswith(".") else ": "
        return separator.join(filter(None, [self.text, self.amount]))

    @property
    def all_names(self) -> list[str]:
        """The names of all layers."""
        return [name for one in self.layers for name in one.names]

    @property
    def names(self) -> str:
        """The names of the layers; of many, the first ones and the number of the others."""
        return listed_names(self.all_names)


def listed_names(names: Sequence[str]) -> str:
    """Return the names of layers; of many, the first ones and the number of the others."""
    further = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + further


RemarkKey = tuple[str, LayerVerdict, str]


def remarks_of(audit: AuditRecord) -> list[Remark]:
    """Return the statements about the targets, each once, the most severe first."""
    layers: dict[RemarkKey, list[AuditedLayerRecord]] = {}
    differences: dict[RemarkKey, list[LayerDifferenceRecord]] = {}
    for target in audit.surfaces:
        for one in audit.layers:
            for verdict, text, difference in _statements(one.verdicts[target]):
                key = (target, verdict, text)
                layers.setdefault(key, []).append(one)
                if difference:
                    differences.setdefault(key, []).append(difference)
    order, targets = list(LayerVerdict), list(audit.surfaces)
    found = [
        Remark(*key, tuple(having), max(differences.get(key, []), key=_size, default=None))
        for key, having in layers.items()
    ]
    return sorted(found, key=lambda one: (targets.index(one.target), order.index(one.verdict)))


def _size(difference: LayerDifferenceRecord) -> tuple[bool, float]:
    """Return a key that is largest for the largest difference with a smallest input."""
    used = measure(difference.budget_used)
    return difference.smallest is not None, 0.0 if used is None or math.isnan(used) else used


def amount_text(difference: LayerDifferenceRecord) -> str:
    """Return by how much the worst element of a difference differs, "" without one."""
    if difference.index is None:
        return ""
    used = measure(difference.budget_used)
    bound = "" if used is None or math.isinf(used) or used == 0 else f", {used:.3g} times the error bound"
    return f"{_number(difference.got)} in place of {_number(difference.expected)} at {list(difference.index)}{bound}"


def _statements(verdict: TargetVerdictRecord) -> Iterator[tuple[LayerVerdict, str, LayerDifferenceRecord | None]]:
    if verdict.verdict in {LayerVerdict.UNCHECKED, LayerVerdict.UNSUPPORTED}:
        yield verdict.verdict, one_line(verdict.reason), None
        return
    for one in verdict.differences:
        yield one.verdict, one.text, one
    if verdict.size_note:
        is_call = verdict.how == How.NATIVE
        yield LayerVerdict.SAME if is_call else LayerVerdict.REWRITE, verdict.size_note, None
    is_known_rewrite = verdict.verdict is LayerVerdict.EXPLAINED and verdict.how != How.NATIVE and verdict.reason
    if verdict.verdict is LayerVerdict.REWRITE or is_known_rewrite:
        reason = one_line(verdict.reason) or "one call does not do it"
        yield LayerVerdict.REWRITE, f"written as {PROGRAM_WORDS.get(verdict.how, verdict.how)}: {reason}", None
    elif verdict.reason:
        # How the one call is written is no difference, also where the target has another answer for some numbers.
        is_call = verdict.how == How.NATIVE or not verdict.differences
        yield LayerVerdict.SAME if is_call else verdict.verdict, one_line(verdict.reason), None


def one_line(text: str) -> str:
    """Return a text with a space in place of each line break and of several spaces."""
    return " ".join(text.split())


def shortened(text: str) -> str:
    """Return a text on one line, without the end of a long one."""
    words = one_line(text)
    return words if len(words) <= MAX_TEXT else f"{words[:MAX_TEXT].rsplit(' ', 1)[0]} …"


@dataclass(frozen=True)
class LayerProgram:
    """What to write on a target, with the names of the layers for which it is the same."""

    target: str
    names: tuple[str, ...]
    text: str


def programs_of(audit: AuditRecord) -> list[LayerProgram]:
    """Return what to write for the layers of each target, each once."""
    names: dict[tuple[str, str], list[str]] = {}
    for target in audit.surfaces:
        for one in audit.layers:
            if one.verdicts[target].program:
                names.setdefault((target, one.verdicts[target].program), []).extend(one.names)
    return [LayerProgram(target, tuple(found), text) for (target, text), found in names.items()]


def headline(audit: AuditRecord) -> str:
    """Return one sentence: on how many targets layers differ, and whether all differences are explained."""
    failing = [name for name in audit.surfaces if audit.worst(name) in FAILING_VERDICTS]
    known = [name for name in audit.surfaces if audit.worst(name) is LayerVerdict.EXPLAINED]
    same = [name for name in audit.surfaces if name not in (*failing, *known)]
    parts = [
        ("layers differ or are missing on", failing),
        ("known differences on", known),
        ("all layers agree on", same),
    ]
    text = "; ".join(f"{words} {', '.join(names)}" for words, names in parts if names)
    return f"{text[:1].upper()}{text[1:]}"


def heading(audit: AuditRecord) -> str:
    """Return one line: the model, and how many layers were found."""
    return f"{audit.model}: {layer_counts(audit)}"


def layer_counts(audit: AuditRecord) -> str:
    """Return how many layers were found."""
    layers = sum(len(one.names) for one in audit.layers)
    return f"{layers} layers with windows or padding, {len(audit.layers)} distinct"


def verdict_counts(audit: AuditRecord, target: str) -> list[tuple[LayerVerdict, int]]:
    """Return the number of layers with each verdict that occurs, the best first."""
    counts: dict[LayerVerdict, int] = {}
    for one in audit.layers:
        verdict = one.verdicts[target].verdict
        counts[verdict] = counts.get(verdict, 0) + len(one.names)
    return [(verdict, counts[verdict]) for verdict in reversed(LayerVerdict) if verdict in counts]


def target_line(audit: AuditRecord, target: str) -> str:
    """Return one line about a target: how many layers have which verdict."""
    parts = ", ".join(f"{count} {verdict.value}" for verdict, count in verdict_counts(audit, target))
    version = next(one.version for one in audit.targets if one.surface == target)
    return f"{target}{f' ({version})' if version else ''}: {parts or 'no layer'}"


def others_text(audit: AuditRecord) -> str:
    """Return the layers without windows, which are not checked, as one sentence; "" if there are none."""
    others = sorted(audit.others.items(), key=lambda item: (-item[1], item[0]))
    named = ", ".join(f"{count} {kind}" for kind, count in others)
    return f"Not checked, because they have no windows: {named}." if others else ""


def not_read_lines(audit: AuditRecord) -> list[str]:
    """Return a line for each reason why layers of the model were not read: how many layers, and of which kinds."""
    found: dict[str, list[AuditedLayerRecord]] = {}
    for one in audit.layers:
        if one.problem:
            found.setdefault(one.problem, []).append(one)
    lines = []
    for problem, layers in found.items():
        count, kinds = sum(len(one.names) for one in layers), ", ".join(dict.fromkeys(one.text for one in layers))
        lines.append(f"Not read: {count:,} {'layer' if count == 1 else 'layers'} ({one_line(kinds)}): {problem}.")
    return lines


def notes_of(audit: AuditRecord) -> list[str]:
    """Return the remarks on how layers were checked."""
    found = [f"{one.label}: {one.note}." for one in audit.layers if one.note]
    if any(one.checked_shape and one.checked_shape[1] != one.shape[1] for one in audit.layers):
        found.append(
            "Layers are checked with at most 16 channels, or channels of each group, and at most 4 groups; the extents "
            "are those of the model. Special values, full mantissas and weights are checked on shorter axes with the "
            "same windows at both ends; one special value in maxima on 4,096 cells or more if the layer has as many."
        )
    return [
        *found,
        *_not_compared_lines(audit),
        *not_read_lines(audit),
        *filter(None, [others_text(audit)]),
        *audit.other_notes,
    ]


def _not_compared_lines(audit: AuditRecord) -> list[str]:
    """Return a line for each target, numbers and reason for which layers were not compared, with their names."""
    skipped: dict[tuple[str, str, str], list[str]] = {}
    for one in audit.layers:
        for target, verdict in one.verdicts.items():
            reason = next(iter(verdict.not_compared.values()), "")
            if reason:
                key = (target, ", ".join(verdict.not_compared), one_line(reason))
                skipped.setdefault(key, []).extend(one.names)
    return [
        f"{target}: not compared for {numbers}: {reason} [{listed_names(names)}]."
        for (target, numbers, reason), names in sorted(skipped.items())
    ]


def smallest_title(smallest: SmallestRecord) -> str:
    """Return the first line about an input: the operator and whether the search was complete."""
    if smallest.from_catalogue:
        return f"case of the convention: {smallest.case.case}"
    return f"smallest input found{'' if smallest.is_minimal else ' within the time limit'}: {smallest.text}"


def smallest_lines(smallest: SmallestRecord) -> Sequence[str]:
    """Return lines that show an input: its arrays, the expected result and that of the target."""
    case = smallest.case
    arrays = {**case.inputs, "expected": case.expected}
    lines = [f"{name} {array_text(one)}" for name, one in arrays.items()]
    got = "declared" if smallest.from_catalogue else "got"
    if smallest.got is not None:
        lines.append(f"{got} {array_text(smallest.got)}")
        lines += _hidden_difference(case.expected, smallest.got)
    elif smallest.message:
        lines.append(f"{got} {one_line(smallest.message)}")
    return lines


def _hidden_difference(expected: object, got: object) -> Sequence[str]:
    """Return a line with the first number that differs, if it is none of the numbers that array_text() shows."""
    shape = getattr(expected, "shape", ())
    pairs = list(zip(getattr(expected, "data", None) or (), getattr(got, "data", None) or (), strict=False))
    position = next((number for number, (one, other) in enumerate(pairs) if one != other), 0)
    if position < MAX_SHOWN_NUMBERS or shape != getattr(got, "shape", ()):
        return ()
    one, other = pairs[position]
    index = [position // math.prod(shape[axis + 1 :]) % extent for axis, extent in enumerate(shape)]
    return (f"first difference at {index}: {_number(other)} in place of {_number(one)}",)


def array_text(array: object) -> str:
    """Return the shape and the first numbers of a recorded array, or the name of the violation of a rejection."""
    predicate = getattr(array, "predicate", None)
    if predicate is not None:
        return f"a rejection: {predicate}"
    shape, data = getattr(array, "shape", ()), getattr(array, "data", None)
    extents = " x ".join(map(str, shape))
    if data is None:
        return extents
    more = ", …" if len(data) > MAX_SHOWN_NUMBERS else ""
    return f"{extents}: {', '.join(map(_number, data[:MAX_SHOWN_NUMBERS]))}{more}"


MAX_SHOWN_NUMBERS = 12
"""Maximum number of shown numbers of an array."""


def _number(value: object) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)
