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
from conformance.cases.operators import FORWARD_OPERATORS, OPERATORS
from conformance.cases.selectors import special_values_of
from conformance.catalogue import loading
from conformance.catalogue.describe import BackendSurface, primary_surfaces
from conformance.catalogue.loading import Catalogue
from conformance.judging import ledger
from conformance.judging.conventions import Convention, find_conventions
from conformance.translation import verified
from conformance.translation.ad_hoc_case import CaseRequest, option_text
from conformance.translation.lowering import KINDS_OF_PROGRAM
from conformance.translation.side_by_side import (
    Translation,
    TranslationBackground,
    convention_text,
    has_differing_answers,
    program_with_setup,
    translate_case,
)
from conformance.translation.text import TranslatedCase, escape_markdown
from docs.generate.translation_examples import OPERATOR_PAGES, CommonCall

GENERATED_NOTICE = (
    "Made by `python -m docs.generate.translations docs/translations`; do not edit it. A test holds it fresh."
)


def operator_page(operator: str, known: TranslationBackground, surfaces: Sequence[BackendSurface]) -> str:
    """Return the page of an operator."""
    about = OPERATOR_PAGES[operator]
    lines = [
        f"# {operator}",
        "",
        GENERATED_NOTICE,
        "",
        about.description,
        f"[What it means exactly](../semantics.md#{operator}).",
    ]
    found = [_common_call_lines(operator, common, known, surfaces) for common in about.common_calls]
    lines += ["", *_contents_lines([*(common.title for common in about.common_calls), *FURTHER_SECTIONS])]
    for part in found:
        lines += ["", *"\n".join(part).rstrip("\n").split("\n")]
    lines += ["", f"## {FURTHER_SECTIONS[0]}", "", *_convention_lines(operator, known, surfaces)]
    lines += ["", f"## {FURTHER_SECTIONS[1]}", "", *_verified_table(operator, known, surfaces)]
    return "\n".join(lines) + "\n"


FURTHER_SECTIONS = ("What to look out for", "What has been verified")


def _contents_lines(titles: Iterable[str]) -> Iterator[str]:
    yield from (f"- [{title}](#{_heading_anchor(title)})" for title in titles)


def _heading_anchor(title: str) -> str:
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -")
    return kept.replace(" ", "-")


def translate_command_text(request: CaseRequest) -> str:
    """Return the command that prints what a request asks for."""
    given = (f"--{key.replace('_', '-')}{_option_value(value)}" for key, value in request.parameters.items())
    further = ["--bias"] * request.bias + [f"--gradient {request.gradient}"] * bool(request.gradient)
    return " ".join(["conformance translate", request.operator, *given, *further])


def _option_value(value: Any) -> str:
    return "" if value is True else f" {option_text(value)}"


def _common_call_lines(
    operator: str, common: CommonCall, known: TranslationBackground, surfaces: Sequence[BackendSurface]
) -> Iterator[str]:
    request = common.request(operator)
    case = request.case()
    found = translate_case(case, surfaces, known, request)
    yield from (
        f"## {common.title}",
        "",
        f"{escape_markdown(TranslatedCase(case).heading)}.",
        f"`{translate_command_text(request)}`",
        "",
    )
    groups = _group_by_program(one for one in found if one.program)
    for group in sorted(groups, key=lambda group: not _native_lines(group)):
        yield from _program_lines(group) if _native_lines(group) else _folded_lines(group)
    yield from _unsupported_lines([one for one in found if not one.program])


def _group_by_program(found: Iterable[Translation]) -> list[list[Translation]]:
    """Return translations together whose programs are the same text with the same imports, whatever the modes."""
    groups: dict[tuple[str, ...], list[Translation]] = {}
    for one in found:
        if one.program is not None:
            imports = source_text.required_imports(one.backend.setup, one.program.text)
            groups.setdefault((one.program.text, *imports), []).append(one)
    return list(groups.values())


def _setup_differences(group: Sequence[Translation]) -> Iterator[str]:
    """Yield for each further surface the lines of its setup that are others than those of the first."""
    first = _setup_lines(group[0])
    for one in group[1:]:
        others = [line for line in _setup_lines(one) if line not in first]
        if others:
            yield f"{one.surface.name}: {', '.join(f'`{line}`' for line in others)}"


def _setup_lines(one: Translation) -> list[str]:
    return [
        line for line in source_text.required_setup(one.backend.setup, one.program.text if one.program else "") if line
    ]


def _native_lines(group: Sequence[Translation]) -> bool:
    return any(one.program.how == KINDS_OF_PROGRAM[0] for one in group if one.program)


def _folded_lines(group: Sequence[Translation]) -> Iterator[str]:
    """Yield what takes several calls, behind its heading."""
    heading, *rest = _program_lines(group)
    yield from (f"<details><summary>{heading.removeprefix('### ')}</summary>", *rest, "</details>", "")


def _program_lines(group: Sequence[Translation]) -> Iterator[str]:
    first = group[0]
    if first.program is None:
        return
    ways = list(dict.fromkeys(one.program.how for one in group if one.program))
    ways += ["channels last"] * first.surface.channels_last
    yield from (f"### {', '.join(one.surface.name for one in group)} ({', '.join(ways)})", "")
    yield from ("```python", program_with_setup(first.backend, first.program).rstrip("\n"), "```", "")
    warned = (f"**{escape_markdown(warning)}**" for one in group for warning in one.warnings)
    told = dict.fromkeys(
        [*_setup_differences(group), *warned, *(escape_markdown(remark) for one in group for remark in one.remarks)]
    )
    yield from (f"- {line}" for line in told)
    yield from [""] * bool(told)


