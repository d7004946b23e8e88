"""Generate the page of backends, backends.md: tested versions, surfaces and the size of each adapter."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType

from conformance.adapters import registry
from conformance.adapters.api import Backend, Surface
from conformance.cases.case import Case
from conformance.cases.operators import FORWARD_OPERATORS, GRADIENT_SUFFIX
from conformance.catalogue.loading import Catalogue, load_catalogue
from conformance.translation.lowering import translate
from conformance.translation.support import support_table, value_cases
from reports.views.template_environment import render_markdown_template

REPOSITORY_ROOT = Path(__file__).parents[2]
ADAPTERS_HOME = REPOSITORY_ROOT / "conformance" / "adapters"
BASIC_OPERATORS = ("max_pool", "avg_pool", "pad", "conv")


def backends_page(catalogue: Catalogue) -> str:
    """Return the whole page."""
    cases = value_cases(catalogue.select("smoke", FORWARD_OPERATORS))
    backends = [registry.get_backend(name) for name in registry.built_in_modules()]
    listed = [surface for backend in backends for surface in backend.surfaces]
    return render_markdown_template(
        "docs.generate",
        "backends.md.j2",
        backends=map(_backend_row, backends),
        adapters=_adapter_rows(cases),
        surfaces=_surface_rows(listed, cases),
        operator_count=len(FORWARD_OPERATORS),
    )


def _backend_row(backend: Backend) -> list[str]:
    extra = ", ".join(f"`{one}`" for one in package_extras(REPOSITORY_ROOT).get(backend.name, ())) or "–"
    return [f"`{backend.name}`", extra, ", ".join(f"`{surface.name}`" for surface in backend.surfaces)]


def package_extras(root: Path) -> Mapping[str, list[str]]:
    """Return the requirements of each extra in pyproject.toml. Parsed by hand, as Python 3.10 has no TOML parser."""
    text = (root / "pyproject.toml").read_text("utf-8")
    section = text.partition("[project.optional-dependencies]\n")[2].partition("\n[")[0]
    found = re.findall(r'^"?([\w-]+)"? = \[(.*?)\]$', section, re.MULTILINE | re.DOTALL)
    return {name: re.findall(r'"([^"]+)"', listed) for name, listed in found}


def _adapter_rows(cases: Sequence[Case]) -> Iterator[list[str]]:
    surfaces_by_module: dict[str, list[Surface]] = {}
    for name, module in registry.built_in_modules().items():
        surfaces_by_module.setdefault(module, []).extend(registry.get_backend(name).surfaces)
    basic_cases = [case for case in cases if case.operator in BASIC_OPERATORS]
    for module, surfaces in surfaces_by_module.items():
        paths = adapter_modules(module)
        sizes = {path.name: len(code_lines(path.read_text("utf-8"))) for path in paths}
        parts = ", ".join(f"`{name}` {size}" for name, size in sizes.items())
        total, four = sum(sizes.values()), _count_needed_lines(paths, called_functions(surfaces, basic_cases))
        further = sum(len(_handwritten_operators(surface) - {*BASIC_OPERATORS}) for surface in surfaces)
        each = f"{(total - four) / further:.1f}" if further else "–"
        yield [f"`{module}`", str(len(surfaces)), parts, f"{total:,}", str(four), each]


def called_functions(surfaces: Iterable[Surface], cases: Sequence[Case]) -> set[tuple[str, int]]:
    """Return the file and first line of every function that is called while cases are translated."""
    found: set[tuple[str, int]] = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            found.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        for surface in surfaces:
            for case in cases:
                translate(case, surface)
    finally:
        sys.setprofile(before)
    return found


def _count_needed_lines(paths: Iterable[Path], calls: set[tuple[str, int]]) -> int:
    """Count the lines of code outside functions, and those of the functions that were called."""
    needed = 0
    for path in paths:
        text = path.read_text("utf-8")
        functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
        spans = [range(_first_line(node), (node.end_lineno or 0) + 1) for node in functions]
        called = [line for name, line in calls if name == str(path)]
        unused = [span for span in spans if not any(line in span for line in called)]
        needed += sum(not any(line in span for span in unused) for line in code_lines(text))
    return needed


def _first_line(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def adapter_modules(name: str) -> list[Path]:
    """Return the modules of an adapter's package."""
    return sorted((ADAPTERS_HOME / name).glob("*.py"))


def code_lines(text: str) -> set[int]:
    """Return the numbers of lines with code: not blank, not only a comment, and not in a docstring."""
    ignored = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in ignored:
            found |= set(range(token.start[0], token.end[0] + 1))
    return found - _docstring_lines(text)


def _docstring_lines(text: str) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            lines |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return lines


def _handwritten_operators(surface: Surface) -> set[str]:
    return {name for name in FORWARD_OPERATORS if name in surface.lowerings or name in surface.fallbacks}


def _surface_rows(surfaces: Sequence[Surface], cases: Sequence[Case]) -> Iterator[list[str]]:
    table = support_table(cases, surfaces)
    for surface in surfaces:
        kinds = [set(row[surface.name].counts_by_kind) for row in table.values()]
        native = sum("native" in one for one in kinds)
        other = sum(bool(one) and "native" not in one for one in kinds)
        # Surfaces without automatic differentiation have a lowering for each gradient.
        explicit = any(name.endswith(GRADIENT_SUFFIX) for name in surface.lowerings)
        gradients = "explicit" if explicit else "automatic" if surface.write_gradient else "–"
        level: str = f"{surface.max_level}, or tagged `{surface.slow_tag}`" if surface.slow_tag else surface.max_level
        for operator, highest in surface.operator_levels.items():
            level += f", `{operator}`: {highest}"
        yield [f"`{surface.name}`", *map(str, (native, other, len(kinds) - native - other)), gradients, level]


if __name__ == "__main__":
    print(backends_page(load_catalogue()), end="")
