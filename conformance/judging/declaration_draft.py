"""New declarations: the answers that surfaces gave in a run and do not declare yet, as YAML text in a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from conformance import CatalogueError, ConformanceError
from conformance.adapters.api import Backend, load_declarations
from conformance.system.atomic_write import write_atomically

SCHEMA_COMMENT = "# Answers of the surfaces to the conventions of the catalogue. `conformance check` checks them.\n"
"""First line of a new file."""
DEFAULT_INDENT = "  "


@dataclass(frozen=True)
class ObservedDeclaration:
    """The answer of a surface to a convention, observed in one version of the framework."""

    surface: str
    convention: str
    answer: str
    version: str

    def text(self, indent: str = DEFAULT_INDENT) -> str:
        """Return the declaration as YAML text below its surface."""
        lines = (
            f"{_scalar(self.convention)}:",
            f"  answer: {_scalar(self.answer)}",
            f"  observed: {_quoted(self.version)}",
        )
        return "".join(f"{indent}{line}\n" for line in lines)


def _scalar(text: str) -> str:
    # PyYAML ends a document of one plain scalar with a line `...`.
    return yaml.safe_dump(text, width=float("inf")).removesuffix("...\n").strip()


def _quoted(text: str) -> str:
    return yaml.safe_dump(text, default_style='"', width=float("inf")).strip()


def declarations_text(declarations: Iterable[ObservedDeclaration]) -> str:
    """Return declarations as the YAML text of a new file."""
    return "".join(
        f"{_scalar(surface)}:\n{''.join(one.text() for one in some)}"
        for surface, some in _by_surface(declarations).items()
    )


def _by_surface(declarations: Iterable[ObservedDeclaration]) -> dict[str, list[ObservedDeclaration]]:
    groups: dict[str, list[ObservedDeclaration]] = {}
    for one in sorted(declarations, key=lambda one: (one.surface, one.convention)):
        groups.setdefault(one.surface, []).append(one)
    return groups


@dataclass(frozen=True)
class _SurfaceBlock:
    """The block of a surface in a file. end: number of lines before its end; keys: its conventions and `like`."""

    end: int
    indent: str
    keys: frozenset[str]


class DeclarationsFile:
    """The text of a declarations file, to which answers can be added. A missing file is empty.

    Raises ConformanceError if the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.text = path.read_text("utf-8") if path.exists() else SCHEMA_COMMENT
        except (OSError, UnicodeDecodeError) as error:
            raise ConformanceError(f"{path}: {getattr(error, 'strerror', None) or 'is not UTF-8'}") from None
        self._blocks = dict(_surface_blocks(path, self.text))

    def has_key(self, surface: str, convention: str) -> bool:
        """Whether the file contains an answer of the surface, or null, which removes an inherited one."""
        return surface in self._blocks and convention in self._blocks[surface].keys

    def with_answers(self, declarations: Sequence[ObservedDeclaration]) -> str:
        """Return the text with these answers added. All other lines, comments included, are unchanged."""
        lines = self.text.splitlines(keepends=True)
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        groups = _by_surface(declarations)
        known = sorted((self._blocks[surface].end, surface) for surface in groups if surface in self._blocks)
        for end, surface in reversed(known):  # from the end, so that the other line numbers remain valid
            lines[end:end] = [one.text(self._blocks[surface].indent) for one in groups[surface]]
        new = [one for surface, some in groups.items() if surface not in self._blocks for one in some]
        return "".join(lines) + declarations_text(new)

    def write(self, text: str, backend: Backend) -> None:
        """Replace the content of the file. Raises CatalogueError for an invalid text, and ConformanceError."""
        # Loaded from another folder first, so that an invalid text is never written.
        with TemporaryDirectory() as folder:
            trial = Path(folder) / self.path.name
            trial.write_text(text, "utf-8")
            try:
                load_declarations(self.path.stem, [surface.name for surface in backend.surfaces], Path(folder))
            except CatalogueError as error:
                raise CatalogueError(str(error).replace(str(trial), str(self.path))) from None
        try:
            write_atomically(self.path, text)
        except OSError as error:
            raise ConformanceError(f"{self.path}: {error.strerror}") from None


def _surface_blocks(path: Path, text: str) -> Iterator[tuple[str, _SurfaceBlock]]:
    """Yield the block of each surface. Raises ConformanceError for a file in another form."""
    try:
        root = yaml.compose(text, yaml.SafeLoader)
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", 0) + 1
        raise ConformanceError(f"{path}:{line}: is not valid YAML; `conformance check` lists the error") from None
    lines = text.splitlines()
    for key, value in root.value if isinstance(root, yaml.MappingNode) else ():
        if not isinstance(value, yaml.MappingNode) or value.flow_style:
            line = key.start_mark.line + 1
            raise ConformanceError(f"{path}:{line}: surface {key.value!r}: write its answers on lines of their own")
        end = value.end_mark.line if value.end_mark.column == 0 else value.end_mark.line + 1
        while not lines[end - 1].strip() or lines[end - 1].startswith("#"):
            end -= 1
        indent = " " * value.start_mark.column
        yield key.value, _SurfaceBlock(end, indent, frozenset(one.value for one, _ in value.value))
