"""The pages of translations, `docs/translations/`: for each operator a few common cases on every surface.

`python -m conformance.translation_pages docs/translations` writes them, and an index.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from conformance.adapters import registry
from conformance.adapters.api import source_text
from conformance.cases.operators import FORWARD, OPERATORS
from conformance.cases.selectors import marks
from conformance.catalogue import loading
from conformance.catalogue.describe import Spoken, usual
from conformance.catalogue.loading import Catalogue
from conformance.judging import ledger
from conformance.judging.conventions import Question, questions
from conformance.translation import verified
from conformance.translation.ad_hoc_case import Request, option_text
from conformance.translation.lowering import HOW
from conformance.translation.side_by_side import Background, Translation, differing, translations, whole
from conformance.translation.side_by_side import spoken as words
from conformance.translation.text import About, escaped
from docs.generate.translation_examples import PAGES, Common

MADE = "Made by `python -m docs.generate.translations docs/translations`; do not edit it. A test holds it fresh."


def page(operator: str, known: Background, surfaces: Sequence[Spoken]) -> str:
    """Return the page of an operator."""
    about = PAGES[operator]
    lines = [f"# {operator}", "", MADE, "", about.meaning, f"[What it means exactly](../semantics.md#{operator})."]
    found = [_common(operator, common, known, surfaces) for common in about.cases]
    lines += ["", *_contents([*(common.title for common in about.cases), *FURTHER])]
    for part in found:
        lines += ["", *"\n".join(part).rstrip("\n").split("\n")]
    lines += ["", f"## {FURTHER[0]}", "", *_care(operator, known, surfaces)]
    lines += ["", f"## {FURTHER[1]}", "", *_tried(operator, known, surfaces)]
    return "\n".join(lines) + "\n"


FURTHER = ("What to look out for", "What has been verified")


def _contents(titles: Iterable[str]) -> Iterator[str]:
    yield from (f"- [{title}](#{_anchor(title)})" for title in titles)


def _anchor(title: str) -> str:
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -")
    return kept.replace(" ", "-")


def command(request: Request) -> str:
    """Return the command that prints what a request asks for."""
    given = (f"--{key.replace('_', '-')}{_said(value)}" for key, value in request.given.items())
    further = ["--bias"] * request.bias + [f"--gradient {request.gradient}"] * bool(request.gradient)
    return " ".join(["conformance translate", request.operator, *given, *further])


def _said(value: Any) -> str:
    return "" if value is True else f" {option_text(value)}"


def _common(operator: str, common: Common, known: Background, surfaces: Sequence[Spoken]) -> Iterator[str]:
    request = common.request(operator)
    case = request.case()
    found = translations(case, surfaces, known, request)
    yield from (f"## {common.title}", "", f"{escaped(About(case).heading)}.", f"`{command(request)}`", "")
    groups = _grouped(one for one in found if one.program)
    for group in sorted(groups, key=lambda group: not _native(group)):
        yield from _program(group) if _native(group) else _folded(group)
    yield from _unsupported([one for one in found if not one.program])


def _grouped(found: Iterable[Translation]) -> list[list[Translation]]:
    """Return translations together whose programs are the same text with the same imports, whatever the modes."""
    groups: dict[tuple[str, ...], list[Translation]] = {}
    for one in found:
        if one.program is not None:
            imports = source_text.needed_imports(one.backend.setup, one.program.text)
            groups.setdefault((one.program.text, *imports), []).append(one)
    return list(groups.values())


def _modes(group: Sequence[Translation]) -> Iterator[str]:
    """Yield for each further surface the lines of its setup that are others than those of the first."""
    first = _setup(group[0])
    for one in group[1:]:
        others = [line for line in _setup(one) if line not in first]
        if others:
            yield f"{one.surface.name}: {', '.join(f'`{line}`' for line in others)}"


def _setup(one: Translation) -> list[str]:
    return [line for line in source_text.needed_setup(one.backend.setup, one.program.text if one.program else "") if line]


def _native(group: Sequence[Translation]) -> bool:
    return any(one.program.how == HOW[0] for one in group if one.program)


def _folded(group: Sequence[Translation]) -> Iterator[str]:
    """Yield what takes several calls, behind its heading."""
    heading, *rest = _program(group)
    yield from (f"<details><summary>{heading.removeprefix('### ')}</summary>", *rest, "</details>", "")


def _program(group: Sequence[Translation]) -> Iterator[str]:
    first = group[0]
    if first.program is None:
        return
    ways = list(dict.fromkeys(one.program.how for one in group if one.program))
    ways += ["channels last"] * first.surface.channels_last
    yield from (f"### {', '.join(one.surface.name for one in group)} ({', '.join(ways)})", "")
    yield from ("```python", whole(first.backend, first.program).rstrip("\n"), "```", "")
    warned = (f"**{escaped(warning)}**" for one in group for warning in one.warnings)
    told = dict.fromkeys([*_modes(group), *warned, *(escaped(remark) for one in group for remark in one.remarks)])
    yield from (f"- {line}" for line in told)
    yield from [""] * bool(told)


def _unsupported(found: Sequence[Translation]) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    for one in found:
        reasons.setdefault(escaped(one.reason), []).append(one.surface.name)
    if reasons:
        yield "Unsupported: " + "; ".join(f"{', '.join(names)} ({reason})" for reason, names in reasons.items()) + "."


def _care(operator: str, known: Background, surfaces: Sequence[Spoken]) -> Iterator[str]:
    """Yield where surfaces differ, question by question, and what deviates."""
    names = {surface.name for _, surface in surfaces}
    of = [question for question in known.questions if OPERATORS[question.operator].forward == operator]
    told = [line for question in of if differing(question) for line in _answers(question, names)]
    deviating = _deviations(operator, known, surfaces)
    if told:
        yield from ("| question | answers |", "|---|---|", *told, "")
    yield from deviating
    if not told and not deviating:
        yield "Nothing: where documents differ, all surfaces answer alike, and none deviates."


def _answers(question: Question, names: set[str]) -> Iterator[str]:
    answers: dict[str, list[str]] = {}
    for name, answer in question.surfaces.items():
        if answer.declaration and name in names:
            answers.setdefault(answer.declaration.answer.replace("-", " "), []).append(name)
    if len(answers) > 1:
        asked = words(question) + (" (gradient)" if OPERATORS[question.operator].gradient else "")
        data = " · data" * bool(marks(question.cases[0].inputs["x"]))
        said = "; ".join(f"**{escaped(answer)}**: {', '.join(who)}" for answer, who in answers.items())
        yield f"| {escaped(asked)}{data} | {said} |"


def _deviations(operator: str, known: Background, surfaces: Sequence[Spoken]) -> list[str]:
    """Return what the ledger says of surfaces that were run, in so many words."""
    names: dict[str, list[str]] = {}
    for _, surface in surfaces:
        for asked in (operator, f"{operator}_grad"):
            for entry in known.summary.tried(surface.name, asked).known:
                names.setdefault(entry, []).append(surface.name)
    entries = {entry.id: entry for entry in known.ledger.entries}
    return [
        f"- {', '.join(dict.fromkeys(who))}: {escaped(' '.join(entries[entry].reason.split()))}"
        + (f" <{entries[entry].issue}>" if entries[entry].issue else "")
        for entry, who in names.items()
        if entry in entries
    ]


def _tried(operator: str, known: Background, surfaces: Sequence[Spoken]) -> Iterator[str]:
    """Yield a table of how many cases agree: the operator's, and its gradient's."""
    yield from (
        "| surface | version | cases that agree | by one call | of the gradient | deviations |",
        "|---|---|--:|--:|--:|--:|",
    )
    for _, surface in surfaces:
        tried, gradient = (known.summary.tried(surface.name, name) for name in (operator, f"{operator}_grad"))
        run = known.summary.surfaces.get(surface.name)
        numbers = (tried.cases, tried.agree.get("native", 0), gradient.cases, len({*tried.known, *gradient.known}))
        cells = " | ".join(f"{number:,}" for number in numbers) if run else "not run | | |"
        yield f"| {surface.name} | {run.version if run else ''} | {cells} |"


def index() -> str:
    """Return the page that leads to the others."""
    lines = ["# Translations", "", MADE, "", *INTRODUCTION, "", "| operator | what it does |", "|---|---|"]
    lines += [f"| [{operator}]({operator}.md) | {escaped(PAGES[operator].meaning)} |" for operator in FORWARD]
    return "\n".join(lines) + "\n"


INTRODUCTION = (
    "How the same call is written on every surface, so that the numbers are equal: programs that the suite has run and",
    "judged. `conformance translate` writes them for other parameters, and `--from` reads a layer out of a model.",
    "*native*: one call; *padded*: explicit padding first; *composed*: several calls. Arrays are NumPy's, laid out",
    "(n, c, *spatial): the first and last lines are for that, and can be dropped.",
)


def pages(found: Catalogue) -> dict[str, str]:
    """Return all pages by the names of their files."""
    known = Background(questions(found.cases), ledger.load(), verified.shipped())
    surfaces = [spoken for spoken in usual() if spoken[0].name != registry.BUILT_IN]
    return {"README.md": index(), **{f"{name}.md": page(name, known, surfaces) for name in FORWARD}}


def main(folder: Path) -> None:
    """Write all pages."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages(loading.load()).items():
        (folder / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/translations"))
