"""The audit of a model as text for a terminal and as Markdown. Only what the model meets is written."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from conformance.models.audit import Audit, AuditedLayer, LayerVerdict, TargetVerdict
from conformance.models.questions import Numbers

TERMINAL_WIDTH = 100
NAME_WIDTH, VERDICT_WIDTH = 24, 12
MAX_COLUMNS = 4
"""Number of targets in one table."""
MAX_NAMES = 4
"""Number of names of layers that a remark lists."""
MAX_TEXT = 320
"""Maximum length of a reason, in characters."""
VERDICT_WORDS: Mapping[LayerVerdict, str] = {
    LayerVerdict.UNCHECKED: "could not be checked",
    LayerVerdict.DIFFERS: "differs, not explained",
    LayerVerdict.UNSUPPORTED: "the target has no such layer",
    LayerVerdict.EXPLAINED: "differs for some inputs, as the ledger or a declared answer says",
    LayerVerdict.REWRITE: "same with a rewrite; --fix prints it",
    LayerVerdict.SAME: "same",
}


@dataclass(frozen=True)
class Remark:
    """A statement about a target, with the layers for which it holds."""

    target: str
    verdict: LayerVerdict
    text: str
    layers: tuple[AuditedLayer, ...]

    @property
    def names(self) -> str:
        """The names of the layers; of many, the first ones and the number of the others."""
        names = [layer.name for one in self.layers for layer in one.layers]
        further = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
        return ", ".join(names[:MAX_NAMES]) + further


def remarks_of(audit: Audit) -> list[Remark]:
    """Return the statements about the targets, each once, the gravest first."""
    layers: dict[tuple[str, LayerVerdict, str], list[AuditedLayer]] = {}
    for target in audit.targets:
        for one in audit.layers:
            for verdict, text in _statements(one.verdicts[target], target):
                layers.setdefault((target, verdict, text), []).append(one)
    order, targets = list(LayerVerdict), list(audit.targets)
    found = [Remark(*key, tuple(having)) for key, having in layers.items()]
    return sorted(found, key=lambda one: (targets.index(one.target), order.index(one.verdict)))


def _statements(verdict: TargetVerdict, target: str) -> Iterator[tuple[LayerVerdict, str]]:
    if verdict.verdict in {LayerVerdict.UNCHECKED, LayerVerdict.UNSUPPORTED}:
        yield verdict.verdict, _shortened(verdict.reason)
        return
    for numbers, result in verdict.differing.items():
        if result.entry:
            issue = f" ({result.entry.issue})" if result.entry.issue else ""
            yield LayerVerdict.EXPLAINED, f"{_when(numbers)}: {_shortened(result.entry.reason)}{issue}"
        else:
            yield LayerVerdict.DIFFERS, f"{_when(numbers)}: {difference_text(verdict, numbers)}"
    for numbers, one in verdict.conventions.items():
        answers = f"the model's framework answers {one.source_answer!r}, {target} {one.target_answer!r}"
        yield LayerVerdict.EXPLAINED, f"{_when(numbers)}: convention {one.convention}: {answers}"
    if verdict.verdict is LayerVerdict.REWRITE:
        yield LayerVerdict.REWRITE, f"written {verdict.how}: {_shortened(verdict.reason) or 'one call does not do it'}"


def _when(numbers: str) -> str:
    return {Numbers.OWN_WEIGHTS: "for the weights of the model"}.get(Numbers(numbers), f"for {numbers}")


def difference_text(verdict: TargetVerdict, numbers: str) -> str:
    """Return how a result differs and by how much."""
    result = verdict.results[numbers]
    record = result.record
    if record is None or record.worst is None:
        return _shortened(result.message or str(result.status))
    worst = record.worst
    used = "" if record.budget_used is None else f", {record.budget_used:.3g} times the error bound"
    place = f"at {list(worst.index)} it returns {worst.got!r} in place of {worst.expected!r}"
    return _shortened(f"{place}{used}" + (f"; {result.message}" if result.message else ""))


def _shortened(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= MAX_TEXT else f"{words[:MAX_TEXT].rsplit(' ', 1)[0]} …"


def heading(audit: Audit) -> str:
    """Return one line: the model, and how many layers were found."""
    layers = sum(len(one.layers) for one in audit.layers)
    return f"{audit.model.source}: {layers} layers with windows or padding, {len(audit.layers)} distinct"


def target_line(audit: Audit, target: str) -> str:
    """Return one line about a target: how many layers have which verdict."""
    counts: dict[LayerVerdict, int] = {}
    for one in audit.layers:
        verdict = one.verdicts[target].verdict
        counts[verdict] = counts.get(verdict, 0) + len(one.layers)
    parts = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in reversed(LayerVerdict) if verdict in counts)
    version = audit.versions.get(target)
    return f"{target}{f' ({version})' if version else ''}: {parts or 'no layer'}"


def others_text(audit: Audit) -> str:
    """Return the layers without windows, which are not checked, as one sentence; "" if there are none."""
    others = sorted(audit.model.others.items(), key=lambda item: (-item[1], item[0]))
    return (
        f"Not checked, because they have no windows: {', '.join(f'{n} {kind}' for kind, n in others)}."
        if others
        else ""
    )


def notes_of(audit: Audit) -> list[str]:
    """Return the remarks on how layers were checked."""
    found = [f"{one.names}: {one.checked.note}." for one in audit.layers if one.checked and one.checked.note]
    if any(one.checked and one.checked.layer.shape[1] != one.layer.shape[1] for one in audit.layers):
        found.append(
            "Layers are checked with at most 16 channels, or channels of each group, and at most 4 groups; the extents "
            "are those of the model. Special values, full mantissas and weights are checked on shorter axes with the "
            "same windows at both ends."
        )
    skipped = {
        f"{target}: not compared for {', '.join(verdict.not_compared)} on some layers: {_shortened(reason)}."
        for one in audit.layers
        for target, verdict in one.verdicts.items()
        for reason in list(verdict.not_compared.values())[:1]
    }
    return [*found, *sorted(skipped)]


def terminal_lines(audit: Audit, width: int = TERMINAL_WIDTH) -> Iterator[str]:
    """Yield the lines for a terminal."""
    yield from textwrap.wrap(heading(audit), width)
    yield ""
    for start in range(0, len(audit.targets), MAX_COLUMNS):
        yield from _table_lines(audit, audit.targets[start : start + MAX_COLUMNS], width)
    for target in audit.targets:
        yield from textwrap.wrap(target_line(audit, target), width)
    target = ""
    for remark in remarks_of(audit):
        if remark.target != target:
            target = remark.target
            yield from ("", target)
        text = f"{remark.verdict.value}: {remark.text} [{remark.names}]"
        yield from textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
    for note in filter(None, [*notes_of(audit), others_text(audit)]):
        yield ""
        yield from textwrap.wrap(note, width, break_on_hyphens=False)


def _table_lines(audit: Audit, targets: Sequence[str], width: int) -> Iterator[str]:
    """Yield the table of some targets: a row for each layer, its geometry in as many lines as it needs."""
    left = width - len(targets) * (VERDICT_WIDTH + 2)
    name_width = min(NAME_WIDTH, left * 2 // 5)
    text_width = left - name_width - 2
    widths = [name_width, text_width, *[VERDICT_WIDTH] * len(targets)]
    yield _row(["layer", "geometry", *(_cut_middle(target, VERDICT_WIDTH) for target in targets)], widths)
    yield "-" * width
    for one in audit.layers:
        words = [str(one.verdicts[target].verdict.value) for target in targets]
        lines = textwrap.wrap(one.layer.text or "unknown", text_width) or [""]
        yield _row([_cut_middle(one.names, name_width), lines[0], *words], widths)
        yield from (f"{'':{name_width}}  {line}" for line in lines[1:])
    yield "-" * width


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{cell[:size]:{size}}" for cell, size in zip(cells, widths, strict=True)).rstrip()


def _cut_middle(text: str, width: int) -> str:
    """Return a text of at most this width. The end of a name of a layer says more than its middle."""
    return text if len(text) <= width else f"{text[: width // 3]}…{text[-(width - width // 3 - 1) :]}"


def markdown_lines(audit: Audit) -> Iterator[str]:
    """Yield the lines of a Markdown page."""
    yield from (f"# Audit of {_escaped(audit.model.source)}", "", f"{_escaped(heading(audit))}.", "")
    yield from (f"- {_escaped(target_line(audit, target))}" for target in audit.targets)
    yield from ("", f"| layer | geometry | {' | '.join(audit.targets)} |", "|---|---|" + "---|" * len(audit.targets))
    for one in audit.layers:
        words = (str(one.verdicts[target].verdict.value) for target in audit.targets)
        yield f"| {' | '.join(map(_escaped, [one.names, one.layer.text, *words]))} |"
    for target in audit.targets:
        found = [one for one in remarks_of(audit) if one.target == target]
        if found:
            yield from ("", f"## {target}", "")
        yield from (f"- **{one.verdict.value}**: {_escaped(one.text)} ({_escaped(one.names)})" for one in found)
    for note in filter(None, [*notes_of(audit), others_text(audit)]):
        yield from ("", _escaped(note))


def _escaped(text: str) -> str:
    """Return a text that Markdown shows as it is. Names of layers are chosen by whoever wrote the model."""
    for character in "\\`*_[]<>|":
        text = text.replace(character, f"\\{character}")
    return " ".join(text.split())


WRITERS: Mapping[str, Callable[[Audit], Iterator[str]]] = {"terminal": terminal_lines, "markdown": markdown_lines}
"""Writers of an audit, by the value of --format."""
