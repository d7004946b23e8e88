"""The page of backends, `docs/backends.md`: what each is tried with, its surfaces, and how long its adapter is."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path

from conformance import adapters, registry
from conformance.adapter import Backend, Surface
from conformance.operators import FORWARD, GRADIENT

ROOT = Path(__file__).parent.parent
HEAD = """\
# Backends

Made by `python -m conformance.backends_page > docs/backends.md`; do not edit it. A test holds that this is what the
command prints.

One adapter is one module of `conformance/adapters` and its parts, `<name>_<part>.py`. How to write one stands in
[CONTRIBUTING.md](../CONTRIBUTING.md). The aims: maximum, average, padding and convolution in 150 lines at most; each
further operator in six lines a surface at most. Lines are lines of code: no blank ones, comments and docstrings.

"""
BACKENDS = "| backend | extra | surfaces |"
ADAPTERS = "| adapter | modules | lines | operators on surfaces | lines for each |"
OPERATORS_HEAD = """
Operators that the adapter itself writes for a surface, of %d; padding, minimum from maximum and the like are written
for all surfaces together, and [surfaces.md](surfaces.md) counts what comes of it.

| surface | own calls | composed | gradients | level |
|---|---|---|---|---|
"""


def page() -> str:
    """Return the whole page."""
    lines = [BACKENDS, "|---|---|---|", *map(_backend, _backends()), "", "## How long the adapters are", ""]
    lines += [ADAPTERS, "|---|---|---|---|---|", *_adapters(), "", "## What each surface has", ""]
    rows = [_surface(surface) for backend in _backends() for surface in backend.surfaces]
    return HEAD + "\n".join(lines) + OPERATORS_HEAD % len(FORWARD) + "\n".join(rows) + "\n"


def _backends() -> list[Backend]:
    return [registry.backend(name) for name in registry.own()]


def _backend(backend: Backend) -> str:
    extra = ", ".join(f"`{one}`" for one in extras(ROOT).get(backend.name, ())) or "built in"
    return f"| `{backend.name}` | {extra} | {', '.join(f'`{surface.name}`' for surface in backend.surfaces)} |"


def extras(root: Path) -> Mapping[str, list[str]]:
    """Return what the extra of each backend asks for; Python 3.10 reads no TOML."""
    text = (root / "pyproject.toml").read_text("utf-8")
    section = text.partition("[project.optional-dependencies]\n")[2].partition("\n[")[0]
    found = re.findall(r'^"?([\w-]+)"? = \[(.*?)\]$', section, re.MULTILINE | re.DOTALL)
    return {name: re.findall(r'"([^"]+)"', listed) for name, listed in found}


def _adapters() -> Iterator[str]:
    whole: dict[str, list[Surface]] = {}
    for name, module in registry.own().items():
        whole.setdefault(module, []).extend(registry.backend(name).surfaces)
    for module, surfaces in whole.items():
        sizes = {path.name: code_lines(path.read_text("utf-8")) for path in modules(module)}
        parts = ", ".join(f"`{name}` {size}" for name, size in sizes.items())
        written = sum(len(_written(surface)) for surface in surfaces)
        total = sum(sizes.values())
        yield f"| `{module}` | {parts} | {total:,} | {written} | {total / written:.1f} |"


def modules(name: str) -> list[Path]:
    """Return the module of an adapter and its parts."""
    home = Path(adapters.__file__ or "").parent
    return [home / f"{name}.py", *sorted(home.glob(f"{name}_*.py"))]


def code_lines(text: str) -> int:
    """Count the lines on which some code stands: neither blank, nor a comment alone, nor part of a docstring."""
    idle = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in idle:
            found |= set(range(token.start[0], token.end[0] + 1))
    return len(found - _docstrings(text))


def _docstrings(text: str) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            lines |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return lines


def _written(surface: Surface) -> set[str]:
    return {name for name in FORWARD if name in surface.verbs or name in surface.composed}


def _surface(surface: Surface) -> str:
    own = [name for name in FORWARD if name in surface.verbs]
    own_gradients = any(name.endswith(GRADIENT) for name in surface.verbs)
    gradients = "loops of its own" if own_gradients else "differentiated" if surface.gradient else "–"
    level = f"{surface.level}, cases tagged `{surface.tag}`" if surface.tag else surface.level
    return f"| `{surface.name}` | {len(own)} | {len(_written(surface) - set(own))} | {gradients} | {level} |"


if __name__ == "__main__":
    print(page(), end="")
