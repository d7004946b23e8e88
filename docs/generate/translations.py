"""Generate the pages of translations: for each operator, common calls as programs for every surface.

`python -m docs.generate.translations DIR` writes all pages and an index. Three of them are in the repository, as
golden files and as examples; the documentation site has all.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.adapters import registry
from conformance.adapters.api import Program
from conformance.cases.operators import FORWARD_OPERATORS, OPERATORS
from conformance.cases.selector_values import special_values_of
from conformance.catalogue import loading
from conformance.catalogue.describe import BackendSurface, primary_surfaces
from conformance.catalogue.loading import Catalogue
from conformance.judging import ledger
from conformance.judging.conventions import Convention, find_conventions
from conformance.translation import verified
from conformance.translation.ad_hoc_case import CaseRequest
from conformance.translation.option_text import option_text
from conformance.translation.side_by_side import (
    Translation,
    TranslationBackground,
    convention_text,
    has_differing_answers,
    program_with_setup,
    translate_case,
)
from conformance.translation.text import TranslatedCase
from docs.generate.translation_examples import OPERATOR_PAGES, CommonCall
from reports.results.vocabulary import How
from reports.views.markdown_layout import escape_prose
from reports.views.template_environment import render_markdown_template

COMMITTED_OPERATORS = ("max_pool", "avg_pool", "conv")
"""Operators whose pages are in the repository."""
COMMITTED_FOLDER = Path(__file__).parents[1] / "translations"


@dataclass(frozen=True)
class ProgramGroup:
    """Translations whose programs have the same text and imports; their setup lines may differ."""

    translations: Sequence[Translation]

    @property
    def programs(self) -> list[Program]:
        """The program of each translation."""
        return [one.program for one in self.translations if one.program]

    @property
    def is_native(self) -> bool:
        """Whether a program is one call."""
        return any(program.how == How.NATIVE for program in self.programs)

    @property
    def title(self) -> str:
        """The surfaces, and the kinds of program in parentheses."""
        kinds = [*dict.fromkeys(program.how for program in self.programs)]
        layout = ["channels last"] * self.translations[0].surface.channels_last
        return f"{', '.join(one.surface.name for one in self.translations)} ({', '.join([*kinds, *layout])})"

    @property
    def text(self) -> str:
        """The program of the first surface with its imports."""
        return program_with_setup(self.translations[0].backend, self.programs[0])

    def notes(self) -> list[str]:
        """Return the differing setup lines, the warnings and the remarks in Markdown, without repetitions."""
        warnings = [f"**{escape_prose(warning)}**" for one in self.translations for warning in one.warnings]
        remarks = [escape_prose(remark) for one in self.translations for remark in one.remarks]
        return list(dict.fromkeys([*self._setup_differences(), *warnings, *remarks]))

    def _setup_differences(self) -> Iterator[str]:
        """Yield for each surface but the first the setup lines that the first one lacks."""
        first, *others = [
            one.backend.required_setup(program) for one, program in zip(self.translations, self.programs, strict=True)
        ]
        for one, lines in zip(self.translations[1:], others, strict=True):
            additional = [f"`{line}`" for line in lines if line and line not in first]
            if additional:
                yield f"{one.surface.name}: {', '.join(additional)}"


@dataclass(frozen=True)
class TranslatedCall:
    """A section of an operator's page: the programs of a common call, and the surfaces that do not support it."""

    title: str
    heading: str
    command: str
    groups: Sequence[ProgramGroup]
    unsupported: str


def operator_page(operator: str, known: TranslationBackground, surfaces: Sequence[BackendSurface]) -> str:
    """Return the page of an operator."""
    about = OPERATOR_PAGES[operator]
    names = {surface.name for _, surface in surfaces}
    conventions = [one for one in known.conventions if OPERATORS[one.operator].forward == operator]
    return render_markdown_template(
        "docs.generate",
        "operator.md.j2",
        operator=operator,
        description=about.description,
        calls=[_translate_call(operator, common, known, surfaces) for common in about.common_calls],
        conventions=[row for one in conventions if has_differing_answers(one) for row in _convention_rows(one, names)],
        deviations=_deviation_lines(operator, known, surfaces),
        verified=[_verified_row(operator, known, surface.name) for _, surface in surfaces],
        anchor=_heading_anchor,
    )


def _translate_call(
    operator: str, common: CommonCall, known: TranslationBackground, surfaces: Sequence[BackendSurface]
) -> TranslatedCall:
    request = common.request(operator)
    case = request.case()
    groups: dict[tuple[str, ...], list[Translation]] = {}
    unsupported: dict[str, list[str]] = {}
    for one in translate_case(case, surfaces, known, request):
        if one.program is None:
            unsupported.setdefault(one.reason, []).append(one.surface.name)
        else:
            imports = one.backend.required_imports(one.program)
            groups.setdefault((one.program.text, *imports), []).append(one)
    ordered = sorted(map(ProgramGroup, groups.values()), key=lambda group: not group.is_native)
    reasons = "; ".join(f"{', '.join(names)} ({escape_prose(reason)})" for reason, names in unsupported.items())
    return TranslatedCall(common.title, TranslatedCase(case).heading, translate_command_text(request), ordered, reasons)


