"""The page of backends, `docs/backends.md`: what each is tried with, its surfaces, and how long its adapter is."""

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
from conformance.adapters.api.surface import Backend, Surface
from conformance.cases.case import Case
from conformance.cases.operators import FORWARD_OPERATORS, GRADIENT_SUFFIX
from conformance.catalogue.loading import Catalogue, load_catalogue
from conformance.translation.lowering import translate
from conformance.translation.support import support_table, value_cases

REPOSITORY_ROOT = Path(__file__).parents[2]
ADAPTERS_HOME = REPOSITORY_ROOT / "conformance" / "adapters"
BASIC_OPERATORS = ("max_pool", "avg_pool", "pad", "conv")
PAGE_HEADER = """\
# Backends

Made by `python -m conformance.backends_page > docs/backends.md`; do not edit it. A test holds that this is what the
command prints.

One adapter is one module of `conformance/adapters` and its parts, `<name>_<part>.py`. How to write one stands in
[CONTRIBUTING.md](../CONTRIBUTING.md).

| backend | extra | surfaces |
|---|---|---|
"""
ADAPTERS_SECTION = """
## How long the adapters are

The aims: maximum, average, padding and convolution in 150 lines at most; each further operator in six lines a surface
at most. Lines are lines of code: no blank ones, comments and docstrings. Those of the four operators are whatever
stands outside functions, tables of all operators included, and the functions that the smoke cases of the four call, for
all surfaces together. The others are shared out among the further operators of all surfaces.

| adapter | surfaces | modules | lines | the four | each further |
|---|---|---|---|---|---|
"""
SURFACES_SECTION = f"""
## What each surface has

Of {len(FORWARD_OPERATORS)} operators, how many have a case of level smoke that is carried out so; gradients are not counted.
[surfaces.md](surfaces.md) counts every case.

| surface | by its own call | padded or composed alone | none | gradients | level |
|---|---|---|---|---|---|
"""


def backends_page(catalogue: Catalogue) -> str:
    """Return the whole page."""
    cases = value_cases(catalogue.select("smoke", FORWARD_OPERATORS))
    backends = [registry.get_backend(name) for name in registry.built_in_modules()]
    listed = [surface for backend in backends for surface in backend.surfaces]
    sections = (map(_backend_lines, backends), _adapter_lines(cases), _surface_lines(listed, cases))
    tables = zip((PAGE_HEADER, ADAPTERS_SECTION, SURFACES_SECTION), sections, strict=True)
    return "".join(head + "".join(f"{row}\n" for row in rows) for head, rows in tables)


def _backend_lines(backend: Backend) -> str:
    extra = ", ".join(f"`{one}`" for one in package_extras(REPOSITORY_ROOT).get(backend.name, ())) or "–"
    return f"| `{backend.name}` | {extra} | {', '.join(f'`{surface.name}`' for surface in backend.surfaces)} |"


def package_extras(root: Path) -> Mapping[str, list[str]]:
    """Return what the extra of each backend asks for; Python 3.10 reads no TOML."""
    text = (root / "pyproject.toml").read_text("utf-8")
    section = text.partition("[project.optional-dependencies]\n")[2].partition("\n[")[0]
    found = re.findall(r'^"?([\w-]+)"? = \[(.*?)\]$', section, re.MULTILINE | re.DOTALL)
    return {name: re.findall(r'"([^"]+)"', listed) for name, listed in found}


def _adapter_lines(cases: Sequence[Case]) -> Iterator[str]:
    whole: dict[str, list[Surface]] = {}
    for name, module in registry.built_in_modules().items():
        whole.setdefault(module, []).extend(registry.get_backend(name).surfaces)
    first = [case for case in cases if case.operator in BASIC_OPERATORS]
    for module, surfaces in whole.items():
        paths = adapter_modules(module)
        sizes = {path.name: len(code_lines(path.read_text("utf-8"))) for path in paths}
        parts = ", ".join(f"`{name}` {size}" for name, size in sizes.items())
        total, four = sum(sizes.values()), _count_needed_lines(paths, called_functions(surfaces, first))
        further = sum(len(_handwritten_count(surface) - {*BASIC_OPERATORS}) for surface in surfaces)
        each = f"{(total - four) / further:.1f}" if further else "–"
        yield f"| `{module}` | {len(surfaces)} | {parts} | {total:,} | {four} | {each} |"


def called_functions(surfaces: Iterable[Surface], cases: Sequence[Case]) -> set[tuple[str, int]]:
    """Return the file and the first line of whatever is called while cases are translated."""
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
    """Count the lines of code outside functions, and of the functions in which some call began."""
    needed = 0
    for path in paths:
        text = path.read_text("utf-8")
        functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
        spans = [range(_first_line(node), (node.end_lineno or 0) + 1) for node in functions]
        begun = [line for name, line in calls if name == str(path)]
        idle = [span for span in spans if not any(line in span for line in begun)]
        needed += sum(not any(line in span for span in idle) for line in code_lines(text))
    return needed


def _first_line(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def adapter_modules(name: str) -> list[Path]:
    """Return the module of an adapter and its parts."""
    return [ADAPTERS_HOME / f"{name}.py", *sorted(ADAPTERS_HOME.glob(f"{name}_*.py"))]


def code_lines(text: str) -> set[int]:
    """Return the lines on which some code stands: neither blank, nor a comment alone, nor part of a docstring."""
    idle = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in idle:
            found |= set(range(token.start[0], token.end[0] + 1))
    return found - _docstring_lines(text)


def _docstring_lines(text: str) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            lines |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return lines


def _handwritten_count(surface: Surface) -> set[str]:
    return {name for name in FORWARD_OPERATORS if name in surface.lowerings or name in surface.fallbacks}


def _surface_lines(surfaces: Sequence[Surface], cases: Sequence[Case]) -> Iterator[str]:
    table = support_table(cases, surfaces)
    for surface in surfaces:
        done = [set(row[surface.name].counts_by_kind) for row in table.values()]
        own, other = sum("native" in hows for hows in done), sum(bool(hows) and "native" not in hows for hows in done)
        itself = any(name.endswith(GRADIENT_SUFFIX) for name in surface.lowerings)
        gradients = "written out" if itself else "differentiated" if surface.write_gradient else "–"
        level = f"{surface.max_level}, or tagged `{surface.slow_tag}`" if surface.slow_tag else surface.max_level
        yield f"| `{surface.name}` | {own} | {other} | {len(done) - own - other} | {gradients} | {level} |"


if __name__ == "__main__":
    print(backends_page(load_catalogue()), end="")