def _unsupported_lines(found: Sequence[Translation]) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    for one in found:
        reasons.setdefault(escape_markdown(one.reason), []).append(one.surface.name)
    if reasons:
        yield "Unsupported: " + "; ".join(f"{', '.join(names)} ({reason})" for reason, names in reasons.items()) + "."


def _convention_lines(operator: str, known: TranslationBackground, surfaces: Sequence[BackendSurface]) -> Iterator[str]:
    """Yield where surfaces differ, question by question, and what deviates."""
    names = {surface.name for _, surface in surfaces}
    of = [question for question in known.conventions if OPERATORS[question.operator].forward == operator]
    told = [line for question in of if has_differing_answers(question) for line in _answer_lines(question, names)]
    deviating = _deviation_lines(operator, known, surfaces)
    if told:
        yield from ("| question | answers |", "|---|---|", *told, "")
    yield from deviating
    if not told and not deviating:
        yield "Nothing: where documents differ, all surfaces answer alike, and none deviates."


def _answer_lines(convention: Convention, names: set[str]) -> Iterator[str]:
    answers: dict[str, list[str]] = {}
    for name, answer in convention.answers_by_surface.items():
        if answer.declaration and name in names:
            answers.setdefault(answer.declaration.answer.replace("-", " "), []).append(name)
    if len(answers) > 1:
        asked = convention_text(convention) + (" (gradient)" if OPERATORS[convention.operator].is_gradient else "")
        data = " · data" * bool(special_values_of(convention.cases[0].inputs["x"]))
        said = "; ".join(f"**{escape_markdown(answer)}**: {', '.join(who)}" for answer, who in answers.items())
        yield f"| {escape_markdown(asked)}{data} | {said} |"


def _deviation_lines(operator: str, known: TranslationBackground, surfaces: Sequence[BackendSurface]) -> list[str]:
    """Return what the ledger says of surfaces that were run, in so many words."""
    names: dict[str, list[str]] = {}
    for _, surface in surfaces:
        for asked in (operator, f"{operator}_grad"):
            for entry in known.summary.operator_summary(surface.name, asked).known:
                names.setdefault(entry, []).append(surface.name)
    entries = {entry.id: entry for entry in known.ledger.entries}
    return [
        f"- {', '.join(dict.fromkeys(who))}: {escape_markdown(' '.join(entries[entry].reason.split()))}"
        + (f" <{entries[entry].issue}>" if entries[entry].issue else "")
        for entry, who in names.items()
        if entry in entries
    ]


def _verified_table(operator: str, known: TranslationBackground, surfaces: Sequence[BackendSurface]) -> Iterator[str]:
    """Yield a table of how many cases agree: the operator's, and its gradient's."""
    yield from (
        "| surface | version | cases that agree | by one call | of the gradient | deviations |",
        "|---|---|--:|--:|--:|--:|",
    )
    for _, surface in surfaces:
        tried, gradient = (
            known.summary.operator_summary(surface.name, name) for name in (operator, f"{operator}_grad")
        )
        run = known.summary.surfaces.get(surface.name)
        numbers = (tried.cases, tried.agree.get("native", 0), gradient.cases, len({*tried.known, *gradient.known}))
        cells = " | ".join(f"{number:,}" for number in numbers) if run else "not run | | |"
        yield f"| {surface.name} | {run.version if run else ''} | {cells} |"


def index_page() -> str:
    """Return the page that leads to the others."""
    lines = [
        "# Translations",
        "",
        GENERATED_NOTICE,
        "",
        *INDEX_INTRODUCTION,
        "",
        "| operator | what it does |",
        "|---|---|",
    ]
    lines += [
        f"| [{operator}]({operator}.md) | {escape_markdown(OPERATOR_PAGES[operator].description)} |"
        for operator in FORWARD_OPERATORS
    ]
    return "\n".join(lines) + "\n"


INDEX_INTRODUCTION = (
    "How the same call is written on every surface, so that the numbers are equal: programs that the suite has run and",
    "judged. `conformance translate` writes them for other parameters, and `--from` reads a layer out of a model.",
    "*native*: one call; *padded*: explicit padding first; *composed*: several calls. Arrays are NumPy's, laid out",
    "(n, c, *spatial): the first and last lines are for that, and can be dropped.",
)


def render_pages(found: Catalogue) -> dict[str, str]:
    """Return all pages by the names of their files."""
    known = TranslationBackground(find_conventions(found.cases), ledger.load_ledger(), verified.shipped_summary())
    surfaces = [spoken for spoken in primary_surfaces() if spoken[0].name != registry.BUILT_IN_BACKEND]
    return {
        "README.md": index_page(),
        **{f"{name}.md": operator_page(name, known, surfaces) for name in FORWARD_OPERATORS},
    }


def main(folder: Path) -> None:
    """Write all pages."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in render_pages(loading.load_catalogue()).items():
        (folder / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/translations"))