def _heading_anchor(title: str) -> str:
    characters = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -")
    return characters.replace(" ", "-")


def translate_command_text(request: CaseRequest) -> str:
    """Return the command that prints the programs of a request."""
    parameters = (_option(key.replace("_", "-"), value) for key, value in request.parameters.items())
    inputs = (
        [f"--dtype {request.dtype}"] * (request.dtype != "float32")
        + ["--bias"] * request.bias
        + ["--mask"] * request.mask
        + [f"--gradient {request.gradient}"] * bool(request.gradient)
    )
    return " ".join(["conformance translate", request.operator, *parameters, *inputs])


def _option(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no-{name}"
    return f"--{name} {option_text(value)}"


def _convention_rows(convention: Convention, names: set[str]) -> Iterator[list[str]]:
    """Yield the row of a convention with the surfaces that give each answer, if their answers differ."""
    answers: dict[str, list[str]] = {}
    for name, answer in convention.answers_by_surface.items():
        if answer.declaration and name in names:
            answers.setdefault(answer.declaration.summary.replace("-", " "), []).append(name)
    if len(answers) > 1:
        name = convention_text(convention) + (" (gradient)" if OPERATORS[convention.operator].is_gradient else "")
        # The convention concerns special values of the data (NaN, infinities), not parameters of the call.
        data = " · data" * bool(special_values_of(convention.cases[0].inputs["x"]))
        cells = "; ".join(f"**{escape_prose(answer)}**: {', '.join(given)}" for answer, given in answers.items())
        yield [f"{escape_prose(name)}{data}", cells]


def _deviation_lines(operator: str, known: TranslationBackground, surfaces: Sequence[BackendSurface]) -> list[str]:
    """Return the ledger entries that apply to surfaces that were run, with their reasons."""
    names: dict[str, list[str]] = {}
    for _, surface in surfaces:
        for name in (operator, f"{operator}_grad"):
            for entry in known.summary.operator_summary(surface.name, name).known:
                names.setdefault(entry, []).append(surface.name)
    entries = {entry.id: entry for entry in known.ledger.entries}
    return [
        f"{', '.join(dict.fromkeys(deviating))}: {escape_prose(' '.join(entries[entry].reason.split()))}"
        + (f" <{entries[entry].issue}>" if entries[entry].issue else "")
        for entry, deviating in names.items()
        if entry in entries
    ]


def _verified_row(operator: str, known: TranslationBackground, surface: str) -> list[str]:
    """Return the version of a surface, and the number of agreeing cases of the operator and of its gradient."""
    run = known.summary.surfaces.get(surface)
    if not run:
        return [surface, "", "not run", "", "", ""]
    tried, gradient = (known.summary.operator_summary(surface, name) for name in (operator, f"{operator}_grad"))
    numbers = (tried.cases, tried.agree.get(How.NATIVE, 0), gradient.cases, len({*tried.known, *gradient.known}))
    return [surface, run.version, *(f"{number:,}" for number in numbers)]


def index_page(linked: Sequence[str] = FORWARD_OPERATORS) -> str:
    """Return the index. linked: the operators whose pages exist; the committed index links committed pages only."""
    rows = [
        [
            f"[{operator}]({operator}.md)" if operator in linked else escape_prose(operator),
            escape_prose(OPERATOR_PAGES[operator].description),
        ]
        for operator in FORWARD_OPERATORS
    ]
    has_all_pages = len(linked) == len(FORWARD_OPERATORS)
    return render_markdown_template("docs.generate", "translations.md.j2", operators=rows, has_all_pages=has_all_pages)


def render_pages(catalogue: Catalogue) -> dict[str, str]:
    """Return all pages by file name."""
    known = TranslationBackground(find_conventions(catalogue.cases), ledger.load_ledger(), verified.shipped_summary())
    surfaces = [pair for pair in primary_surfaces() if pair[0].name != registry.BUILT_IN_BACKEND]
    return {
        "README.md": index_page(),
        **{f"{name}.md": operator_page(name, known, surfaces) for name in FORWARD_OPERATORS},
    }


def committed_pages(pages: Mapping[str, str]) -> dict[str, str]:
    """Return the pages that are in the repository, with an index that links only these."""
    names = [f"{operator}.md" for operator in COMMITTED_OPERATORS]
    return {"README.md": index_page(COMMITTED_OPERATORS), **{name: pages[name] for name in names}}


def main(folder: Path | None) -> None:
    """Write all pages into a folder, or by default the committed ones into docs/translations."""
    pages = render_pages(loading.load_catalogue())
    target = folder or COMMITTED_FOLDER
    target.mkdir(parents=True, exist_ok=True)
    for name, text in (pages if folder else committed_pages(pages)).items():
        (target / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
